"""Check the arguments of public functions against their declared types, at each call.

The decorator `@check_arguments` refuses an argument of a wrong type, a value that is not among the choices of a
`Literal`, and the name of an argument that does not exist. The error names the argument, the value given and what is
accepted. The range of a value is checked where the value is used. Types are resolved at the first call, so the
decorator takes no time at import. The module is in `io` because it needs `Source` and the defaults of `ReadOptions`,
and the readers in `io` need it.
"""

import functools
import inspect
import types
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import fields
from itertools import islice
from numbers import Integral, Real
from os import PathLike
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from quorate.errors import ArgumentError, UnknownNameError, did_you_mean, in_shell, shown
from quorate.io.dataframes import Source, is_series
from quorate.io.options import ReadOptions

P = ParamSpec("P")
R = TypeVar("R")

# Argument names of other libraries -> the name used here, which an error suggests if the function has that argument.
OTHER_NAMES = {
    "truth": "gold",
    "true_labels": "gold",
    "known_labels": "gold",
    "gold_labels": "gold",
    "ground_truth": "gold",
    "labels": "label",
    "annotator": "worker",
    "rater": "worker",
    "item": "task",
    "n_iter": "max_iterations",
    "max_iter": "max_iterations",
    "tol": "tolerance",
    "random_state": "seed",
    "separator": "delimiter",
    "sep": "delimiter",
}
# Old names of arguments -> the current name. They work for one release, with a warning, in functions that have it.
RENAMED_ARGUMENTS = {"sure": "confident"}
READING_DEFAULTS = {field.name: field.default for field in fields(ReadOptions)}
MAX_CHECKED_ITEMS = 100  # of a list: enough to notice a list of another type without a pass over the data
# An object that has one of these attributes is accepted as a table.
TABLE_ATTRIBUTES = (
    "__arrow_c_stream__",
    "__dataframe__",
    "column_names",
    "columns",
    "collect_schema",
    "read",
    "fetchall",
)
TABLE = "a table (pandas, polars, pyarrow, a mapping of columns, a list of records) or the path of a file"


def check_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with a check of its arguments against its annotations, at each call.

    Raises:
        ArgumentError: an argument has another type, or does not exist.
        UnknownNameError: a value is not among the choices that its type lists.

    >>> @check_arguments
    ... def draw(n: int, *, seed: int = 0, scale: Literal["linear", "log"] = "linear") -> int:
    ...     return n
    >>> draw(3)
    3
    >>> draw("3")
    Traceback (most recent call last):
    quorate.errors.ArgumentError: n= takes a whole number, not '3' (str)
    >>> draw(3, scale="lin")
    Traceback (most recent call last):
    quorate.errors.UnknownNameError: scale= takes 'linear' or 'log', not 'lin'. Did you mean 'linear'?
    >>> draw(3, seeds=1)
    Traceback (most recent call last):
    quorate.errors.ArgumentError: draw() has no argument seeds=. Did you mean seed=?
    """
    is_method = "." in function.__qualname__.rpartition("<locals>.")[2]

    @functools.wraps(function)
    def checked(*arguments: P.args, **named: P.kwargs) -> R:
        declared = _declared(function)
        named = _current_names(declared, named)  # type: ignore[assignment]  # the same keywords by their current names
        values = dict(zip(declared.positional, arguments, strict=False))
        if is_method and declared.positional:
            values.pop(declared.positional[0], None)
        _check_names(declared, values, len(arguments), named)
        check_passed_on(function, {**values, **named})
        return function(*arguments, **named)

    return checked


def check_passed_on(function: Callable[..., Any], named: Mapping[str, Any]) -> None:
    """Check the types of named arguments before the call of a function, as its own check would do.

    Raises:
        ArgumentError: an argument has another type.
        UnknownNameError: a value is not among the choices that its type lists.

    >>> def draw(n: int, seed: int = 0) -> int:
    ...     return n
    >>> check_passed_on(draw, {"seed": "3"})
    Traceback (most recent call last):
    quorate.errors.ArgumentError: seed= takes a whole number, not '3' (str)
    """
    declared = _declared(function)
    for name, value in named.items():
        if name in declared.types:
            check_type(name, value, declared.types[name], declared.defaults.get(name, _REQUIRED))


def _current_names(declared: "_Declared", named: dict[str, Any]) -> dict[str, Any]:
    """Return the named arguments with current names; warn about each old name.

    Raises:
        ArgumentError: an argument is given by both names.
    """
    current = {}
    for name, value in named.items():
        new = RENAMED_ARGUMENTS.get(name)
        if new is None or name in declared.names_listed or new not in declared.names_listed:
            current[name] = value
            continue
        if new in named:
            raise ArgumentError(f"{declared.name}() got {new}= and {name}=, which is its old name; give {new}= only")
        warnings.warn(f"{name}= of {declared.name}() is now {new}=", DeprecationWarning, stacklevel=3)
        current[new] = value
    return current


class _Required:
    """Type of the markers that stand for the default of an argument that has none, or whose default is not known."""


_REQUIRED = _Required()
_OPTIONAL = _Required()  # the function has a default of its own


class _Declared:
    """The arguments of a function: names, types, defaults, and which are required."""

    def __init__(self, function: Callable[..., Any]) -> None:
        parameters = list(inspect.signature(function, follow_wrapped=True).parameters.values())
        hints = _hints(inspect.unwrap(function))
        self.name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
        self.positional = [parameter.name for parameter in parameters if parameter.kind in _POSITIONAL]
        self.takes_more = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
        self.required = [
            parameter.name
            for parameter in parameters
            if parameter.default is parameter.empty and parameter.kind not in _VARIABLE
        ]
        self.defaults = {
            parameter.name: parameter.default for parameter in parameters if parameter.default is not parameter.empty
        }
        self.types = {parameter.name: hints[parameter.name] for parameter in parameters if parameter.name in hints}
        self.takes_any_name = False
        self.keywords: list[str] | None = [
            parameter.name for parameter in parameters if parameter.kind not in _VARIABLE
        ]
        for parameter in parameters:
            if parameter.kind is parameter.VAR_KEYWORD:
                self.types.pop(parameter.name, None)
                unpacked = get_args(hints.get(parameter.name))
                listed = keyword_types(unpacked[0]) if unpacked and hasattr(unpacked[0], "__total__") else None
                self.types |= {name: kind for name, kind in (listed or {}).items() if name not in self.types}
                self.defaults |= {
                    name: READING_DEFAULTS.get(name, _OPTIONAL) for name in listed or {} if name not in self.defaults
                }
                self.names_listed = [*self.keywords, *(listed or {})]
                self.takes_any_name = listed is None
                self.keywords = None  # names that are not listed are refused by the function itself
                break
            if parameter.kind is parameter.VAR_POSITIONAL:
                self.types.pop(parameter.name, None)
        else:
            self.names_listed = self.keywords


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


_declared = functools.cache(_Declared)


def _namespace() -> dict[str, Any]:
    """Return the names that annotations use, but that their modules import only for type checkers."""
    from quorate import arrays
    from quorate.io import dataframes

    return {**vars(arrays), "Source": dataframes.Source}


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the type of each argument that has a resolvable annotation; the others are not checked."""
    try:
        return get_type_hints(function, localns=_namespace())
    except (NameError, AttributeError, TypeError):
        return {
            name: kind
            for name, kind in getattr(function, "__annotations__", {}).items()
            if not isinstance(kind, str) and not _has_name(kind)
        }


def _has_name(kind: Any) -> bool:
    """Whether an annotation contains a name that is not resolved."""
    return hasattr(kind, "__forward_arg__") or any(_has_name(part) for part in get_args(kind))


@functools.cache
def keyword_types(listed: Any) -> dict[str, Any]:
    """Return the types of the keywords that a TypedDict lists.

    >>> from quorate.io.options import FileKeywords
    >>> keyword_types(FileKeywords)["encoding"]
    <class 'str'>
    """
    try:
        return get_type_hints(listed, localns=_namespace())
    except (NameError, AttributeError, TypeError):
        return {}


def _check_names(declared: _Declared, values: Mapping[str, Any], n_positional: int, named: Mapping[str, Any]) -> None:
    """Refuse unknown argument names, too many positional arguments, and calls without a required argument."""
    for name in named:
        if name in declared.names_listed or declared.takes_any_name:
            continue
        own_name = OTHER_NAMES.get(name, name)
        meant = own_name if own_name in declared.names_listed else name
        suggestion = did_you_mean(meant, declared.names_listed, are_arguments=True)
        if suggestion:
            raise ArgumentError(f"{declared.name}() has no argument {name}=. {suggestion}")
        if declared.keywords is not None:
            takes = _join_words([f"{keyword}=" for keyword in declared.keywords])
            raise ArgumentError(f"{declared.name}() has no argument {name}=; it takes {takes}")
    if n_positional > len(declared.positional) and not declared.takes_more:
        rest = [f"{name}=" for name in declared.names_listed if name not in declared.positional]
        by_name = f"; give the others by name: {_join_words(rest[:8])}" if rest else ""
        raise ArgumentError(
            f"{declared.name}() takes {len(declared.positional)} arguments by position and got {n_positional}{by_name}"
        )
    missing = [name for name in declared.required if name not in values and name not in named and name != "self"]
    if missing:
        raise ArgumentError(f"{declared.name}() needs {_join_words([f'{name}=' for name in missing])}")


def check_type(name: str, value: Any, kind: Any, default: Any = _REQUIRED) -> None:
    """Refuse a value that is not of the declared type.

    Args:
        name: name of the argument, for messages.
        value: the value given.
        kind: the declared type.
        default: the default value; a table may be None only if the argument has a default.

    Raises:
        ArgumentError: the value is of another type.
        UnknownNameError: the value is not among the choices.

    >>> check_type("level", 0.9, float)
    """
    if value is default or _is_of_type(value, kind, required=default is _REQUIRED):
        return
    argument = f"--{name.replace('_', '-')}" if in_shell.get() else f"{name}="
    accepted = _describe_accepted(kind, default)
    choices = [choice for part in _union_members(kind) if get_origin(part) is Literal for choice in get_args(part)]
    if isinstance(value, str) and choices:
        suggestion = did_you_mean(value, [str(choice) for choice in choices])
        meant = f". {suggestion}" if suggestion else ""
        raise UnknownNameError(f"{argument} takes {accepted}, not {shown(value)}{meant}")
    raise ArgumentError(f"{argument} takes {accepted}, not {_describe_value(value)}")


def by_answer(name: str, values: Any, n_answers: int) -> Any:
    """Return one value per answer as an array; refuse a number of values that is not the number of answers.

    Raises:
        ArgumentError: there are more or fewer values than answers.

    >>> by_answer("durations", [1.5, 2.0], 2).tolist()
    [1.5, 2.0]
    >>> by_answer("durations", [1.5], 2)
    Traceback (most recent call last):
    quorate.errors.ArgumentError: durations= needs one value per answer, in the order of the answers: 2 values, ...
    """
    array = np.asarray(values)
    n_values = len(array) if array.ndim == 1 else 0
    if n_values != n_answers:
        raise ArgumentError(
            f"{name}= needs one value per answer, in the order of the answers: {n_answers:,} values, got {n_values:,}"
        )
    return array


def _describe_value(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if type(value) is object or callable(value):
        return f"an object of type {type(value).__name__}"
    return f"{shown(value, 40)} ({type(value).__name__})"


def _union_members(kind: Any) -> tuple[Any, ...]:
    """Return the members of a union type, and any other type as a tuple of itself."""
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _is_source(kind: Any) -> bool:
    return set(get_args(Source)) <= set(_union_members(kind))


def _is_of_type(value: Any, kind: Any, *, required: bool = False) -> bool:
    parts = _union_members(kind)
    if not _is_source(kind):
        return any(_is_of_single_type(value, part) for part in parts)
    rest = [part for part in parts if part not in get_args(Source)]
    if value is None:
        return not required
    return is_table(value) or any(_is_of_single_type(value, part) for part in rest)


def is_table(value: Any) -> bool:
    """Whether a value may be a table of any kind, or the path of a file.

    >>> is_table("a.csv"), is_table({"task": [1]}), is_table(3), is_table({1, 2}), is_table(dict)
    (True, True, False, False, False)
    """
    if isinstance(value, type) or _is_scalar_array(value):
        return False
    if isinstance(value, str | PathLike | Mapping | np.ndarray | list | tuple) or is_series(value):
        return True
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | range):
        return True
    if type(value).__module__.partition(".")[0] == "quorate":
        return True
    return any(_has_attribute(value, mark) for mark in TABLE_ATTRIBUTES)


def _is_scalar_array(value: Any) -> bool:
    """Whether a value is a numpy array of dimension 0, which holds one value and no rows."""
    return isinstance(value, np.ndarray) and value.ndim == 0


def _has_attribute(value: Any, name: str) -> bool:
    """Whether an object has an attribute; its value, which may be slow to compute, is not read."""
    return hasattr(type(value), name) or name in getattr(value, "__dict__", ())


def _is_of_single_type(value: Any, kind: Any) -> bool:
    """Whether a value is of one type (no union, or a union within a type)."""
    if kind is Any:
        return True
    if kind is None or kind is type(None):
        return value is None
    if isinstance(value, type):
        return kind is type or get_origin(kind) is type or kind in (Callable, object)
    if get_origin(kind) in (Union, types.UnionType):
        return _is_of_type(value, kind)
    simple = _SIMPLE.get(kind)
    if simple is not None:
        return simple(value)
    origin = get_origin(kind) or kind
    arguments = get_args(kind)
    if origin is Literal:
        return any(type(value) is type(choice) and value == choice for choice in arguments)
    if origin is np.ndarray:
        return is_array(value)
    if origin in (Sequence, Iterable):
        return _is_listing(value, lazy=origin is Iterable) and _items_are_of(value, arguments[:1])
    if origin is tuple:
        if not _is_listing(value):
            return False
        if len(arguments) == 2 and arguments[1] is ...:
            return _items_are_of(value, arguments[:1])
        return len(value) == len(arguments) and all(map(_is_of_type, value, arguments))
    if origin is Mapping:
        return isinstance(value, Mapping)
    if origin is PathLike:
        return isinstance(value, PathLike)
    if getattr(origin, "_is_protocol", False) or not isinstance(origin, type):
        return callable(value) if origin is Callable else True
    if origin is types.FunctionType or origin.__name__ == "Callable":
        return callable(value)
    return isinstance(value, origin)


_SIMPLE: dict[Any, Callable[[Any], bool]] = {
    str: lambda value: isinstance(value, str),
    bool: lambda value: isinstance(value, bool | np.bool_),
    int: lambda value: isinstance(value, Integral),
    float: lambda value: isinstance(value, Real),
}


def is_array(value: Any) -> bool:
    """Whether a value is an array, a column of a data frame or a list that holds numbers.

    >>> is_array([1, 2]), is_array("x"), is_array({}), is_array(3)
    (True, False, False, False)
    """
    if _is_listing(value) and not isinstance(value, Set):
        try:
            return np.asarray(value).dtype.kind in "biuf"
        except (ValueError, TypeError):
            return False
    return False


def _is_listing(value: Any, *, lazy: bool = False) -> bool:
    if isinstance(value, str | bytes | Mapping) or _has_attribute(value, "columns"):  # a data frame is not a list
        return False
    if _is_scalar_array(value):
        return False
    if isinstance(value, Set):
        return lazy
    return hasattr(value, "__iter__") and (lazy or (hasattr(value, "__len__") and hasattr(value, "__getitem__")))


def _items_are_of(value: Any, kinds: tuple[Any, ...]) -> bool:
    if not kinds or kinds[0] is Any or iter(value) is value:  # an iterator can be read only once: do not consume it
        return True
    return all(_is_of_type(item, kinds[0]) for item in islice(value, MAX_CHECKED_ITEMS))


def _describe_accepted(kind: Any, default: Any) -> str:
    """Describe the values that a type accepts."""
    parts = _union_members(kind)
    words: list[str] = []
    if _is_source(kind):
        words = [TABLE]
        parts = tuple(part for part in parts if part not in get_args(Source))
    words = [*dict.fromkeys(_describe_type(part, default) for part in parts if part is not type(None)), *words]
    return _join_words([word for word in dict.fromkeys(words) if word], "or")


def _describe_type(kind: Any, default: Any) -> str:
    origin = get_origin(kind) or kind
    arguments = get_args(kind)
    if kind is str:
        return f"text such as {default!r}" if isinstance(default, str) and default else "text"
    names = {bool: "True or False", int: "a whole number", float: "a number", np.ndarray: "an array of numbers"}
    if origin in names:
        return names[origin]
    if origin is Literal:
        return _join_words([repr(choice) for choice in arguments], "or")
    if origin in (Sequence, Iterable):
        items = {str: "texts", int: "whole numbers", float: "numbers"}.get(arguments[0] if arguments else Any)
        is_class = bool(arguments) and isinstance(arguments[0], type) and arguments[0] is not Any
        named = arguments[0].__name__ if is_class else ""
        return f"a list of {items or f'{named} objects'}" if items or named else "a list"
    if origin is tuple:
        return f"{len(arguments)} values" if arguments and arguments[-1] is not ... else "a list"
    if origin is Mapping:
        return "a mapping"
    if origin is PathLike or getattr(origin, "__name__", "") == "Path":
        return "a path"
    if "Callable" in str(origin):
        return "a function"
    name = getattr(origin, "__name__", str(origin))
    return f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}"


def _join_words(words: Sequence[str], last: str = "and") -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"
