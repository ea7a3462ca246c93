"""Cells of the notebook: the running one and its audience, their outputs, their errors."""
