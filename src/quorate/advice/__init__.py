"""Which worker should answer which task next, and when to stop. Start in `plan.py`."""

from quorate.advice.adaptive import AdaptiveSkills as AdaptiveSkills
from quorate.advice.adaptive import adaptive_skills as adaptive_skills
from quorate.advice.advice import Advice as Advice
from quorate.advice.plan import advise as advise
from quorate.advice.plan import advise_result as advise_result
