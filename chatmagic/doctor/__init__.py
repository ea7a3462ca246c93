"""``chatmagic doctor``: checks of everything that a question needs, with advice."""
