"""Descriptions of the namespace's objects, as ``{{ expression }}`` puts them into a prompt.

:mod:`~chatmagic.jupyter.values.describe` chooses by an object's kind; no library is imported
for that, since an object of a library's is only there where that has been imported.
"""
