"""Old names of attributes, which work for one release with a `DeprecationWarning`."""

import warnings
from collections.abc import Mapping
from typing import Any


def renamed_attribute(owner: object, name: str, renamed: Mapping[str, str]) -> Any:
    """Return the attribute that had this name before, with a warning; for the method ``__getattr__`` of a class.

    Args:
        owner: the object.
        name: of the attribute that was not found.
        renamed: the old names, each with the current name.

    Raises:
        AttributeError: it is no old name either.
    """
    if name not in renamed:
        return object.__getattribute__(owner, name)  # raises the original AttributeError with its cause
    current = renamed[name]
    kind = type(owner).__name__
    warnings.warn(f"{kind}.{name} is now {kind}.{current}", DeprecationWarning, stacklevel=3)
    return getattr(owner, current)
