"""Options are checked against the method's own signature before it runs; what goes wrong inside it is not theirs."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import quorate
from quorate.errors import OptionError, UnknownNameError
from quorate.methods import registry
from quorate.methods.registry import METHODS, Method, option_names
from quorate.skills.solvers import SOLVERS

ROWS = {"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")}


@pytest.mark.parametrize("name", METHODS)
def test_an_option_that_a_method_does_not_have_is_named_with_those_it_has(name: str) -> None:
    known = option_names(METHODS[name].load(), {})
    with pytest.raises(
        OptionError, match=f"The method '{name}' has no option 'zzz'. Its options are {', '.join(known)}"
    ):
        quorate.aggregate(ROWS, name, zzz=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("method", "options", "meant"),
    [
        ("iwmv", {"max_iteration": 3}, "max_iterations"),
        ("rank-one", {"tolerence": 1e-3}, "tolerance"),
        ("rank-one", {"solver": "exponentiated", "kapa": 0.1}, "kappa"),
        ("quorate", {"causious": True}, "cautious"),
    ],
)
def test_the_nearest_name_is_proposed(method: str, options: dict[str, Any], meant: str) -> None:
    with pytest.raises(OptionError, match=rf"Did you mean {meant}="):
        quorate.aggregate(ROWS, method, **options)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solver_takes_its_own_options_and_no_other_solver_s(solver: str) -> None:
    own = option_names(METHODS["rank-one"].load(), {"solver": solver})
    assert set(inspect.signature(SOLVERS[solver]).parameters) - {"problem", "start"} <= set(own)
    if "kappa" not in own:
        with pytest.raises(OptionError, match="has no option 'kappa'"):
            quorate.aggregate(ROWS, "rank-one", solver=solver, kappa=0.1)


def test_an_unknown_solver_is_named() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown solver 'magic'\. Choose from flow"):
        quorate.aggregate(ROWS, "rank-one", solver="magic", step=0.1)


def test_an_error_inside_a_method_is_not_taken_for_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    """A method that calls something by a wrong keyword has a bug, which the caller's options have no part in."""

    def broken(answers: quorate.Answers, *, gold: object = None) -> quorate.Result:
        inner: Callable[..., None] = lambda: None  # noqa: E731
        inner(surprise=1)
        raise AssertionError

    monkeypatch.setattr(Method, "load", lambda self: broken)
    monkeypatch.setitem(registry.METHODS, "broken", Method("broken:broken", "", "", ""))
    with pytest.raises(TypeError, match="unexpected keyword argument 'surprise'"):
        quorate.aggregate(ROWS, "broken")


def test_an_option_is_refused_before_the_answers_are_read() -> None:
    with pytest.raises(OptionError, match="has no option"):
        quorate.aggregate("no-such-file.csv", "iwmv", zzz=1)  # type: ignore[call-arg]
