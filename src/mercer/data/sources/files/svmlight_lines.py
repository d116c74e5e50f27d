"""Parsing of svmlight lines, `label column:value …`, to arrays."""

from __future__ import annotations

import codecs
import re
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mercer._errors import DataError
from mercer._suggest import quoted
from mercer._typing import Array
from mercer.data.sources.files.lines import Block

#: parts of a line other than label and values: a comment, and the number of a query
IGNORED = re.compile(rb"#[^\n]*|\bqid:\S+")
NUMBER_PATTERN = rb"[+-]?+(?>[\d.]++(?>[eE][+-]?+\d++)?+|nan|inf)"
LINE_PATTERN = rb"[^\S\n]*+(?>" + NUMBER_PATTERN + rb"(?>[^\S\n]++\d++:" + NUMBER_PATTERN + rb")*+)?+[^\S\n]*+"
#: lines without any other text; matched without backtracking, so that a block of any size takes no memory
WELL_WRITTEN = re.compile(rb"(?>" + LINE_PATTERN + rb"\n)*+" + LINE_PATTERN)
COLUMN_PATTERN = re.compile(rb"(?<!\d)0*(\d{1,16}):")
#: largest column number, up to which all whole numbers are exact as floats
MAX_COLUMN_NUMBER = 2.0**53
#: translation of separators to line ends
SEPARATORS_TO_LINE_ENDS = bytes.maketrans(b" \t\r\f\v:", b"\n" * 6)


class SvmlightRows(NamedTuple):
    """The label and the number of values of each row, and the column of each value as written."""

    labels: Array
    lengths: Array
    columns: Array
    values: Array


def parse_svmlight_lines(block: Block, file: str, skip: bool, skipped: list[str]) -> SvmlightRows:
    """Return the rows of a block; malformed lines raise an error, or are dropped and named."""
    lines = block.lines.removeprefix(codecs.BOM_UTF8) if block.start == 0 else block.lines
    lines = IGNORED.sub(b"", lines) if b"#" in lines or b"qid:" in lines else lines
    numbers = _numbers(lines)
    if numbers is None:
        numbers = _numbers(_readable_lines(block._replace(lines=lines), file, skip, skipped))
        if numbers is None:
            raise DataError(f"Lines from {block.line} on of {file!r} cannot be read as svmlight.")
    return numbers


def _numbers(lines: bytes) -> SvmlightRows | None:
    """Return all numbers of all lines at once, the fastest way; None if the lines contain anything else."""
    if WELL_WRITTEN.fullmatch(lines) is None:
        return None
    filled = [line for line in lines.split(b"\n") if line.strip()]
    lengths = np.array([line.count(b":") for line in filled], dtype=np.int64)
    numbers = _read(lines)
    if numbers is None or numbers.size != lengths.size + 2 * lengths.sum():
        return None
    at_label = np.concatenate(([0], np.cumsum(1 + 2 * lengths)[:-1])) if lengths.size else np.empty(0, np.int64)
    is_pair = np.ones(numbers.size, dtype=np.bool_)
    is_pair[at_label] = False
    pairs = numbers[is_pair].reshape(-1, 2)
    if not np.isfinite(numbers[at_label]).all() or (pairs[:, 0] > MAX_COLUMN_NUMBER).any():
        return None
    columns = pairs[:, 0].astype(np.int64)
    if _any_twice(columns, lengths):
        return None
    return SvmlightRows(numbers[at_label], lengths, columns, pairs[:, 1].copy())


def _any_twice(columns: Array, lengths: Array) -> bool:
    """Return whether a row has a column more than once; a check of sorted lines, as nearly all are, is fast."""
    row = np.repeat(np.arange(lengths.size), lengths)
    if not ((columns[1:] <= columns[:-1]) & (row[1:] == row[:-1])).any():
        return False
    order = np.lexsort((columns, row))
    columns, row = columns[order], row[order]
    return bool(((columns[1:] == columns[:-1]) & (row[1:] == row[:-1])).any())


def _read(lines: bytes) -> Array | None:
    """Parse all numbers with the fastest parser available: as a CSV file with one number per line."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    # plus signs are removed, because the parser does not accept them
    column = lines.translate(SEPARATORS_TO_LINE_ENDS, b"+").strip(b"\n")
    if not column:
        return np.empty(0)
    read = arrow_csv.ReadOptions(column_names=["x"], use_threads=False, block_size=len(column) + 1)
    convert = arrow_csv.ConvertOptions(column_types={"x": pa.float64()}, null_values=[])
    try:
        table = arrow_csv.read_csv(pa.BufferReader(column), read_options=read, convert_options=convert)
    except pa.ArrowException:
        return None
    numbers: Array = table.column("x").to_numpy()
    return numbers


def _readable_lines(block: Block, file: str, skip: bool, skipped: list[str]) -> bytes:
    """Return the lines that can be read; others raise an error, or are dropped and named."""
    kept = []
    for number, line in enumerate(block.lines.split(b"\n"), start=block.line):
        if not line.strip() or _numbers(line) is not None:
            kept.append(line)
            continue
        sentence = (
            f"Line {number} of {file!r} {_describe_error(line)}: {quoted(line.decode('utf-8', 'replace'))}. Correct "
            "it, or leave such lines out with on_error='skip'."
        )
        if not skip:
            raise DataError(sentence)
        skipped.append(sentence)
    return b"\n".join(kept)


def _describe_error(line: bytes) -> str:
    columns = sorted(COLUMN_PATTERN.findall(line)) if WELL_WRITTEN.fullmatch(line) else []
    twice = [column for column, following in pairwise(columns) if column == following]
    if twice:
        return f"has column {twice[0].decode()} more than once"
    return "is not like 'label column:value column:value'"
