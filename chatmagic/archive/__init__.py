"""Conversations on disk: a turn's output, JSON, Markdown, notebooks, and how they are restored.

Nothing here sends or asks.
"""
