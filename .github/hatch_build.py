"""Metadata hook of the build: the README as a package index shows it, without the files beside it.

Its links and images lead to the ``Repository`` of ``[project.urls]``, at the tag of the version.
As long as there is none, what a link says stays, and the images are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\((?!\w+://)([^)\s]+)\)")


class IndexReadme(MetadataHookInterface):
    """Hook that gives the package its description."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the description.

        Args:
            metadata: the table ``project`` of ``pyproject.toml``, with the version.
        """
        text = (Path(self.root) / "README.md").read_text("utf-8")
        address = metadata.get("urls", {}).get("Repository")
        described = for_index(text, address, f"v{metadata['version']}")
        metadata["readme"] = {"content-type": "text/markdown", "text": described}


def for_index(text: str, address: str | None, tag: str) -> str:
    """Return a README as it can be read away from its repository.

    Args:
        text: the README of a checkout.
        address: of the repository; ``None`` where it has no public one.
        tag: of the version.
    """
    # What needs a checkout is done with the package, or left out.
    text = text.replace("-e '.[lab]'", "'chatmagic[lab]'")
    text = re.sub(r"\*\*Test it\*\*:\n\n```sh\n.*?\n```\n\n", "", text, flags=re.DOTALL)
    if address is None:
        text = re.sub(r"^!\[.*\n\n", "", text, flags=re.MULTILINE)
        return RELATIVE.sub(lambda link: "" if link[1] else link[2], text)

    def absolute(link: re.Match[str]) -> str:
        kind = "raw" if link[1] else "blob"
        return f"{link[1]}[{link[2]}]({address}/{kind}/{tag}/{link[3]})"

    return RELATIVE.sub(absolute, text)
