"""Reader of files of separated fields: CSV, TSV."""

from __future__ import annotations

import codecs
import csv
import io
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mercer._errors import DataError, EmptyDataError
from mercer._memory import check_memory
from mercer._suggest import quoted
from mercer.data.compressed_pickle import CompressedPickle
from mercer.data.readers.base import (
    TEXT_BLOCK_BYTES,
    TOO_LARGE_REMEDY,
    Reading,
    TablePart,
    TableReader,
    held_types,
    spells_numbers,
    what_failed,
)
from mercer.data.readers.first_record import Record, first_record, lines_in, most_frequent, unclosed_quote
from mercer.data.select import set_columns

#: characters that may separate fields, by the ending of a file; the most frequent one in the first line does
SEPARATORS = {".csv": ",;\t|", ".tsv": "\t", ".tab": "\t"}
#: names of separators in descriptions
SEPARATOR_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", " ": "spaces", "|": "bars"}

#: pyarrow's codecs of compressed files by their endings
CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
#: a word for a missing value in a column of numbers may have fewer spaces than this on either side
MAX_SPACES = 5
#: bytes that can be searched for spaces in the time that pyarrow takes to prepare the words with spaces for one column
SEARCHED_BYTES_PER_COLUMN = 1 << 20
#: largest number of bytes of the first line of a file
MAX_HEADER_LINE_BYTES = 1 << 20
#: pyarrow's error about a value
CONVERSION_ERROR = re.compile(
    r"column #(\d+): (?:Row #\d+: )?CSV conversion error to (.+): invalid value '(.*)'", re.DOTALL
)


@dataclass(frozen=True)
class Dialect(CompressedPickle):
    """The separator, the names and the encoding of fields."""

    #: the name of the file, for messages
    file: str
    names: tuple[str, ...]
    separator: str
    #: whether fields may be in quotation marks
    quoted: bool
    encoding: str
    #: words for missing values
    missing: tuple[str, ...]
    #: whether there may be spaces around them; pyarrow takes milliseconds per column to prepare the words with spaces
    spaced: bool = True

    def options(self, columns: Sequence[str], types: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        """Return pyarrow's options for reading some columns (none: all) with known types."""
        from pyarrow import csv as arrow_csv

        read = arrow_csv.ReadOptions(encoding=self.encoding, column_names=list(self.names))
        parse = arrow_csv.ParseOptions(
            delimiter=self.separator, quote_char='"' if self.quoted else False, newlines_in_values=self.quoted
        )
        missing = [
            " " * before + word + " " * after
            for word in self.missing
            for before in range(MAX_SPACES if self.spaced else 1)
            for after in range(MAX_SPACES if self.spaced else 1)
        ]
        convert = arrow_csv.ConvertOptions(
            null_values=missing,
            strings_can_be_null=False,  # `trim` replaces the words for missing values
            # without 0 and 1, whose type would depend on the words in other lines
            true_values=["true", "True", "TRUE"],
            false_values=["false", "False", "FALSE"],
            include_columns=list(columns),
            column_types=dict(types),
        )
        return read, parse, convert

    def trim(self, table: Any, reading: Reading | None = None) -> Any:
        """Return strings without surrounding white space, and null for words for missing values.

        Verbatim columns are null only if empty.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        types = table.schema.types  # pyarrow creates this list at every access
        verbatim = frozenset(() if reading is None else reading.verbatim)
        changed: dict[int, tuple[str, Any]] = {}
        for position, name in enumerate(table.column_names):
            if pa.types.is_binary(types[position]):
                raise DataError(
                    f"Column {name!r} of {self.file!r} is not UTF-8 text. Try encoding='latin-1' (on the command "
                    "line --encoding latin-1)."
                )
            if pa.types.is_string(types[position]):
                written = table.column(position)
                text = written if name in verbatim else pc.utf8_trim_whitespace(written)
                markers = self.missing if reading is None else reading.markers_in(name)
                absent = pc.is_in(text, value_set=pa.array(markers, pa.string()))
                changed[position] = (name, pc.if_else(absent, pa.scalar(None, pa.string()), text))
        return set_columns(table, changed)


@dataclass(frozen=True)
class Separated(TableReader):
    """Reader of lines of fields; separator and names are given, or inferred from the first line."""

    path: Path
    reading: Reading

    @property
    def described(self) -> str:
        names = "names in the first line" if self._named else "no line with names"
        encoding = "" if self._encoding == "utf-8" else f", decoded as {self._encoding}"
        return f"fields separated by {SEPARATOR_NAMES.get(self._separator, repr(self._separator))}, {names}{encoding}"

    @property
    def likely_decimal(self) -> str | None:
        """The decimal comma if fields are separated by semicolons."""
        return "," if self._separator == ";" else None

    def names(self) -> list[str]:
        return list(self._names)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        if self._named:
            return tuple(name.strip() for name in self._record(names=True).fields)
        return tuple(f"x{j}" for j in range(len(self._record().fields)))

    def table(self) -> Any:
        types = held_types(self.reading.held, self.names())
        self._check_quotes_closed()
        if self.path.suffix.lower() in CODECS:  # the size on the disk is not that of the rows
            check_memory(self._scan[1], f"{self.path.name!r}, decompressed,", TOO_LARGE_REMEDY)
        with self._explained():
            table = self._read(types)
            if self.reading.decimal == ",":
                table = self._with_decimal_commas(table, types)
        return self.finish(table)

    def _read(self, types: Mapping[str, Any]) -> Any:
        """Return all rows; columns of numbers in a local format such as 1.234,5 are strings."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        read, parse, convert = self._options((), types)
        try:
            table = arrow_csv.read_csv(self.path, read_options=read, parse_options=parse, convert_options=convert)
        except pa.ArrowInvalid as failure:
            error = CONVERSION_ERROR.search(str(failure))
            name = None if error is None else self.names()[int(error[1])]
            if name is None or types.get(name) != pa.float64():
                raise
            table = self._read({**types, name: pa.string()})
            if not spells_numbers(table.column(name), self.reading.decimal):
                raise
            return table
        return self.dialect.trim(table, self.reading)

    def _with_decimal_commas(self, table: Any, types: Mapping[str, Any]) -> Any:
        """Return numbers with points as strings if the points separate thousands: 1.234 is not a fraction."""
        import pyarrow as pa

        fields = [field for field in table.schema if pa.types.is_floating(field.type) and field.name not in types]
        if not fields:
            return table
        strings = self._read({**types, **{field.name: pa.string() for field in fields}})
        spelled = {field.name for field in fields}
        changed = {
            position: (name, column)
            for position, (name, column) in enumerate(zip(table.column_names, strings.columns, strict=True))
            if name in spelled and spells_numbers(column, ",")
        }
        return set_columns(table, changed)

    def parts(self, columns: Sequence[str]) -> Iterator[TablePart]:
        for table, share in self.stream(columns, held_types(self.reading.held, columns)):
            yield TablePart(self.finish(table), share)

    def stream(
        self, columns: Sequence[str], types: Mapping[str, Any], on_ragged_line: Callable[[Any], str] | None = None
    ) -> Iterator[tuple[Any, float]]:
        """Yield blocks of rows, with the share of the file that has been read.

        `types` are known pyarrow types of some columns. `on_ragged_line` is called for a line with another number of
        fields, and returns "skip" or "error".
        """
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        read, parse, convert = self._options(columns, types)
        self._check_quotes_closed()
        read.block_size = self._block_bytes
        if on_ragged_line is not None:
            parse.invalid_row_handler = on_ragged_line
        size = max(1, self.path.stat().st_size)
        with self._explained(), pa.OSFile(str(self.path)) as raw:
            reader = arrow_csv.open_csv(
                _decompressed(raw, self.path), read_options=read, parse_options=parse, convert_options=convert
            )
            for batch in reader:
                table = self.dialect.trim(pa.Table.from_batches([batch]), self.reading)
                yield table, min(1.0, raw.tell() / size)

    # Inference from the first line.

    @property
    def _block_bytes(self) -> int:
        return self.reading.block_bytes or TEXT_BLOCK_BYTES

    @cached_property
    def _encoding(self) -> str:
        """The given encoding, or UTF-16 with a byte order mark, UTF-8 if all bytes are valid, otherwise cp1252."""
        if self.reading.encoding is None:
            if self._start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                return "utf-16"
            # a file with zero bytes is not text in any 8-bit encoding
            return "utf-8" if b"\0" in self._start or self._scan[0] else "cp1252"
        try:
            return codecs.lookup(self.reading.encoding).name
        except LookupError:
            raise DataError(
                f"There is no encoding {self.reading.encoding!r}; try 'utf-8', 'latin-1', 'cp1252' or 'utf-16'."
            ) from None

    @cached_property
    def _start(self) -> bytes:
        import pyarrow as pa

        try:
            with pa.input_stream(str(self.path)) as stream:
                return bytes(stream.read(MAX_HEADER_LINE_BYTES))
        except OSError as failure:
            raise DataError(f"{self.path.name!r} cannot be opened: {what_failed(failure)}.") from None

    @cached_property
    def _scan(self) -> tuple[bool, int]:
        """The result of a pass: whether the file is UTF-8 (checked quickly if ASCII), and its decompressed bytes."""
        import pyarrow as pa

        decoder, is_utf8, size = codecs.getincrementaldecoder("utf-8")(), True, 0
        try:
            with pa.input_stream(str(self.path)) as stream:
                while block := bytes(stream.read(self._block_bytes)):
                    size += len(block)
                    if is_utf8 and not (block.isascii() and decoder.getstate() == (b"", 0)):
                        is_utf8 = _decodes(decoder, block)
        except OSError:
            return True, size  # the reader raises the error about a damaged file
        return is_utf8 and _decodes(decoder, b"", final=True), size

    @cached_property
    def _may_be_spaced(self) -> bool:
        """True if there may be spaces at the ends of fields; True if a search would take longer than it saves."""
        import pyarrow as pa

        separator, blank = self._separator.encode(self._encoding, "replace"), b" "
        if " ".encode(self._encoding) != blank or self._scan[1] > len(self.names()) * SEARCHED_BYTES_PER_COLUMN:
            return True
        marks = [blank + end for end in (separator, b"\r", b"\n", b'"')]
        marks += [end + blank for end in (separator, b"\r", b"\n", b'"', codecs.BOM_UTF8)]
        last = b"\n"
        with suppress(OSError), pa.input_stream(str(self.path)) as stream:
            while block := bytes(stream.read(self._block_bytes)):
                octets = last + block
                if blank in octets and any(mark in octets for mark in marks):
                    return True
                last = octets[-len(codecs.BOM_UTF8) :]
        return last.endswith(blank)

    @cached_property
    def _text(self) -> str:
        """The beginning of the file without a byte order mark."""
        start = self._start.decode(self._encoding, errors="replace").removeprefix("\ufeff")
        if not start.strip():
            raise EmptyDataError(f"{self.path.name!r} is empty.")
        if "\0" in start:
            raise DataError(
                f"{self.path.name!r} is not a text file, despite its ending. Save it as CSV, or give its encoding."
            )
        return start

    def _record(self, *, names: bool = False) -> Record:
        """Return the first record; with `names`, read as a line of names."""
        record = first_record(self._text, self._separator, quoted=self._quoted, names=names)
        if self._encoding == "utf-8" and self._text[record.start : record.stop].encode() not in self._start:
            raise DataError(not_text(self.path.name, self._encoding))
        if record.stop == len(self._text):
            self._check_quotes_closed()
            if len(self._start) == MAX_HEADER_LINE_BYTES:
                raise DataError(
                    f"The first line of {self.path.name!r} is longer than {MAX_HEADER_LINE_BYTES:,} bytes. Check that "
                    "it is a file of lines, and the separator (on the command line --separator)."
                )
        return record

    @cached_property
    def _separator(self) -> str:
        if self.reading.separator is not None:
            separator = {"tab": "\t", "\\t": "\t", "space": " "}.get(self.reading.separator, self.reading.separator)
            if len(separator) != 1:
                raise DataError(f"A separator is one character, not {separator!r}; 'tab' stands for a tab.")
            return separator
        suffixes = [suffix.lower() for suffix in self.path.suffixes if suffix.lower() in SEPARATORS]
        return most_frequent(SEPARATORS[suffixes[-1]] if suffixes else SEPARATORS[".csv"], self._text)

    @cached_property
    def _named(self) -> bool:
        if self.reading.header is not None:
            return self.reading.header
        return is_header(self._record(names=True).fields, self.reading.markers)

    @property
    def _quoted(self) -> bool:
        """True if quotation marks enclose fields: in files separated by tabs only if the first line begins with one."""
        return self._separator != "\t" or self._text.lstrip("\r\n").startswith('"')

    @cached_property
    def dialect(self) -> Dialect:
        """Everything that is needed to read any line."""
        return Dialect(
            self.path.name,
            tuple(self.names()),
            self._separator,
            self._quoted,
            self._encoding,
            self.reading.markers,
            self._may_be_spaced,
        )

    @property
    def body(self) -> tuple[int, int]:
        """The byte offset and the line of the first row, for UTF-8 or single-byte encodings."""
        letters = self._start.decode("latin-1").removeprefix(codecs.BOM_UTF8.decode("latin-1"))
        record = first_record(letters, self._separator, quoted=self._quoted, names=self._named)
        mark = len(self._start) - len(letters)
        start = mark + (record.stop if self._named else record.start)
        return start, 1 + self._start[:start].count(b"\n")

    def _options(self, columns: Sequence[str], types: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        read, parse, convert = self.dialect.options(columns, types)
        # pyarrow counts empty lines among skipped rows, and would take one for the line of names
        read.skip_rows = lines_in(self._text[: self._record().start])
        read.skip_rows_after_names = int(self._named)
        return read, parse, convert

    def _check_quotes_closed(self) -> None:
        """Raise an error if a quotation mark is not closed, since pyarrow would read the rest as one field."""
        if not self._quoted or self._encoding == "utf-16" or self.path.suffix.lower() in CODECS:
            return
        with self.path.open("rb") as file:
            place = unclosed_quote(file, self._separator)
        if place is not None:
            raise DataError(
                f"Line {place} of {self.path.name!r} begins a field with a quotation mark that is never closed. Close "
                "it or, if it is part of the text, double it and enclose the field in quotation marks."
            )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Convert errors of pyarrow to errors that name the line or the column."""
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, UnicodeError) as failure:
            if isinstance(failure, UnicodeError) or "UTF8" in str(failure):
                raise DataError(not_text(self.path.name, self._encoding)) from None
            if "columns, got" in str(failure) and (sentence := self._describe_ragged_line()) is not None:
                raise DataError(sentence) from None
            if self._named and self._record(names=True).stop == len(self._text):  # pyarrow expects a line end
                raise EmptyDataError(f"{self.path.name!r} has column names, but no rows.") from None
            if "straddl" in str(failure):
                raise DataError(
                    f"{self.path.name!r} has a row longer than {self._block_bytes:,} bytes, the size of a block. Close "
                    "an open quotation mark, leave out long texts, or write the table as Parquet."
                ) from None
            if (error := CONVERSION_ERROR.search(str(failure))) is not None:
                raise DataError(self._describe_value(int(error[1]), error[2], error[3].strip())) from None
            raise DataError(f"{self.path.name!r} cannot be read: {what_failed(failure)}.") from None

    def _describe_ragged_line(self) -> str | None:
        """Return a sentence that names the first line with another number of fields than the first; None if there is
        none.
        """
        expected = len(self.names())
        for line, fields in self._records():
            if fields and len(fields) != expected:
                return (
                    f"Line {line} of {self.path.name!r} has {len(fields)} fields, but the first line has {expected}. "
                    "Correct the line, or give the separator (on the command line --separator)."
                )
        return None

    def _describe_value(self, position: int, kind: str, value: str) -> str:
        """Return a sentence that names the column and line of a value that is not of its type."""
        name, records = self.names()[position], self._records()
        line = next((line for line, fields in records if [*map(str.strip, fields)][position:][:1] == [value]), None)
        where = "" if line is None else f" in line {line}"
        what = "numbers" if kind == "double" else f"values of the type {kind}"
        return (
            f"Column {name!r} of {self.path.name!r} must hold {what}, but is {quoted(value)}{where}. Correct it, "
            f"declare it as a word for a missing value (on the command line --missing {shlex.quote(value)}), or fit "
            f"the model with words in this column (--kind {shlex.quote(f'{name}=category')})."
        )

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the fields of each record, and the line in which it begins."""
        with self.path.open("rb") as raw:
            text = io.TextIOWrapper(_unpacked(raw, self.path), self._encoding, errors="replace", newline="")
            rules: Any = {"quoting": csv.QUOTE_MINIMAL if self._quoted else csv.QUOTE_NONE}
            reader = csv.reader(text, delimiter=self._separator, **rules)
            start = 0
            with suppress(csv.Error):  # the limit on the length of a field
                for fields in reader:
                    yield start + 1, fields
                    start = reader.line_num


def _decompressed(raw: Any, path: Path) -> Any:
    import pyarrow as pa

    codec = CODECS.get(path.suffix.lower())
    return raw if codec is None else pa.CompressedInputStream(raw, codec)


def _unpacked(raw: Any, path: Path) -> Any:
    import pyarrow as pa

    return _decompressed(pa.PythonFile(raw, mode="r"), path)


def _decodes(decoder: codecs.IncrementalDecoder, block: bytes, *, final: bool = False) -> bool:
    try:
        decoder.decode(block, final=final)
    except UnicodeDecodeError:
        return False
    return True


def not_text(file: str, encoding: str) -> str:
    """Return the message that a file has another encoding."""
    tried = "neither UTF-8 nor cp1252" if encoding == "cp1252" else f"not {encoding}"
    return (
        f"{file!r} is {tried} text. Give its encoding, e.g. encoding='latin-1' (on the command line --encoding "
        "latin-1)."
    )


def is_header(fields: Sequence[str], markers: Sequence[str]) -> bool:
    """Return whether fields are names: none is a number or a word for a missing value."""
    return not any(field and (_is_number(field) or field in markers) for field in map(str.strip, fields))


def _is_number(field: str) -> bool:
    """Return whether pyarrow parses a field as a number; Python also accepts 2019_2020 and ٣."""
    try:
        float(field)
    except ValueError:
        return False
    return field.isascii() and "_" not in field
