"""The kernel's parts in its pages: the bridge, the drawing of replies, and the panel.

The page's part is the labextension; ``messages`` lists the messages in both directions.
"""
