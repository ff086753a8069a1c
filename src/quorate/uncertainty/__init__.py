"""How sure a skill is: intervals by inverting the score of each worker, and what the peers' own uncertainty adds."""

from quorate.uncertainty.centred_score import CentredInference
from quorate.uncertainty.intervals import Inference, Intervals, WorkerScore, check_level, skill_intervals
from quorate.uncertainty.rank_one_score import OneCoinInference
from quorate.uncertainty.workforce import Workforce

__all__ = [
    "CentredInference",
    "Inference",
    "Intervals",
    "OneCoinInference",
    "WorkerScore",
    "Workforce",
    "check_level",
    "skill_intervals",
]
