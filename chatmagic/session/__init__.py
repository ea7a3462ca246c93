"""Ask: client, conversation and cassette joined, under the one lock.

Nothing of IPython or of a page comes in here.
"""
