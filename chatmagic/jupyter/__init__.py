"""All code that uses IPython or a page: magics, commands, views, the bridge.

Outside this folder only the command line imports from it.
"""
