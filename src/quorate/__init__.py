"""Labels you can trust from many unreliable workers.

`read` -> `Answers`, `aggregate` -> `Result`. `quorate.methods.quorate` is the default method, and
`quorate.methods.rank_one` the paper's. The exports are listed in `__init__.pyi`, and imported when they are first used.
"""

import warnings
from importlib import import_module
from typing import Any

__version__ = "0.2.0"

# Names of 0.2, which warn for one release, and what to write instead.
DEPRECATED = {
    "CheckedAnswers": "quorate.CheckReport",
    "SkillError": "quorate.theory.SkillErrorBound",
    "advise_gold": "quorate.suggest_gold",
    "advise_result": "quorate.advise(result, budget)",
    "average_regret": "quorate.theory.average_regret",
    "committee_potential": "quorate.theory.committee_potential",
    "complete": "quorate.complete_rank_one",
    "diagnose_result": "quorate.diagnose(result)",
    "expected_error": "quorate.score(result, truth)",
    "majority_vote": 'quorate.aggregate(source, "majority")',
    "optimal_error_bounds": "quorate.theory.optimal_error_bounds",
    "plug_in_bound": "quorate.theory.plug_in_bound",
    "skill_error": "quorate.theory.skill_error",
    "task_bounds": "quorate.theory.task_bounds",
    "warehouse": "quorate.backends",
    "write_results": "quorate.write_back",
}
# `from quorate.io.read import read as read`, and `from quorate import charts as charts` for modules.
_EXPORT = r"^from (quorate[\w.]*) import (\w+) as (\w+)$"
# `advise_gold = suggest_gold` for names that changed.
_ALIAS = r"^(\w+) = ([\w.]+)$"
_homes: dict[str, tuple[str, str]] = {}  # exported name -> module, name there; filled when first needed


def _exports() -> dict[str, tuple[str, str]]:
    """Return where each exported name is defined, as the stub lists it."""
    if not _homes:
        import re  # here, because these two take a third of the time of `import quorate`
        from pkgutil import get_data

        stub = (get_data(__name__, "__init__.pyi") or b"").decode()
        for module, name, exported in re.findall(_EXPORT, stub, re.MULTILINE):
            _homes[exported] = (module, name)
        for old, new in re.findall(_ALIAS, stub, re.MULTILINE):
            module, _, name = f"quorate.{new}".rpartition(".")
            _homes[old] = _homes[name] if module == "quorate" else (module, name)
    return _homes


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted({"__version__", *_exports()} - DEPRECATED.keys())
    if name.startswith("_") or name not in _exports():
        raise AttributeError(f"module 'quorate' has no attribute {name!r}")
    module, defined_as = _exports()[name]
    if module == "quorate":
        return import_module(f"quorate.{defined_as}")  # a deprecated module warns when it is imported
    if name in DEPRECATED:
        warnings.warn(f"quorate.{name} is now {DEPRECATED[name]}", DeprecationWarning, stacklevel=2)
    attribute = getattr(import_module(module), defined_as)
    if callable(attribute) and not isinstance(attribute, type):
        from quorate.signatures import show_keywords

        show_keywords(attribute)
    return attribute


def __dir__() -> list[str]:
    return list(__getattr__("__all__"))
