"""The SQLite index of a ledger: its batches, its ids, and one row for each task and worker.

It has what adding a batch needs: whether a task and worker have a label already, which one, and how many answers there
are, so that earlier batches are not read. It can be rebuilt from the batches. Batches belong to the ledger from the
commit of the index.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

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
    standing_label,
)

INDEX_NAME = "index.sqlite"
FORMAT_VERSION = 2  # of the folder; 1 is the single file of version 0.2
ROWS_AT_ONCE = 100_000  # rows passed to SQLite at a time, so that lists of Python numbers are small
CACHE_KIB = 65_536  # size of SQLite's page cache while a batch is added
SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE batches (number INTEGER PRIMARY KEY, file TEXT NOT NULL);
CREATE TABLE tasks (code INTEGER PRIMARY KEY, id NOT NULL UNIQUE);
CREATE TABLE workers (code INTEGER PRIMARY KEY, id NOT NULL UNIQUE);
CREATE TABLE labels (code INTEGER PRIMARY KEY, id NOT NULL UNIQUE);
CREATE TABLE answers (
    task INTEGER, worker INTEGER, label INTEGER, n_rows INTEGER, clashed INTEGER, PRIMARY KEY (task, worker)
) WITHOUT ROWID;
"""
# Sums over all batches, stored in the table facts; the fields of `Added`.
COUNTS = ("n_rows", "n_answers", "n_repeats", "n_conflicting", "n_skipped")


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
            facts = [("version", FORMAT_VERSION), *((name, 0) for name in COUNTS)]
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
        self._database.executemany("INSERT INTO facts VALUES (?, 0)", [(name,) for name in COUNTS])

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
        n_before = [self._n_ids(table) for table in COLUMNS]
        for table, names in zip(COLUMNS, entries.names, strict=True):
            self._check_kind(table, names)
        codes = [self._learn(table, names) for table, names in zip(COLUMNS, entries.names, strict=True)]
        task = codes[0][entries.task]
        worker = codes[1][entries.worker]
        label = np.append(codes[2], DROPPED)[entries.label]
        is_old = (task < n_before[0]) & (worker < n_before[1])
        counts = dict.fromkeys(COUNTS, 0)
        counts["n_rows"] = entries.n_rows
        counts["n_skipped"] = entries.n_skipped
        new = np.flatnonzero(~is_old)
        for low in range(0, len(new), ROWS_AT_ONCE):
            rows = new[low : low + ROWS_AT_ONCE]
            columns = (
                task[rows],
                worker[rows],
                label[rows],
                entries.rows[rows],
                entries.clashed[rows].astype(np.int64),
            )
            self._insert(zip(*(column.tolist() for column in columns), strict=True))
        has_label = label != DROPPED
        left_out = entries.rows - has_label
        counts["n_answers"] += int(np.count_nonzero(has_label[new]))
        counts["n_repeats"] += int(left_out[new][~entries.clashed[new]].sum())
        counts["n_conflicting"] += int(left_out[new][entries.clashed[new]].sum())
        self._add_again(np.flatnonzero(is_old), entries, (task, worker, label), on_conflict, counts)
        for name, count in counts.items():
            self._database.execute("UPDATE facts SET value = value + ? WHERE name = ?", (count, name))
        return Added(**counts)

    def _add_again(
        self, chosen: Any, entries: Entries, codes: tuple[Any, Any, Any], on_conflict: str, counts: dict[str, int]
    ) -> None:
        """Add entries whose task and worker both have codes already, and update `counts`."""
        changed = []
        clashes = []
        columns = (*(column[chosen] for column in codes), entries.rows[chosen], entries.clashed[chosen])
        for k, task, worker, label, rows, clashed in zip(
            chosen.tolist(), *(column.tolist() for column in columns), strict=True
        ):
            before = self._database.execute(
                "SELECT label, n_rows, clashed FROM answers WHERE task = ? AND worker = ?", (task, worker)
            ).fetchone()
            standing = label
            n_rows = rows
            is_mixed = clashed
            if before is not None:
                old, old_rows, old_clashed = before
                _count(counts, old, old_rows, old_clashed, -1)
                n_rows = rows + old_rows
                is_mixed = clashed or bool(old_clashed) or label != old
                if label != old and on_conflict == "error":
                    clashes.append((k, old))
                standing = standing_label(old, label, on_conflict)
            _count(counts, standing, n_rows, is_mixed, 1)
            changed.append((task, worker, standing, n_rows, int(is_mixed)))
        if clashes:
            raise first_contradiction(entries, clashes, self._label)
        self._insert(changed)

    def _insert(self, rows: Any) -> None:
        self._database.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", rows)

    def _learn(self, table: str, names: pa.Array) -> Any:
        """Return the code of each id; unknown ids get new codes."""
        n_ids = self._n_ids(table)
        keys = stored_keys(names)
        if n_ids == 0:
            codes = list(range(len(keys)))
        else:
            find = self._database.execute
            query = f"SELECT code FROM {table} WHERE id = ?"
            codes = []
            for key in keys:
                row = find(query, (key,)).fetchone()
                codes.append(-1 if row is None else row[0])
            new_code = n_ids
            for k, code in enumerate(codes):
                if code < 0:
                    codes[k] = new_code
                    new_code += 1
        rows = ((code, key) for code, key in zip(codes, keys, strict=True) if code >= n_ids)
        self._database.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)
        return np.array(codes, np.int64)

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
        (last,) = self._database.execute(f"SELECT max(code) FROM {table}").fetchone()
        return 0 if last is None else int(last) + 1

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


def _count(counts: dict[str, int], label: int, rows: int, clashed: bool, sign: int) -> None:
    """Add (sign = 1) or subtract (-1) one entry in the counts of answers, repeats and conflicting rows."""
    has_label = label != DROPPED
    counts["n_answers"] += sign * has_label
    counts["n_conflicting" if clashed else "n_repeats"] += sign * (rows - has_label)


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
