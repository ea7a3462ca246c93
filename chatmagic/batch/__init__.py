"""Parts of a job of many rows: its rows, and its file.

Nothing here asks, or knows a conversation, a kernel or a page.
"""
