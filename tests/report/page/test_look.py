"""Tests that colours contrast with their background in both themes (WCAG 2.2: 4.5 for text, 3 for marks)."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest

STYLE = files("mercer.report.page").joinpath("page.css").read_text(encoding="utf-8")
TOKENS = {name: (light, dark) for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)", STYLE)}


def channels(colour: str) -> np.ndarray:
    given = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(given <= 0.04045, given / 12.92, ((given + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    return float(channels(colour) @ np.array([0.2126, 0.7152, 0.0722]))


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("words", ["ink", "soft", "accent", "good", "warning", "bad"])
def test_text_has_enough_contrast(words: str, theme: int) -> None:
    assert min(contrast(TOKENS[words][theme], TOKENS[behind][theme]) for behind in ("paper", "wash")) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_numbers_in_the_darkest_shade_have_enough_contrast(theme: int) -> None:
    assert contrast(TOKENS["ink"][theme], TOKENS["heat"][theme]) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("mark", [*(f"c{i}" for i in range(8)), "edge"])
def test_marks_have_enough_contrast(mark: str, theme: int) -> None:
    assert contrast(TOKENS[mark][theme], TOKENS["paper"][theme]) >= 3


#: how colours look to eyes without one kind of cones (Machado, Oliveira and Fernandes 2009), on linear channels
EYES = {
    "all cones": np.eye(3),
    "no red": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "no green": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    ),
    "no blue": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colour: str, eyes: np.ndarray) -> np.ndarray:
    """CIE L*a*b*, in which the smallest visible difference of adjacent colours is about 2."""
    xyz = TO_XYZ @ np.clip(eyes @ channels(colour), 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("eyes", EYES.values(), ids=EYES)
def test_colours_of_series_can_be_distinguished_with_colour_blindness(eyes: np.ndarray, theme: int) -> None:
    colours = [lab(TOKENS[f"c{i}"][theme], eyes) for i in range(8)]
    assert min(np.linalg.norm(a - b) for a, b in combinations(colours, 2)) > 15
