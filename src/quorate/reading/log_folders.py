"""A folder of judges' logs -> one `Content`: many tools write a file for each model or each run."""

from pathlib import Path

from quorate.errors import UnknownFormatError, UnreadableFileError, listing
from quorate.reading.formats.archives import logs_in
from quorate.reading.formats.content import Content, look
from quorate.reading.options import JUDGES, ReadOptions

FROM = "from_file"  # the field in which a record says which file it was in


def look_into(folder: Path, reading: ReadOptions) -> Content:
    """Read every log in a folder and those in it; other files are passed over.

    Raises:
        UnreadableFileError: there is no log.
        UnknownFormatError: there are logs of several tools.

    >>> look_into(Path("no such folder"), ReadOptions())
    Traceback (most recent call last):
    quorate.errors.UnreadableFileError: no such folder is a folder, and holds no judges' logs; give one file
    """
    from quorate.reading.formats.known import matching

    found: dict[str, list[Content]] = {}
    for path in logs_in(folder):
        content = look(path, reading)
        for tool in matching(content) if content.layout == "records" else []:
            if tool in JUDGES and reading.tool in ("auto", tool):
                found.setdefault(tool, []).append(content)
    if not found:
        raise UnreadableFileError(f"{folder} is a folder, and holds no judges' logs; give one file")
    if len(found) > 1:
        raise UnknownFormatError(f"{folder} holds logs of {listing(found)}; say which with tool= (--from)")
    (contents,) = found.values()
    records = [{**record, FROM: content.name} for content in contents for record in content.records]
    return Content(str(folder), str(folder), "records", contents[0].fields, given=records)
