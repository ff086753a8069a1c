"""Statistics over all tasks with error bars: what share, how good, and how many labels that takes."""

from quorate.evaluation.estimates.estimating import Estimates as Estimates
from quorate.evaluation.estimates.estimating import estimate as estimate
