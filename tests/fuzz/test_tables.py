"""Any bytes are a table whose values an independent reader finds too, or one error that names the file."""

from __future__ import annotations

import csv
import io
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from pyarrow import feather, parquet

import mercer.data
from mercer._errors import DataError, MercerError
from mercer.data import Reading, Schema, read_table
from mercer.data.readers import separated
from mercer.data.writers import encode_tables
from tests.fuzz._mutate import SEEDS, WORDS_OF_TEXT, damaged
from tests.fuzz._oracle import Unreadable, agrees, fields_of

CORPUS = Path(__file__).parent / "corpus"
FIELDS = [
    "",
    " ",
    "1",
    "-2",
    "2.5",
    "1e5",
    "NA",
    " NA",
    "a b",
    "x,y",
    'say "hi"',
    "two\nlines",
    "é",
    "true",
    "1999-12-31",
]
#: blocks of a few bytes, so that the smallest files have several
SMALL = Reading(block_bytes=24, piece_bytes=48)
#: blocks for rows that are longer than these
MEDIUM = Reading(block_bytes=400, piece_bytes=48)


class File(NamedTuple):
    """Bytes, and what the file is called."""

    ending: str
    octets: bytes


def _seeds(*endings: str) -> list[File]:
    return [File(path.suffix, path.read_bytes()) for path in sorted(CORPUS.iterdir()) if path.suffix in endings]


def _separated(seed: int) -> File:
    rng = Random(seed)
    if rng.random() < 0.5:
        file = rng.choice(_seeds(".csv", ".tsv"))
    else:
        written = io.StringIO()
        options: Any = {
            "delimiter": rng.choice(",,;\t|"),
            "lineterminator": rng.choice(("\n", "\n", "\r\n", "\r")),
            "quoting": rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC)),
        }
        width, kinds = rng.randrange(1, 4), [rng.sample(FIELDS, rng.randrange(1, 4)) for _ in range(3)]
        rows = [[rng.choice(kinds[column]) for column in range(width)] for _ in range(rng.randrange(8))]
        csv.writer(written, **options).writerows([[f"c{number}" for number in range(width)], *rows])
        file = File(".tsv" if options["delimiter"] == "\t" else ".csv", written.getvalue().encode())
    octets = damaged(file.octets, rng, WORDS_OF_TEXT)
    if rng.random() < 0.05:
        octets = octets.decode("utf-8", "replace").encode(rng.choice(("utf-16", "utf-16-le", "latin-1")), "replace")
    return file._replace(octets=octets)


def _objects(seed: int) -> File:
    rng = Random(seed)
    file = rng.choice(_seeds(".jsonl", ".json"))
    return file._replace(octets=damaged(file.octets, rng, WORDS_OF_TEXT))


def _pairs(seed: int) -> File:
    rng = Random(seed)
    (file,) = _seeds(".svmlight")
    return file._replace(
        octets=damaged(file.octets, rng, [*WORDS_OF_TEXT, b"7:1", b" 4000000000:1", b"1e9:1", b"-1:2"])
    )


def _typed(seed: int) -> File:
    rng = Random(seed)
    count = rng.randrange(40)
    table = pa.table(
        {
            "x": pa.array([rng.choice((None, rng.random())) for _ in range(count)], pa.float64()),
            "k": pa.array([rng.randrange(9) for _ in range(count)], pa.int32()),
            "c": pa.array([rng.choice(("a", "é", None)) for _ in range(count)], pa.string()),
            "d": pa.array([rng.choice("uv") for _ in range(count)], pa.string()).dictionary_encode(),
        }
    )
    sink = io.BytesIO()
    if (ending := rng.choice((".parquet", ".feather", ".arrows"))) == ".parquet":
        codec = rng.choice(("none", "snappy"))
        parquet.write_table(table, sink, row_group_size=7, write_page_checksum=True, compression=codec)
    elif ending == ".feather":
        feather.write_feather(table, sink, compression="uncompressed", chunksize=7)
    else:
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table, max_chunksize=7)
    octets, words = sink.getvalue(), [b"\0" * 4, b"\xff" * 8, b"PAR1", b"ARROW1"]
    return File(ending, damaged(octets, rng, words))


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        yield Path(name)


def outcome(read: Callable[[], Any]) -> Any:
    """Return the rows read, or the sentence of the error; any other exception is a failure."""
    try:
        return read()
    except MercerError as rejection:
        sentence = str(rejection)
        sound = isinstance(rejection, DataError) and len(sentence) < 1500 and sentence.endswith((".", "?"))
        return sentence if sound else pytest.fail(repr(rejection))


def whole(source: Any) -> pa.Table | None:
    """All rows of a source; None where there are none."""
    chunks = [chunk.X for chunk in source]
    return pa.concat_tables(chunks) if chunks else None


def same(one: Any, other: Any) -> bool:
    """Tables with the same values, nan like nan, or both rejected."""
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str)
    if one is None or other is None:
        return all(table is None or table.num_rows == 0 for table in (one, other))
    return bool(one.schema.equals(other.schema)) and repr(one.to_pydict()) == repr(other.to_pydict())


def written(folder: Path, file: File) -> Path:
    path = folder / f"a{file.ending}"
    path.write_bytes(file.octets)
    return path


def test_separated_fields_agree_with_python(campaign: Any, folder: Path) -> None:
    def law(file: File) -> str:
        path = written(folder, file)
        table = outcome(lambda: read_table(path))
        assert same(outcome(lambda: read_table(path)), table)
        if isinstance(table, str):
            assert path.name in table, table
            return "rejected"
        separator = separated.Separated(path, Reading()).dialect.separator
        try:
            names, rows = fields_of(file.octets, file.ending, separator)
        except Unreadable:
            names, rows = [], []
        assert table.column_names == names
        assert table.num_rows == len(rows)
        for number in range(len(names)):
            assert agrees(table.column(number), [row[number] for row in rows])
        return "read"

    campaign(law, SEEDS.map(_separated), samples=60)


@pytest.mark.parametrize("make", [_separated, _objects, _typed], ids=["separated", "json", "typed"])
def test_pieces_agree_with_the_whole(campaign: Any, folder: Path, make: Callable[[int], File]) -> None:
    def law(file: File) -> str:
        if file.ending in (".json", ".jsonl") and re.search(rb"\n[ \t\r]*[^\s{]|[^\s}][ \t\r]*\n", file.octets):
            return "left out"  # an object in several lines is read where these come together
        path = written(folder, file)
        table = outcome(lambda: whole(mercer.data.open(path)))
        assert same(outcome(lambda: whole(mercer.data.open(path))), table)
        pieces = outcome(lambda: whole(mercer.data.open(path, rows=3, reading=SMALL)))
        if isinstance(pieces, str) and "longer than" in pieces:
            pieces = outcome(lambda: whole(mercer.data.open(path, rows=3, reading=MEDIUM)))
        if isinstance(pieces, str) and "longer than" in pieces:
            return "left out"  # a row must not be longer than a block
        assert same(pieces, table), (pieces, table)
        at_once = outcome(lambda: read_table(path))
        if isinstance(table, str) or table is None or isinstance(at_once, str):
            return "rejected"
        assert at_once.column_names == table.column_names
        assert at_once.num_rows == table.num_rows
        assert outcome(lambda: Schema.infer(at_once).names) == outcome(lambda: Schema.infer(table).names)
        return "read"

    campaign(law, SEEDS.map(make), samples=25)


def test_sparse_rows_read_by_pieces_agree_with_the_whole(campaign: Any, folder: Path) -> None:
    def law(file: File) -> str:
        path = written(folder, file)

        def rows(most: int | None, reading: Reading | None = None) -> list[Any]:
            chunks = list(mercer.data.open(path, rows=most, reading=reading))
            entries = [(row.indices.tolist(), row.data.tolist(), row.shape) for chunk in chunks for row in chunk.X]
            return [[label for chunk in chunks for label in chunk.y.tolist()], entries]

        at_once = outcome(lambda: rows(None))
        pieces = outcome(lambda: rows(2, SMALL))
        assert repr(at_once) == repr(pieces) or (isinstance(at_once, str) and isinstance(pieces, str))
        return "rejected" if isinstance(at_once, str) else "read"

    campaign(law, SEEDS.map(_pairs), samples=25)


def test_written_tables_are_read_back(campaign: Any, folder: Path) -> None:
    def law(rows: list[tuple[str, float]]) -> str:
        table = pa.table({"t": pa.array([text for text, _ in rows], pa.string()), "x": [value for _, value in rows]})
        for separator, ending in ((",", ".csv"), ("\t", ".tsv")):
            path = written(folder, File(ending, b"".join(encode_tables([table], separator))))
            read = read_table(path)
            assert read.num_rows == len(rows)
            assert agrees(read.column(0), [text for text, _ in rows])
            assert read.column(1).to_pylist() == [value for _, value in rows]
        return "read"

    text = st.text(st.sampled_from("ab1 ,;\t\"'\r\n\u2028é"), max_size=6)
    campaign(law, st.lists(st.tuples(text, st.floats(allow_nan=False)), min_size=1, max_size=5), samples=30)
