"""Report the progress of long work to a callback; without one, nothing is done."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Observer: TypeAlias = Callable[[str, int, int | None], None]

# The callback, or None. Most code calls `report` or `tracked`. Short loops read this variable once, and so does code
# that starts threads, because other threads do not have its value.
listener: ContextVar[Observer | None] = ContextVar("listener", default=None)


def report(stage: str, done: int, total: int | None = None) -> None:
    """Report that ``done`` of ``total`` steps of a stage are finished.

    >>> reports = []
    >>> with listening(lambda stage, done, total: reports.append((stage, done))):
    ...     report("sweeps", 3)
    >>> reports
    [('sweeps', 3)]
    """
    on_progress = listener.get()
    if on_progress is not None:
        on_progress(stage, done, total)


def tracked(stage: str, items: Sequence[T]) -> Iterable[T]:
    """Yield the items one by one, and report how many are finished.

    >>> reports = []
    >>> with listening(lambda stage, done, total: reports.append((done, total))):
    ...     doubled = [2 * item for item in tracked("doubling", [3, 4])]
    >>> doubled, reports
    ([6, 8], [(0, 2), (1, 2), (2, 2)])
    """
    return items if listener.get() is None else _tracked(stage, items)


def _tracked(stage: str, items: Sequence[T]) -> Iterator[T]:
    for done, item in enumerate(items):
        report(stage, done, len(items))
        yield item
    report(stage, len(items), len(items))


@contextmanager
def listening(observer: Observer) -> Iterator[None]:
    """Call ``observer(stage, done, total)`` for every report inside the block."""
    token = listener.set(observer)
    try:
        yield
    finally:
        listener.reset(token)
