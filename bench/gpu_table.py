"""`python -m bench.gpu_table`: writes bench/GPU.md from gpu.json, without a card, torch or a measurement."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
#: rows whose answers are compared with float64
SAMPLE = 256

HEAD = f"""# Speed on a GPU

Written by `python -m bench.gpu`. Seconds are the median of 5 warm calls, unless noted; the limit is that of the unit \
that has most to do (for kernel sums one exponential per pair); the error is relative to float64 on {SAMPLE} rows, \
unless noted. The first call compiles; "–" where there was one call only, which the seconds are of.

| workload | what | seconds | target | pairs/s | share of the limit | error | first call | date, card |
|---|---|---|---|---|---|---|---|---|
"""


def kept(folder: Path = FOLDER) -> dict[str, dict[str, Any]]:
    """What was measured, by name."""
    file = folder / "gpu.json"
    results: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return results


def table(results: Mapping[str, Mapping[str, Any]]) -> str:
    return HEAD + "".join(line(name, one) for name, one in results.items())


def line(name: str, one: Mapping[str, Any]) -> str:
    pairs = f"{one['pairs'] / one['seconds']:.2e}" if one["pairs"] else "–"
    note = f" ({one['note']})" if one["note"] else ""
    first = "–" if one["first"] is None else f"{one['first']:.1f}"
    return (
        f"| `{name}` | {one['what']} | {one['seconds']:.3f} | ≤{one['reach']:g} | {pairs} "
        f"| {one['limit'] / one['seconds']:.0%} | {one['error']:.1e}{note} | {first} "
        f"| {one['date']}, {one['card']}, {one['software']} |\n"
    )


def write(results: Mapping[str, Mapping[str, Any]], folder: Path = FOLDER) -> None:
    (folder / "gpu.json").write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "GPU.md").write_text(table(results), encoding="utf-8")


if __name__ == "__main__":
    write(kept())
