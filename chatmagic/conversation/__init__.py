"""Turns, where they stand, what is stale, undo; a turn's record; a prompt's template.

Pure: no clock, disk, environment, network or thread comes in here.
"""
