"""The service's interface as pure functions: bytes to events to values, headers to credits.

No clock, disk, environment, network or thread comes in here.
"""
