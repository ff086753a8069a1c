"""Signatures of public functions for `help()`, with the keywords of a TypedDict listed one by one.

`quorate.io.arguments` checks the arguments of a call.
"""

import inspect
from collections.abc import Callable
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin


def show_keywords(function: Callable[..., Any]) -> None:
    """Replace ``**keywords: Unpack[SomeTypedDict]`` in the signature by the keywords, and long unions by their names.

    Type checkers and editors do this themselves, but `inspect.signature` and `help` do not. Defaults are those of
    `quorate.io.options.ReadOptions`; other keywords are options of methods, each of which has its own default.

    >>> import quorate
    >>> "on_conflict: Literal['error', 'first', 'last', 'drop'] = 'error'" in str(inspect.signature(quorate.read))
    True
    """
    if getattr(function, "__signature__", None) is not None:
        return
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    keywords = _typed_dict(parameters[-1]) if parameters else None
    positional = parameters if keywords is None else parameters[:-1]
    defaults: dict[str, Any] = {}
    if keywords:
        from quorate.io.arguments import READING_DEFAULTS

        defaults = {**READING_DEFAULTS, "score": None}  # score= is an option of `read_scores`
    expanded = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(name, _METHOD_DEFAULT), annotation=_text(kind)
        )
        for name, kind in (keywords or {}).items()
        if name not in signature.parameters
    ]
    first = [parameter.replace(annotation=_text(parameter.annotation)) for parameter in positional]
    function.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*first, *expanded], return_annotation=_text(signature.return_annotation)
    )


class _MethodDefault:
    """Type of the default of an option that is different for each method."""

    def __repr__(self) -> str:
        return "..."


_METHOD_DEFAULT = _MethodDefault()


def _typed_dict(parameter: inspect.Parameter) -> dict[str, Any] | None:
    """Return the keywords of the TypedDict that a ``**`` parameter unpacks; None if there is none."""
    if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
        return None
    arguments = get_args(parameter.annotation)
    if not arguments or not hasattr(arguments[0], "__total__"):
        return None
    annotations: dict[str, Any] = {}
    for base in reversed(arguments[0].__orig_bases__ if hasattr(arguments[0], "__orig_bases__") else ()):
        annotations |= getattr(base, "__annotations__", {})
    annotations |= arguments[0].__annotations__
    return annotations


def _text(annotation: Any) -> Any:
    """Return an annotation as in the source, with the names of aliases and classes without their modules."""
    if annotation is inspect.Parameter.empty:
        return annotation
    return _Written(_written(annotation))


def _written(annotation: Any) -> str:
    from quorate.arrays import BoolArray, FloatArray, IntArray
    from quorate.io.dataframes import Source

    if isinstance(annotation, str):
        return annotation
    forward = getattr(annotation, "__forward_arg__", None)
    if forward is not None:
        return str(forward)
    if annotation in (None, type(None)):
        return "None"
    for name, alias in (
        ("FloatArray", FloatArray),
        ("IntArray", IntArray),
        ("BoolArray", BoolArray),
        ("Source", Source),
    ):
        if annotation == alias:
            return name
    origin = get_origin(annotation)
    arguments = get_args(annotation)
    if origin in (Union, UnionType):
        source_types = get_args(Source)
        has_source = set(source_types) <= set(arguments)
        rest = [part for part in arguments if not has_source or part not in source_types]
        return " | ".join([*map(_written, rest), *(["Source"] if has_source else [])])
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, arguments))}]"
    if origin is not None:
        listed = [
            f"[{', '.join(map(_written, part))}]" if isinstance(part, list) else _written(part) for part in arguments
        ]
        return f"{getattr(origin, '__name__', str(origin))}[{', '.join(listed)}]"
    return "..." if annotation is ... else str(getattr(annotation, "__name__", annotation))


class _Written(str):
    """An annotation whose representation is its text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
