"""Many requests of one job: their rows, threads, pace and file.

It asks by what it is given. Nothing of a conversation, of a kernel or of a page comes in here.
"""
