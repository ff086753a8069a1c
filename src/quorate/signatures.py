"""Signatures of public functions for `help()`: keywords that a TypedDict lists are shown one by one."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, get_args


def show_keywords(function: Callable[..., Any]) -> None:
    """Replace ``**keywords: Unpack[SomeTypedDict]`` in the signature by the keywords themselves.

    Type checkers and editors expand it already; `inspect.signature` and `help` do not. Defaults are those of
    `quorate.io.options.ReadOptions`; a keyword without one is an option of a method, which has its own default.

    >>> import quorate
    >>> "on_conflict: str = 'error'" in str(inspect.signature(quorate.read))
    True
    """
    if getattr(function, "__signature__", None) is not None:
        return
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    keywords = _typed_dict(parameters[-1]) if parameters else None
    if keywords is None:
        return
    defaults = _defaults()
    shown = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(name, _METHOD_DEFAULT), annotation=_text(kind)
        )
        for name, kind in keywords.items()
        if name not in signature.parameters
    ]
    first = [parameter.replace(annotation=_text(parameter.annotation)) for parameter in parameters[:-1]]
    function.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*first, *shown], return_annotation=_text(signature.return_annotation)
    )


class _MethodDefault:
    """Default of an option that each method sets for itself."""

    def __repr__(self) -> str:
        return "..."


_METHOD_DEFAULT = _MethodDefault()


def _typed_dict(parameter: inspect.Parameter) -> dict[str, Any] | None:
    """Return the keywords of the TypedDict that a ``**`` parameter unpacks; None where it has none."""
    if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
        return None
    arguments = get_args(parameter.annotation)
    if not arguments or not hasattr(arguments[0], "__total__"):
        return None
    found: dict[str, Any] = {}
    for base in reversed(arguments[0].__orig_bases__ if hasattr(arguments[0], "__orig_bases__") else ()):
        found |= getattr(base, "__annotations__", {})
    found |= arguments[0].__annotations__
    return found


def _defaults() -> dict[str, Any]:
    from quorate.io.options import ReadOptions

    return {field.name: field.default for field in fields(ReadOptions) if field.default is not MISSING}


def _text(annotation: Any) -> Any:
    """Return an annotation as it is written in the source, so that long unions keep their name."""
    from quorate.io.dataframes import Source

    if annotation is inspect.Parameter.empty or isinstance(annotation, str | type):
        return annotation
    forward = getattr(annotation, "__forward_arg__", None)
    if forward is not None:
        return _Written(forward)
    text = str(annotation).replace("typing.", "").replace("collections.abc.", "")
    text = text.replace(str(Source).replace("typing.", "").replace("collections.abc.", ""), "Source")
    own = set(get_args(Source))
    parts = get_args(annotation)
    if own and own <= set(parts):
        rest = [part for part in parts if part not in own]
        text = " | ".join([*(getattr(part, "__name__", str(part)) for part in rest), "Source"])
    return _Written(text)


class _Written(str):
    """An annotation whose representation is its text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
