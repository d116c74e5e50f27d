"""Names that may have been meant."""

from __future__ import annotations

import pytest

from mercer._suggest import MAX_LIST_LENGTH, MAX_NAMES, MAX_QUOTED_LENGTH, did_you_mean, listed, quoted


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
def test_only_similar_names_are_suggested(word: str, known: list[str], sentence: str) -> None:
    assert did_you_mean(word, known) == sentence


def test_long_texts_are_neither_compared_nor_printed() -> None:
    texts = [f"{number} {'word ' * 500}" for number in range(2000)]
    answer = did_you_mean(texts[0][:-1], texts)
    assert answer.startswith("There are '0 word word")
    assert answer.endswith("… (2000 in all).")
    assert len(answer) < MAX_LIST_LENGTH + 50


def test_many_names_are_counted() -> None:
    names = [f"x{j}" for j in range(MAX_NAMES + 1)]
    assert listed(names[:-1]) == ", ".join(map(repr, names[:-1]))
    assert listed(names).endswith(f"'x{MAX_NAMES - 1}', … ({MAX_NAMES + 1} in all)")


def test_a_value_is_cut_short() -> None:
    assert quoted("a" * MAX_QUOTED_LENGTH) == repr("a" * MAX_QUOTED_LENGTH)
    assert quoted("a" * MAX_QUOTED_LENGTH + "b") == repr("a" * MAX_QUOTED_LENGTH + "…")
    assert quoted(2.5) == "2.5"
    assert len(quoted(tuple(range(1000)))) == MAX_QUOTED_LENGTH + 1
