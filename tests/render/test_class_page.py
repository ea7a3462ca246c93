"""The page on a class: it holds everything, and nothing in it acts."""

from __future__ import annotations

from html.parser import HTMLParser

from chatmagic.render.class_page import BEGINNING, Question, Student, class_page

HOSTILE = "<script>alert(1)</script>\u202e<img src=x onerror=alert(1)>"


class Tags(HTMLParser):
    """The tags of a page with their attributes."""

    def __init__(self, html: str) -> None:
        """Read the page."""
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append((tag, dict(attrs)))


def test_nothing_of_a_notebook_acts() -> None:
    """No script, no picture and no handler, in any place where a text of a notebook stands."""
    question = Question(1, HOSTILE, HOSTILE, "markdown", HOSTILE, is_fault=True)
    student = Student(HOSTILE, [(HOSTILE, HOSTILE)], [HOSTILE], [question])
    html = class_page([student], [(HOSTILE, 2)], [HOSTILE])
    assert html.startswith(BEGINNING)
    tags = Tags(html).tags
    assert not {"script", "img", "iframe", "link", "form", "base"} & {tag for tag, _ in tags}
    assert not [name for _, attrs in tags for name in attrs if name.startswith("on")]
    policy = next(attrs["content"] for _, attrs in tags if "http-equiv" in attrs)
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    assert "\u202e" not in html


def test_the_rows_and_the_questions() -> None:
    """A row leads to its notebook; a reply is folded below its question."""
    asked = Question(2, "What?", "**This**", "markdown", "live")
    gone = Question(3, "And?", None, "markdown", "")
    students = [
        Student("a.ipynb", [("Questions", 1234), ("Same replies as", "b.ipynb")], (), [asked]),
        Student("b.ipynb", [("Questions", 1), ("Same replies as", "")], ["a note"], [gone]),
    ]
    html = class_page(students, [("What?", 2)], ["A limit."])
    assert '<td><a href="#n1">a.ipynb</a></td><td class="number">1,234</td>' in html
    assert '<section id="n2"><h2>b.ipynb</h2>\n<ul><li>a note</li></ul>' in html
    assert "<summary>Reply</summary>" in html
    assert "<strong>This</strong>" in html
    assert "Its reply is not in the file." in html
    assert "<li>2 notebooks: What?</li>" in html
    assert "A limit." in html


def test_a_page_on_nothing() -> None:
    """It says so, and has no table."""
    html = class_page([], [], [])
    assert "<h1>0 notebooks</h1>" in html
    assert "<table" not in html
    assert "Asked in several" not in html
