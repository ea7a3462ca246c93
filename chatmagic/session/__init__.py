"""Ask: client, conversation and cassette joined, under the lock of a thread.

Nothing of IPython or of a page comes in here.
"""
