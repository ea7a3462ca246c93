"""Record and replay: the choice of a cassette, its exchanges in use, and its transports.

It contains no code of IPython or of a page.
"""
