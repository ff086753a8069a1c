"""Every method by its name, and the one function that runs any of them."""

from collections.abc import Callable
from typing import Any

from quorate.answers import Answers, read
from quorate.baselines.majority import majority_vote as _majority_vote
from quorate.errors import OptionError, one_of
from quorate.estimate import rank_one
from quorate.files import Source
from quorate.result import Result

METHODS: dict[str, Callable[..., Result]] = {
    "rank-one": rank_one,
    "majority": _majority_vote,
}


def aggregate(answers: Answers | Source, method: str = "rank-one", **options: Any) -> Result:
    """Turn answers into labels and skills.

    Args:
        answers: what `quorate.read` returned, or anything that it reads.
        method: a name from `METHODS`.
        options: for the method; see its function, e.g. `quorate.estimate.rank_one`.

    Raises:
        UnknownMethodError: there is no such method.
        OptionError: the method has no such option.
        InputError: the answers cannot be read.

    >>> import quorate
    >>> answers = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": list("xxyxxx")}
    >>> quorate.aggregate(answers).labels["label"].to_pylist()
    ['x', 'x']
    """
    run = METHODS[one_of(method, METHODS, "method")]
    given = answers if isinstance(answers, Answers) else read(answers)
    try:
        return run(given, **options)
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise OptionError(f"the method {method!r} has no such option: {error}") from None


def majority_vote(answers: Answers | Source, **options: Any) -> Result:
    """Label each task by the class that most of its workers gave; the same shape as `aggregate`.

    >>> import quorate
    >>> majority_vote({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")}).labels["label"].to_pylist()
    ['y']
    """
    return aggregate(answers, "majority", **options)
