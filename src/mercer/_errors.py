"""Every exception and warning of mercer: each says what is wrong, where, and what to do about it.

Exceptions derive from the built-in type scikit-learn raises for the same mistake, so that code written
against scikit-learn keeps catching them; `MercerError` catches all of ours and nothing else.
"""

from __future__ import annotations

from typing import Any


class MercerError(Exception):
    """Base of every error raised on purpose by mercer."""

    # As any other; but Dask, which brings errors from its workers, would rebuild those of several bases part by part.
    def __reduce__(self) -> Any:
        return super().__reduce__()


class DataError(MercerError, ValueError):
    """The values handed over cannot be used: the message names the column or value and the remedy."""


class DataNotFoundError(MercerError, FileNotFoundError):
    """There is no such file, nor a bundled data set of that name."""


class SourceChangedError(DataError):
    """A file or table is not what it was when it was opened, so that two passes over it would not agree."""


class SpentSourceError(DataError):
    """Rows that can be read only once, as of a generator, were asked for again; the message says what to give."""


class EmptyDataError(DataError):
    """There are no rows, or no columns, to learn from."""


class NonFiniteError(DataError):
    """A value is infinite, or missing where missing values are not allowed."""


class SupportError(DataError):
    """A value lies outside the support of the family that is to describe it."""


class DegenerateDataError(DataError):
    """The data have no maximum likelihood fit in a family: a column without spread, say."""


class ColumnTypeError(DataError):
    """A column has a type that the model, or the family chosen for it, cannot describe."""


class TextError(DataError, AttributeError, TypeError):
    """A document is not a string: the message names it. scikit-learn raises one or the other of these."""


class DecodingError(DataError, UnicodeDecodeError):
    """The bytes of a document are not of the encoding that was named: the message names the document."""


class VocabularyError(DataError):
    """There are no terms, or a vocabulary that was given names a term or a column twice."""


class WeightingError(DataError):
    """Weights of terms were asked for that need what was not given, such as classes."""


class ColumnMismatchError(DataError):
    """Columns are absent, renamed or added compared with those the model was fitted on."""


class UnseenCategoryError(DataError):
    """A category turned up that was never seen when fitting, and `unseen="error"` was asked for."""


class TargetLeakError(DataError):
    """A column is the target itself, and `on_leak="error"` was asked for."""


class FormulaError(MercerError, ValueError):
    """A formula cannot be read, or asks for columns that are not there."""


class UnseenCodeError(UnseenCategoryError, IndexError):
    """A coded category lies beyond those seen when fitting; scikit-learn raises IndexError."""


class UnseenRowsError(DataError):
    """Rows were to be forgotten that the model cannot have seen."""


class MergeError(DataError):
    """Two models or statistics do not describe the same columns, families or classes."""


class UnequalEdgesError(MergeError):
    """Two histograms have different edges, so that their counts do not add up: the message names the axis."""


class BinsError(DataError):
    """The bins of a histogram are of no known kind, do not increase, or do not fit the columns."""


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
    """There is no density to ask for: a model has none, or a distribution is known by its mean and variance only."""


class NoClosedFormError(MercerError, NotImplementedError):
    """There is no formula for what was asked with this kernel or bandwidth; the message names one that has it."""


class OutOfReachError(DataError):
    """A condition lies where a kernel of compact support leaves no training point any weight."""


class FamilyError(MercerError, ValueError):
    """No family has this name, or the family cannot describe what it is to describe."""


class LinkError(MercerError, ValueError):
    """No link has this name, or the link does not go with the family."""


class KernelError(MercerError, ValueError):
    """No kernel has this name, a parameter of it is out of range, or a function is not what a kernel needs."""


class NotPositiveDefiniteError(KernelError):
    """What was asked for is not an inner product of features: a negative scale, a difference, points that prove it."""


class AsymmetricKernelError(NotPositiveDefiniteError):
    """A function or matrix gives k(x, z) and k(z, x) different values: the message names the pair."""


class KernelShapeError(KernelError):
    """A function that is to be a kernel or a feature map returned something of the wrong shape."""


class NoFeatureMapError(MercerError, TypeError):
    """A kernel has infinitely many features, or unknown ones: they cannot be written out."""


class NoSpectrumError(MercerError, TypeError):
    """A kernel has no known frequency spectrum, so that there are no random Fourier features of it."""


class DeviceError(DataError):
    """Tensors lie on different devices, or are of a type that a model cannot compute with."""


class DeviceMemoryError(MercerError, MemoryError):
    """The GPU has no room for what has to be there at once: the message says how much, and what to do instead."""


class NoRepresenterError(MercerError, TypeError):
    """The optimum of a model need not lie in the span of the rows, so that no kernel can take the place of features."""


class FrozenKernelError(MercerError, TypeError):
    """A kernel was to be changed in place; the message says how to replace it."""


class SingularCovarianceError(DataError):
    """A covariance matrix has no inverse: the message names the columns that are collinear."""


class TooManyColumnsError(DataError):
    """More columns than a matrix with a row and a column for each of them has room for."""


class TooLargeError(DataError, MemoryError):
    """A fit would need more memory than there is; the message has the numbers and names what needs less."""


class TooManyPatternsError(DataError):
    """More patterns of missing values than exact inference can keep apart."""


class SeparationError(DataError):
    """A hyperplane separates the responses, so that the likelihood has no maximum: the message names the columns."""


class InferenceError(MercerError, ValueError):
    """Standard errors, tests or intervals were asked for that this fit cannot give; the message says what can."""


class UnsuitableSolverError(MercerError, ValueError):
    """A solver is not made for the problem it was given; the message says which one is."""


class NoLinearFormError(MercerError, TypeError):
    """The model is not a softmax of a linear function of features that do not depend on its parameters."""


class RecordError(MercerError, ValueError):
    """The parts of a record for a report do not fit together: the message names them and their lengths."""


class NoExplanationError(MercerError, TypeError):
    """What the model says of a row is not a sum of contributions of its columns."""


class ExportError(MercerError, TypeError):
    """A model, or one of its columns, cannot be written down as SQL, ONNX or Python; the message says what can be."""


class ServeError(MercerError, OSError):
    """A model cannot be served there: the port is in use, or the address is open to others and there is no token."""


class NoCounterpartError(MercerError, TypeError):
    """A model is neither half of a generative-discriminative pair: the message says why, and what has a counterpart."""


class WriteError(MercerError, OSError):
    """A file cannot be written; what was there before is as it was."""


class CheckpointError(MercerError, ValueError):
    """A folder holds no checkpoint, or that of another fit."""


class EngineError(MercerError, RuntimeError):
    """Fits cannot run there: no engine has this name, or a cluster is out of reach or has lost its workers."""


class UnsavableError(MercerError, TypeError):
    """A model holds what no model file may, such as a function. The message names the place and the remedy."""


class ModelFileError(MercerError, ValueError):
    """A file is not a model file, is damaged, cut off or tampered with, or asks for what no model file may."""


class NewerModelFileError(ModelFileError):
    """A model file was written by a newer version of mercer than this one."""


class MissingModelFileError(ModelFileError, FileNotFoundError):
    """There is no such model file, or it cannot be read."""


class MissingDependencyError(MercerError, ImportError):
    """An optional package is needed for what was asked; the message says how to install it."""


class FitInterrupted(KeyboardInterrupt):
    """Ctrl-C during a fit: `solution` is the best one so far, and a model that raises this has stored it."""

    def __init__(self, message: str, solution: Any = None) -> None:
        super().__init__(message)
        self.solution = solution


class ComparisonInterrupted(KeyboardInterrupt):
    """Ctrl-C during a comparison: `comparison` has the models that were done; None where there were none."""

    def __init__(self, message: str, comparison: Any = None) -> None:
        super().__init__(message)
        self.comparison = comparison


class ExperimentInterrupted(KeyboardInterrupt):
    """Ctrl-C during `learning_curves` or `stress`: `result` has the repeats that were done; None where none was."""

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class MercerWarning(UserWarning):
    """Base of every warning of mercer: cause, evidence, and one thing to do."""


class UnseenCategoryWarning(MercerWarning):
    """A category turned up that was never seen when fitting; the model knows nothing of it."""


class TargetLeakWarning(MercerWarning):
    """A column is the target itself, or the target under other names."""


class LongFitWarning(MercerWarning):
    """A fit will take hours."""


class CheckpointWarning(MercerWarning):
    """A fit could not be kept on disk, and goes on without."""


class PrecisionWarning(MercerWarning):
    """Digits were lost; the message says how many remain."""


class NotConvergedWarning(MercerWarning):
    """A fit stopped before reaching its tolerance."""


class DivergedWarning(NotConvergedWarning):
    """Steps were too long, so that the loss rose instead of falling; the message says which length is safe."""


class SeparationWarning(MercerWarning):
    """Some coefficients of a fit are infinite: a hyperplane separates the responses."""


class CollinearWarning(MercerWarning):
    """Columns depend on each other, so that their coefficients are not unique: the message names them."""


class IndefiniteKernelWarning(MercerWarning):
    """A kernel is not positive definite on the rows at hand, so that what was found need not be the optimum."""


class CalibrationWarning(MercerWarning):
    """Too few rows to compare with: none is flagged, a set holds all classes, an interval has no end.

    The message says how much it takes.
    """
