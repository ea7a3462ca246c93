"""``python -m chatmagic``: the command line, for a Python whose scripts are not on the path."""

from __future__ import annotations

import sys

from chatmagic.cli import main

if __name__ == "__main__":
    sys.exit(main())
