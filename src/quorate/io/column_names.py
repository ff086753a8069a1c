"""Guess the role of a column from its name: task, worker, answer, known label, or another."""

import re
from collections.abc import Iterable
from functools import lru_cache

from quorate.errors import shown
from quorate.io.values import FROM_FILE

# Names are compared by their words, in lower case: "Item ID", "item_id" and "itemId" are the words item, id.
# The lists contain names seen in published tables and in the exports of annotation tools, the clearest first.
TASK = [
    "task",
    "item",
    "question",
    "example",
    "unit",
    "document",
    "doc",
    "image",
    "sample",
    "instance",
    "hit",
    "prompt",
    "query",
    "post",
    "tweet",
    "article",
    "sentence",
    "comment",
    "passage",
    "text",
    "pair",
    "record",
    "case",
    "page",
    "row",
    "utterance",
    "snippet",
    "object",
    "photo",
    "video",
    "clip",
    "sound",
    "url",
    "subjects",
    "snapshot",
    "key",
]
WORKER = [
    "worker",
    "annotator",
    "rater",
    "judge",
    "labeler",
    "labeller",
    "coder",
    "reviewer",
    "assessor",
    "grader",
    "evaluator",
    "participant",
    "performer",
    "user",
    "who",
    "person",
    "contributor",
    "turker",
    "volunteer",
    "subject",
    "expert",
    "ann",
    "annot",
    "model",
    "username",
    "email",
    "author",
    "name",
]
LABEL = [
    "label",
    "answer",
    "annotation",
    "response",
    "verdict",
    "judgment",
    "judgement",
    "vote",
    "choice",
    "rating",
    "score",
    "class",
    "category",
    "grade",
    "decision",
    "opinion",
    "value",
    "val",
    "output",
    "pick",
    "winner",
    "preference",
    "preferred",
    "selection",
    "selected",
    "prediction",
    "relevance",
    "code",
    "result",
]
WORDS_OF_ROLE = {"task": TASK, "worker": WORKER, "label": LABEL}
GOLD = ["gold", "golden", "truth", "true", "groundtruth", "expected", "target", "reference", "solution", "standard"]
CONSENSUS = [
    "majority",
    "consensus",
    "hard",
    "soft",
    "aggregated",
    "aggregate",
    "final",
    "mean",
    "average",
    "avg",
    "median",
]
HUMAN = ["human", "expert", "manual"]  # may be known labels or the answers of a worker
# Metadata of the row, which is neither an id nor an answer.
METADATA = [
    "time",
    "timestamp",
    "date",
    "datetime",
    "created",
    "updated",
    "started",
    "submitted",
    "finished",
    "duration",
    "seconds",
    "latency",
    "cost",
    "price",
    "tokens",
    "elapsed",
    "confidence",
    "trust",
    "rationale",
    "reason",
    "reasoning",
    "explanation",
    "comment",
    "comments",
    "feedback",
    "note",
    "notes",
    "split",
    "fold",
    "source",
    "language",
    "lang",
    "ip",
    "country",
    "region",
    "city",
    "version",
    "phase",
    "order",
    "index",
    "rank",
    "raw",
    "channel",
    "session",
    "device",
    "platform",
    "batch",
    "replicate",
    "correct",
    "success",
    "successful",
    "flag",
    "status",
    "probability",
    "prob",
    "logprob",
    "hash",
    "lat",
    "lon",
]
TEXT = [
    "text",
    "sentence",
    "title",
    "body",
    "content",
    "description",
    "input",
    "premise",
    "hypothesis",
    "context",
    "raw",
    "reply",
]
METADATA_PARENTS = [
    "metadata",
    "meta",
    "metrics",
    "metric",
    "config",
    "usage",
    "stats",
    "aggregate",
    "info",
    "settings",
    "parameters",
    "details",
    "counts",
]
COUNT_WORDS = ("number", "num", "n", "count", "total")  # "number of annotators" is not an annotator
ID = ("id", "ids", "uuid", "guid", "idx", "index", "key", "no", "number", "nr", "num")
NAME_WORDS = (*ID, "name", "names", "code")  # words that may follow a word for a worker: "judge name"

# First part of the names of language models.
MODEL = re.compile(
    r"(?i)\b(gpt|claude|gemini|gemma|llama|qwen|mistral|mixtral|deepseek|command|phi|grok|yi|o1|o3|o4|sonnet|opus|haiku|"
    r"palm|bard|falcon|vicuna|nova|glm|kimi|jamba|olmo|granite|nemotron)(?=[\d\W_]|$)"
)

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case; of a dotted path, those of the last part.

    >>> words_of("Item ID"), words_of("workerId"), words_of("workerid"), words_of("judge.name"), words_of("a.winner")
    (('item', 'id'), ('worker', 'id'), ('worker', 'id'), ('judge', 'name'), ('winner',))
    """
    above, _, last = name.rpartition(".")
    words = [word.lower() for word in WORD.findall(last or name)[:12]]
    if above and words and all(word in NAME_WORDS for word in words):  # judge.name, item.id
        words = [*(word.lower() for word in WORD.findall(above.rpartition(".")[2])[:12]), *words]
    return tuple(part for word in words for part in _parts_of(word))


def _parts_of(word: str) -> tuple[str, ...]:
    """Separate "id" from the word before it, as in names that a database has in lower case: workerid."""
    stem = word.removesuffix("id")
    return (stem, "id") if stem != word and stem in (*TASK, *WORKER) else (word,)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def strength(name: str, role: str) -> int:
    """Return how clearly a name indicates a role: 3 it is a name of the role, 2 it contains one, 1 perhaps, 0 no.

    >>> [strength(name, "task") for name in ("Item ID", "art_id", "sentence", "rating")]
    [3, 1, 3, 0]
    >>> strength("judge_name", "worker"), strength("parsed_verdict", "label"), strength("ground_truth_label", "label")
    (3, 2, 0)
    """
    words = words_of(name)
    if not words or (words[0] in COUNT_WORDS and len(words) > 1):
        return 0
    known = WORDS_OF_ROLE[role]
    first = _singular(words[0])
    last = _singular(words[-1])
    if role == "label":
        if is_gold(name) or is_about(name):
            return 0
        if len(words) == 1 or (len(words) == 2 and words[1].isdecimal()):
            return 3 if first in known else 0
        return 2 if last in known or (words[-1].isdecimal() and _singular(words[-2]) in known) else 0
    followers = ID if role == "task" else NAME_WORDS
    bare = [word for word in words if word not in followers]
    if not bare:
        return 1 if role == "task" else 0
    if len(bare) == 1 and _singular(bare[0]) in known:
        if role == "worker" and _singular(bare[0]) in ("name", "model", "author") and len(words) == 1:
            return 2
        return 3
    if role == "worker":
        return 2 if last in known[:-3] or _singular(bare[-1]) in known[:-3] else 0
    if words[-1] in ID:
        return 1 if not any(_singular(word) in WORKER for word in bare) else 0
    return 2 if last in known and last not in ("key", "row", "name") else 0


def is_gold(name: str) -> bool:
    """Whether a name indicates that the column has known labels.

    >>> is_gold("ground_truth_label"), is_gold("gold"), is_gold("correct_answer"), is_gold("correct"), is_gold("label")
    (True, True, True, False, False)
    """
    words = words_of(name)
    if "correct" in words and len(words) > 1 and _singular(words[-1]) in LABEL:
        return True
    return any(word in GOLD for word in words)


def is_consensus(name: str) -> bool:
    """Whether a name indicates that the column is computed from several answers.

    >>> is_consensus("hard_label"), is_consensus("majority vote"), is_consensus("label")
    (True, True, False)
    """
    return any(word in CONSENSUS for part in name.split(".") for word in words_of(part))


def is_judge(name: str) -> bool:
    """Whether a name indicates that a language model gave the labels.

    >>> is_judge("judge_label"), is_judge("gpt-4o"), is_judge("human_label")
    (True, True, False)
    """
    return mentions_model(name) or bool({"judge", "llm", "model", "ai"} & set(words_of(name)))


def is_human(name: str) -> bool:
    """Whether a name indicates that a person gave the labels: known labels, or answers of a worker.

    >>> is_human("human_label"), is_human("judge_label")
    (True, False)
    """
    return any(word in HUMAN for word in words_of(name))


def is_about(name: str) -> bool:
    """Whether a name indicates metadata (time, cost, comment), which is neither an id nor an answer.

    >>> is_about("created_at"), is_about("WorkTimeInSeconds"), is_about("score")
    (True, True, False)
    """
    words = words_of(name)
    above = name.rpartition(".")[0]
    if any(word in METADATA_PARENTS for part in above.split(".") for word in words_of(part)):
        return True
    return any(word in METADATA for word in words) and words[-1:] != ("label",)


def is_text(name: str) -> bool:
    """Whether a name indicates a text that was shown to workers or written by them.

    >>> is_text("tweet_text"), is_text("label")
    (True, False)
    """
    words = words_of(name)
    return bool(words) and words[-1] in TEXT


def plain_name(name: str) -> str:
    """Return a name in lower case without spaces, hyphens and underscores.

    >>> plain_name("Item ID") == plain_name("item_id")
    True
    """
    return re.sub(r"[\s_-]+", "", name).lower()


def match_name(name_given: str, columns: list[str]) -> str:
    """Return the column that is meant: the name itself, or the only one that differs by case, spaces and underscores.

    For a nested field, the last parts of its path are enough if no other path ends in the same way.

    >>> match_name("item id", ["Item ID", "Text"]), match_name("nothing", ["Item ID"])
    ('Item ID', 'nothing')
    >>> match_name("parsed.winner", ["rows.id", "rows.parsed.winner"])
    'rows.parsed.winner'
    """
    if name_given in columns:
        return name_given
    matches = [name for name in columns if plain_name(name) == plain_name(name_given)]
    if not matches:
        matches = [name for name in columns if plain_name(name).endswith(f".{plain_name(name_given)}")]
    return matches[0] if len(matches) == 1 else name_given


def quoted(name: str) -> str:
    """Return a column's name in quotes, for a sentence.

    >>> quoted("Item ID")
    '"Item ID"'
    """
    return '"' + shown(name)[1:-1] + '"' if len(name) <= 60 else shown(name)


def name_family(name: str) -> str:
    """Return the part of a name that columns that belong together share: all but the last word or number.

    >>> name_family("judge_a"), name_family("scores.gpt-4"), name_family("q10"), name_family("label")
    ('judge', 'scores.gpt', 'q', '')
    """
    digits = len(name) - len(name.rstrip("0123456789"))
    start = len(name) - digits
    if not (digits and name[start - 1 : start].isalpha()):  # otherwise the number is the last word
        start = len(name)
        while start and name[start - 1].isalnum():
            start -= 1
    if start == len(name):  # the name ends in a punctuation mark
        return name
    while start and not name[start - 1].isalnum():
        start -= 1
    return name[:start]


def columns_named_as(names: Iterable[str], role: str) -> list[tuple[int, str]]:
    """Return (strength, name) of the columns whose name indicates a role, the clearest first.

    Names of equal strength are in the order of the words in the list of the role.

    >>> columns_named_as(["subject_ids", "user_name"], "worker")
    [(3, 'user_name'), (3, 'subject_ids')]
    """
    strengths = [(strength(name, role), name) for name in names if name != FROM_FILE]
    order = {word: position for position, word in enumerate(WORDS_OF_ROLE[role])}

    def clearest_first(pair: tuple[int, str]) -> tuple[int, int]:
        positions = [order[word] for word in map(_singular, words_of(pair[1])) if word in order]
        return -pair[0], min(positions, default=len(order))

    return sorted((pair for pair in strengths if pair[0]), key=clearest_first)


def mentions_model(name: str) -> bool:
    """Whether a name contains the name of a language model; for workers' ids, `model_names.is_model_name` is stricter.

    >>> mentions_model("qwen2-5-7b-instruct"), mentions_model("GPT-4o (chat)"), mentions_model("gender")
    (True, True, False)
    """
    return MODEL.search(name) is not None


COMPARED_WORDS = ("model", "answer", "response", "system", "output", "option", "candidate")


def compared_columns(names: Iterable[str]) -> list[str]:
    """Return the columns of the two items that are compared, such as ``model_a`` and ``model_b``."""
    sides = (("a",), ("b",), ("1",), ("2",), ("left",), ("right",))
    pairs = [name for name in names if words_of(name)[-1:] in sides]
    stems = [name_family(name) for name in pairs]
    compared = {stem for stem in stems if stems.count(stem) == 2 and set(COMPARED_WORDS) & set(words_of(stem))}
    return [name for name, stem in zip(pairs, stems, strict=True) if stem in compared]


def quoted_names(names: Iterable[str]) -> str:
    """Return names of columns in quotes, separated by commas."""
    return ", ".join(quoted(name) for name in names)
