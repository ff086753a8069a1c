"""Labels that differ only by case or spaces: told, and made one where the caller says so."""

import re

import numpy as np
import pyarrow as pa

from quorate.arrays import TEXT, IntArray, from_strings, take
from quorate.errors import listing

MOST_NUMBERS = 1_000  # labels among which 1 and 1.0 are looked for; more are no classes
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)")
WHOLE = re.compile(r"([+-]?\d+)\.0+")
MOST = 100_000  # labels among which likenesses are looked for; more are no classes


def spelled(label: str) -> str:
    """Return what two spellings of one label have in common.

    >>> spelled(" Hot  Dog") == spelled("hot dog")
    True
    """
    return " ".join(label.casefold().split())


def likenesses(classes: pa.Array) -> list[list[str]]:
    """List the labels that differ only by case or spaces, together.

    >>> likenesses(pa.array(["Cat", "cat", "cat ", "dog"]))
    [['Cat', 'cat', 'cat ']]
    """
    if classes.type not in TEXT or len(classes) > MOST:
        return []
    found: dict[str, list[str]] = {}
    for label in classes.to_pylist():
        found.setdefault(spelled(label), []).append(label)
    return [labels for labels in found.values() if len(labels) > 1]


def told_likenesses(classes: pa.Array) -> list[str]:
    """Say which labels differ only by case or spaces, in a line at the most.

    >>> told_likenesses(pa.array(["cat", "dog"]))
    []
    """
    found = likenesses(classes)
    if not found:
        return []
    more = f", and {len(found) - 1:,} more such" if len(found) > 1 else ""
    return [
        f"labels that differ only by case or spaces count as different: {listing(found[0])}{more}; "
        "merge_spellings=True (--merge-spellings) makes them one"
    ]


def one_spelling_of_numbers(codes: IntArray, names: pa.Array) -> tuple[IntArray, pa.Array]:
    """Make one label of 1 and 1.0, where all labels are numbers; any other label stays as it is written.

    >>> codes, names = one_spelling_of_numbers(np.array([0, 1, 2]), pa.array(["1", "1.0", "2"]))
    >>> codes.tolist(), names.to_pylist()
    ([0, 0, 1], ['1', '2'])
    """
    if names.type not in TEXT or len(names) > MOST_NUMBERS:
        return codes, names
    texts = names.to_pylist()
    place = {text: k for k, text in enumerate(texts)}
    whole = [WHOLE.fullmatch(text) for text in texts]
    if not all(NUMBER.fullmatch(text) for text in texts):
        return codes, names
    becomes = [place.get(found[1], k) if found else k for k, found in enumerate(whole)]
    if becomes == list(range(len(texts))):
        return codes, names
    kept = sorted(set(becomes))
    new_code = np.full(len(texts) + 1, -1, np.int32)  # the last is what -1 finds
    new_code[: len(texts)] = [kept.index(k) for k in becomes]
    return new_code[codes], take(names, np.array(kept))


def merged(codes: IntArray, names: pa.Array) -> tuple[IntArray, pa.Array]:
    """Make one label of those that differ only by case or spaces, spelled as most of the answers do.

    >>> codes, names = merged(np.array([0, 1, 1, 2]), pa.array(["Cat", "cat", "dog"]))
    >>> codes.tolist(), names.to_pylist()
    ([0, 0, 0, 1], ['cat', 'dog'])
    """
    if names.type not in TEXT or not len(names):
        return codes, names
    times = np.bincount(codes[codes >= 0], minlength=len(names)).tolist()
    stands: dict[str, tuple[int, str]] = {}
    labels: list[str] = names.to_pylist()
    for label, count in sorted(zip(labels, times, strict=True), key=lambda each: (-each[1], each[0])):
        stands.setdefault(spelled(label), (count, label))
    place = {key: number for number, key in enumerate(dict.fromkeys(map(spelled, labels)))}
    new: IntArray = np.array([*(place[spelled(label)] for label in labels), -1], dtype=np.int32)  # -1 is the last
    return new[codes], from_strings([stands[key][1] for key in place])


def respelled(labels: pa.Array, classes: pa.Array) -> pa.Array:
    """Spell labels as the classes are, where they differ only by case or spaces.

    >>> respelled(pa.array(["CAT", "elk"]), pa.array(["cat", "dog"])).to_pylist()
    ['cat', 'elk']
    """
    if classes.type not in TEXT or labels.type not in TEXT:
        return labels
    known = {spelled(name): name for name in classes.to_pylist()}
    return from_strings([known.get(spelled(label), label) for label in labels.to_pylist()])
