"""Emulator of the service, on loopback.

No code of the client belongs here.
"""
