"""Sphinx configuration of the manual: the reference pages and the lessons as they are saved.

``sphinx-build -c notebooks/reference notebooks site`` builds it: no kernel is started, and nothing
is fetched.
"""

from importlib.metadata import version as version_of
from typing import TYPE_CHECKING

from pygments.lexers import find_lexer_class_by_name

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "chatmagic"
release = version_of("chatmagic")
html_title = f"chatmagic {release}"
html_theme = "alabaster"
html_show_copyright = False

extensions = ["myst_nb"]
root_doc = "reference/index"
exclude_patterns = ["cassettes", "**/.ipynb_checkpoints"]

nb_execution_mode = "off"
myst_heading_anchors = 3
# An error's message in a lesson's output is prose, which no lexer of tracebacks takes; and each
# reply as Markdown has the same mark, which is a definition that nothing refers to.
suppress_warnings = ["misc.highlighting_failure", "myst.duplicate_def"]


def setup(app: "Sphinx") -> None:
    """Colour magics as IPython does, and load MathJax: saved outputs hold formulas."""
    app.add_lexer("python", find_lexer_class_by_name("ipython3"))
    app.set_html_assets_policy("always")
