"""Tables and models that the commands are tried on."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from mercer.cli.app import app


@pytest.fixture
def run() -> Callable[..., Result]:
    """Run the program in this process."""
    return lambda *arguments, **options: CliRunner().invoke(app, list(map(str, arguments)), **options)


def table_of(rows: int, seed: int = 0) -> str:
    """A table with an identifier, a number, a category with gaps, and a class that depends on both."""
    draw = random.Random(seed)
    lines = ["id,height,city,size"]
    for number in range(rows):
        tall = draw.random() < 0.5
        height = draw.gauss(1.85 if tall else 1.6, 0.08)
        city = draw.choice(["Ulm", "Bonn", "NA"]) if tall else draw.choice(["Ulm", "Jena"])
        lines.append(f"{number},{height:.3f},{city},{'tall' if tall else 'short'}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    (path := tmp_path / "people.csv").write_text(table_of(80))
    return path


@pytest.fixture
def model(tmp_path: Path, people: Path, run: Callable[..., Result]) -> Path:
    """A naive Bayes model of the people, in a file."""
    path = tmp_path / "people.mercer"
    assert run("fit", people, "--target", "size", "--model", "NaiveBayes", "-o", path, "-q").exit_code == 0
    return path
