"""What notebooks and cassettes tell, checked and tabulated, without a kernel.

Nothing here asks, writes or runs anything.
"""
