"""``chatmagic doctor``: a look at all that a question needs, with advice."""
