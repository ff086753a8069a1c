"""Labels you can trust from many unreliable workers.

`read` -> `Answers`, `aggregate` -> `Result`. `quorate.methods.quorate` tells the default method in one function,
`quorate.methods.rank_one` the paper's.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorate import estimators as estimators
    from quorate import theory as theory
    from quorate import warehouse as warehouse
    from quorate.advice import Advice as Advice
    from quorate.advice import GoldAdvice as GoldAdvice
    from quorate.advice import adaptive_skills as adaptive_skills
    from quorate.advice import advise as advise
    from quorate.advice import advise_gold as advise_gold
    from quorate.advice import advise_result as advise_result
    from quorate.advice.score_advice import advise_scores as advise_scores
    from quorate.answers import Answers as Answers
    from quorate.diagnosis.diagnose import Diagnosis as Diagnosis
    from quorate.diagnosis.diagnose import diagnose as diagnose
    from quorate.diagnosis.diagnose import diagnose_result as diagnose_result
    from quorate.diagnosis.gate import CheckedAnswers as CheckedAnswers
    from quorate.diagnosis.gate import check as check
    from quorate.evaluation import datasets as datasets
    from quorate.evaluation import simulate as simulate
    from quorate.evaluation.compare import Comparison as Comparison
    from quorate.evaluation.compare import compare as compare
    from quorate.evaluation.estimates import Estimates as Estimates
    from quorate.evaluation.estimates import estimate as estimate
    from quorate.evaluation.score import Score as Score
    from quorate.evaluation.score import calibration_error as calibration_error
    from quorate.evaluation.score import expected_error as expected_error
    from quorate.evaluation.score import log_loss as log_loss
    from quorate.evaluation.score_metrics import compare_scores as compare_scores
    from quorate.ledger import Ledger as Ledger
    from quorate.meetings.agreements import Agreement as Agreement
    from quorate.meetings.agreements import agreement as agreement
    from quorate.methods.consensus import Consensus as Consensus
    from quorate.methods.consensus import consensus as consensus
    from quorate.methods.inspect_reducer import inspect_reducer as inspect_reducer
    from quorate.methods.registry import aggregate as aggregate
    from quorate.methods.registry import majority_vote as majority_vote
    from quorate.ranking.rank import rank as rank
    from quorate.ranking.ranking import Ranking as Ranking
    from quorate.rating.rate import rate as rate
    from quorate.rating.rating import Rating as Rating
    from quorate.reading.exports import read_export as read_export
    from quorate.reading.formats.export import Export as Export
    from quorate.reading.read import read as read
    from quorate.reading.scores import Scores as Scores
    from quorate.reading.scores import read_scores as read_scores
    from quorate.reading.times import read_times as read_times
    from quorate.reporting import Report as Report
    from quorate.reporting import charts as charts
    from quorate.reporting import report as report
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
    from quorate.writing.results import write_results as write_results
    from quorate.writing.tables import write_table as write_table

__version__ = "0.2.0"

# What the package offers at its top, and where it lives. Imported when first used: `quorate --help` needs none of it.
_HOMES = {
    "Advice": "advice",
    "Agreement": "meetings.agreements",
    "Answers": "answers",
    "CheckedAnswers": "diagnosis.gate",
    "Comparison": "evaluation.compare",
    "Completion": "skills.completion",
    "Consensus": "methods.consensus",
    "Diagnosis": "diagnosis.diagnose",
    "Estimates": "evaluation.estimates",
    "Export": "reading.formats.export",
    "GoldAdvice": "advice",
    "Ledger": "ledger",
    "Ranking": "ranking.ranking",
    "Rating": "rating.rating",
    "Report": "reporting",
    "Result": "result",
    "Score": "evaluation.score",
    "Scores": "reading.scores",
    "SkillError": "theory.tasks_needed",
    "adaptive_skills": "advice",
    "advise_scores": "advice.score_advice",
    "compare_scores": "evaluation.score_metrics",
    "advise": "advice",
    "advise_gold": "advice",
    "advise_result": "advice",
    "aggregate": "methods.registry",
    "agreement": "meetings.agreements",
    "average_regret": "theory.label_bounds",
    "calibration_error": "evaluation.score",
    "check": "diagnosis.gate",
    "committee_potential": "theory.label_bounds",
    "compare": "evaluation.compare",
    "complete": "skills.completion",
    "complete_rank_one": "skills.completion",
    "consensus": "methods.consensus",
    "diagnose": "diagnosis.diagnose",
    "diagnose_result": "diagnosis.diagnose",
    "estimate": "evaluation.estimates",
    "expected_error": "evaluation.score",
    "inspect_reducer": "methods.inspect_reducer",
    "log_loss": "evaluation.score",
    "majority_vote": "methods.registry",
    "optimal_error_bounds": "theory.label_bounds",
    "plug_in_bound": "theory.label_bounds",
    "rank": "ranking.rank",
    "rate": "rating.rate",
    "read": "reading.read",
    "read_export": "reading.exports",
    "read_scores": "reading.scores",
    "read_times": "reading.times",
    "report": "reporting",
    "skill_error": "theory.label_bounds",
    "task_bounds": "theory.label_bounds",
    "write_results": "writing.results",
    "write_table": "writing.tables",
}
_MODULES = {
    "charts": "reporting.charts",
    "datasets": "evaluation.datasets",
    "estimators": "estimators",
    "simulate": "evaluation.simulate",
    "theory": "theory",
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
