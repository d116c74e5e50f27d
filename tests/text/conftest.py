"""Real documents."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="module")
def spam(real_data: Callable[[str], Path]) -> tuple[list[str], np.ndarray]:
    """Short messages, and which of them are spam."""
    with real_data("sms_spam.tsv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    return [text for _, text in rows], np.array([label for label, _ in rows])
