"""Print the conda recipe of a release: ``python of_sdist.py dist/chatmagic-0.3.0.tar.gz ADDRESS``.

It is ``recipe.yaml`` with the source archive of the release in place of the checkout, as
conda-forge asks. The address is that of the folder which the archive is downloaded from.
"""

import hashlib
import sys
from pathlib import Path

CHECKOUT = "source:\n  path: ../..\n"


def recipe_of(archive: Path, address: str) -> str:
    """Return the recipe.

    Args:
        archive: the source archive, as it is published.
        address: the address of its folder.

    Raises:
        ValueError: the recipe of the checkout has another form.
    """
    recipe = Path(__file__).with_name("recipe.yaml").read_text("utf-8")
    before, source, after = recipe.partition(CHECKOUT)
    if not source:
        raise ValueError("recipe.yaml does not name the checkout as its source.")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    source = f"source:\n  url: {address}/{archive.name}\n  sha256: {digest}\n"
    without_first_line = before.partition("\n")[2]
    return without_first_line + source + after


if __name__ == "__main__":
    sys.stdout.write(recipe_of(Path(sys.argv[1]), sys.argv[2]))
