"""Tables and models for the tests of commands."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mercer.cli.app import app
from tests.cli._program import Run


@pytest.fixture
def run() -> Run:
    """Run the program in this process."""
    return lambda *arguments, **options: CliRunner().invoke(app, list(map(str, arguments)), **options)


def table_of(rows: int, seed: int = 0) -> str:
    """Return a table with an identifier, a number, a category with missing values, and a class that depends on both."""
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


@pytest.fixture(scope="session")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the file of a naive Bayes model of the people, fitted once for all tests."""
    folder = tmp_path_factory.mktemp("fitted")
    (data := folder / "people.csv").write_text(table_of(80))
    options = ["--target", "size", "--model", "NaiveBayes", "-o", str(folder / "people.mercer"), "-q"]
    result = CliRunner().invoke(app, ["fit", str(data), *options])
    assert result.exit_code == 0, result.output
    return (folder / "people.mercer").read_bytes()


@pytest.fixture
def model(people: Path, fitted: bytes) -> Path:
    """Write the model to the folder of the people."""
    (path := people.with_suffix(".mercer")).write_bytes(fitted)
    return path
