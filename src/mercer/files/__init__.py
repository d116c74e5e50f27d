"""Model files, which consist of JSON and raw arrays and never of code, and checkpoints of fits."""

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
