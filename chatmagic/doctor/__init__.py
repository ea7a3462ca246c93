"""``chatmagic doctor``: what is seen of a place where questions are asked, and what to do."""
