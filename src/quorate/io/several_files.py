"""Combine several files, a folder, or the files of a pattern into one `Content` with all their rows or records."""

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa

from quorate.addresses import render_address
from quorate.errors import InputError, UnknownFormatError, UnreadableFileError, listing
from quorate.io.exports.content import Content, look
from quorate.io.open_file import COMPRESSIONS, free_memory
from quorate.io.options import JUDGES, PATTERN, ReadOptions
from quorate.io.values import FROM_FILE, common_prefix

ENDINGS = (".csv", ".tsv", ".parquet", ".pq", ".jsonl", ".ndjson", ".json", ".eval", ".xlsx", ".yaml", ".yml")
MEMORY_PER_BYTE = 20  # bytes of memory per byte of the files, while they are combined


def worker_name_of(name: str) -> str:
    """Return the name of a file without its folder and extension, as the name of its worker.

    >>> worker_name_of("results/gpt-4o-mini.json"), worker_name_of("judge_claude_opus_4.7.json")
    ('gpt-4o-mini', 'judge_claude_opus_4.7')
    """
    return re.sub(r"\.(csv|tsv|jsonl?|ndjson|parquet|pq|xlsx|ya?ml|gz|zst|bz2)$", "", PurePath(name).name, flags=re.I)


def expand_files(source: Any) -> list[str] | None:
    """Return the files of a list of paths, a folder or a pattern; None for one file and for any other source.

    Raises:
        UnreadableFileError: a pattern matches no file, or a folder contains no file of answers.

    >>> expand_files("answers.csv") is None, expand_files([{"task": 1}]) is None
    (True, True)
    """
    if isinstance(source, list | tuple):
        if not source or not all(isinstance(part, str | Path) for part in source):
            return None
        paths: dict[str, None] = {}
        for part in source:
            paths |= dict.fromkeys(expand_files(part) or [str(part)])
        return list(paths)
    if not isinstance(source, str | Path) or not str(source) or "://" in str(source):
        return None
    path = Path(source)
    named: list[str] = []
    try:
        is_folder = path.is_dir()
        if is_folder:
            files = [file for file in sorted(path.rglob("*")) if file.is_file() and not file.name.startswith(".")]
            named = [str(file) for file in files if _file_ending(file) in ENDINGS]
        is_pattern = any(mark in str(source) for mark in PATTERN) and not path.exists()
    except (OSError, ValueError):
        return None
    if is_folder and not named:
        raise UnreadableFileError(
            f"{path} is a folder without files of answers. Give a file, or a folder that has some"
        )
    if not is_pattern:
        return named or None
    found_files = [name for name in sorted(glob.glob(str(source), recursive=True)) if os.path.isfile(name)]
    if not found_files:
        raise UnreadableFileError(
            f"There is no file {render_address(source)}, and as a pattern it matches none. Check the name"
        )
    return found_files


def _file_ending(path: Path) -> str:
    return (path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path).suffix.lower()


def fit_in_memory(files: Sequence[str]) -> bool:
    """Whether files are small enough to be combined in memory.

    >>> fit_in_memory(["no such file"])
    True
    """
    free = free_memory()
    size = sum(os.path.getsize(name) for name in files if os.path.isfile(name))
    return free is None or size * MEMORY_PER_BYTE < free


def look_at_files(files: Sequence[str], reading: ReadOptions, *, name: str | None = None) -> Content:
    """Return the `Content` of several files that are read together.

    In a folder (with ``name``), files that cannot be read and files of another format than the exports are ignored;
    a note names each of them.

    Raises:
        UnknownFormatError: the files are exports of several tools.
        InputError: a file cannot be read and is not ignored.
    """
    from quorate.io.exports.formats import matching

    contents: list[Content] = []
    tools: list[str | None] = []
    broken: list[str] = []
    for file in files:
        try:
            content = look(file, reading)
            matches = [tool for tool in matching(content) if reading.tool in ("auto", tool)]
            tool = matches[0] if len(matches) == 1 and matches[0] not in ("crowdkit", "cleanlab") else None
            if tool in JUDGES and content.layout == "records":
                _ = content.records  # read now, so that an invalid log is noticed here
            contents.append(content)
            tools.append(tool)
        except InputError as error:
            if name is None:
                raise
            broken.append(f"The file {file} was ignored: {error}")
    if not contents:
        raise UnreadableFileError(f"{name or 'the files'}: no file can be read. {broken[0] if broken else ''}")
    known = sorted({tool for tool in tools if tool is not None})
    if len(known) > 1:
        raise UnknownFormatError(
            f"{name or 'the files'} hold exports of {listing(known)}. Choose one with tool= (--from)"
        )
    if known:
        exports = [content for content, tool in zip(contents, tools, strict=True) if tool == known[0]]
        other_files = [content.name for content, tool in zip(contents, tools, strict=True) if tool != known[0]]
        are = f"{'is not an export' if len(other_files) == 1 else 'are not exports'} of {known[0]}"
        if other_files and name is None:
            raise UnknownFormatError(f"{listing(other_files)} {are}, but the other files are. Give files of one format")
        ignored = [f"{listing(other_files)} {are}, so {'it was' if len(other_files) == 1 else 'they were'} ignored"]
        broken += ignored if other_files else []
        contents = exports
    first = contents[0]
    paths = tuple(content.name for content in contents)
    title = name or (first.name if len(contents) == 1 else f"{first.name} and {len(contents) - 1} more")
    typed = paths if name is None else (name,)  # the files as in a command
    if known and first.layout == "rows":
        tables = [
            _as_text(content.table).append_column(FROM_FILE, pa.array([content.name] * content.table.num_rows))
            for content in contents
        ]
        table = pa.concat_tables(tables, promote_options="default")
        notes = (*broken, *dict.fromkeys(note for content in contents for note in content.notes))
        fields = tuple(column for column in table.column_names if column != FROM_FILE)
        return Content(first.source, title, "rows", fields, ready=table, notes=notes, files=typed)
    if known:
        records = [{**record, FROM_FILE: content.name} for content in contents for record in content.records]
        notes = tuple(broken)
        return Content(first.source, title, "records", first.fields, parsed=records, notes=notes, files=typed)
    fields = tuple(dict.fromkeys(field for content in contents for field in content.fields))
    return Content(
        list(paths),
        title,
        first.layout,
        fields,
        reading=reading,
        notes=tuple(broken),
        files=typed,
        parts=tuple(contents),
    )


def _as_text(table: pa.Table) -> pa.Table:
    from quorate.io.json_documents import cell_text  # not needed for one file

    columns = {
        name: column
        if pa.types.is_string(column.type)
        else pa.chunked_array([pa.array([cell_text(value) for value in column.to_pylist()], pa.string())])
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return pa.table(columns)


def short_titles(names: Sequence[str]) -> list[str]:
    """Return the names of files without extension and without the beginning that all of them share.

    >>> short_titles(["out/run1_gpt-4o.json", "out/run1_gemma.json"]), short_titles(["a.csv", "b.csv"])
    (['gpt-4o', 'gemma'], ['a', 'b'])
    """
    stems = [worker_name_of(name) for name in names]
    if len(set(stems)) < len(stems):
        return [str(name) for name in names]
    if len(stems) == 1:
        return stems
    cut = max((match.end() for match in re.finditer(r"[_\s]|--", common_prefix(stems))), default=0)
    short = [stem[cut:] for stem in stems]
    return short if all(short) else stems


def content_of(source: Any, reading: ReadOptions) -> Content:
    """Return the `Content` of one source, or of several files together.

    Raises:
        QuorateError: the source cannot be read.
    """
    files = expand_files(source)
    if files is None:
        return look(source, reading)
    if len(files) == 1 and not (isinstance(source, str | Path) and Path(source).is_dir()):
        return replace(look(files[0], reading), files=())
    is_folder = isinstance(source, str | Path)
    return look_at_files(files, reading, name=str(source) if is_folder else None)
