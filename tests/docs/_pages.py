"""The pages of the documentation, and the blocks of code in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]

#: code that is run, what it prints, and data that is only shown
PYTHON, SHELL, PRINTED, DATA = {"python"}, {"bash", "sh"}, {"text"}, {"sql", "json", "toml", "mermaid"}

#: what pages may import beyond what mercer itself needs
OPTIONAL = ("dask", "duckdb", "fastapi", "formulaic", "matplotlib", "onnxruntime", "pandas", "polars", "torch")

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|:{3,})(?P<language>[^\s`]*)[^`]*$")
_EXCUSE = re.compile(r"^<!-- not run: (?P<reason>.+) -->$")
_INDENTED = re.compile(r"^(?: {4}|\t)\S")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s")


@dataclass(frozen=True)
class Block:
    """A fenced block: where its code begins, what it is, and why it is not run, if it is not."""

    line: int
    language: str
    code: str
    excuse: str | None = None

    @property
    def directive(self) -> bool:
        """An instruction to Sphinx, not code."""
        return self.language.startswith("{")


@dataclass(frozen=True)
class Page:
    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(REPOSITORY).as_posix()

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def blocks(self) -> list[Block]:
        return blocks_of(self.text)

    @property
    def runs(self) -> bool:
        return any(block.language in PYTHON | SHELL and not block.excuse for block in self.blocks)

    @property
    def needs(self) -> list[str]:
        """Optional packages, without which the page cannot be run."""
        code = "".join(block.code for block in self.blocks if block.language in PYTHON)
        return [name for name in OPTIONAL if re.search(rf"^\s*(?:import|from) {name}\b", code, flags=re.MULTILINE)]


@cache
def pages() -> list[Page]:
    """Return all pages written for readers, except the history of changes."""
    found = [
        REPOSITORY / "README.md",
        REPOSITORY / "CONTRIBUTING.md",
        REPOSITORY / "SECURITY.md",
        *REPOSITORY.glob("docs/**/*.md"),
    ]
    return [Page(path) for path in sorted(found) if "generated" not in path.parts]


@cache
def blocks_of(text: str) -> list[Block]:
    """Fences in HTML comments count, too: so a page hides what only prepares an example."""
    blocks: list[Block] = []
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        opening = _FENCE.match(lines[at])
        at += 1
        if opening is None or opening["fence"].startswith(":"):
            continue
        indent, fence, start = len(opening["indent"]), opening["fence"], at
        while lines[at].strip() != fence:
            at += 1
        code = "".join(f"{line[indent:]}\n" for line in lines[start:at])
        blocks.append(Block(start + 1, opening["language"], code, _excuse(lines, start - 2)))
        at += 1
    return blocks


def _excuse(lines: list[str], above: int) -> str | None:
    while above >= 0 and not lines[above].strip():
        above -= 1
    found = _EXCUSE.match(lines[above].strip()) if above >= 0 else None
    return found["reason"] if found else None


def indented_in(text: str) -> list[int]:
    """Return the lines at which code without a fence begins, whose language is unknown."""
    found, fenced, before, in_list = [], False, "", False
    for number, line in enumerate(text.splitlines(), start=1):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and line.strip():
            in_list = bool(_ITEM.match(line)) or (in_list and line.startswith(" "))
            if _INDENTED.match(line) and not before.strip() and not in_list:
                found.append(number)
        before = line
    return found
