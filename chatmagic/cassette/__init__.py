"""Cassettes: requests and answers recorded in a file, and replayed from it.

No code of IPython or of a page belongs here.
"""
