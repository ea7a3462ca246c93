"""Turns, their order, stale turns, undo; a turn's record; a prompt's options and template.

Pure: nothing here uses a clock, a disk, the environment, the network or a thread.
"""
