"""What the kernel has in its pages: the bridge, the drawing of replies, and the panel.

The page's half is the labextension; what it is told, and says, is in ``messages``.
"""
