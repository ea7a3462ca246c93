"""Ask: client, conversation and cassette joined, under the lock of a thread.

It contains no code of IPython or of a page.
"""
