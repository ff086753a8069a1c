"""Which options a method takes, by its own signature: asked before it runs, so that its own errors stay its own."""

import inspect
from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches

from quorate.errors import OptionError, unknown
from quorate.methods.over_blocks import FROM_CROWD
from quorate.skills import SOLVERS


def option_names(run: Callable[..., object], given: dict[str, object]) -> list[str]:
    """List the options of a method; one that hands options on to a solver takes those of the solver chosen, too.

    Args:
        run: the method.
        given: its options, of which ``solver`` says to whom the others go.

    Raises:
        UnknownNameError: there is no such solver.

    >>> from quorate.methods.registry import METHODS
    >>> option_names(METHODS["iwmv"].load(), {})
    ['gold', 'max_iterations']
    >>> option_names(METHODS["rank-one"].load(), {"solver": "exponentiated"})[-2:]
    ['kappa', 'K']
    """
    parameters = inspect.signature(run).parameters
    names = _by_keyword(parameters.values())
    if run.__name__ == "fit":  # over blocks, which carry their gold
        names = ["gold", *(name for name in names if name not in FROM_CROWD)]
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values()):
        solver = str(given.get("solver", parameters["solver"].default))
        if solver not in SOLVERS:
            raise unknown(solver, SOLVERS, "solver")
        names += _by_keyword(inspect.signature(SOLVERS[solver]).parameters.values())
    return names


def _by_keyword(parameters: Iterable[inspect.Parameter]) -> list[str]:
    return [each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY]


def check_options(
    method: str,
    run: Callable[..., object],
    given: dict[str, object],
    *,
    but: Collection[str] = (),
    where: str = "",
) -> None:
    """Refuse an option that the method does not have.

    Args:
        method: its name.
        run: the method.
        given: the options.
        but: options of the method that mean nothing here.
        where: that is, said after the option's name.

    Raises:
        OptionError: an option is none of the method's; says which, what it takes, and the name that comes nearest.

    >>> from quorate.methods.registry import METHODS
    >>> check_options("iwmv", METHODS["iwmv"].load(), {"max_iteration": 3})
    Traceback (most recent call last):
    quorate.errors.OptionError: the method 'iwmv' has no option 'max_iteration' (did you mean 'max_iterations'?); ...
    """
    known = [name for name in option_names(run, given) if name not in but]
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            meant = f" (did you mean {near[0]!r}?)" if near else ""
            raise OptionError(
                f"the method {method!r} has no option {name!r}{where}{meant}; it takes {', '.join(known) or 'none'}"
            )
