"""The SQLite index of a ledger: its batches, its ids, and one entry for each task and worker.

It has what adding a batch needs: whether a task and worker have a label already, which one, and how many answers there
are, so that earlier batches are not read. It can be rebuilt from the batches. Batches belong to the ledger from the
commit of the index.

The entries are sorted by task and worker, and about two hundred of them are one row of the table ``answers``. One row
for each entry would take ten times as long to insert. A row has the entries whose keys lie between its ``first`` and
that of the next row, so each key belongs to exactly one row.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from quorate import arrow_compute as pc
from quorate.arrays import TEXT, IntArray, take, to_numpy
from quorate.errors import LedgerFileError, UnwritableFileError
from quorate.ledger.entries import (
    COLUMNS,
    DROPPED,
    Added,
    Entries,
    check_type,
    first_contradiction,
    ids_of,
    keys_of,
    recode,
)

INDEX_NAME = "index.sqlite"
FORMAT_VERSION = 3  # of the folder; 2 had one row of `answers` for each entry; 1 is the single file of version 0.2
ROWS_AT_ONCE = 100_000  # rows passed to SQLite at a time, so that lists of Python objects are small
CACHE_KIB = 65_536  # size of SQLite's page cache while a batch is added
TABLES = {
    "tasks": "(id PRIMARY KEY NOT NULL, code INTEGER NOT NULL) WITHOUT ROWID",
    "workers": "(id PRIMARY KEY NOT NULL, code INTEGER NOT NULL) WITHOUT ROWID",
    "labels": "(id PRIMARY KEY NOT NULL, code INTEGER NOT NULL) WITHOUT ROWID",
    "answers": "(first INTEGER PRIMARY KEY, entries BLOB NOT NULL)",
}
SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE batches (number INTEGER PRIMARY KEY, file TEXT NOT NULL);
""" + "".join(f"CREATE TABLE {table} {columns};\n" for table, columns in TABLES.items())
# An entry of the table answers; the key is the code of the task, shifted by 32 bits, and the code of the worker.
ENTRY = np.dtype([("key", "<i8"), ("label", "<i4"), ("n_rows", "<i8"), ("clashed", "?")])
MAX_ENTRIES = 190  # of a row of the table answers: with more, a row would not fit into a page of SQLite (4,096 bytes)
# Sums over all batches, stored in the table facts; the fields of `Added`.
COUNTS = ("n_rows", "n_answers", "n_repeats", "n_conflicting", "n_skipped")
N_IDS = {table: f"n_{table}" for table in COLUMNS}  # the number of ids of each kind, also in the table facts


class Index:
    """An open index. `add` changes the database; `transaction` commits all changes or none.

    >>> import tempfile
    >>> from quorate.io.options import ReadOptions
    >>> from quorate.ledger.entries import read_entries
    >>> entries = read_entries({"task": ["t"], "worker": ["a"], "label": ["x"]}, ReadOptions())
    >>> with tempfile.TemporaryDirectory() as folder, Index.create(Path(folder)) as index:
    ...     with index.transaction():
    ...         index.add(entries, "error").n_answers, index.add(entries, "error").n_repeats, index.sizes()
    (1, 1, (1, 1, 1))
    """

    def __init__(self, path: Path, patience: float) -> None:
        self.path = path
        self._database = sqlite3.connect(path, timeout=patience, isolation_level=None)

    @classmethod
    def create(cls, folder: Path) -> "Index":
        """Create the index of an empty ledger in a folder without an index.

        Raises:
            UnwritableFileError: it cannot be written.
        """
        index = cls(folder / INDEX_NAME, 0.0)
        with index._errors():
            index._database.executescript(SCHEMA)
            facts = [("version", FORMAT_VERSION), *((name, 0) for name in (*COUNTS, *N_IDS.values()))]
            index._database.executemany("INSERT INTO facts VALUES (?, ?)", facts)
        return index

    @classmethod
    def open(cls, folder: Path, patience: float) -> "Index":
        """Open the index of a ledger.

        Args:
            folder: of the ledger.
            patience: seconds to wait for a program that is writing it.

        Raises:
            LedgerFileError: there is none, it is damaged, or it was written by a newer version.
        """
        path = folder / INDEX_NAME
        if not path.is_file():
            raise LedgerFileError(
                f"{folder} is not a ledger: it has no {INDEX_NAME}. If it was a ledger, `quorate ledger "
                "compact` makes its index again from the batches"
            )
        index = cls(path, patience)
        try:
            with index._errors():
                version = index._fact("version")
        except BaseException:
            index.close()
            raise
        if not isinstance(version, int) or version > FORMAT_VERSION:
            index.close()
            raise LedgerFileError(
                f"{folder} was written by a newer version of quorate (format {version}; this one reads "
                f"{FORMAT_VERSION}); upgrade quorate"
            )
        return index

    def __enter__(self) -> "Index":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database; changes that were not committed are undone."""
        self._database.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Lock out other writers, and commit at the end; if the block fails, nothing is changed.

        Raises:
            LedgerFileError: another program has not finished writing.
            UnwritableFileError: the disk is full, or the file cannot be written.
        """
        with self._errors():
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
            self._database.execute("BEGIN IMMEDIATE")
            try:
                if self._fact("version") < FORMAT_VERSION:
                    self._upgrade()
                yield
                self._database.execute("COMMIT")
            except BaseException:  # also when interrupted
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    def batches(self) -> list[str]:
        """Return the file names of the batches, in the order in which they were added."""
        with self._errors():
            return [file for (file,) in self._database.execute("SELECT file FROM batches ORDER BY number")]

    def next_number(self) -> int:
        """Return the number of the next batch; numbers are not used twice."""
        with self._errors():
            (last,) = self._database.execute("SELECT max(number) FROM batches").fetchone()
        return (last or 0) + 1

    def record_batch(self, number: int, file: str) -> None:
        """Add a batch to the list."""
        self._database.execute("INSERT INTO batches VALUES (?, ?)", (number, file))

    def forget_batches(self) -> None:
        """Empty the list of batches; the caller then records one batch with the entries of all of them."""
        self._database.execute("DELETE FROM batches")

    def clear(self) -> None:
        """Empty the index."""
        for table in ("batches", "answers", *COLUMNS):
            self._database.execute(f"DELETE FROM {table}")
        self._database.execute("DELETE FROM facts WHERE name != 'version'")
        names = (*COUNTS, *N_IDS.values())
        self._database.executemany("INSERT INTO facts VALUES (?, 0)", [(name,) for name in names])

    def snapshot(self) -> tuple[list[str], Added]:
        """Return the file names of the batches and their total row counts, from the same commit."""
        with self._errors():
            self._database.execute("BEGIN")
            files = self.batches()
            counts = Added(*(self._fact(name) for name in COUNTS))
            self._database.execute("COMMIT")
        return files, counts

    def sizes(self) -> tuple[int, int, int]:
        """Return the numbers of answers, tasks and workers."""
        with self._errors():
            return self._fact("n_answers"), self._n_ids("tasks"), self._n_ids("workers")

    def add(self, entries: Entries, on_conflict: str) -> Added:
        """Add entries, whose ids have been cast by `one_type`; the time does not depend on earlier answers.

        Raises:
            ColumnTypeError: ids are of another type than those of the ledger.
            ConflictingAnswersError: entries contradict the ledger, and the policy is ``error``.
        """
        for table, names in zip(COLUMNS, entries.names, strict=True):
            self._check_kind(table, names)
        tasks, workers, labels = (self._learn(*column) for column in zip(COLUMNS, entries.names, strict=True))
        key = tasks[entries.task]
        key <<= 32
        key |= workers[entries.worker]
        label = recode(entries.label, labels.astype(np.int32))
        order = None if np.all(key[1:] > key[:-1]) else np.argsort(key)
        counts = dict.fromkeys(COUNTS, 0)
        counts["n_rows"] = entries.n_rows
        counts["n_skipped"] = entries.n_skipped
        clashes: list[tuple[int, int]] = []
        begin = 0
        while begin < len(key):
            chosen: Any = slice(begin, begin + ROWS_AT_ONCE)
            if order is not None:
                chosen = order[chosen]
            new = np.empty(len(key[chosen]), ENTRY)
            columns = (key, label, entries.rows, entries.clashed)
            for name, column in zip(ENTRY.names or (), columns, strict=True):
                new[name] = column[chosen]
            low = 0
            while low < len(new):
                first, stored, following = self._row_of(int(new["key"][low]))
                high = len(new) if following is None else int(np.searchsorted(new["key"], following))
                merged, differing = _merge(stored, new[low:high], on_conflict, counts)
                if on_conflict == "error" and len(differing):
                    position, old = differing.T
                    position = begin + low + position
                    clashes += zip((position if order is None else order[position]).tolist(), old.tolist(), strict=True)
                self._write(first, merged)
                low = high
            begin += len(new)
        if clashes:
            raise first_contradiction(entries, sorted(clashes), self._label)
        for name, count in counts.items():
            self._database.execute("UPDATE facts SET value = value + ? WHERE name = ?", (count, name))
        return Added(**counts)

    def _row_of(self, key: int) -> tuple[int, Any, int | None]:
        """Return the row of the table answers to which a key belongs: its first key, its entries, the next first key.

        In an empty table, it is a row without entries that begins at 0.
        """
        row = self._database.execute(
            "SELECT first, entries, (SELECT min(first) FROM answers WHERE first > ?1) FROM answers WHERE first <= ?1 "
            "ORDER BY first DESC LIMIT 1",
            (key,),
        ).fetchone()
        first, content, following = (0, b"", None) if row is None else row
        if len(content) % ENTRY.itemsize:
            raise self._damage_error(sqlite3.DatabaseError("malformed entries"))
        return first, np.frombuffer(content, ENTRY), following

    def _write(self, first: int, entries: Any) -> None:
        """Replace the row of the table answers that begins at a key by rows with these entries, which are sorted."""
        n_rows = -(-len(entries) // MAX_ENTRIES)
        starts = np.arange(n_rows + 1) * len(entries) // n_rows
        firsts = entries["key"][starts[:-1]].tolist()
        firsts[0] = first
        rows = (
            (key, entries[low:high].tobytes()) for key, low, high in zip(firsts, starts[:-1], starts[1:], strict=True)
        )
        self._database.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?)", rows)

    def _learn(self, table: str, names: pa.Array) -> IntArray:
        """Return the code of each id; unknown ids get new codes."""
        n_ids = self._n_ids(table)
        order = np.arange(len(names))
        if len(names) > ROWS_AT_ONCE and names.type in TEXT:
            # The order of SQLite's table, so that its pages are read and written once.
            order = to_numpy(pc.sort_indices(names))
        parts = [order[low : low + ROWS_AT_ONCE] for low in range(0, len(order), ROWS_AT_ONCE)]
        codes = np.full(len(names), -1, np.int64)
        if n_ids:
            find = self._database.execute
            query = f"SELECT code FROM {table} WHERE id = ?"
            for part in parts:
                matches = [find(query, (key,)).fetchone() for key in stored_keys(take(names, part))]
                codes[part] = [-1 if row is None else row[0] for row in matches]
        is_new = codes < 0
        n_new = int(np.count_nonzero(is_new))
        codes[is_new] = np.arange(n_ids, n_ids + n_new)
        for part in parts:
            new = part[is_new[part]]
            rows = zip(stored_keys(take(names, new)), codes[new].tolist(), strict=True)
            self._database.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)
        self._database.execute("UPDATE facts SET value = ? WHERE name = ?", (n_ids + n_new, N_IDS[table]))
        return codes

    def _upgrade(self) -> None:
        """Convert the tables of version 2, within the transaction of the caller."""
        for table, columns in TABLES.items():
            self._database.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
            self._database.execute(f"CREATE TABLE {table} {columns}")
        for table, name in N_IDS.items():
            self._database.execute(f"INSERT INTO {table} SELECT id, code FROM old_{table} ORDER BY id")
            self._database.execute(f"INSERT INTO facts SELECT ?, count(*) FROM {table}", (name,))
        cursor = self._database.execute(
            "SELECT (task << 32) | worker, label, n_rows, clashed FROM old_answers ORDER BY 1"
        )
        first = 0
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            entries = np.array(rows, ENTRY)
            self._write(first, entries)
            first = int(entries["key"][-1]) + 1
        for table in TABLES:
            self._database.execute(f"DROP TABLE old_{table}")
        self._database.execute("UPDATE facts SET value = ? WHERE name = 'version'", (FORMAT_VERSION,))

    def _check_kind(self, table: str, names: pa.Array) -> None:
        """Raise an error for ids of another type than the ledger's; the first ids of a ledger determine its type."""
        if not len(names):
            return
        known_type = self._kind(table)
        if known_type is None:
            schema = pa.schema([(table, names.type)]).serialize().to_pybytes()
            self._database.execute("INSERT INTO facts VALUES (?, ?)", (f"type of {table}", schema))
        else:
            check_type(names.type, known_type, table)

    def _kind(self, table: str) -> pa.DataType | None:
        schema = self._fact(f"type of {table}")
        return None if schema is None else pa.ipc.read_schema(pa.py_buffer(schema)).field(0).type

    def _label(self, code: int) -> Any:
        (key,) = self._database.execute("SELECT id FROM labels WHERE code = ?", (code,)).fetchone()
        kind = self._kind("labels")
        if kind == pa.uint64():
            key %= 1 << 64
        return ids_of([key], kind)[0].as_py()

    def _n_ids(self, table: str) -> int:
        return int(self._fact(N_IDS[table]))

    def _fact(self, name: str) -> Any:
        row = self._database.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if row is None else row[0]

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Replace SQLite's errors by the library's errors."""
        try:
            yield
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorname", "")
            if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise LedgerFileError(
                    f"another command is writing {self.path.parent}; nothing was written. Wait for it, and run this "
                    "one again"
                ) from None
            if code.startswith(("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
                raise UnwritableFileError(
                    f"cannot write {self.path}: {error}. Make room, make it writable, or choose another disk"
                ) from None
            raise self._damage_error(error) from None
        except sqlite3.DatabaseError as error:
            raise self._damage_error(error) from None

    def _damage_error(self, error: Exception) -> LedgerFileError:
        return LedgerFileError(
            f"{self.path} is damaged ({error}); remove it, and `quorate ledger compact {self.path.parent}` makes it "
            "again from the batches"
        )


def _merge(stored: Any, new: Any, on_conflict: str, counts: dict[str, int]) -> tuple[Any, IntArray]:
    """Merge entries of a batch into stored entries, both sorted by key, and update `counts`.

    Returns:
        The merged entries; and for each key with two labels, the position among the new entries and the stored label.
    """
    at = np.searchsorted(stored["key"], new["key"])
    is_known = np.append(stored["key"], -1)[at] == new["key"]
    known = np.flatnonzero(is_known)
    if not len(known):
        _count(counts, new, 1)
        differing = np.zeros((0, 2), np.int64)
        merged = np.concatenate([stored, new])
    else:
        at = at[known]
        before = stored[at]
        after = new[known]
        differs = after["label"] != before["label"]
        differing = np.stack([known[differs], before["label"][differs]], axis=1)
        if on_conflict == "drop":
            after["label"][differs] = DROPPED
        elif on_conflict != "last":
            after["label"] = before["label"]
        after["n_rows"] += before["n_rows"]
        after["clashed"] |= before["clashed"] | differs
        further = new[~is_known]
        _count(counts, before, -1)
        _count(counts, after, 1)
        _count(counts, further, 1)
        merged = np.concatenate([stored, further])
        merged[at] = after
    if len(stored) and len(new) and new["key"][0] < stored["key"][-1]:
        merged = merged[np.argsort(merged["key"])]
    return merged, differing


def _count(counts: dict[str, int], entries: Any, sign: int) -> None:
    """Add (sign = 1) or subtract (-1) entries in the counts of answers, repeats and conflicting rows."""
    has_label = entries["label"] != DROPPED
    left_out = entries["n_rows"] - has_label
    n_left_out = int(left_out.sum())
    n_conflicting = int(left_out[entries["clashed"]].sum())
    counts["n_answers"] += sign * int(np.count_nonzero(has_label))
    counts["n_conflicting"] += sign * n_conflicting
    counts["n_repeats"] += sign * (n_left_out - n_conflicting)


def stored_keys(names: pa.Array) -> Sequence[Any]:
    """Return ids as values that SQLite can store, different for different ids of the same type.

    >>> stored_keys(pa.array([2**64 - 1, 5], pa.uint64()))
    [-1, 5]
    """
    if names.type == pa.uint64():
        names = names.view(pa.int64())
    keys = keys_of(names)
    if pa.types.is_decimal(names.type):
        return [str(key) for key in keys]
    return keys
