"""Detect the encoding of a text file: UTF-8, UTF-16 (by its byte order mark) or Windows (cp1252)."""

import codecs
import re

AUTO = "auto"  # value of the option: detect the encoding
UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
WINDOWS = "cp1252"
# A character of several bytes in UTF-8: a leading byte, and the number of continuation bytes that it requires.
SEVERAL_BYTES = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
UNDEFINED = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")  # bytes that cp1252 does not define


def encoding_of(beginning: bytes, encoding: str = AUTO) -> str:
    r"""Return the encoding of a text, detected from its first bytes, or the encoding that the caller named.

    With a UTF-16 byte order mark, the text is UTF-16. If it is not valid UTF-8, has no UTF-8 character of several
    bytes, and all its bytes are defined in cp1252, it is cp1252, which spreadsheets on Windows write. Any other text is
    taken for UTF-8; if this is wrong (a damaged file), the error from reading it names the line.

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
        # Incremental, because the last character may be incomplete.
        codecs.getincrementaldecoder("utf-8")().decode(beginning)
    except UnicodeDecodeError:
        is_windows = not SEVERAL_BYTES.search(beginning) and not UNDEFINED.search(beginning) and b"\0" not in beginning
        return WINDOWS if is_windows else "utf-8"
    return "utf-8"


def encoding_note(encoding: str, detected: str) -> tuple[str, ...]:
    """Return the note about a detected encoding other than UTF-8, as a tuple; empty if there is nothing to note.

    >>> encoding_note("auto", "cp1252")
    ('Read as cp1252 text, because it is not UTF-8. If letters are wrong, name the encoding (encoding=, --encoding).',)
    """
    if encoding != AUTO or detected == "utf-8":
        return ()
    return (
        f"Read as {detected} text, because it is not UTF-8. If letters are wrong, name the encoding (encoding=, "
        "--encoding).",
    )
