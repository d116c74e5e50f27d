"""Tests of runs, to which passes belong."""

from __future__ import annotations

from mercer.engines.passes import Run, current_run, ensure_run, enter_run


def test_a_run_is_the_current_one_inside_its_block() -> None:
    outer, inner = Run(), Run()
    with enter_run(outer):
        assert current_run() is outer
        with enter_run(inner):
            assert current_run() is inner
        assert current_run() is outer
    assert current_run() is not outer


def test_passes_without_a_run_are_not_counted() -> None:
    assert current_run() is not current_run()


def test_a_fit_uses_the_enclosing_run_or_its_own() -> None:
    with ensure_run() as own:
        assert current_run() is own
    with enter_run(Run()) as outer, ensure_run() as found:
        assert found is outer
