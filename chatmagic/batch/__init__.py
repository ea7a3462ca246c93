"""Parts of a job of many rows: the rows, the pace of its requests, and its file.

Nothing here asks, or knows a conversation, a kernel or a page.
"""
