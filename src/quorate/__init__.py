"""Labels you can trust from many unreliable workers.

`read` -> `Answers`, `aggregate` -> `Result`. The path that the data take is told in `quorate.estimate`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorate import charts as charts
    from quorate import estimators as estimators
    from quorate import simulate as simulate
    from quorate import warehouse as warehouse
    from quorate.advice import Advice as Advice
    from quorate.advice import advise as advise
    from quorate.answers import Answers as Answers
    from quorate.answers import read as read
    from quorate.diagnosis import Diagnosis as Diagnosis
    from quorate.diagnosis import diagnose as diagnose
    from quorate.diagnosis import diagnose_result as diagnose_result
    from quorate.formats import Export as Export
    from quorate.formats import read_export as read_export
    from quorate.ledger import Ledger as Ledger
    from quorate.methods import aggregate as aggregate
    from quorate.methods import majority_vote as majority_vote
    from quorate.result import Result as Result

__version__ = "0.1.0"

# What the package offers at its top, and where it lives. Imported when first used: `quorate --help` needs none of it.
_HOMES = {
    "Advice": "advice",
    "Answers": "answers",
    "Diagnosis": "diagnosis",
    "Export": "formats",
    "Ledger": "ledger",
    "Result": "result",
    "advise": "advice",
    "aggregate": "methods",
    "diagnose": "diagnosis",
    "diagnose_result": "diagnosis",
    "majority_vote": "methods",
    "read": "answers",
    "read_export": "formats",
}
_MODULES = ["charts", "estimators", "simulate", "warehouse"]
__all__ = ["__version__", *_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"quorate.{_HOMES[name]}"), name)
    if name in _MODULES:
        return import_module(f"quorate.{name}")
    raise AttributeError(f"module 'quorate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
