"""How a fit is watched: a line on the terminal when `verbose`, and scikit-learn's callbacks where it has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # before scikit-learn 1.9; still experimental there

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Callbacks are not to be had."""

    def _with_callbacks(method: Any) -> Any:
        return method


M = TypeVar("M", bound=Callable[..., Any])


def with_callbacks(method: M) -> M:
    """Lets callbacks put away what they set up, however the method ends."""
    return cast(M, _with_callbacks(method))


#: called after each step of a solver with its number, the objective and how far it is from the optimum
Progress = Callable[[int, float, float], None]


class StoppedByCallback(KeyboardInterrupt):
    """A callback has seen enough: solvers treat it like Ctrl-C, and a model keeps what was found so far."""


@dataclass
class Watch:
    """Those who watch a fit; `progress` is what a solver is to call with what it has to tell."""

    watchers: list[Callable[..., Any]]
    #: whether one of them ended the fit
    stopped: bool = False

    @property
    def progress(self) -> Callable[..., None] | None:
        return self._tell if self.watchers else None

    def _tell(self, *told: Any) -> None:
        try:
            for watcher in self.watchers:
                watcher(*told)
        except StoppedByCallback:
            self.stopped = True
            raise


@contextmanager
def watched(
    estimator: Any, *, verbose: int, X: Any, y: Any, sentence: Callable[..., str] | None = None
) -> Iterator[Watch]:
    """Those who watch the fit of an estimator; to be used in a method `with_callbacks`.

    The `sentence` says on the terminal what a step came to, where that is no distance to an optimum.
    """
    with ExitStack() as stack:
        watchers: list[Callable[..., Any]] = []
        if verbose:
            watchers.append(stack.enter_context(line(type(estimator).__name__, sentence or _of_step)))
        if hasattr(estimator, "_skl_callbacks"):
            watchers.append(stack.enter_context(_callbacks(estimator, X, y)))
        yield Watch(watchers)


@contextmanager
def bar(estimator: Any, *, verbose: Any, total: int, what: str) -> Iterator[Callable[[], None]]:
    """A bar on the terminal for so many pieces of work, if `verbose`; what it yields is to be called after each."""
    if not verbose:
        yield lambda: None
        return
    from rich.progress import Progress as Bar

    with Bar() as shown:
        task = shown.add_task(f"{type(estimator).__name__}: {what}", total=total)
        yield lambda: shown.advance(task)


@contextmanager
def line(name: str, sentence: Callable[..., str]) -> Iterator[Callable[..., None]]:
    """A line on the terminal with the sentence of what was told last, which stays there in the end."""
    from rich.console import Console

    console, last = Console(), list[str]()
    with console.status(f"{name}: before the first step") as status:

        def show(*told: Any) -> None:
            last[:] = [f"{name}: {sentence(*told)}"]
            status.update(last[0])

        yield show
    for shown in last:
        console.print(shown)


def _of_step(number: int, objective: float, distance: float) -> str:
    return f"{number} steps, objective {objective:.10g}, distance to the optimum {distance:.1e}"


@contextmanager
def _callbacks(estimator: Any, X: Any, y: Any) -> Iterator[Progress]:
    """One task per step; a callback that asks for it ends the fit."""
    context = estimator._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def step(number: int, objective: float, distance: float) -> None:
        task = context.subcontext(task_name="step")
        task.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        if task.call_on_fit_task_end(estimator=estimator, X=X, y=y):
            raise StoppedByCallback

    yield step
    context.call_on_fit_task_end(estimator=estimator, X=X, y=y, reconstruction_attributes={})
