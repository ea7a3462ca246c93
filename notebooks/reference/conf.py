"""Sphinx configuration of the site: the manual, the lessons as they are saved, and the API.

``sphinx-build -W -c notebooks/reference notebooks site`` builds it. No kernel is started, nothing
is fetched, and no page of the site loads anything from elsewhere: formulas are MathML.
"""

import html
import os
import re
from importlib.metadata import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from docutils import nodes
from latex2mathml.converter import convert
from pygments.lexers import find_lexer_class_by_name

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PACKAGE = metadata("chatmagic")

project = "chatmagic"
release = PACKAGE["Version"]
html_title = f"chatmagic {release}"
html_theme = "furo"  # one that has a dark mode, and no font or script from elsewhere
html_baseurl = os.environ.get("SITE_ADDRESS", "")
html_show_copyright = False
html_math_renderer = "mathml"
html_static_path = ["site.css"]
html_css_files = ["site.css"]

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "reference/index"
exclude_patterns = ["cassettes", "**/.ipynb_checkpoints"]

nb_execution_mode = "off"
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # else a saved widget would load require.js
myst_heading_anchors = 3
# An error's message in a lesson's output is prose, which no lexer of tracebacks takes; and each
# reply as Markdown has the same mark, which is a definition that nothing refers to.
suppress_warnings = ["misc.highlighting_failure", "myst.duplicate_def"]

autodoc_default_options = {"no-value": True}
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 80

FORMULA = re.compile(r'<(span|div) class="mathjax_process[^>]*>\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
"""A formula in the HTML of a saved reply."""
FACTS = re.compile(r" \(facts? [\d, to]+\)")
"""Numbers of the facts of the service's interface, from which a docstring follows."""
LESSON = re.compile(r"^\| \[[^]]*\]\(\.\./([\w-]+)\.ipynb\) \| (.+) \|$", re.MULTILINE)
"""A lesson's row of the index: its name and its subject."""
START = """\
Install it with pip. In a notebook, load it with `%load_ext chatmagic`, choose a service with
`%chat_connect NAME` (`emulator` needs no account), and ask in a cell that begins with `%%chat`.
In Python, `chatmagic.ask("…")` returns a reply."""
"""The first steps, in ``llms.txt``."""


def setup(app: "Sphinx") -> None:
    """Colour magics as IPython does, write formulas as MathML, and add two files to the site."""
    app.add_lexer("python", find_lexer_class_by_name("ipython3"))
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
    app.connect("doctree-resolved", write_formulas_of_replies)
    app.connect("autodoc-process-docstring", leave_out_sources)
    app.connect("autodoc-process-signature", leave_out_signature)
    app.connect("build-finished", write_start)
    app.connect("build-finished", write_llms_txt)


def write_formula(writer: Any, node: nodes.math | nodes.math_block) -> None:
    """Write a formula of a page's own text."""
    is_block = isinstance(node, nodes.math_block)
    writer.body.append(convert(node.astext(), display="block" if is_block else "inline"))
    raise nodes.SkipNode


def write_formulas_of_replies(_app: "Sphinx", doctree: nodes.document, _name: str) -> None:
    """Replace the formulas in the saved HTML of replies, which a notebook's page would typeset."""

    def mathml(formula: re.Match[str]) -> str:
        shown = "block" if formula[1] == "div" else "inline"
        return str(convert(html.unescape(formula[2]), display=shown))

    for raw in doctree.findall(nodes.raw):
        if raw.get("format") == "html":
            raw.children = [nodes.Text(FORMULA.sub(mathml, raw.astext()))]


def leave_out_sources(_app: "Sphinx", *named: Any) -> None:
    """Leave out the numbers of facts in a docstring, which are for those who read the code."""
    lines: list[str] = named[-1]
    lines[:] = [FACTS.sub("", line) for line in lines]


def leave_out_signature(_app: "Sphinx", what: str, *_: Any) -> tuple[str, None] | None:
    """Leave out the arguments of an error, which nobody else makes."""
    return ("", None) if what == "exception" else None


def write_start(app: "Sphinx", error: Exception | None) -> None:
    """Write the site's first page, which leads to the manual's."""
    if error is None and app.builder.format == "html":
        address = app.builder.get_target_uri(root_doc)
        head = f'<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={address}">'
        link = f'<title>{project}</title>\n<a href="{address}">{project}</a>'
        page = f"<!doctype html>\n{head}\n{link}\n"
        (Path(app.outdir) / "index.html").write_text(page, "utf-8")


def write_llms_txt(app: "Sphinx", error: Exception | None) -> None:
    """Write ``llms.txt`` (llmstxt.org): each lesson with its subject, and each page of the manual.

    A page has its first sentence, and is linked as the text that it was written in.
    """
    if error is not None or app.builder.format != "html":
        return
    lines = [f"# {project}", "", f"> {PACKAGE['Summary']}", "", START]
    names = app.env.toctree_includes[root_doc]
    for heading, folder in ("Lessons", ""), ("Manual", "reference"):
        lines += ["", f"## {heading}", ""]
        lines += [line_of(app, name) for name in names if name.rpartition("/")[0] == folder]
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines) + "\n", "utf-8")


def line_of(app: "Sphinx", name: str) -> str:
    """Return a page's line of ``llms.txt``.

    Args:
        app: Sphinx, which has read all pages.
        name: the page's path without its suffix.
    """
    source = Path(app.env.doc2path(name))
    address = app.builder.get_target_uri(name)
    if source.suffix == ".md":
        address = f"_sources/{name}.md{app.config.html_sourcelink_suffix}"
    title = app.env.titles[name].astext()
    text = subjects_of_lessons(app).get(name) or first_sentence(app.env.get_doctree(name))
    return f"- [{title}]({urljoin(html_baseurl, address)}): {text}"


def subjects_of_lessons(app: "Sphinx") -> dict[str, str]:
    """Return the subject of each lesson by its name, from the table of the index."""
    return dict(LESSON.findall(Path(app.env.doc2path(root_doc)).read_text("utf-8")))


def first_sentence(doctree: nodes.document) -> str:
    """Return the first sentence of a page that stands in none of its boxes and lists."""
    paragraphs = doctree.findall(nodes.paragraph)
    texts = [each.astext() for each in paragraphs if isinstance(each.parent, nodes.section)]
    return re.split(r"(?<=[.!:])\s", texts[0], maxsplit=1)[0].replace("\n", " ")
