"""The site builds without warnings and loads nothing from elsewhere; its reference has every public name."""

from __future__ import annotations

import importlib
import inspect
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import mercer
from tests.docs._pages import REPOSITORY

REFERENCE = REPOSITORY / "docs" / "reference"
PACKAGES = tuple(name for name in mercer.__all__ if inspect.ismodule(getattr(mercer, name)))
#: attributes whose addresses a browser loads by itself, unlike those of links
FETCHED = {
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("video", "src"),
    ("audio", "src"),
    ("embed", "src"),
    ("object", "data"),
    ("link", "href"),
    ("use", "href"),
    ("image", "href"),
}
ELSEWHERE = re.compile(r"^\s*(?:https?:)?//")


def public() -> dict[str, Any]:
    """Return every public name with its object, without packages."""
    modules = {"mercer": mercer} | {
        f"mercer.{package}": importlib.import_module(f"mercer.{package}") for package in PACKAGES
    }
    return {
        f"{place}.{name}": getattr(module, name)
        for place, module in modules.items()
        for name in module.__all__
        if place != "mercer" or name not in PACKAGES
    }


def of_reference() -> set[str]:
    """Return the full names that the pages of the reference list."""
    found = set()
    for page in REFERENCE.glob("*.rst"):
        text = page.read_text(encoding="utf-8")
        (module,) = re.findall(r"^\.\. currentmodule:: (\S+)$", text, flags=re.MULTILINE)
        names = re.findall(r"^   (\w+)$", text, flags=re.MULTILINE)
        names += re.findall(r"^\.\. py:data:: (\w+)$", text, flags=re.MULTILINE)
        found |= {f"{module}.{name}" for name in names}
    return found


class Fetching(HTMLParser):
    """Collects the addresses that a page makes its browser load from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if (tag, name) in FETCHED and value and ELSEWHERE.match(value)]


def fetched(file: Path) -> list[str]:
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".html":
        page = Fetching()
        page.feed(text)
        text = " ".join(re.findall(r"<style.*?</style>", text, flags=re.DOTALL))
        return page.found + fetched_by_style(text)
    return fetched_by_style(text) if file.suffix == ".css" else fetched_by_script(text)


def fetched_by_style(text: str) -> list[str]:
    return re.findall(r"(?:url\(|@import )\s*[\"']?((?:https?:)?//[^\"')]+)", text)


def fetched_by_script(text: str) -> list[str]:
    return re.findall(r"(?:fetch|import|importScripts|open)\(\s*[\"'`]((?:https?:)?//[^\"'`]+)", text)


def example_of(thing: Any) -> bool:
    # a class's own: what it inherits is about another
    said = vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__
    return bool(said) and ">>> " in said


def test_every_public_class_and_function_has_an_example() -> None:
    things = {name: thing for name, thing in public().items() if inspect.isclass(thing) or inspect.isfunction(thing)}
    things.pop("mercer.families.Parameters")  # any record: a word for annotations
    # an error is shown by what raises it; how to catch and filter them is shown once, for all
    things = {name: thing for name, thing in things.items() if not name.startswith("mercer.errors.")}
    assert example_of(mercer.errors)
    assert len(things) > 150
    assert [name for name, thing in things.items() if not example_of(thing)] == []


def test_the_reference_has_every_public_name_and_no_other() -> None:
    names = public()
    listed = of_reference()
    assert listed <= set(names)
    shown = {id(names[name]) for name in listed}  # a thing that has two names has one page
    assert [name for name, thing in names.items() if name not in listed and id(thing) not in shown] == []


def test_the_index_of_the_reference_links_to_every_page() -> None:
    index = (REFERENCE / "index.md").read_text(encoding="utf-8")
    assert [
        page.stem for page in REFERENCE.glob("*.rst") if not re.search(rf"^{page.stem}$", index, re.MULTILINE)
    ] == []


def test_external_resources_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<script src="https://x.org/a.js"></script><a href="https://x.org">x</a><img src="b.png">'
    )
    (tmp_path / "a.css").write_text("@font-face { src: url(https://x.org/f.woff) } a { background: url(b.png) }")
    (tmp_path / "a.js").write_text('fetch("https://x.org/data.json"); const home = "https://x.org"')
    found = [fetched(tmp_path / f"a.{kind}") for kind in ("html", "css", "js")]
    assert found == [["https://x.org/a.js"], ["https://x.org/f.woff"], ["https://x.org/data.json"]]


def test_the_site_builds_without_a_warning_and_fetches_nothing(tmp_path: Path) -> None:
    """Build without running the scripts of tutorials and gallery, which other tests run."""
    pytest.importorskip("sphinx_gallery", reason="the site needs the extra docs")
    pytest.importorskip("furo", reason="the site needs the extra docs")
    # pages are generated beside their sources: a copy, so that two builds never meet
    shutil.copytree(REPOSITORY / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("generated", "__pycache__"))
    for shown in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "bench", "src", "tests"):
        (tmp_path / shown).symlink_to(REPOSITORY / shown)
    built = tmp_path / "site"
    options = ["-q", "-W", "--keep-going", "-D", "plot_gallery=0"]
    command = [sys.executable, "-m", "sphinx", *options, str(tmp_path / "docs"), str(built)]
    finished = subprocess.run(command, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    files = [file for file in built.rglob("*") if file.suffix in {".html", ".css", ".js"}]
    assert len(files) > 250
    assert {file.name: found for file in files if (found := fetched(file))} == {}
