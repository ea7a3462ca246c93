"""Emulator of the service, on loopback.

It contains no code of the client.
"""
