"""Which encoding a text file has, where nobody names it: UTF-8, UTF-16 by its mark, or that of Windows (cp1252)."""

import codecs
import re

AUTO = "auto"  # the option: find out
UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
WINDOWS = "cp1252"
# A character of several bytes in UTF-8: a leading byte and as many continuation bytes as it announces.
SEVERAL_BYTES = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
UNDEFINED = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")  # bytes that mean nothing in cp1252


def encoding_of(beginning: bytes, encoding: str = AUTO) -> str:
    r"""Return the encoding of a text by its first bytes, or the one that was named.

    Text is UTF-8 unless it cannot be: with the mark of UTF-16 it is that, and with bytes above 127 of which none form a
    character of UTF-8 it is cp1252, which spreadsheets on Windows write. A text that has both is a damaged UTF-8 file;
    reading it as UTF-8 then names the line.

    >>> [encoding_of("weiß\n".encode(name)) for name in ("utf-8", "cp1252", "utf-16")]
    ['utf-8', 'cp1252', 'utf-16']
    >>> encoding_of("weiß ".encode() + b"\xdf"), encoding_of(b"\xff", "latin-1")
    ('utf-8', 'latin-1')
    """
    if encoding != AUTO:
        return encoding
    if beginning[:2] in UTF_16_MARKS:
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(beginning)  # the last character may be cut
    except UnicodeDecodeError:
        is_windows = not SEVERAL_BYTES.search(beginning) and not UNDEFINED.search(beginning) and b"\0" not in beginning
        return WINDOWS if is_windows else "utf-8"
    return "utf-8"


def encoding_note(encoding: str, detected: str) -> tuple[str, ...]:
    """Return the note about an encoding that was found and is not UTF-8.

    >>> encoding_note("auto", "cp1252")
    ('Read as cp1252 text, because it is not UTF-8. If letters are wrong, name the encoding (encoding=, --encoding).',)
    """
    if encoding != AUTO or detected == "utf-8":
        return ()
    return (
        f"Read as {detected} text, because it is not UTF-8. If letters are wrong, name the encoding (encoding=, "
        "--encoding).",
    )
