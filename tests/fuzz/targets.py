"""What `make fuzz` tries: each target makes a case of a number, a case is files and a command, and has one end."""

import base64
import datetime
import decimal
import hashlib
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from quorate.io.options import ReadOptions
from quorate.ledger.batch_files import SEAL, to_stream
from quorate.ledger.entries import Batch, read_entries
from tests.fuzz import judge_logs
from tests.fuzz.damage import distorted_json, mutilated, packed
from tests.fuzz.layouts import COMPARISONS, LAYOUTS, SCORES

SAMPLES = Path(__file__).parents[1] / "io" / "exports" / "samples"
ROWS = [(t, w, "xyz"[(t * k + k) % 3], 10 * t + k) for t in range(6) for k, w in enumerate(("ann", "bob", "cy é"))]
OUTPUTS = ("labels", "workers", "posterior")


@dataclass
class Case:
    """Files, a command over them (names in braces are places in its folder), and what it may leave."""

    arguments: list[str]
    files: dict[str, bytes] = field(default_factory=dict)
    stdin: bytes | None = None
    outputs: list[str] = field(default_factory=list)

    def to_json(self) -> str:
        """Write it down, to be kept as a test."""
        files = {name: base64.b64encode(data).decode() for name, data in self.files.items()}
        stdin = None if self.stdin is None else base64.b64encode(self.stdin).decode()
        kept = {"arguments": self.arguments, "files": files, "stdin": stdin, "outputs": self.outputs}
        return json.dumps(kept, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Case":
        """Read what `to_json` wrote."""
        kept = json.loads(text)
        files = {name: base64.b64decode(data) for name, data in kept["files"].items()}
        stdin = None if kept["stdin"] is None else base64.b64decode(kept["stdin"])
        return cls(kept["arguments"], files, stdin, kept["outputs"])


def _csv() -> bytes:
    return "".join(f"{','.join(map(str, row))}\n" for row in [("task", "worker", "label", "time"), *ROWS]).encode()


def _jsonl() -> bytes:
    names = ("task", "worker", "label", "time")
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in ROWS).encode()


def _parquet(table: pa.Table, rng: random.Random) -> bytes:
    stream = pa.BufferOutputStream()
    parquet.write_table(
        table,
        stream,
        compression=rng.choice(("snappy", "none", "zstd", "gzip")),
        use_dictionary=rng.random() < 0.5,
        row_group_size=rng.choice((3, 1000)),
        data_page_version=rng.choice(("1.0", "2.0")),
    )
    data: bytes = stream.getvalue().to_pybytes()
    return data


def _aggregate(file: str, data: bytes, rng: random.Random, *more: str) -> Case:
    """Choose one of the ways in which a file of answers is turned into labels."""
    way = rng.randrange(4)
    ending = rng.choice(("csv", "jsonl", "parquet"))
    method = [] if rng.random() < 0.03 else ["--method", "majority"]  # the standard method takes ten times as long
    outputs = [f"{name}.{ending}" for name in OUTPUTS[: rng.randint(1, 3)]] if way < 3 else []
    flags = ("-o", "--workers-out", "--posterior-out")
    places = [part for flag, name in zip(flags, outputs, strict=False) for part in (flag, f"{{{name}}}")]
    asked = [*places, *(["--json"] if way != 1 else [])]
    usual = ["--on-conflict", rng.choice(("error", "last", "drop"))]
    usual += ["--skip-missing"] if rng.random() < 0.3 else []
    return Case(["aggregate", f"{{{file}}}", *method, *usual, *asked, *more], {file: data}, outputs=outputs)


def csv_files(rng: random.Random) -> Case:
    """CSV, TSV by name or not, packed or not, in any encoding."""
    data = mutilated(_csv(), rng)
    name = rng.choice(("a.csv", "a.csv", "a.csv", "a.tsv", "a.txt", "a.csv.gz"))
    more = (
        ["--encoding", rng.choice(("utf-16", "latin-1", "utf-8", "ascii", "utf-7", "hex"))]
        if rng.random() < 0.1
        else []
    )
    more += ["--delimiter", rng.choice((";", "\t", "", ",,", '"', "é", "\n"))] if rng.random() < 0.05 else []
    return _aggregate(name, packed(data, rng) if name.endswith("gz") else data, rng, *more)


def standard_input(rng: random.Random) -> Case:
    """Give the same by standard input."""
    case = csv_files(rng) if rng.random() < 0.6 else json_lines(rng)
    (name, data), *_ = case.files.items()
    arguments = ["-" if each == f"{{{name}}}" else each for each in case.arguments]
    return Case(arguments, {}, data, case.outputs)


def gold(rng: random.Random) -> Case:
    """Known labels beside sound answers."""
    labels = "task,label\n" + "".join(f"{t},{'xyz'[t % 3]}\n" for t in range(4))
    case = _aggregate("a.csv", _csv(), rng, "--gold", "{gold.csv}")
    case.files["gold.csv"] = mutilated(labels.encode(), rng)
    return case


def times(rng: random.Random) -> Case:
    """Damage times beside sound answers."""
    lines = _csv().split(b"\n")
    at = rng.randrange(1, len(lines) - 1)
    head, _, time = lines[at].rpartition(b",")
    lines[at] = head + b"," + mutilated(rng.choice((time, b"2024-05-01 12:30:00", b"1.5", b"1e308")), rng)
    return Case(["diagnose", "{a.csv}", "--time", "time", "--json"], {"a.csv": b"\n".join(lines)})


def json_lines(rng: random.Random) -> Case:
    """JSON lines, changed as bytes or as values."""
    data = _jsonl()
    data = mutilated(data, rng) if rng.random() < 0.6 else distorted_json(data, rng)
    return _aggregate("a.jsonl", data, rng)


TABLES = (
    "mturk.csv",
    "mturk_options.csv",
    "mturk_form.csv",
    "toloka.tsv",
    "figure8.csv",
    "zooniverse.csv",
    "labelstudio.csv",
    "cleanlab.csv",
    "crowdkit.tsv",
    *judge_logs.TABLES,
)
RECORDS = (
    "labelstudio.json", "labelstudio_min.json", "argilla.json", "argilla_flat.json", "argilla_server.jsonl",
    "prodigy_choice.jsonl", "prodigy_binary.jsonl", *judge_logs.RECORDS,
)  # fmt: skip
QUESTIONS = {"prodigy_choice.jsonl": "choice", "prodigy_binary.jsonl": "CAT", **judge_logs.RECORDS}


def _convert(sample: str, data: bytes, rng: random.Random) -> Case:
    question = ["--question", QUESTIONS.get(sample, "animal")] if sample in RECORDS else []
    tool = ["--from", sample.partition(".")[0].partition("_")[0]] if rng.random() < 0.7 else []
    more = [flag for flag in ("--join-choices", "--skip-missing", "--keep-rejected") if rng.random() < 0.4]
    return Case(
        ["convert", f"{{{sample}}}", *question, *tool, *more, "-o", "{answers.csv}", "--json"],
        {sample: data},
        outputs=["answers.csv"],
    )


def export_tables(rng: random.Random) -> Case:
    """Damage exports in CSV and TSV."""
    sample = rng.choice(TABLES)
    return _convert(sample, mutilated((SAMPLES / sample).read_bytes(), rng), rng)


def export_records(rng: random.Random) -> Case:
    """Damage exports in JSON, as values and now and then as bytes."""
    sample = rng.choice(RECORDS)
    data = (SAMPLES / sample).read_bytes()
    return _convert(sample, distorted_json(data, rng) if rng.random() < 0.8 else mutilated(data, rng), rng)


def export_archives(rng: random.Random) -> Case:
    """Damage the archive of a judges' log."""
    return _convert(judge_logs.ARCHIVE, judge_logs.archive_of(SAMPLES, rng), rng)


def parquet_files(rng: random.Random) -> Case:
    """Parquet, changed as bytes."""
    names = ("task", "worker", "label")
    table = pa.table({name: [str(row[k]) for row in ROWS] for k, name in enumerate(names)})
    return _aggregate("a.parquet", mutilated(_parquet(table, rng), rng), rng)


DAY = datetime.datetime(2024, 5, 1, 12, 30)
KINDS: list[tuple[Any, Callable[[int], Any]]] = [
    (pa.binary(), lambda k: bytes([k * 37 % 256])), (pa.binary_view(), lambda k: b"%d" % k),
    (pa.binary(2), lambda k: b"%02d" % k), (pa.large_binary(), lambda k: b"%d" % k), (pa.string_view(), str),
    (pa.large_string(), str), (pa.float16(), np.float16), (pa.float32(), float),
    (pa.float64(), lambda k: [float("nan"), float("inf"), -0.0, 1.5][k % 4]), (pa.int8(), int),
    (pa.uint64(), lambda k: 2**64 - 1 - k), (pa.bool_(), lambda k: k % 2 == 0),
    (pa.decimal128(5, 2), lambda k: decimal.Decimal(k)), (pa.decimal256(50, 3), lambda k: decimal.Decimal(k)),
    (pa.date32(), lambda k: DAY.date()), (pa.date64(), lambda k: DAY.date()),
    (pa.timestamp("s"), lambda k: k * 10**14), (pa.timestamp("ns"), lambda k: k),
    (pa.timestamp("us", "UTC"), lambda k: k), (pa.timestamp("us", "No/Where"), lambda k: k),
    (pa.time32("s"), lambda k: k), (pa.time64("ns"), lambda k: k), (pa.duration("us"), lambda k: k * 10**17),
    (pa.month_day_nano_interval(), lambda k: (k, 0, 0)), (pa.null(), lambda k: None),
    (pa.list_(pa.int8()), lambda k: [k]), (pa.list_view(pa.int8()), lambda k: [k]),
    (pa.struct([("a", pa.int8())]), lambda k: {"a": k}), (pa.map_(pa.string(), pa.int8()), lambda k: [("a", k)]),
    (pa.dictionary(pa.int8(), pa.string()), str), (pa.string(), str),
    (pa.dictionary(pa.int8(), pa.binary()), lambda k: b"%d" % k), (pa.string(), lambda k: f"\x1b[2J\u202e{k}"),
]  # fmt: skip


def parquet_types(rng: random.Random) -> Case:
    """Columns of every type that Arrow has and Parquet stores."""
    columns = {}
    for k, name in enumerate(("task", "worker", "label")):
        kind, make = rng.choice(KINDS) if rng.random() < 0.7 else (pa.string(), str)
        values = [make(int(row[0]) if k == 0 else len(str(row[1])) if k == 1 else int(row[3]) % 3) for row in ROWS]
        if rng.random() < 0.1:
            values = [None if rng.random() < 0.1 else value for value in values]
        columns[name] = pa.array(values, kind)
    try:
        data = _parquet(pa.table(columns), rng)
    except (pa.ArrowException, OSError):  # what Parquet cannot store; another one, then
        return parquet_types(rng)
    return _aggregate("a.parquet", data, rng)


def labels_back(rng: random.Random) -> Case:
    """Labels on their way back into a tool."""
    sample, tool = rng.choice((("labelstudio.json", "labelstudio"), ("argilla.json", "argilla")))
    labels = b"task,label,confidence\n1,cat,0.75\n2,dog,\n3,cat,1\n9,dog,0.5\n"
    name = "l.csv"
    if rng.random() < 0.3:
        name, labels = "l.jsonl", b'{"task": "1", "label": "cat", "confidence": 0.5}\n{"task": "2", "label": "dog"}\n'
    arguments = [
        "convert",
        f"{{{sample}}}",
        "--question",
        "animal",
        "--labels",
        f"{{{name}}}",
        "--to",
        tool,
        "-o",
        "{out.json}",
    ]
    return Case(
        arguments, {sample: (SAMPLES / sample).read_bytes(), name: mutilated(labels, rng)}, outputs=["out.json"]
    )


def _layout(rng: random.Random) -> tuple[str, bytes, list[str]]:
    name, make, options = LAYOUTS[rng.choice(list(LAYOUTS))]
    data = make()
    is_json = name.endswith((".json", ".jsonl"))
    data = distorted_json(data, rng) if is_json and rng.random() < 0.6 else mutilated(data, rng)
    if rng.random() < 0.2 and options:  # one column is not named
        at = 2 * rng.randrange(len(options) // 2)
        options = options[:at] + options[at + 2 :]
    return name, data, options if rng.random() < 0.7 else []


def comparisons(rng: random.Random) -> Case:
    """Damage a table of pairwise comparisons, whose columns `quorate rank` finds by their names."""
    name, data = COMPARISONS[rng.choice(list(COMPARISONS))]
    data = distorted_json(data, rng) if name.endswith("jsonl") and rng.random() < 0.6 else mutilated(data, rng)
    more = ["--skip-missing"] if rng.random() < 0.3 else []
    return Case(["rank", f"{{{name}}}", "--json", *more], {name: data})


def scores(rng: random.Random) -> Case:
    """Damage a table of numeric ratings."""
    data = mutilated(SCORES, rng)
    more = ["--skip-missing"] if rng.random() < 0.3 else []
    more += ["--on-conflict", rng.choice(("mean", "error", "last"))]
    return Case(["rate", "{a.csv}", "--json", *more], {"a.csv": data})


def layouts(rng: random.Random) -> Case:
    """Damage a table of another layout than one row per answer; its columns are named or not."""
    name, data, options = _layout(rng)
    return _aggregate(name, data, rng, *options)


def several_files(rng: random.Random) -> Case:
    """Give two files together, of which one is damaged, or which have different layouts."""
    name, data, options = _layout(rng)
    other, more, _ = _layout(rng)
    case = _aggregate(name, data, rng, *options)
    case.files[f"b{other}"] = more if rng.random() < 0.5 else data
    case.arguments.insert(2, f"{{b{other}}}")
    return case


def examined(rng: random.Random) -> Case:
    """Let `quorate doctor` look at a damaged file of any kind."""
    if rng.random() < 0.6:
        name, data, _ = _layout(rng)
    else:
        name = rng.choice((*TABLES, *RECORDS))
        data = mutilated((SAMPLES / name).read_bytes(), rng)
    return Case(["doctor", f"{{{name}}}", *(["--json"] if rng.random() < 0.5 else [])], {name: data})


def _single_file_ledger() -> bytes:
    rows = pa.table({name: [str(row[k]) for row in ROWS] for k, name in enumerate(("task", "worker", "label"))})
    stream = bytes(to_stream(Batch(read_entries(rows, ReadOptions()), "error")))
    payload = stream + SEAL + hashlib.sha256(stream).digest()
    return f"quorate ledger 1 {len(payload)} {hashlib.sha256(payload).hexdigest()}\n".encode() + payload


def ledgers(rng: random.Random) -> Case:
    """Damage a ledger of version 0.2, its checksums made to fit or not; it is shown or added to."""
    content = _single_file_ledger()
    way = rng.randrange(4)
    payload = content.partition(b"\n")[2]
    if way == 0:
        data = mutilated(content, rng)
    else:
        body = payload[: -len(SEAL) - 32] if way > 1 else payload
        body = mutilated(body, rng)
        if way == 3:
            body += SEAL + hashlib.sha256(body).digest()
        data = f"quorate ledger 1 {len(body)} {hashlib.sha256(body).hexdigest()}\n".encode() + body
    show = ["ledger", "aggregate", "{a.ledger}", "--method", "majority", "--json", "-o", "{labels.csv}"]
    add = ["ledger", "add", "{a.ledger}", "{b.csv}"]
    if rng.random() < 0.7:
        return Case(show, {"a.ledger": data}, outputs=["labels.csv"])
    return Case(add, {"a.ledger": data, "b.csv": b"task,worker,label\n7,dan,x\n"})


TARGETS: dict[str, Callable[[random.Random], Case]] = {
    "csv": csv_files,
    "stdin": standard_input,
    "gold": gold,
    "time": times,
    "jsonl": json_lines,
    "export-csv": export_tables,
    "export-json": export_records,
    "export-eval": export_archives,
    "parquet": parquet_files,
    "parquet-types": parquet_types,
    "labels-back": labels_back,
    "ledger": ledgers,
    "layouts": layouts,
    "several-files": several_files,
    "doctor": examined,
    "rank": comparisons,
    "rate": scores,
}
