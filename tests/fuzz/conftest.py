"""Duration of random inputs, and the counts of their outcomes.

`make test` tries a few fixed inputs of every law, so that the laws themselves cannot rot. `make fuzz` tries random ones
for `MERCER_FUZZ_MINUTES` minutes, shared evenly by the tests, and leaves the counts in `build/fuzz.json`. The inputs
follow from `MERCER_FUZZ_SEED`, which is drawn and printed where it is not given.
"""

from __future__ import annotations

import faulthandler
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

MINUTES = float(os.environ.get("MERCER_FUZZ_MINUTES", "0"))
# workers inherit it from the process that starts them
SEED = os.environ.setdefault("MERCER_FUZZ_SEED", str(int.from_bytes(os.urandom(4))) if MINUTES else "0") or "0"
BUILD = Path(__file__).parents[2] / "build"
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "main")

# An input that takes longer hangs: the process ends with the place it hung at, and `build/fuzz/` has the input.
PATIENCE = 300.0

settings.register_profile(
    "fuzz sample",
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
settings.register_profile(
    "fuzz",
    database=None,
    max_examples=100,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


class Campaign:
    """Tries a law on the values of a strategy, and counts them by the word that the law returns."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.outcomes: Counter[str] = Counter()
        self.slowest = 0.0
        self.end = float("inf")
        self.batches = 0

    def __call__(self, law: Callable[[Any], str | None], values: SearchStrategy[Any], *, samples: int = 3) -> None:
        """`law(value)` holds, which is to say returns, for `samples` values, or for as long as there is time."""
        if not self.seconds:
            self._try(law, values, settings(settings.get_profile("fuzz sample"), max_examples=samples))
            return
        self.end = time.monotonic() + self.seconds
        while time.monotonic() < self.end:
            self._try(law, values, settings.get_profile("fuzz"))

    def _try(self, law: Callable[[Any], str | None], values: SearchStrategy[Any], profile: settings) -> None:
        self.batches += 1

        @profile
        @given(values)
        def holds(value: Any) -> None:
            # what remains of a hundred inputs is left out; what failed once has to fail again, until it is small
            if time.monotonic() < self.end or self.outcomes["find"]:
                self._watched(law, value)

        if self.seconds:
            holds = seed(f"{SEED}:{self.batches}")(holds)
        holds()

    def _watched(self, law: Callable[[Any], str | None], value: Any) -> None:
        if self.seconds:  # what a crash or a hang would take with it
            (BUILD / "fuzz" / f"{WORKER}.txt").write_text(repr(value), encoding="utf-8", errors="backslashreplace")
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
        begin = time.monotonic()
        try:
            self.outcomes[law(value) or "held"] += 1
        except (Exception, pytest.fail.Exception):  # the latter is none of the former
            self.outcomes["find"] = 1
            raise
        finally:
            faulthandler.cancel_dump_traceback_later()
            self.slowest = max(self.slowest, time.monotonic() - begin)


@pytest.fixture
def campaign(request: pytest.FixtureRequest) -> Iterator[Campaign]:
    """`campaign(law, values)`; its counts go with the report of the test, from whatever process it ran in."""
    share = sum("campaign" in item.fixturenames for item in request.session.items)
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    (BUILD / "fuzz").mkdir(parents=True, exist_ok=True)
    trial = Campaign(MINUTES * 60 * workers / share)
    yield trial
    counts = {"outcomes": dict(+trial.outcomes), "slowest": round(trial.slowest, 2), "seconds": round(trial.seconds)}
    request.node.user_properties.append(("fuzz", counts))


def pytest_report_header() -> str | None:
    return f"random inputs: MERCER_FUZZ_SEED={SEED}" if MINUTES else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The table of what was tried, and the same as JSON."""
    if not MINUTES:
        return
    tests = {
        report.nodeid.removeprefix("tests/fuzz/"): counts
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, counts in getattr(report, "user_properties", [])
        if name == "fuzz"
    }
    record = {
        "minutes": MINUTES,
        "seed": SEED,
        "inputs": sum(sum(t["outcomes"].values()) for t in tests.values()),
        "tests": tests,
    }
    (BUILD / "fuzz.json").write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    terminalreporter.section("inputs tried")
    terminalreporter.write_line(f"the same inputs again: make fuzz MINUTES={MINUTES:g} SEED={SEED}")
    for test, counts in sorted(tests.items()):
        found = ", ".join(f"{number} {word}" for word, number in sorted(counts["outcomes"].items()))
        total = sum(counts["outcomes"].values())
        terminalreporter.write_line(f"{test:70} {total:8}  {found}; slowest {counts['slowest']} s")
