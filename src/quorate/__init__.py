"""Labels you can trust from many unreliable workers.

`read` -> `Answers`, `aggregate` -> `Result`. `quorate.methods.quorate` tells the default method in one function,
`quorate.methods.rank_one` the paper's.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorate import charts as charts
    from quorate import estimators as estimators
    from quorate import warehouse as warehouse
    from quorate.advice import Advice as Advice
    from quorate.advice import advise as advise
    from quorate.answers import Answers as Answers
    from quorate.diagnosis.diagnose import Diagnosis as Diagnosis
    from quorate.diagnosis.diagnose import diagnose as diagnose
    from quorate.diagnosis.diagnose import diagnose_result as diagnose_result
    from quorate.evaluation import datasets as datasets
    from quorate.evaluation import simulate as simulate
    from quorate.ledger import Ledger as Ledger
    from quorate.methods.registry import aggregate as aggregate
    from quorate.methods.registry import majority_vote as majority_vote
    from quorate.reading.exports import read_export as read_export
    from quorate.reading.formats.export import Export as Export
    from quorate.reading.read import read as read
    from quorate.result import Result as Result

__version__ = "0.1.0"

# What the package offers at its top, and where it lives. Imported when first used: `quorate --help` needs none of it.
_HOMES = {
    "Advice": "advice",
    "Answers": "answers",
    "Diagnosis": "diagnosis.diagnose",
    "Export": "reading.formats.export",
    "Ledger": "ledger",
    "Result": "result",
    "advise": "advice",
    "aggregate": "methods.registry",
    "diagnose": "diagnosis.diagnose",
    "diagnose_result": "diagnosis.diagnose",
    "majority_vote": "methods.registry",
    "read": "reading.read",
    "read_export": "reading.exports",
}
_MODULES = {
    "charts": "charts",
    "datasets": "evaluation.datasets",
    "estimators": "estimators",
    "simulate": "evaluation.simulate",
    "warehouse": "warehouse",
}
__all__ = ["__version__", *_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"quorate.{_HOMES[name]}"), name)
    if name in _MODULES:
        return import_module(f"quorate.{_MODULES[name]}")
    raise AttributeError(f"module 'quorate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
