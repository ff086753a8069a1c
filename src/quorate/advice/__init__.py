"""Which worker should answer which task next, when to stop, and what an expert should label. Start in `plan.py`."""

from quorate.advice.adaptive import AdaptiveSkills as AdaptiveSkills
from quorate.advice.adaptive import adaptive_skills as adaptive_skills
from quorate.advice.advice import Advice as Advice
from quorate.advice.gold_tasks import GoldAdvice as GoldAdvice
from quorate.advice.gold_tasks import advise_gold as advise_gold
from quorate.advice.plan import advise as advise
from quorate.advice.plan import advise_result as advise_result
