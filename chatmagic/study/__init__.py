"""A model's answers as a measurement: their agreement, a person's review, and what a paper says.

It asks nothing and contains no code of IPython or of a page.
"""
