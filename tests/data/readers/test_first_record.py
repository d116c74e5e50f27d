"""The first record of a file and its separator."""

from __future__ import annotations

from mercer.data.readers.first_record import first_record, most_frequent


def test_the_end_of_the_first_record_is_found() -> None:
    record = first_record('\n \n"x\n1",y \nz', ",", quoted=True)
    assert record == (("x\n1", "y "), 3, 12)
    assert first_record('"x,y\n', ",", quoted=False).fields == ('"x', "y")
    assert first_record("", ",", quoted=True) == (("",), 0, 0)


def test_separators_in_quotation_marks_do_not_count() -> None:
    assert most_frequent(",;", '"a,b,c";d\n1;2\n') == ";"
    assert most_frequent(",;", '"a;b"\n') == ";"
    assert most_frequent(",;", "a\n") == ","
