"""A reply as HTML and as Markdown that cannot act; the gauge as HTML and as words.

Pure: nothing here uses a clock, a disk, the environment, the network or a thread.
"""
