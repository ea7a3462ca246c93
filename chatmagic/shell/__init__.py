"""The commands ``chatmagic ask`` and ``chatmagic doctor``: a session in a shell."""
