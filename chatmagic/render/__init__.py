"""A reply as HTML and as Markdown that cannot act; the gauge as HTML and as words.

Pure: no clock, disk, environment, network or thread comes in here.
"""
