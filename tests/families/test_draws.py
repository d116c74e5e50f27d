"""Random states and numbers of draws."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._errors import DataError
from mercer.families import Distribution, Poisson, PoissonParameters
from mercer.families.base import as_generator, checked_count


def test_every_form_of_random_state_fixes_the_sample() -> None:
    for make in (lambda: 3, lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)):
        one, other = (as_generator(make()).random(5) for _ in range(2))
        np.testing.assert_array_equal(one, other)
    given = np.random.default_rng(0)
    assert as_generator(given) is given


def test_a_random_state_continues_its_sequence() -> None:
    state = np.random.RandomState(0)
    assert as_generator(state).random() != as_generator(state).random()


@pytest.mark.parametrize("n", [-1, 2.5, "3", None])
def test_a_number_of_rows_is_whole_and_not_negative(n: object) -> None:
    with pytest.raises(DataError, match="n_samples"):
        checked_count(n)
    with pytest.raises(DataError, match=r"^n is a number of draws"):
        Distribution(Poisson(), PoissonParameters(np.ones(2))).sample(n)  # type: ignore[arg-type]
    assert checked_count(np.int32(0)) == 0
