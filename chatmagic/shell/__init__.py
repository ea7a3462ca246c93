"""The command ``chatmagic ask``: a question from a shell, its reply on standard output."""
