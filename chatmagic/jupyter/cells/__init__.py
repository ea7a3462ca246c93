"""What cells did: which one runs and for whom, what it showed, and the errors of its code."""
