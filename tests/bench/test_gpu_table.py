"""bench/GPU.md is what gpu.json gives."""

from __future__ import annotations

from bench import gpu_table

MEASURED = {
    "seconds": 2.0,
    "limit": 1.0,
    "error": 1e-7,
    "pairs": 4e12,
    "first": 3.5,
    "note": "",
    "what": "K v",
    "reach": 4.0,
    "date": "2026-11-16",
    "card": "a card",
    "software": "torch",
}


def test_the_table_in_the_repository_is_the_measured_one() -> None:
    assert (gpu_table.FOLDER / "GPU.md").read_text(encoding="utf-8") == gpu_table.table(gpu_table.kept())


def test_a_row_describes_the_measurement() -> None:
    shown = "| `a` | K v | 2.000 | ≤4 | 2.00e+12 | 50% | 1.0e-07 | 3.5 | 2026-11-16, a card, torch |\n"
    assert gpu_table.line("a", MEASURED) == shown


def test_a_missing_first_call_is_a_dash() -> None:
    assert "| 1.0e-07 | – |" in gpu_table.line("a", MEASURED | {"first": None})
