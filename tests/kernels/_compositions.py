"""Random kernels out of given ones, by the rules of the algebra."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from mercer import kernels as k


def compositions(atoms: Sequence[k.Kernel]) -> st.SearchStrategy[k.Kernel]:
    def grow(inner: st.SearchStrategy[k.Kernel]) -> st.SearchStrategy[k.Kernel]:
        return st.one_of(
            st.builds(lambda a, b: a + b, inner, inner),
            st.builds(lambda a, b: a * b, inner, inner),
            st.builds(lambda a, s: s * a, inner, st.floats(0, 5)),
            st.builds(lambda a, c: a + c, inner, st.floats(0, 5)),
            st.builds(lambda a, p: a**p, inner, st.integers(0, 3)),
            st.builds(lambda a: a.normalised(), inner),
        )

    return st.recursive(st.sampled_from(atoms), grow, max_leaves=4)
