"""Model files: JSON and raw arrays, never code."""

from mercer.files.model_card import ColumnSummary, ModelCard, Score
from mercer.files.model_files import ModelFile, attach_card, card_of, describe, load, save

__all__ = [
    "ColumnSummary",
    "ModelCard",
    "ModelFile",
    "Score",
    "attach_card",
    "card_of",
    "describe",
    "load",
    "save",
]
