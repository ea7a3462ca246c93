"""Conversations on disk: outputs, JSON, Markdown, notebooks, cassettes, and how they are restored.

Nothing here sends or asks.
"""
