"""The manual: README and reference pages agree with the code."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from cases import each_case
from project import ROOT, files
from shells import Shell

from chatmagic import cli, demo
from chatmagic.archive import cassette_format
from chatmagic.conversation import options, record
from chatmagic.jupyter import values
from chatmagic.jupyter.commands import COMMANDS
from chatmagic.jupyter.magics import ChatMagics
from chatmagic.models import Usage
from chatmagic.protocol import api_key
from chatmagic.render import gauge
from chatmagic.session.map import job_head
from chatmagic.study import comparison_output, methods

NOTEBOOKS = ROOT / "notebooks"
REFERENCE = NOTEBOOKS / "reference"
LESSONS = files("*.ipynb", NOTEBOOKS)
PAGES = files("*.md", REFERENCE)
README = (ROOT / "README.md").read_text("utf-8")
ARCHITECTURE = (ROOT / ".github" / "ARCHITECTURE.md").read_text("utf-8")
LINKING = [ROOT / "README.md", *files(".github/*.md"), *PAGES]


def page(name: str) -> str:
    """Give the text of a reference page."""
    return (REFERENCE / f"{name}.md").read_text("utf-8")


def marked(text: str, name: str) -> str:
    """Give what stands between a page's two marks of this name."""
    return text.partition(f"<!-- {name} -->\n")[2].partition(f"<!-- /{name} -->")[0]


def anchors(text: str) -> set[str]:
    """Give the anchors of a page's headings, as GitHub and MyST make them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_case("path", LINKING)
def test_links_lead_somewhere(path: Path) -> None:
    """Each file that a page links to is there, and so is the heading."""
    links = re.findall(r"\]\(([^)\s]+)\)", path.read_text("utf-8"))
    for target, _, anchor in (link.partition("#") for link in links if "://" not in link):
        linked = (path.parent / target).resolve() if target else path
        assert linked.is_file(), target
        assert not anchor or anchor in anchors(linked.read_text("utf-8")), f"{target}#{anchor}"


def test_the_readme_leads_to_all_of_the_manual() -> None:
    """The README links to the index, which has each lesson, and whose contents take each page."""
    assert "(notebooks/reference/index.md)" in README
    *listed, others, _ = page("index").rpartition("```{toctree}")[2].split("Manual")[1].split()
    assert set(listed) < {path.stem for path in PAGES}
    assert others == "*"
    for path in LESSONS:
        assert f"(../{path.name})" in page("index")


def test_the_manual_is_read_in_an_evening() -> None:
    """All its pages have at most 15,000 words; a table's marks are none."""
    words = [word for path in PAGES for word in path.read_text("utf-8").split()]
    assert len([word for word in words if re.search(r"\w", word)]) <= 15_000


def test_the_three_cells_work_where_nothing_is_set(bare: Shell) -> None:
    """The README's first cells, in their order, ask the emulator and are answered."""
    load, *asks = re.findall(r"^```python\n(.*?)```$", README, re.MULTILINE | re.DOTALL)[:3]
    assert bare.run(load).error is None
    for ask in asks:
        ran = bare.run(ask)
        assert ran.error is None
        assert "not a language model" in ran.printed


def test_the_options_are_the_parsers() -> None:
    """Each option has its row, with the words of the help, its opposite and its setting."""
    _, _, *rows = marked(page("cheatsheet"), "options").strip().splitlines()
    for option, row in zip(options.OPTIONS, rows, strict=True):
        # A pair of braces is set as code: some renderers of Markdown take it for a template.
        words = option.help.replace("{{ }}", "`{{ }}`")
        back = f" (opposite: `{option.opposite}`)" if option.opposite else ""
        assert row.startswith(f"| `{option.spelling}` | {words}{back} | ")
        assert (f"`ChatMagics.{option.trait}`" in row) == option.configurable


def test_the_settings_are_those_of_the_magics() -> None:
    """The table names every setting of ``%config ChatMagics``, once, and no other."""
    table = marked(page("configuration"), "settings")
    words = re.findall(r"`(\w+)`", table)
    values = {"auto", "updates", "text", "off", "bearer", "emulator"}
    settings = [word for word in words if word not in values and not word.isupper()]
    assert sorted(settings) == sorted(ChatMagics.class_trait_names(config=True))


def test_the_environment_is_the_codes() -> None:
    """The page names every variable of ours that the package knows, and the README no other."""
    source = "".join(path.read_text("utf-8") for path in files("chatmagic/**/*.py"))
    known = set(re.findall(r"CHATMAGIC_[A-Z_]*[A-Z]", source))
    assert set(re.findall(r"CHATMAGIC_[A-Z_]*[A-Z]", page("configuration"))) == known
    assert set(re.findall(r"CHATMAGIC_[A-Z_]*[A-Z]", README)) < known


def test_the_readme_is_one_screen_or_two() -> None:
    """It is read in a minute, and its table of settings at a glance."""
    assert len(README.splitlines()) <= 120
    assert marked(README, "configuration").count("\n") == 2 + 5


def test_the_services_of_the_readme_are_the_known_ones() -> None:
    """Name, address, and where the models are listed, in the order of ``servers.toml``."""
    known = tomllib.loads((ROOT / "chatmagic" / "client" / "servers.toml").read_text("utf-8"))
    rows = []
    for name, facts in known.items():
        models = f"`%chat_connect {name} --models`"
        if "models_page" in facts:
            models = f"[its page]({facts['models_page']})"
        rows.append(f"| `{name}` | `{facts['base_url']}` | {models} |")
    assert marked(README, "services").splitlines()[2:] == rows


def test_the_formats_have_their_versions() -> None:
    """The table of formats has the version that is written today."""
    rows = re.findall(r"^\| ([a-z ]+)[^|]*\|[^|]*\| (\d+) \|", page("formats"), re.MULTILINE)
    written = {
        "record of a turn": record.VERSION,
        "conversation": record.VERSION,
        "cassette": cassette_format.VERSION,
        "file of a map": job_head.VERSION,
        "report in ": methods.VERSION,
        "comparison in ": comparison_output.VERSION,
    }
    assert {name: int(version) for name, version in rows} == written


def test_what_the_pages_quote_is_what_is_shown() -> None:
    """The line under a reply, the mark of a cut, and the mark of a removed key."""
    _, figures = gauge.line(None, Usage(9, 4), seconds=3.2)
    settings = gauge.settings_words({"temperature": 0.2, "max_tokens": 200}, None)
    assert f"(`{figures}`)" in page("credits")
    assert f"(`{settings}`)" in page("credits")
    *_, cut = values.bounded("a " * 2947 + "b").splitlines()
    assert f"(`{cut}`)" in page("context")
    assert f"`{api_key.REMOVED}`" in page("connect")


def test_every_magic_has_its_row() -> None:
    """The table of commands names each; their options are in the manual."""
    table = page("cheatsheet").split("## Commands\n")[1].split("\n## ")[0]
    rows = "\n".join(line.split(" | ")[0] for line in table.splitlines())
    assert set(re.findall(r"%(chat\w*)", rows)) == {command.name for command in COMMANDS}
    declared = [each for command in COMMANDS if not command.is_prompt for each in command.options]
    manual = "".join(path.read_text("utf-8") for path in PAGES)
    assert [each.flags[0] for each in declared if each.flags[0] not in manual] == []


def test_the_house_has_its_folders() -> None:
    """The page for developers has a row for each folder of the package."""
    listed = re.findall(r"^\| `(\w+)/` \|", marked(ARCHITECTURE, "folders"), re.MULTILINE)
    folders = {path.parent.name for path in files("chatmagic/*/__init__.py")}
    assert sorted(listed) == sorted(folders)


def test_the_demo_brings_the_same(tmp_path: Path) -> None:
    """From a checkout, too, it copies the lessons, what they replay and read, and no page."""
    copied, _ = demo.copy_lessons(NOTEBOOKS, tmp_path)
    beside = (*files("cassettes/*.jsonl", NOTEBOOKS), *files("reviews/*", NOTEBOOKS))
    assert set(copied) == {path.relative_to(NOTEBOOKS).as_posix() for path in (*LESSONS, *beside)}


def test_help_leads_to_the_manual(capsys: pytest.CaptureFixture[str]) -> None:
    """The help of the magic and of the command name the folder of these pages, and the lessons."""
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    folder = REFERENCE.relative_to(ROOT).as_posix()
    for told in (options.help_text(), capsys.readouterr().out):
        assert folder in told
        assert "chatmagic demo" in told
