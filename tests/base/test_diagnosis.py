"""Findings of a fit."""

from __future__ import annotations

from mercer.base.diagnosis import Diagnosis, Finding

COLLINEAR = Finding("collinear", "warning", "'b' is twice 'a'.", "Leave one of them out.", ("a", "b"))
CONSTANT = Finding("constant", "note", "'c' does not vary.", "Leave it out.", ("c",))


def test_a_finding_has_a_sentence_and_a_remedy() -> None:
    assert str(COLLINEAR) == "warning (collinear): 'b' is twice 'a'. Leave one of them out."


def test_findings_are_listed_and_counted() -> None:
    diagnosis = Diagnosis((COLLINEAR, CONSTANT))
    assert list(diagnosis) == [COLLINEAR, CONSTANT]
    assert diagnosis.codes == ("collinear", "constant")
    assert len(diagnosis) == 2
    assert str(diagnosis).splitlines() == [str(COLLINEAR), str(CONSTANT)]


def test_an_empty_diagnosis_is_false() -> None:
    assert not Diagnosis()
    assert str(Diagnosis()) == "nothing to report"
