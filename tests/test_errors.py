"""A name that is on no list raises the error of its family, and all of them are told by one base."""

import pytest

import quorate
from quorate.errors import (
    NotInMemoryError,
    OptionError,
    UnknownDatasetError,
    UnknownMethodError,
    UnknownNameError,
    one_of,
)
from quorate.evaluation import datasets

ROWS = {"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")}


def test_every_family_has_its_own_error() -> None:
    with pytest.raises(UnknownMethodError, match="there is no method 'magic'"):
        quorate.aggregate(ROWS, "magic")
    with pytest.raises(UnknownMethodError, match="there is no method 'magic'"):
        quorate.warehouse.aggregate(ROWS, "magic")
    with pytest.raises(UnknownDatasetError, match="there is no data set 'magic'"):
        datasets.load("magic")
    with pytest.raises(UnknownNameError, match="there is no solver 'magic'") as caught:
        quorate.aggregate(ROWS, "rank-one", solver="magic")
    assert not isinstance(caught.value, UnknownMethodError)
    assert issubclass(UnknownNameError, OptionError)
    assert issubclass(NotInMemoryError, OptionError)


def test_a_choice_is_returned_and_the_others_are_listed() -> None:
    assert one_of("last", ["first", "last"], "conflict policy") == "last"
    with pytest.raises(UnknownNameError, match="there is no conflict policy 'both'; choose from first, last"):
        one_of("both", ["first", "last"], "conflict policy")
