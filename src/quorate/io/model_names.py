"""Decide whether workers are language models: as declared, by the log format, or by their names.

A worker is taken for a model if its name contains a model family (gpt, claude, llama, …) or a form that model names
have (7b, instruct, turbo). A family that is also a given name (Claude, Gemma) must be followed by a version or a form.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers, Counted
from quorate.arrays import BoolArray, IntArray
from quorate.errors import for_shell

MIN_MODELS = 2  # models in a panel
MIN_SHARE = 0.25  # of the workers of a panel are models
# Families of language models in use from 2023 to 2026 whose name is sufficient.
FAMILIES = frozenset(
    [
        "gpt",
        "chatgpt",
        "gemini",
        "mixtral",
        "mistral",
        "qwen",
        "qwq",
        "deepseek",
        "llama",
        "granite",
        "glm",
        "chatglm",
        "baichuan",
        "internlm",
        "dbrx",
        "tulu",
        "nemotron",
        "codestral",
        "hunyuan",
        "minimax",
        "davinci",
        "babbage",
        "t5",
        "ul2",
        "bloomz",
        "pythia",
        "mpt",
        "stablelm",
        "wizardlm",
        "openchat",
        "cohere",
        "jamba",
        "jurassic",
        "exaone",
        "smollm",
    ]
)
# Families that are also given names or common words: the name must have a version or a form as well.
AMBIGUOUS_FAMILIES = frozenset(
    [
        "claude",
        "gemma",
        "nova",
        "curie",
        "grok",
        "solar",
        "yi",
        "phi",
        "opus",
        "aya",
        "titan",
        "hermes",
        "orca",
        "orion",
        "bard",
        "falcon",
        "flan",
        "palm",
        "opt",
        "bloom",
        "alpaca",
        "vicuna",
        "zephyr",
        "starling",
        "olmo",
        "ernie",
        "prometheus",
        "haiku",
        "sonnet",
        "kimi",
    ]
)
PHRASES = ("command-r", "command_r", "text-davinci", "text-ada-", "text-babbage", "text-curie")
# Parts that only names of models have: number of parameters, kind of training.
FORMS = re.compile(
    r"""(^|[-_/.:\s])(
        \d+(\.\d+)?x?\d*b            # 7b, 1.5b, 8x7b
      | instruct | chat | turbo | preview | mini | nano | flash | distill | sft | dpo | rlhf | it
      | llm | lm | judge[-_]?model
    )($|[-_/.:\s\d])""",
    re.VERBOSE | re.IGNORECASE,
)
# Forms that ids of people may have as well.
WEAK_FORMS = frozenset({"chat", "mini", "nano", "flash", "it", "preview", "lm"})
VENDORS = frozenset(
    [
        "openai",
        "anthropic",
        "google",
        "meta",
        "mistralai",
        "alibaba",
        "xai",
        "cohere",
        "nvidia",
        "microsoft",
        "huggingface",
        "together",
        "fireworks",
        "bedrock",
        "azure",
        "vertex",
        "ollama",
        "groq",
        "amazon",
        "deepseek-ai",
        "01-ai",
        "databricks",
    ]
)
REASONING = re.compile(r"(^|[-_/:\s])o[1-9](-mini|-preview|-pro)?($|[-_/:\s@])", re.IGNORECASE)  # o1, o3-mini
SEPARATORS = re.compile(r"[-_/.:@\s]+")
PEOPLE_WORDS = re.compile(  # an e-mail address, or a numbered person
    r"@[\w-]+\.\w+|^(worker|annotator|rater|user|coder|subject|participant|person|w|u|p|s|id)[-_ ]?\w{0,4}$",
    re.IGNORECASE,
)


def is_model_name(name: str) -> bool:
    """Return whether a worker's name is that of a language model.

    >>> [is_model_name(name) for name in ("gpt-4o", "claude-3-opus", "Llama-3.1-8B-Instruct", "openai/o3-mini")]
    [True, True, True, True]
    >>> [is_model_name(name) for name in ("Claude", "Gemma", "ann", "worker 7", "A2XJ8KQ", "phil@example.org")]
    [False, False, False, False, False, False]
    """
    text = name.strip()
    if not text or PEOPLE_WORDS.search(text):
        return False
    lowered = text.lower()
    words = [word for word in SEPARATORS.split(lowered) if word]
    has_digit = any(character.isdigit() for character in lowered)
    is_compound = len(words) > 1
    if REASONING.search(lowered) or any(phrase in lowered for phrase in PHRASES):
        return True
    for word in words:
        stem = re.sub(r"[\dv.]+[a-z]{0,3}$", "", word)  # gpt4o, llama3, qwen2
        is_ambiguous = stem in AMBIGUOUS_FAMILIES or word in AMBIGUOUS_FAMILIES
        if is_ambiguous and (has_digit or (is_compound and _has_form(lowered))):
            return True
        if not is_ambiguous and (stem in FAMILIES or word in FAMILIES):
            return True
    if words and words[0] in VENDORS and "/" in lowered:
        return True
    return is_compound and _has_form(lowered, strong=True)


def _has_form(name: str, *, strong: bool = False) -> bool:
    """Return whether a name has a form of model names; with ``strong``, one that is not in `WEAK_FORMS`."""
    return any(not strong or match.group(2).lower() not in WEAK_FORMS for match in FORMS.finditer(name))


REPEATED_CALL = re.compile(
    r"[-_ #.:(]*(run|call|sample|repeat|rep|trial|seed|attempt|try|#)[-_ #.:]*\d+\)?$", re.IGNORECASE
)


def repeated_calls(names: Sequence[object]) -> IntArray | None:
    """Return a group code per worker, equal for calls of one model (``gpt-4o run 1``); None if there are no such calls.

    >>> repeated_calls(["gpt-4o-run1", "gpt-4o-run2", "claude-3"]).tolist()
    [1, 1, 0]
    >>> repeated_calls(["gpt-3", "gpt-4"]) is None
    True
    """
    bases = []
    for index, name in enumerate(names):
        base = REPEATED_CALL.sub("", str(name))
        bases.append(base if base != str(name) else f"\0{index}")
    _, group, size = np.unique(bases, return_inverse=True, return_counts=True)
    return group.astype(np.int64) if bool((size > 1).any()) else None


def model_names(names: Sequence[object]) -> BoolArray:
    """Return a mask of the workers whose names are names of models.

    >>> model_names(["gpt-4", "ann"]).tolist()
    [True, False]
    """
    return np.array([is_model_name(str(name)) for name in names], dtype=bool)


def is_panel(is_model: BoolArray) -> bool:
    """Return whether the crowd is a panel: at least two workers and a quarter of all are models.

    >>> is_panel(np.array([True, True, False])), is_panel(np.array([True, False, False]))
    (True, False)
    """
    n_models = int(is_model.sum())
    return n_models >= MIN_MODELS and n_models >= MIN_SHARE * len(is_model)


def is_panel_by_names(names: Sequence[object]) -> bool:
    """Return whether the crowd is a panel of models by the names of the workers.

    >>> is_panel_by_names(["gpt-4o", "claude-3-opus"]), is_panel_by_names(["Claude", "Gemma"])
    (True, False)
    """
    return is_panel(model_names(names))


@dataclass(frozen=True)
class Models:
    """Which workers are models, and whether their names decided it."""

    is_model: BoolArray  # [workers]
    by_name: bool


MAX_NAMED = 1000  # workers; a larger crowd is not checked, because panels of models are smaller


def models_of(crowd: Counted, judges: bool | None) -> Models | None:
    """Return which workers are models, as declared or by their names; None if the crowd is not a panel of models.

    Args:
        crowd: the names of its workers are used.
        judges: True if all workers are models, False if none is, None if their names decide.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["gpt-4o", "claude-3-opus"], "label": ["x", "y"]})
    >>> models_of(answers, None).is_model.tolist(), models_of(answers, False)
    ([True, True], None)
    """
    n = len(crowd.worker_names)
    if judges is False or (judges is None and n > MAX_NAMED):
        return None
    if judges is not None:
        return Models(np.ones(n, dtype=bool), by_name=False)
    is_model = model_names(crowd.worker_names.to_pylist())
    if isinstance(crowd, Answers) and crowd.is_model is not None:
        is_model |= crowd.is_model
    return Models(is_model, by_name=True) if is_panel(is_model) else None


def who_are_models(n_models: int, n_workers: int, *, by_name: bool) -> str:
    """Return the sentence that workers are models and, if their names decided it, how to change this.

    >>> who_are_models(2, 3, by_name=True)
    '2 of 3 workers look like LLM judges by their names (use judges=False if they are people)'
    """
    these = f"These {n_workers}" if n_models == n_workers else f"{n_models} of {n_workers}"
    if not by_name:
        return f"{these} workers are LLM judges"
    if_people = for_shell("judges=False (--no-judges) if they are people")
    return f"{these} workers look like LLM judges by their names (use {if_people})"
