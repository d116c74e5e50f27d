"""Names that may have been meant."""

from __future__ import annotations

import pytest

from mercer._suggest import LONGEST_LIST, LONGEST_NAME, MOST_NAMES, did_you_mean, listed, quoted


@pytest.mark.parametrize(
    ("word", "known", "sentence"),
    [
        ("hart.csv", ["heart.csv", "wine.csv"], "Did you mean 'heart.csv'?"),
        ("AGE", ["Age", "Sex"], "Did you mean 'Age'?"),
        ("poison", ["poisson", "gamma"], "Did you mean 'poisson'?"),
        ("target", ["Age", "Sex"], "There are 'Age', 'Sex'."),  # half of the letters of one are in the other
        ("", ["Age"], "There are 'Age'."),
        ("x", [], "There are none."),
    ],
)
def test_only_what_is_alike_is_suggested(word: str, known: list[str], sentence: str) -> None:
    assert did_you_mean(word, known) == sentence


def test_long_texts_are_neither_compared_nor_printed() -> None:
    texts = [f"{number} {'word ' * 500}" for number in range(2000)]
    answer = did_you_mean(texts[0][:-1], texts)
    assert answer.startswith("There are '0 word word")
    assert answer.endswith("… (2000 in all).")
    assert len(answer) < LONGEST_LIST + 50


def test_many_names_are_counted() -> None:
    names = [f"x{j}" for j in range(MOST_NAMES + 1)]
    assert listed(names[:-1]) == ", ".join(map(repr, names[:-1]))
    assert listed(names).endswith(f"'x{MOST_NAMES - 1}', … ({MOST_NAMES + 1} in all)")


def test_a_value_is_cut_short() -> None:
    assert quoted("a" * LONGEST_NAME) == repr("a" * LONGEST_NAME)
    assert quoted("a" * LONGEST_NAME + "b") == repr("a" * LONGEST_NAME + "…")
    assert quoted(2.5) == "2.5"
    assert len(quoted(tuple(range(1000)))) == LONGEST_NAME + 1
