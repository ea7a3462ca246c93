"""Checks and tables of notebooks and cassettes, read as files, without a kernel.

Nothing here asks, writes or runs anything.
"""
