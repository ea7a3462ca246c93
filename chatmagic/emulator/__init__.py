"""The service's other end, on loopback.

Nothing of the client comes in here.
"""
