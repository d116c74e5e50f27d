"""The next comparison: without columns that reveal the target, with more time, or with repeated splits."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mercer.report import NextStep

if TYPE_CHECKING:
    from mercer.base.diagnosis import Finding
    from mercer.comparison._verdict import Verdict
    from mercer.comparison.comparison import Comparison

#: repeats of the splits that show smaller differences
MORE_REPEATS = 5
#: shortest time limit in seconds that is suggested if models were not finished
MIN_LONGER_SECONDS = 60

#: step if columns contain the target
DROP_LEAKS = "Compare again without what gives the target away"
#: step if models were not finished
LONGER = "Compare again with more time"
#: step if no model beats the baseline beyond chance
REPEAT = "Compare again with repeated splits, which show smaller differences"


def steps_to_compare_again(comparison: Comparison, verdict: Verdict) -> tuple[NextStep, ...]:
    """Return how to compare again, as a command if the comparison was one; empty if the verdict can be acted on."""
    if verdict.best is None:
        return _steps_without_model(comparison, verdict)
    if not (doubtful := list_doubtful_columns(verdict.problems)):
        return ()
    if (command := comparison.settings.get("command")) is None:
        return (NextStep(DROP_LEAKS, f"mercer.compare(X.drop(columns={doubtful!r}), y)"),)
    dropped = " ".join(f"--drop {shlex.quote(name)}" for name in doubtful)
    return (NextStep(DROP_LEAKS, str(command).replace(" compare ", f" compare {dropped} ", 1)),)


def list_doubtful_columns(problems: Sequence[Finding]) -> list[str]:
    """Return the columns that reveal the target, according to the problems found."""
    return list(dict.fromkeys(name for found in problems if found.severity == "error" for name in found.columns))


def _steps_without_model(comparison: Comparison, verdict: Verdict) -> tuple[NextStep, ...]:
    """Return how to compare again if no model is recommended: with more time, or more repeats of the splits."""
    settings = comparison.settings
    if verdict.baseline is None or (verdict.top is None and not comparison.unfinished):
        return ()
    if comparison.unfinished:
        name, value, why = "time_limit", max(MIN_LONGER_SECONDS, math.ceil(4 * comparison.seconds)), LONGER
    elif settings.get("splits") != "forward in time" and settings.get("repeats", 1) < MORE_REPEATS:
        name, value, why = "repeats", MORE_REPEATS, REPEAT
    else:
        return ()
    if (command := settings.get("command")) is None:
        return (NextStep(why, f"mercer.compare(X, y, {name}={value})"),)
    option = f"--{name.replace('_', '-')}"
    others = re.sub(rf" {option}[ =]\S+", "", str(command))
    return (NextStep(why, f"{others} {option} {value}"),)
