"""Labels you can trust from many unreliable workers.

`read` -> `Answers`, `aggregate` -> `Result`. `quorate.methods.quorate` tells the default method in one function,
`quorate.methods.rank_one` the paper's.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorate import backends as backends
    from quorate import charts as charts
    from quorate import datasets as datasets
    from quorate import estimators as estimators
    from quorate import simulate as simulate
    from quorate import theory as theory
    from quorate.advice.adaptive_skills import adaptive_skills as adaptive_skills
    from quorate.advice.advice import Advice as Advice
    from quorate.advice.advise import advise as advise
    from quorate.advice.advise import advise_result as advise_result
    from quorate.advice.gold_tasks import GoldAdvice as GoldAdvice
    from quorate.advice.gold_tasks import advise_gold as advise_gold
    from quorate.advice.next_steps import NextSteps as NextSteps
    from quorate.advice.next_steps import next_steps as next_steps
    from quorate.answers import Answers as Answers
    from quorate.diagnostics.check import CheckedAnswers as CheckedAnswers
    from quorate.diagnostics.check import check as check
    from quorate.diagnostics.diagnose import Diagnosis as Diagnosis
    from quorate.diagnostics.diagnose import diagnose as diagnose
    from quorate.diagnostics.diagnose import diagnose_result as diagnose_result
    from quorate.diagnostics.finding import Finding as Finding
    from quorate.diagnostics.ratings import possible_guessers_text as possible_guessers_text
    from quorate.diagnostics.ratings import worker_ratings as worker_ratings
    from quorate.diagnostics.workers import unreliable_workers as unreliable_workers
    from quorate.estimation.estimate import Estimates as Estimates
    from quorate.estimation.estimate import estimate as estimate
    from quorate.evaluation.compare import Comparison as Comparison
    from quorate.evaluation.compare import compare as compare
    from quorate.evaluation.metrics import Score as Score
    from quorate.evaluation.metrics import calibration_error as calibration_error
    from quorate.evaluation.metrics import expected_error as expected_error
    from quorate.evaluation.metrics import log_loss as log_loss
    from quorate.integrations.inspect_ai import inspect_reducer as inspect_reducer
    from quorate.interrater.agreement import Agreement as Agreement
    from quorate.interrater.agreement import agreement as agreement
    from quorate.io.exports.detect import read_export as read_export
    from quorate.io.exports.export import Export as Export
    from quorate.io.exports.write_back import write_results as write_results
    from quorate.io.read import read as read
    from quorate.io.scores import Scores as Scores
    from quorate.io.scores import read_scores as read_scores
    from quorate.io.timestamps import read_times as read_times
    from quorate.io.write_table import write_table as write_table
    from quorate.ledger import Ledger as Ledger
    from quorate.methods.consensus import Consensus as Consensus
    from quorate.methods.consensus import consensus as consensus
    from quorate.methods.registry import aggregate as aggregate
    from quorate.methods.registry import majority_vote as majority_vote
    from quorate.ranking.rank import rank as rank
    from quorate.ranking.ranking import Ranking as Ranking
    from quorate.rating.advice import advise_scores as advise_scores
    from quorate.rating.metrics import compare_scores as compare_scores
    from quorate.rating.rate import rate as rate
    from quorate.rating.rating import Rating as Rating
    from quorate.reporting.report import Report as Report
    from quorate.reporting.report import report as report
    from quorate.result import Result as Result
    from quorate.skills.completion import Completion as Completion
    from quorate.skills.completion import complete as complete
    from quorate.skills.completion import complete_rank_one as complete_rank_one
    from quorate.theory.label_bounds import average_regret as average_regret
    from quorate.theory.label_bounds import committee_potential as committee_potential
    from quorate.theory.label_bounds import optimal_error_bounds as optimal_error_bounds
    from quorate.theory.label_bounds import plug_in_bound as plug_in_bound
    from quorate.theory.label_bounds import skill_error as skill_error
    from quorate.theory.label_bounds import task_bounds as task_bounds
    from quorate.theory.tasks_needed import SkillError as SkillError

__version__ = "0.2.0"

# What the package offers at its top, and where it lives. Imported when first used: `quorate --help` needs none of it.
_HOMES = {
    "Advice": "advice.advice",
    "Agreement": "interrater.agreement",
    "Answers": "answers",
    "CheckedAnswers": "diagnostics.check",
    "Comparison": "evaluation.compare",
    "Completion": "skills.completion",
    "Consensus": "methods.consensus",
    "Diagnosis": "diagnostics.diagnose",
    "Estimates": "estimation.estimate",
    "Export": "io.exports.export",
    "GoldAdvice": "advice.gold_tasks",
    "Ledger": "ledger",
    "NextSteps": "advice.next_steps",
    "next_steps": "advice.next_steps",
    "Ranking": "ranking.ranking",
    "Rating": "rating.rating",
    "Report": "reporting.report",
    "Result": "result",
    "Score": "evaluation.metrics",
    "Scores": "io.scores",
    "SkillError": "theory.tasks_needed",
    "adaptive_skills": "advice.adaptive_skills",
    "advise_scores": "rating.advice",
    "compare_scores": "rating.metrics",
    "advise": "advice.advise",
    "advise_gold": "advice.gold_tasks",
    "advise_result": "advice.advise",
    "aggregate": "methods.registry",
    "agreement": "interrater.agreement",
    "average_regret": "theory.label_bounds",
    "calibration_error": "evaluation.metrics",
    "check": "diagnostics.check",
    "committee_potential": "theory.label_bounds",
    "compare": "evaluation.compare",
    "complete": "skills.completion",
    "complete_rank_one": "skills.completion",
    "consensus": "methods.consensus",
    "diagnose": "diagnostics.diagnose",
    "diagnose_result": "diagnostics.diagnose",
    "Finding": "diagnostics.finding",
    "possible_guessers_text": "diagnostics.ratings",
    "unreliable_workers": "diagnostics.workers",
    "worker_ratings": "diagnostics.ratings",
    "estimate": "estimation.estimate",
    "expected_error": "evaluation.metrics",
    "inspect_reducer": "integrations.inspect_ai",
    "log_loss": "evaluation.metrics",
    "majority_vote": "methods.registry",
    "optimal_error_bounds": "theory.label_bounds",
    "plug_in_bound": "theory.label_bounds",
    "rank": "ranking.rank",
    "rate": "rating.rate",
    "read": "io.read",
    "read_export": "io.exports.detect",
    "read_scores": "io.scores",
    "read_times": "io.timestamps",
    "report": "reporting.report",
    "skill_error": "theory.label_bounds",
    "task_bounds": "theory.label_bounds",
    "write_results": "io.exports.write_back",
    "write_table": "io.write_table",
}
_MODULES = {
    "backends": "backends",
    "charts": "charts",
    "datasets": "datasets",
    "estimators": "estimators",
    "simulate": "simulate",
    "theory": "theory",
}
_DEPRECATED_MODULES = ("warehouse",)
__all__ = ["__version__", *_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"quorate.{_HOMES[name]}"), name)
    if name in _MODULES:
        return import_module(f"quorate.{_MODULES[name]}")
    if name in _DEPRECATED_MODULES:
        return import_module(f"quorate.{name}")  # it warns
    raise AttributeError(f"module 'quorate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
