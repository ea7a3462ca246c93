"""Maps: one prompt for each of many rows, sent beside the conversation and kept in a file.

Nothing here knows a conversation, a kernel or a page.
"""
