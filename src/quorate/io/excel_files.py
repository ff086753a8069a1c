"""Read an Excel workbook into an Arrow table of text with openpyxl, which the extra ``excel`` installs.

openpyxl is used because it reads and writes, is pure Python (250 kB) with one small dependency, and is also used by
pandas; python-calamine reads faster, but does not write.
"""

import io
import zipfile

import pyarrow as pa

from quorate.errors import NoRowsError, TooLargeError, UnreadableFileError, WrongFormatError, not_installed, reason
from quorate.io.csv_files import header_names
from quorate.io.open_file import Loaded, max_unpacked_size
from quorate.io.values import as_text


def read_workbook(loaded: Loaded) -> tuple[pa.Table, tuple[str, ...]]:
    """Read the first sheet that has rows below a header.

    Returns:
        the columns, every cell as text, and a note about which sheet was read, if there are several.

    Raises:
        UnreadableFileError: openpyxl is not installed.
        WrongFormatError: the file is not a workbook.
        TooLargeError: the unpacked content is too large.
        NoRowsError: no sheet has rows below a header.
    """
    try:
        import openpyxl
    except ImportError:
        raise not_installed(
            f"the Excel workbook {loaded.name}",
            "openpyxl",
            "[excel]",
            instead="save the sheet as CSV (in Excel: Save As, CSV UTF-8)",
            error=UnreadableFileError,
        ) from None
    _check_size(loaded)
    try:
        workbook = openpyxl.load_workbook(io.BytesIO(loaded.data), read_only=True, data_only=True)
        names = list(workbook.sheetnames)
        name = ""
        rows = []
        for name in names:
            rows = [
                row
                for row in workbook[name].iter_rows(values_only=True)
                if any(as_text(cell) is not None for cell in row)
            ]
            if len(rows) > 1:
                break
    except Exception as error:  # for a damaged file, zipfile, XML and openpyxl raise exceptions of different classes
        raise WrongFormatError(f"{loaded.name} cannot be read as an Excel workbook: {reason(error)}") from None
    if len(rows) < 2:
        raise NoRowsError(f"{loaded.name} has no sheet with rows below a header")
    header = _unique(header_names([as_text(value) or "" for value in rows[0]], None))
    columns = {
        title: pa.array([as_text(row[k]) if k < len(row) else None for row in rows[1:]], pa.string())
        for k, title in enumerate(header)
    }
    n_others = len(names) - 1
    notes = (f'Read the sheet "{name}" of {n_others + 1}.',) if n_others else ()
    return pa.table(columns), notes


def _check_size(loaded: Loaded) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(loaded.data)) as archive:
            size = sum(info.file_size for info in archive.infolist())
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise WrongFormatError(f"{loaded.name} is a damaged workbook: {reason(error)}") from None
    if size > max_unpacked_size(len(loaded.data)):
        raise TooLargeError(
            f"{loaded.name} unpacks to {size / 1e9:.3g} GB, which is too large for a sheet of answers. Save it as CSV"
        )


def _unique(names: tuple[str, ...]) -> list[str]:
    """Return the names, with a number added to each repetition of a name."""
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return unique
