"""Rewrite links so that they work on GitHub and on the site.

Sources link to files: `../bench/RESULTS.md`, `decisions/`, `tutorials/lecture_1.py`. On the site these are elsewhere,
and links to them are rewritten when a page is read. Pages of files outside this folder are made here, too.
"""

from __future__ import annotations

import re
from os.path import normpath, relpath
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
#: pages of the site, and the files outside this folder that they show
SHOWN = {
    "project/speed": "bench/RESULTS.md",
    "project/speed-gpu": "bench/GPU.md",
    "project/changes": "CHANGELOG.md",
    "project/contributing": "CONTRIBUTING.md",
    "project/security": "SECURITY.md",
}
LINK = re.compile(r"(?<=\]\()(?P<path>[^)#\s:]+)(?P<anchor>#[^)\s]*)?(?=\))")

#: a link to a folder; one that has no page is a word on the site
FOLDER = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<path>[^)#\s:]+/)\)")
#: how scripts name each other: by their folder, not by that of the pages which are made of them
SCRIPT = re.compile(r"sphx_glr_(tutorials|gallery)_")


def page_of(file: Path) -> Path | None:
    """Return the place of a file on the site; None if it is in its own place or not on the site."""
    for page, shown in SHOWN.items():
        if file == ROOT / shown:
            return DOCS / f"{page}.md"
    if file == ROOT / "README.md":
        return DOCS / "index.md"
    if file.is_dir() and (file / "index.md").exists():
        return file / "index.md"
    if file.parent in (DOCS / "tutorials", DOCS / "gallery"):
        return DOCS / "generated" / file.parent.name / f"{file.stem}.rst"
    if file in (DOCS / "tutorials", DOCS / "gallery"):
        return DOCS / "generated" / file.name / "index.rst"
    return None


def relinked(text: str, written: Path, read: Path) -> str:
    """Return the text of the file `written`, with its links relative to the page `read`."""

    def mended(link: re.Match[str]) -> str:
        file = Path(normpath(written.parent / link["path"]))
        page = page_of(file)
        if page is None and (written == read or not file.exists()):
            return link[0]
        return Path(relpath(page or file, read.parent)).as_posix() + (link["anchor"] or "")

    def shown(link: re.Match[str]) -> str:
        folder = Path(normpath(written.parent / link["path"]))
        return link["text"] if folder.is_dir() and page_of(folder) is None else link[0]

    return LINK.sub(mended, FOLDER.sub(shown, text))


def on_read(app: Sphinx, docname: str, source: list[str]) -> None:
    page = Path(app.env.doc2path(docname))
    if page.suffix != ".md":
        source[0] = SCRIPT.sub(r"sphx_glr_generated_\1_", source[0])
        return
    written = ROOT / SHOWN[docname] if docname in SHOWN else page
    text = written.read_text(encoding="utf-8") if docname in SHOWN else source[0]
    app.env.note_dependency(str(written))
    source[0] = relinked(text, written, page)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", on_read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
