"""Exceptions and warnings of mercer; each message says what is wrong, where, and what to do about it.

Exceptions derive from the built-in type that scikit-learn raises for the same mistake, so that code written for
scikit-learn keeps catching them. `MercerError` catches all exceptions of mercer and no others.
"""

from __future__ import annotations

from typing import Any


class MercerError(Exception):
    """Base of every error raised on purpose by mercer."""

    # Python's default, for Dask: it would otherwise rebuild errors with several bases from their parts.
    def __reduce__(self) -> Any:
        return super().__reduce__()


class DataError(MercerError, ValueError):
    """The data cannot be used: the message names the column or value and the remedy."""


class DataNotFoundError(MercerError, FileNotFoundError):
    """There is neither a file nor a bundled data set of that name."""


class SourceChangedError(DataError):
    """A file or table has changed since it was opened, so that two passes over it would differ."""


class SpentSourceError(DataError):
    """Rows that can be read only once, e.g. those of a generator, were read again."""


class EmptyDataError(DataError):
    """The data have no rows or no columns."""


class NonFiniteError(DataError):
    """A value is infinite, or is missing although missing values are not allowed."""


class SupportError(DataError):
    """A value lies outside the support of its family."""


class DegenerateDataError(DataError):
    """The data have no maximum likelihood fit in a family, e.g. because a column is constant."""


class ColumnTypeError(DataError):
    """A column has a type that the model, or its family, cannot describe."""


class TextError(DataError, AttributeError, TypeError):
    """A document is not a string; scikit-learn raises one or the other of the base classes."""


class DecodingError(DataError, UnicodeDecodeError):
    """The bytes of a document are invalid in the given encoding: the message names the document."""


class VocabularyError(DataError):
    """There are no terms, or a given vocabulary has a term or a column twice."""


class WeightingError(DataError):
    """A weighting of terms needs data that were not given, such as classes."""


class ColumnMismatchError(DataError):
    """Columns are absent, renamed or added compared with those of the fit."""


class UnseenCategoryError(DataError):
    """A category did not occur in the fit, and `unseen="error"` is set."""


class TargetLeakError(DataError):
    """A column is the target itself, and `on_leak="error"` is set."""


class FormulaError(MercerError, ValueError):
    """A formula is invalid, or has columns that do not exist."""


class UnseenCodeError(UnseenCategoryError, IndexError):
    """A coded category lies beyond those of the fit; scikit-learn raises IndexError."""


class UnseenRowsError(DataError):
    """Rows to forget cannot have been among the rows of the fit."""


class MergeError(DataError):
    """Two models or statistics have different columns, families or classes."""


class UnequalEdgesError(MergeError):
    """Two histograms have different edges, so that their counts cannot be added: the message names the axis."""


class BinsError(DataError):
    """The bins of a histogram are of an unknown kind, do not increase, or do not fit the columns."""


class PriorError(DataError):
    """Class priors do not fit the classes, are negative, or do not sum to one."""


class CostError(DataError):
    """Costs do not fit the classes and actions, are not numbers, or do not give a single threshold."""


class ScoresOnlyError(MercerError, TypeError):
    """A model has scores but no probabilities, so that costs and priors cannot change what it decides."""


class BandwidthError(DataError):
    """A bandwidth is not positive, does not fit the columns, or cannot be chosen from these points."""


class PenaltyError(DataError):
    """A penalty is negative, not finite, or does not have one strength per coefficient."""


class NoDensityError(MercerError, TypeError):
    """A model has no density, or only the mean and variance of a distribution are known."""


class NoClosedFormError(MercerError, NotImplementedError):
    """A quantity has no closed form for this kernel or bandwidth; the message names one for which it has."""


class OutOfReachError(DataError):
    """A condition lies where a kernel of compact support gives all training points zero weight."""


class FamilyError(MercerError, ValueError):
    """No family has this name, or the family cannot describe the data."""


class LinkError(MercerError, ValueError):
    """No link has this name, or the link does not suit the family."""


class KernelError(MercerError, ValueError):
    """No kernel has this name, a parameter of a kernel is out of range, or a function is not a kernel."""


class NotPositiveDefiniteError(KernelError):
    """A kernel is not positive definite: it has a negative scale, is a difference, or has a counterexample."""


class AsymmetricKernelError(NotPositiveDefiniteError):
    """A function or matrix gives k(x, z) and k(z, x) different values: the message names the pair."""


class KernelShapeError(KernelError):
    """A function for a kernel or a feature map returned values of the wrong shape."""


class NoFeatureMapError(MercerError, TypeError):
    """A kernel has infinitely many or unknown features, so that there is no explicit feature map."""


class NoSpectrumError(MercerError, TypeError):
    """A kernel has no known spectrum, so that it has no random Fourier features."""


class DeviceError(DataError):
    """Tensors are on different devices, or have a type with which a model cannot compute."""


class DeviceMemoryError(MercerError, MemoryError):
    """The memory of the GPU is insufficient: the message says how much is needed, and what to do instead."""


class NoRepresenterError(MercerError, TypeError):
    """The optimum of a model need not lie in the span of the rows, so that kernels cannot replace features."""


class FrozenKernelError(MercerError, TypeError):
    """A kernel cannot be changed in place; the message says how to replace it."""


class SingularCovarianceError(DataError):
    """A covariance matrix has no inverse: the message names the columns that are collinear."""


class TooManyColumnsError(DataError):
    """A square matrix with a row for each column would not fit in memory."""


class TooLargeError(DataError, MemoryError):
    """A fit would need more memory than is available; the message names an alternative that needs less."""


class TooManyPatternsError(DataError):
    """There are too many patterns of missing values for exact inference."""


class SeparationError(DataError):
    """A hyperplane separates the responses, so that the likelihood has no maximum: the message names the columns."""


class InferenceError(MercerError, ValueError):
    """A fit has no standard errors, tests or intervals of this kind; the message says which one has."""


class UnsuitableSolverError(MercerError, ValueError):
    """A solver cannot solve this problem; the message names one that can."""


class NoLinearFormError(MercerError, TypeError):
    """The model is not a softmax of a linear function of fixed features."""


class RecordError(MercerError, ValueError):
    """The parts of a record for a report do not fit together: the message names them and their lengths."""


class NoExplanationError(MercerError, TypeError):
    """A prediction of the model is not a sum of contributions of columns."""


class ExportError(MercerError, TypeError):
    """A model, or one of its columns, cannot be exported to SQL, ONNX or Python; the message says what can be."""


class ServeError(MercerError, OSError):
    """A model cannot be served: the port is in use, or other machines can reach the address without a token."""


class NoCounterpartError(MercerError, TypeError):
    """A model is neither half of a generative-discriminative pair: the message says why, and what has a counterpart."""


class WriteError(MercerError, OSError):
    """A file cannot be written; a previous file stays as it was."""


class CheckpointError(MercerError, ValueError):
    """A folder does not hold a checkpoint, or holds that of another fit."""


class EngineError(MercerError, RuntimeError):
    """An engine cannot run: its name is unknown, or a cluster cannot be reached or has lost its workers."""


class UnsavableError(MercerError, TypeError):
    """A model contains something that model files must not, such as a function; the message names it and the remedy."""


class ModelFileError(MercerError, ValueError):
    """A file is not a model file, is damaged, cut off or tampered with, or contains something forbidden."""


class NewerModelFileError(ModelFileError):
    """A model file was written by a newer version of mercer than this one."""


class MissingModelFileError(ModelFileError, FileNotFoundError):
    """There is no such model file, or it cannot be read."""


class MissingDependencyError(MercerError, ImportError):
    """An optional package is not installed; the message says how to install it."""


class FitInterrupted(KeyboardInterrupt):
    """Ctrl-C during a fit: `solution` is the best one so far, which the model has stored."""

    def __init__(self, message: str, solution: Any = None) -> None:
        super().__init__(message)
        self.solution = solution


class ComparisonInterrupted(KeyboardInterrupt):
    """Ctrl-C during a comparison: `comparison` has the finished models; it is None if there are none."""

    def __init__(self, message: str, comparison: Any = None) -> None:
        super().__init__(message)
        self.comparison = comparison


class ExperimentInterrupted(KeyboardInterrupt):
    """Ctrl-C during `learning_curves` or `stress`: `result` has the finished repeats; it is None if there are none."""

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class MercerWarning(UserWarning):
    """Base of every warning of mercer, which states cause, evidence and a remedy."""


class UnseenCategoryWarning(MercerWarning):
    """A category did not occur in the fit, so that the model has no parameters for it."""


class TargetLeakWarning(MercerWarning):
    """A column is the target itself, or the target under other names."""


class LongFitWarning(MercerWarning):
    """A fit will take hours."""


class CheckpointWarning(MercerWarning):
    """A checkpoint could not be written; the fit continues without it."""


class PrecisionWarning(MercerWarning):
    """Digits were lost; the message says how many remain."""


class NotConvergedWarning(MercerWarning):
    """A fit stopped before reaching its tolerance."""


class DivergedWarning(NotConvergedWarning):
    """The loss increased because steps were too long; the message gives a safe length."""


class SeparationWarning(MercerWarning):
    """Some coefficients of a fit are infinite: a hyperplane separates the responses."""


class CollinearWarning(MercerWarning):
    """Columns depend on each other, so that their coefficients are not unique: the message names them."""


class IndefiniteKernelWarning(MercerWarning):
    """A kernel is not positive definite on the rows of the fit, so that the solution need not be the optimum."""


class CalibrationWarning(MercerWarning):
    """There are too few rows for calibration: none is flagged, a set has all classes, an interval is infinite.

    The message says how many are needed.
    """
