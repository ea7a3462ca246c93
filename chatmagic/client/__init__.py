"""One request over HTTP: address, key, timeouts, connection, transport, stream and Client.

Nothing of conversations, notebooks or pages comes in here.
"""
