"""Model files: JSON and raw arrays, never code."""

from mercer.files.model_files import ModelFile, describe, load, save

__all__ = ["ModelFile", "describe", "load", "save"]
