"""Valid input -> hostile input: bytes changed at random, texts recoded, JSON of other types than were meant."""

import copy
import gzip
import json
import random
from collections.abc import Callable
from typing import Any

# What parsers stumble over: ends of lines and of text, quotes, halves of characters, numbers that no type holds.
TOKENS = [
    b'"', b"'", b"\r", b"\n", b"\r\n", b",", b"\t", b";", b"\0", b"\\", b"\x0b", b"\x1b]0;x\x07", b"\xff",
    b"\xef\xbb\xbf", b"\xc2\xa0", b"\xe2\x80\xae", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"null", b"NaN", b"nan",
    b"Infinity", b"-0", b"1e999", b"true", b"{", b"}", b"[", b"]", b":", b"{}", b"[]", b'"\\ud800"', b"\\u0000",
    b"99999999999999999999", b"9007199254740993", b"18446744073709551616", b"0.1", b"=1+1", b"[red]", b"constructor",
    b"__proto__", b"../x", b"%s", b"task", b"label",
]  # fmt: skip
ENCODINGS = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "latin-1", "cp1252", "utf-7", "utf-8-sig")
# What may stand in the place of any value of an export.
VALUES: list[Any] = [
    None, True, False, 0, -1, 1.5, 2**53 + 1, 2**70, float("nan"), float("inf"), "", " ", "\u00a0", "x" * 5000,
    "\ud800", "\x1b[2J", [], [[]], [None], ["a", "b"], [{}], {}, {"a": None}, {"choices": [1]}, {"value": []}, "[1]",
    "{}", "null",
]  # fmt: skip


def mutilated(data: bytes, rng: random.Random) -> bytes:
    """Change bytes in one to six ways.

    >>> mutilated(b"task,label", random.Random(1)) != b"task,label"
    True
    """
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        data = rng.choice(BYTES)(data, rng)
    return data


def _span(data: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(start + rng.choice((1, 1, 2, 5, 20, 200)), len(data))


def _flip(data: bytes, rng: random.Random) -> bytes:
    if not data:
        return b"\0"
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def _insert(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(TOKENS) * rng.choice((1, 1, 1, 2, 50)) + data[at:]


def _replace(data: bytes, rng: random.Random) -> bytes:
    start, stop = _span(data, rng)
    return data[:start] + rng.choice(TOKENS) + data[stop:]


def _delete(data: bytes, rng: random.Random) -> bytes:
    start, stop = _span(data, rng)
    return data[:start] + data[stop:]


def _double(data: bytes, rng: random.Random) -> bytes:
    start, stop = _span(data, rng)
    return data[:stop] + data[start:stop] * rng.choice((1, 1, 3, 40)) + data[stop:]


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _noise(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.choice((1, 3, 30))) + data[at:]


def _lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    rng.shuffle(lines)
    return rng.choice((b"\n", b"\n", b"\r", b"\r\n", b"\n\n")).join(lines)


def _recode(data: bytes, rng: random.Random) -> bytes:
    return data.decode("utf-8", errors="replace").encode(rng.choice(ENCODINGS), errors="ignore")


def _long(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return (
        data[:at] + rng.choice((b"x", b"[", b'{"a":', b"9", b'"', b",")) * rng.choice((600, 5000, 140_000)) + data[at:]
    )


def _title(data: bytes, rng: random.Random) -> bytes:
    return rng.choice((b"a title\n", b"\n", b"\xef\xbb\xbf", b"#\n", b"null\n", b"[]\n", b" ")) + data


BYTES: list[Callable[[bytes, random.Random], bytes]] = [
    _flip, _flip, _insert, _insert, _insert, _replace, _replace, _delete, _delete, _double, _cut, _noise, _lines,
    _recode, _long, _title,
]  # fmt: skip


def packed(data: bytes, rng: random.Random) -> bytes:
    """Pack with gzip, and now and then damage what comes out.

    >>> gzip.decompress(packed(b"x", random.Random(0)))
    b'x'
    """
    packed_data = gzip.compress(data, mtime=0)
    return packed_data if rng.random() < 0.5 else mutilated(packed_data, rng)


def distorted(value: Any, rng: random.Random) -> Any:
    """Change what a JSON value holds in one to four places: another type, a field less, a field twice over.

    >>> made = [distorted({"id": 7}, random.Random(seed)) for seed in range(60)]
    >>> {} in made, len({str(each) for each in made}) > 10
    (True, True)
    """
    value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 2, 4))):
        value = _distort(value, rng)
    return value


def _distort(value: Any, rng: random.Random) -> Any:
    places = list(_places(value))
    if not places or rng.random() < 0.02:
        return copy.deepcopy(rng.choice(VALUES))
    parent, key = rng.choice(places)
    what = rng.random()
    if what < 0.5:
        parent[key] = copy.deepcopy(rng.choice(VALUES))
    elif what < 0.65:
        del parent[key]
    elif what < 0.8:
        parent[key] = [parent[key]] if rng.random() < 0.5 else {"value": parent[key]}
    elif what < 0.9:
        other, its = rng.choice(places)
        if its in other if isinstance(other, dict) else its < len(other):
            parent[key] = copy.deepcopy(other[its])
    elif isinstance(parent, list):
        parent.insert(key, copy.deepcopy(parent[key]))
    else:
        parent[rng.choice(("annotations", "completions", "responses", "result", "id", "x"))] = parent.pop(key)
    return value


def _places(value: Any) -> Any:
    """Give every place inside a value, as what holds it and under which key."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(inside):
        yield value, key
        yield from _places(item)


def distorted_json(data: bytes, rng: random.Random) -> bytes:
    """Do to a JSON file, or to JSON lines, what `distorted` does to a value.

    >>> distorted_json(b'[{"id": 7}]', random.Random(0)) != b'[{"id": 7}]'
    True
    """
    text = data.decode()
    try:
        return json.dumps(distorted(json.loads(text), rng)).encode()
    except json.JSONDecodeError:
        lines = [json.loads(line) for line in text.splitlines() if line.strip()]
        return "\n".join(json.dumps(each) for each in _listed(distorted(lines, rng))).encode()


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
