"""Chat with a hosted completion service from a Jupyter notebook (see the README)."""

__version__ = "0.1.0"
