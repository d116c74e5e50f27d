"""Write docs/fuzz.md: the number of inputs of each law in the last long `make fuzz`, and their outcomes.

`python -m tests.fuzz._page [build/fuzz.json …]` writes the page from the counts of a run. If a law failed and was
tested again after the correction, give the later run after the first: its counts replace those of the first.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "fuzz.md"
HEAD = """# Random inputs, counted

{inputs:,} random inputs in {minutes:.0f} minutes on one core. For each law this is the last run, which had no failures.
Earlier failures, the laws and the distribution of the inputs are described in [Reliability](reliability.md).
`python -m tests.fuzz._page` writes this page from `build/fuzz.json`.

*Held*: the input was fitted, read or built, and the law was checked. *Rejected*: the input was rejected with a
sentence, as the law allows. The remaining inputs are harmless numbers to which the law that was drawn does not apply.
"""
#: outcomes of an input that was rejected with a sentence
REJECTED = ("rejected", "form: rejected", "fitted, no answer")
#: the outcome of a certificate that does not hold
NO_CLAIM = "does not hold"


@dataclass(frozen=True)
class Tried:
    """The inputs of one law, counted by outcome."""

    outcomes: dict[str, int]
    slowest: float
    seconds: float

    @property
    def inputs(self) -> int:
        return sum(self.outcomes.values())

    @property
    def rejected(self) -> int:
        return sum(self.outcomes.get(word, 0) for word in REJECTED)

    @property
    def silent(self) -> int:
        """Inputs of which the law that was drawn says nothing."""
        return sum(number for word, number in self.outcomes.items() if word.endswith(("says nothing", NO_CLAIM)))

    def __add__(self, other: Tried) -> Tried:
        """Add the counts of two runs."""
        outcomes = dict(Counter(self.outcomes) + Counter(other.outcomes))
        return Tried(outcomes, max(self.slowest, other.slowest), self.seconds + other.seconds)

    def __str__(self) -> str:
        held = self.inputs - self.rejected - self.silent
        return f"{self.inputs:,} | {held:,} | {self.rejected:,} | {self.slowest:.2f}"


def written(*records: dict[str, Any]) -> str:
    """Return the text of the page."""
    laws = {test: Tried(**counts) for record in records for test, counts in record["tests"].items()}
    if found := [test for test, tried in laws.items() if "find" in tried.outcomes]:
        raise SystemExit(f"not written: correct these failures first, and run them again: {', '.join(found)}")
    laws = _united(laws)
    inputs, seconds = sum(one.inputs for one in laws.values()), sum(one.seconds for one in laws.values())
    return "\n".join(
        [
            HEAD.format(inputs=inputs, minutes=seconds / 60).rstrip(),
            *table("Any input is fitted or rejected", laws, "test_any_input_is_fitted_or_rejected"),
            *table("All ways to fit give the same model", laws, "test_all_ways_to_fit_give_the_same_model"),
            *table("Certificates, tables, text, model files and requests", laws, None),
            "",
        ]
    )


def _united(laws: dict[str, Tried]) -> dict[str, Tried]:
    """Return the laws, with one row for the certificates of all estimators."""
    united: dict[str, Tried] = {}
    for name, tried in laws.items():
        row = name.partition("[")[0] if name.startswith("test_certificates.py") else name
        united[row] = united[row] + tried if row in united else tried
    return united


def table(title: str, laws: dict[str, Tried], test: str | None) -> Iterator[str]:
    """Yield the rows of the estimators of a law, or with None those of all other laws."""
    yield from ("", f"## {title}", "")
    yield from (
        f"| {'estimator' if test else 'law'} | inputs | held | rejected | slowest, s |",
        "| --- | ---: | ---: | ---: | ---: |",
    )
    for name in sorted(laws, key=str.casefold):
        estimator = re.search(r"::(\w+)\[(\w+)\]", name) if name.startswith("test_estimators.py") else None
        if (estimator and estimator[1]) == test:
            yield f"| {f'`{estimator[2]}`' if estimator else _sentence(name)} | {laws[name]} |"


def _sentence(name: str) -> str:
    file, test = name.removeprefix("test_").split(".py::test_")
    return f"{file.replace('_', ' ')}: {test.replace('_', ' ')}"


if __name__ == "__main__":
    paths = [Path(path) for path in sys.argv[1:]] or [ROOT / "build" / "fuzz.json"]
    PAGE.write_text(written(*(json.loads(path.read_text(encoding="utf-8")) for path in paths)), encoding="utf-8")
