"""METHODS by name, and the options of each by its signature."""

import inspect
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from quorate.errors import OptionError, UnknownMethodError, did_you_mean, shown, unknown_name_error

FROM_CROWD = ("classes", "worker_names", "models")  # arguments of the default method that callers do not give


def option_names(run: Callable[..., object], options: dict[str, object]) -> list[str]:
    """Return the option names of a method; a method with solvers also has the options of the chosen solver.

    Args:
        run: the method.
        options: its options; ``solver`` decides which function takes the others.

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
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        from quorate.skills.solvers import SOLVERS  # not needed by the default method

        solver = str(options.get("solver", parameters["solver"].default))
        if solver not in SOLVERS:
            raise unknown_name_error(solver, SOLVERS, "solver")
        names += _by_keyword(inspect.signature(SOLVERS[solver]).parameters.values())
    return names


def _by_keyword(parameters: Iterable[inspect.Parameter]) -> list[str]:
    return [parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY]


def check_option_names(
    method: str,
    run: Callable[..., object],
    options: dict[str, object],
    *,
    excluded: Collection[str] = (),
    context: str = "",
) -> None:
    """Refuse an option that the method does not have; the values of options are not checked.

    Args:
        method: its name.
        run: the method.
        options: the options.
        excluded: options of the method that have no meaning here.
        context: text after the option's name in the error, such as " out of core".

    Raises:
        OptionError: an option is none of the method's; the message has its options and the nearest name.

    >>> from quorate.methods.registry import METHODS
    >>> check_option_names("iwmv", METHODS["iwmv"].load(), {"max_iteration": 3})
    Traceback (most recent call last):
    quorate.errors.OptionError: The method 'iwmv' has no option 'max_iteration'. Did you mean 'max_iterations'? ...
    """
    known = [name for name in option_names(run, options) if name not in excluded]
    for name in options:
        if name == "classes" and name not in known:
            raise OptionError(f"classes= must be a list of all classes, got {shown(options[name])}")
        if name not in known:
            suggestion = did_you_mean(name, known)
            meant = f"{suggestion} " if suggestion else ""
            raise OptionError(
                f"The method {method!r} has no option {name!r}{context}. {meant}Its options are "
                f"{', '.join(known) or 'none'}"
            )


@dataclass(frozen=True)
class Method:
    """A method: its function, what it does in one line, the paper it comes from, and when to use it."""

    home: str  # module:function, imported when it is first run
    about: str
    paper: str
    use_if: str  # when to use it, as a clause
    posterior: bool = True  # False: its "posterior" is a share of votes, and no probability is claimed

    @property
    def runs_over_blocks(self) -> bool:
        """Whether its function takes blocks of whole tasks, instead of all answers in memory."""
        return self.home.endswith(":fit")

    def load(self) -> Callable[..., Any]:
        """Return the function: `Answers` and options -> `Result`, or where it runs over blocks, blocks -> `Fitted`."""
        module, function = self.home.split(":")
        run: Callable[..., Any] = getattr(import_module(f"quorate.methods.{module}"), function)
        return run


METHODS = {
    "quorate": Method(
        "quorate:fit",
        "rates workers by their agreement, then weights their answers per class",
        "this project",
        "any data; it is the default",
    ),
    "rank-one": Method(
        "rank_one:fit",
        "estimates one skill per worker from how often pairs of workers agree, and weights votes by it",
        "Ma et al. 2020",
        "every worker is wrong equally often on every class",
    ),
    "rank-one-centred": Method(
        "rank_one_centred:fit",
        "as rank-one, and takes into account that some workers prefer a class",
        "this project",
        "workers prefer some classes, and you need one skill per worker",
    ),
    "majority": Method(
        "majority:fit",
        "takes the most frequent answer; every vote counts the same",
        "",
        "you need a baseline, or workers cannot be rated",
    ),
    "iwmv": Method(
        "iwmv:fit",
        "weights workers by their agreement with the weighted vote, and repeats",
        "Li and Yu 2014",
        "most workers are right, and there are very many answers",
        False,
    ),
    "wawa": Method(
        "wawa:wawa",
        "weights workers by their agreement with the majority vote, once",
        "Ustalov et al. 2024",
        "you compare with results of Crowd-Kit",
        False,
    ),
    "zero-based-skill": Method(
        "zero_based_skill:zero_based_skill",
        "adjusts the workers' weights to their agreement with the vote in ever smaller steps",
        "Ustalov et al. 2024",
        "you compare with results of Crowd-Kit",
        False,
    ),
    "gold-majority": Method(
        "gold_majority:gold_majority",
        "weights workers by their share of right answers on known labels",
        "Ustalov et al. 2024",
        "every worker answered many tasks with a known label",
        False,
    ),
    "er": Method(
        "er:er",
        "weights workers by the ratio of two eigenvectors of the agreements",
        "Dalvi et al. 2013",
        "you compare with published results; workers gave about equally many answers",
        False,
    ),
    "kos": Method(
        "kos:kos",
        "passes messages between tasks and workers",
        "Karger, Oh and Shah 2014",
        "you compare with published results; workers gave about equally many answers",
        False,
    ),
    "kos-svd": Method(
        "kos:kos_svd",
        "labels tasks by the leading singular vector of the centred answers",
        "Karger, Oh and Shah 2014",
        "you compare with published results; workers gave about equally many answers",
        False,
    ),
    "ghosh-svd": Method(
        "ghosh_svd:ghosh_svd",
        "labels tasks by the leading singular vector of the answers",
        "Ghosh, Kale and McAfee 2011",
        "you compare with published results; workers gave about equally many answers",
        False,
    ),
    "opt-ds": Method(
        "opt_ds:opt_ds",
        "as dawid-skene, with a start from a tensor decomposition",
        "Zhang et al. 2016",
        "each worker gave many answers, and accuracy differs between classes",
    ),
    "m3v": Method(
        "m3v:m3v",
        "weights workers so that the right class wins by a margin (Gibbs sampling)",
        "Tian and Zhu 2015",
        "you compare with published results; at most 2,000 workers",
    ),
    "m3v-svm": Method(
        "m3v_svm:m3v_svm",
        "weights workers so that the right class wins by a margin (linear SVM)",
        "Tian and Zhu 2015",
        "you compare with published results; at most 2,000 workers",
        False,
    ),
    "dawid-skene": Method(
        "dawid_skene:fit",
        "estimates how each worker confuses the classes",
        "Dawid and Skene 1979",
        "each worker gave many answers, and accuracy differs between classes",
    ),
    "one-coin": Method(
        "one_coin:fit",
        "estimates one accuracy per worker",
        "Dawid and Skene 1979",
        "most workers are right, and equally often on every class",
    ),
    "glad": Method(
        "glad:glad",
        "estimates the ability of each worker and the difficulty of each task",
        "Whitehill et al. 2009",
        "tasks differ in difficulty, and each task has many answers",
    ),
    "mace": Method(
        "mace:mace",
        "estimates how often each worker knows the answer, and what the worker answers otherwise",
        "Hovy et al. 2013",
        "some workers answer without looking, and nobody answers the opposite of the truth",
    ),
    "m-msr": Method(
        "m_msr:m_msr",
        "as rank-one, without the most extreme agreements of each worker",
        "Ma and Olshevsky 2020",
        "some workers answer the opposite on purpose, and most pairs of workers share tasks",
    ),
}


@dataclass(frozen=True)
class OptionHelp:
    """An option of a method: its name, its default, and its meaning."""

    name: str
    default: str
    meaning: str


# Options of methods that the command line has as options of its own.
COMMAND_LINE_OPTIONS = frozenset({"gold", "skills", "group", "ordered"})


def describe_options(method: str) -> list[OptionHelp]:
    """Describe the options of a method that can be typed after a colon, from its documentation.

    >>> [option.name for option in describe_options("iwmv")]
    ['max_iterations']
    """
    run = METHODS[method].load()
    parameters = dict(inspect.signature(run).parameters)
    meanings = documented_arguments(run)
    solver = parameters.get("solver")
    if solver is not None:
        from quorate.skills.solvers import SOLVERS

        parameters |= inspect.signature(SOLVERS[str(solver.default)]).parameters
        meanings = documented_arguments(SOLVERS[str(solver.default)]) | meanings
    described = []
    for name in option_names(run, {}):
        if name in COMMAND_LINE_OPTIONS:
            continue
        default = parameters[name].default
        if default is None:
            shown = "none"
        elif isinstance(default, bool):
            shown = str(default).lower()
        else:
            shown = str(default)
        described.append(OptionHelp(name, shown, meanings.get(name, "")))
    return described


def documented_arguments(function: Callable[..., object]) -> dict[str, str]:
    """Return the meanings of the arguments in the section "Args" of a docstring.

    >>> documented_arguments(documented_arguments)
    {}
    """
    lines = (inspect.getdoc(function) or "").splitlines()
    if "Args:" not in lines:
        return {}
    meanings: dict[str, str] = {}
    name = ""
    for line in lines[lines.index("Args:") + 1 :]:
        if not line.startswith("    "):
            break
        if line.startswith("        "):
            meanings[name] += f" {line.strip()}"
        else:
            name, _, text = line.strip().partition(": ")
            meanings[name] = text
    return {argument: text.replace("``", "") for argument, text in meanings.items()}


# Names by which other libraries call these methods, without case, hyphens and underscores.
OTHER_NAMES = {
    "majorityvote": "majority",
    "goldmajorityvote": "gold-majority",
    "onecoindawidskene": "one-coin",
    "ds": "dawid-skene",
    "mv": "majority",
}


def method_name(name: str) -> str:
    """Return the name of a method in `METHODS`; case, hyphens and underscores do not matter.

    Raises:
        UnknownMethodError: there is no such method; the message names the nearest.

    >>> method_name("DawidSkene"), method_name("dawid_skene"), method_name("MajorityVote")
    ('dawid-skene', 'dawid-skene', 'majority')
    """
    if name in METHODS:
        return name
    key = _plain_name(name)
    names = {_plain_name(known): known for known in METHODS} | OTHER_NAMES
    if key not in names:
        raise unknown_name_error(name, METHODS, "method", UnknownMethodError, lister="quorate methods")
    return names[key]


def _plain_name(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


def check_states_probabilities(method: str) -> None:
    """Refuse costs for a method without probabilities.

    Raises:
        OptionError: the method states no probabilities.

    >>> check_states_probabilities("quorate")
    """
    if not METHODS[method].posterior:
        raise OptionError(
            f"costs= (--costs) needs probabilities, and the method {method} has none. Use one of "
            f"{', '.join((name for name, entry in METHODS.items() if entry.posterior))}"
        )
