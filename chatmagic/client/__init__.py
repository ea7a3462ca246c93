"""One request over HTTP: address, key, timeouts, connection, transport, stream and Client.

Nothing here knows conversations, notebooks or pages.
"""
