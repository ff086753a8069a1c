"""A name that is on no list raises the error of its family, and all of them have one base class."""

import pytest

import quorate
from quorate import datasets
from quorate.errors import (
    NotInMemoryError,
    OptionError,
    UnknownDatasetError,
    UnknownMethodError,
    UnknownNameError,
)

ROWS = {"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")}


def test_every_family_has_its_own_error() -> None:
    with pytest.raises(UnknownMethodError, match="Unknown method 'magic'"):
        quorate.aggregate(ROWS, "magic")
    with pytest.raises(UnknownMethodError, match="Unknown method 'magic'"):
        quorate.backends.aggregate(ROWS, "magic")
    with pytest.raises(UnknownDatasetError, match="Unknown dataset 'magic'"):
        datasets.load("magic")
    with pytest.raises(UnknownNameError, match="Unknown solver 'magic'") as caught:
        quorate.aggregate(ROWS, "rank-one", solver="magic")
    assert not isinstance(caught.value, UnknownMethodError)
    assert issubclass(UnknownNameError, OptionError)
    assert issubclass(NotInMemoryError, OptionError)


def test_what_there_is_is_listed() -> None:
    with pytest.raises(UnknownNameError, match="on_conflict= takes 'error', 'first', 'last' or 'drop', not 'both'"):
        quorate.read(ROWS, on_conflict="both")  # type: ignore[arg-type]
