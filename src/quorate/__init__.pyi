"""The public API: all names that `quorate` exports, and where they are defined. `__init__.py` reads this list."""

from quorate import backends as backends
from quorate import charts as charts
from quorate import datasets as datasets
from quorate import estimators as estimators
from quorate import simulate as simulate
from quorate import theory as theory
from quorate import warehouse as warehouse
from quorate.advice.adaptive_skills import adaptive_skills as adaptive_skills
from quorate.advice.advice import Advice as Advice
from quorate.advice.advise import advise as advise
from quorate.advice.advise import advise_result as advise_result
from quorate.advice.gold_tasks import GoldAdvice as GoldAdvice
from quorate.advice.gold_tasks import suggest_gold as suggest_gold
from quorate.advice.next_steps import NextSteps as NextSteps
from quorate.advice.next_steps import next_steps as next_steps
from quorate.answers import Answers as Answers
from quorate.diagnostics.check import CheckReport as CheckReport
from quorate.diagnostics.check import check as check
from quorate.diagnostics.diagnose import Diagnosis as Diagnosis
from quorate.diagnostics.diagnose import diagnose as diagnose
from quorate.diagnostics.diagnose import diagnose_result as diagnose_result
from quorate.diagnostics.finding import Finding as Finding
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
from quorate.evaluation.metrics import score as score
from quorate.integrations.inspect_ai import inspect_reducer as inspect_reducer
from quorate.integrations.judge_panels import consensus as consensus
from quorate.interrater.agreement import Agreement as Agreement
from quorate.interrater.agreement import agreement as agreement
from quorate.io.exports.detect import read_export as read_export
from quorate.io.exports.export import Export as Export
from quorate.io.exports.write_back import write_back as write_back
from quorate.io.read import read as read
from quorate.io.scores import Scores as Scores
from quorate.io.scores import read_scores as read_scores
from quorate.io.timestamps import read_times as read_times
from quorate.io.write_table import write_table as write_table
from quorate.ledger import Ledger as Ledger
from quorate.methods.aggregate import aggregate as aggregate
from quorate.methods.aggregate import majority_vote as majority_vote
from quorate.methods.consensus import Consensus as Consensus
from quorate.ranking.rank import rank as rank
from quorate.ranking.ranking import Ranking as Ranking
from quorate.rating.advice import advise_scores as advise_scores
from quorate.rating.metrics import compare_scores as compare_scores
from quorate.rating.rate import rate as rate
from quorate.rating.rating import Rating as Rating
from quorate.reporting.report import Report as Report
from quorate.reporting.report import report as report
from quorate.result import Result as Result
from quorate.saved_results import load as load
from quorate.skills.completion import Completion as Completion
from quorate.skills.completion import complete_rank_one as complete_rank_one
from quorate.theory.label_bounds import average_regret as average_regret
from quorate.theory.label_bounds import committee_potential as committee_potential
from quorate.theory.label_bounds import optimal_error_bounds as optimal_error_bounds
from quorate.theory.label_bounds import plug_in_bound as plug_in_bound
from quorate.theory.label_bounds import skill_error as skill_error
from quorate.theory.label_bounds import task_bounds as task_bounds

__all__: list[str]
__version__: str
DEPRECATED: dict[str, str]

# Names of version 0.2 that have another name now.
CheckedAnswers = CheckReport
SkillError = theory.SkillErrorBound
advise_gold = suggest_gold
complete = complete_rank_one
write_results = write_back
