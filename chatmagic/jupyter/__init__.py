"""All that knows IPython or a page: magics, commands, views, the bridge.

Nothing outside imports from here but the command line.
"""
