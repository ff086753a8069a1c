"""Parameters as scikit-learn asks for them, so that `sklearn.clone` and searches work on every class."""

from typing import Any, Self


class Parameters:
    """What a class was made with, by name; made anew with the same, it does the same.

    >>> from quorate.estimators import KOS
    >>> KOS(n_iter=5).set_params(random_state=3)
    KOS(n_iter=5, random_state=3)
    """

    def _given(self) -> dict[str, Any]:
        """Return what the constructor took, by the names it takes."""
        raise NotImplementedError

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; ``deep`` adds those of parameters that have some, as ``outer__inner``."""
        given = self._given()
        if not deep:
            return given
        inner = {
            f"{name}__{each}": setting
            for name, value in given.items()
            if hasattr(value, "get_params") and not isinstance(value, type)
            for each, setting in value.get_params().items()
        }
        return {**given, **inner}

    def set_params(self, **changed: Any) -> Self:
        """Change some parameters; what was fitted stays until the next `fit`.

        Raises:
            OptionError: there is no such parameter.
        """
        given = self._given()
        for name, value in changed.items():
            outer, _, inner = name.partition("__")
            if inner and hasattr(given.get(outer), "set_params"):
                given[outer].set_params(**{inner: value})
            else:
                given = self._with(given, name, value)
        self.__init__(**given)  # type: ignore[misc]  # the constructor checks, and does nothing else
        return self

    def _with(self, given: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
        return {**given, name: value}
