"""Files that are small and unpack to more than any memory holds, or have more columns than any table of answers."""

import gzip
import os
import resource
import signal
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from quorate.cli.app import main

SECONDS = 60.0  # of CPU that a refusal may take, on a slow machine; most take a few
MEMORY = 5 << 30  # bytes of address space that it may have: two gigabytes and a half are Python, numpy and Arrow


def packed_zeros(path: Path, size: int) -> None:
    """Write a CSV file, packed, of one answer and then blanks; a thousandth of ``size``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     packed_zeros(Path(folder) / "a.gz", 1 << 24)
    ...     len(gzip.decompress((Path(folder) / "a.gz").read_bytes())) >> 24
    1
    """
    block = gzip.compress(b"x" * (1 << 24), mtime=0)  # a packed file may be several, one after the other
    with path.open("wb") as stream:
        stream.write(gzip.compress(b"task,worker,label\n1,a,", mtime=0))
        for _ in range(size >> 24):
            stream.write(block)


FILES = ("zeros.csv.gz", "text.parquet", "rows.parquet", "wide.csv", "wide.jsonl", "log.eval", "deep.jsonl")


def make(folder: Path, size: int = 12 << 30) -> dict[str, Path]:
    """Make bombs that unpack to about ``size`` bytes."""
    made = {name: folder / name for name in FILES}
    packed_zeros(made["zeros.csv.gz"], size)
    long = pa.array(["x" * 100_000])
    rows = max(size // 100_000, 1000)
    column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), long)
    parquet.write_table(pa.table({"task": column, "worker": column, "label": column}), made["text.parquet"])
    same = pa.array([7], pa.int64()).take(pa.array([0] * 1_000_000))
    batch = pa.table({"task": same, "worker": same, "label": same})
    with parquet.ParquetWriter(made["rows.parquet"], batch.schema, compression="zstd") as writer:
        for _ in range(60):  # a gigabyte and a half in memory
            writer.write_table(batch)
    names = [f"c{k}" for k in range(100_000)]
    made["wide.csv"].write_text(",".join(["task,worker,label", *names]) + "\n" + ",".join(["1"] * 100_003) + "\n")
    fields = ",".join(f'"{name}":1' for name in names)
    made["wide.jsonl"].write_text(f'{{"x":1,{fields}}}\n')
    with zipfile.ZipFile(made["log.eval"], "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", '{"status": "success", "eval": {}}')
        with archive.open("samples/1_epoch_1.json", "w", force_zip64=True) as member:
            for _ in range(max(size >> 26, 1)):  # a quarter of the size, for it takes a minute to pack
                member.write(b" " * (1 << 24))
    made["deep.jsonl"].write_text('{"task":' + "[" * 1_000_000 + "]" * 1_000_000 + "}\n")
    return made | {"zeros without end": Path("/dev/zero")}


def bombs(folder: Path) -> dict[str, int]:
    """Give each to the command line; it must be refused in one line, soon, and before the memory is full."""
    counts = {"tried": 0, "refused": 0, "not named": 0, "too slow": 0, "too large": 0}
    for name, path in make(folder).items():
        before = os.times()
        code, message = _limited(path, folder / "errors.txt")
        after = os.times()
        took = after.children_user + after.children_system - before.children_user - before.children_system
        counts["tried"] += 1
        counts["refused"] += code == 2
        counts["not named"] += (code, message.count("\n"), message[:9]) != (2, 1, "quorate: ")
        counts["too slow"] += took > SECONDS
        counts["too large"] += " memory" in message and "kept in memory" not in message  # the process limit
        size = path.stat().st_size / 1e6
        print(
            f"  {name}: {size:.1f} MB, exit code {code} after {took:.1f} s of CPU: {message[:150].strip()}", flush=True
        )
    return counts


def _limited(path: Path, output: Path) -> tuple[int, str]:
    """Return the exit code, and the text of standard error."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.dup2(os.open(os.devnull, os.O_RDWR), 1)
            os.dup2(os.open(output, os.O_RDWR | os.O_CREAT | os.O_TRUNC), 2)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            signal.alarm(600)
            main(["aggregate", str(path), "--method", "majority", *(["--input-format", "csv"] * path.is_char_device())])
        except SystemExit as stopped:
            code = stopped.code if isinstance(stopped.code, int) else 1
        finally:
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), output.read_text()
