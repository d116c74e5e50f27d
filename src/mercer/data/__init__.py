"""Input and output of data: typed columns over arrays and frames, labels as codes, schemas, files, and sources larger
than memory.
"""

from mercer.data.kinds import Kind
from mercer.data.readers import Reading, read_table
from mercer.data.schema import Column, Schema
from mercer.data.sources.base import Chunk, Source
from mercer.data.sources.opening import open
from mercer.data.table import Table

__all__ = [
    "Chunk",
    "Column",
    "Kind",
    "Reading",
    "Schema",
    "Source",
    "Table",
    "open",
    "read_table",
]
