"""Fitted models as SQL, ONNX and Python, which give the same predictions without mercer."""

from mercer.export.obstacle import obstacle
from mercer.export.onnx import to_onnx
from mercer.export.python import to_python
from mercer.export.sql import to_sql

__all__ = ["obstacle", "to_onnx", "to_python", "to_sql"]
