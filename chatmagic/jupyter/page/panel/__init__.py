"""The chat panel: its widgets, and the kernel's side of them.

What a page asks for is done by the session, never here.
"""
