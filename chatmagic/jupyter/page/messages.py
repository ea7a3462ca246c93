"""The messages between the kernel and a page, of the bridge and of the panel's views.

``page/messages.js`` of the labextension lists them all with their types, and
``tests/samples/messages.json`` has an example of each. All are JSON objects with a ``kind``. None
of the values of a page's message is certain.

The bridge's messages go over one comm that the kernel opens, of the target :data:`TARGET`. A page's
messages over it wait behind the running cells. A message that may not wait opens a comm of its own,
of the target :data:`URGENT`, which does not wait if kernel and page have subshells.

The panel's messages go over its widget's comm. A view gets its content in this way: it sends
``sync`` and gets a ``snapshot``, which lists ids and versions; then it sends ``want`` and gets the
``entries`` that it lacks. The first snapshot holds the newest entries, and the snapshot that every
view gets after each change holds the new ones. A message for one view has the view's name in
``view``; every other message is for all.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

PROTOCOL: Final = 3
"""Number of this form of the messages; a page and a kernel of two forms say so, and do no more."""
TARGET: Final = "chatmagic.bridge"
URGENT: Final = "chatmagic.urgent"
ID: Final = f"chatmagic.bridge.{PROTOCOL}."
"""Beginning of the comm's id, by which a page that missed the opening recognizes any message."""

Message: TypeAlias = dict[str, Any]
"""A message, or a part of one."""
