"""Remove generated pages whose script or name no longer exists before a build, which would warn of them."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

DOCS = Path(__file__).parents[1]
GENERATED = DOCS / "generated"


def listed_names() -> set[str]:
    """Return the full names that the pages of the reference list."""
    found = set()
    for page in (DOCS / "reference").glob("*.rst"):
        text = page.read_text(encoding="utf-8")
        for module in re.findall(r"^\.\. currentmodule:: (\S+)$", text, flags=re.MULTILINE):
            found |= {f"{module}.{name}" for name in re.findall(r"^   (\w+)$", text, flags=re.MULTILINE)}
    return found


def remove_stale(app: Sphinx, config: Config) -> None:
    listed = listed_names()
    for page in GENERATED.glob("reference/*.rst"):
        if page.stem not in listed:
            page.unlink()
    for folder in ("tutorials", "gallery"):
        for page in GENERATED.glob(f"{folder}/*.rst"):
            if page.stem != "index" and not (DOCS / folder / f"{page.stem}.py").exists():
                page.unlink()


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", remove_stale)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
