"""Record and replay, as transports.

Nothing of IPython or of a page comes in here.
"""
