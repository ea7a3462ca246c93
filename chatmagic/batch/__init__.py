"""Many requests of one job: their rows, threads, pace and file.

Its sender is handed in. Nothing of a conversation, of a kernel or of a page comes in here.
"""
