"""Cassettes: requests and answers recorded in a file, and replayed from it.

It contains no code of IPython or of a page.
"""
