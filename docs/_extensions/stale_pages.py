"""Remove generated pages whose script or name no longer exists before a build, which would warn of them."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

DOCS = Path(__file__).parents[1]
GENERATED = DOCS / "generated"


def remove_stale(app: Sphinx, config: Config) -> None:
    listed = " ".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.rst")).split()
    for page in GENERATED.glob("reference/*.rst"):
        if page.stem.rpartition(".")[2] not in listed:
            page.unlink()
    for folder in ("tutorials", "gallery"):
        for page in GENERATED.glob(f"{folder}/*.rst"):
            if page.stem != "index" and not (DOCS / folder / f"{page.stem}.py").exists():
                page.unlink()


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", remove_stale)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
