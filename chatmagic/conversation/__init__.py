"""Turns, their places, stale turns, undo; a turn's record; a prompt's template.

Pure: no clock, disk, environment, network or thread comes in here.
"""
