"""Parts of a job of many rows: the rows, the pace of its requests, and its file.

Nothing is asked here. Nothing of a conversation, of a kernel or of a page comes in here.
"""
