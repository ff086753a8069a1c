"""A way for long work to say how far it is, to whoever listens; costs nothing when nobody does."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Observer: TypeAlias = Callable[[str, int, int | None], None]

# Who listens, if anybody does. Most work says `report` or `tracked`; short loops look here once, and so does work in
# other threads, which cannot see it.
listener: ContextVar[Observer | None] = ContextVar("listener", default=None)


def report(stage: str, done: int, total: int | None = None) -> None:
    """Say that ``done`` of ``total`` steps of a stage are behind us.

    >>> heard = []
    >>> with listening(lambda stage, done, total: heard.append((stage, done))):
    ...     report("sweeps", 3)
    >>> heard
    [('sweeps', 3)]
    """
    told = listener.get()
    if told is not None:
        told(stage, done, total)


def tracked(stage: str, items: Sequence[T]) -> Iterable[T]:
    """Hand out the items one by one, and say how many are behind us.

    >>> heard = []
    >>> with listening(lambda stage, done, total: heard.append((done, total))):
    ...     doubled = [2 * item for item in tracked("doubling", [3, 4])]
    >>> doubled, heard
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
    """Hear every report that is made inside the block."""
    token = listener.set(observer)
    try:
        yield
    finally:
        listener.reset(token)
