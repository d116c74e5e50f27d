"""Data in: typed columns over arrays and frames, labels as codes, schemas, files, sources larger than memory."""

from mercer.data.build import frame_like
from mercer.data.coding import Coded
from mercer.data.kinds import Kind
from mercer.data.labels import codes_of, encode_labels
from mercer.data.readers import Reading, read_table
from mercer.data.schema import Column, Schema
from mercer.data.sources.base import Chunk, Source
from mercer.data.sources.opening import open
from mercer.data.table import Table
from mercer.data.target import Problem, split_target

__all__ = [
    "Chunk",
    "Coded",
    "Column",
    "Kind",
    "Problem",
    "Reading",
    "Schema",
    "Source",
    "Table",
    "codes_of",
    "encode_labels",
    "frame_like",
    "open",
    "read_table",
    "split_target",
]
