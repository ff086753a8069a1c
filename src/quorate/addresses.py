"""Write addresses (URLs of files, databases and servers) in messages without their secrets.

`render_address` writes one address. `render_addresses` does it for the addresses in a text, and is applied to every
message of `quorate.errors.QuorateError`. `hide_secrets` also removes secrets that another library has copied from an
address into its message, such as a password alone.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import parse_qsl, quote, quote_plus, unquote, unquote_plus

HIDDEN = "***"
# A scheme has at least two letters, because C:/ is a drive. One slash is sufficient, because `pathlib` reduces two to
# one. Three or more slashes begin the path of a database file.
ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):(?P<slashes>/+)(?P<rest>.*)", re.DOTALL)
IN_TEXT = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/+[^\s<>]+")
PUNCTUATION = "'\"`.,:;!)]}…"  # characters that may follow an address in a sentence
# Options of an address that may have secrets, by parts of their names: passwords, keys, tokens and signatures.
SECRET_OPTION = re.compile(
    r"(?i)([?&;#][^=&;#\s]*(?:pass|pwd|secret|token|key|sig|cred|auth|session|user)[^=&;#\s]*=)[^&;#\s]*"
)
# A connection string of libpq, ODBC or ADO: host=h user=u password=p.
SECRET_SETTING = re.compile(r"(?i)\b(password|passwd|passphrase|pwd|secret)(\s*=\s*)('[^']*'|\"[^\"]*\"|[^\s;]+)")
NO_SCHEME = re.compile(r"[^\s:/@\\]{2,}:[^\s]*@")  # user:password@host

# The addresses in the arguments of the current command, which messages are searched for.
_addresses: ContextVar[tuple[str, ...]] = ContextVar("addresses of the current command", default=())


def render_address(address: object) -> str:
    """Return an address for a message, without user, password and the values of its options.

    A text that is not an address, such as a file name, is returned without passwords in it.

    >>> render_address("postgres://ann:secret@host:5432/crowd?sslpassword=secret")
    'postgres://***@host:5432/crowd?***'
    >>> render_address("s3://bucket/part-1.parquet"), render_address("answers.csv")
    ('s3://bucket/part-1.parquet', 'answers.csv')
    >>> render_address("duckdb:///data/crowd.duckdb")
    'duckdb:///data/crowd.duckdb'
    """
    text = str(address)
    match = ADDRESS.fullmatch(text)
    if match is None:
        return SECRET_SETTING.sub(rf"\1\2{HIDDEN}", NO_SCHEME.sub(f"{HIDDEN}@", text, count=1))
    rest = _without_user(match["rest"])
    mark = re.search("[?#]", rest)
    if mark is not None and mark.end() < len(rest):
        rest = rest[: mark.end()] + HIDDEN
    slashes = max(match["slashes"], "//")
    return f"{match['scheme']}:{slashes}{rest}"


def _without_user(rest: str) -> str:
    """Replace user and password in the part after the scheme; a password may contain any character, also / and @."""
    authority = re.split("[/?#]", rest, maxsplit=1)[0]
    if "@" in rest and ("@" in authority or ":" in authority):
        return f"{HIDDEN}@{rest.rpartition('@')[2]}"
    host, colon, port = authority.rpartition(":")
    if colon and port and not port.isdecimal() and not authority.startswith("["):  # user:password, without the rest
        return f"{host}:{HIDDEN}"
    return rest


def render_addresses(text: str) -> str:
    """Return a text with the secrets in its addresses replaced.

    Addresses in the arguments of the command line are rendered by `render_address`. In other addresses, which may be
    ids of tasks, only user, password and options with the name of a secret are replaced.

    >>> render_addresses("cannot read https://ann:secret@host/a.csv: no such host")
    'cannot read https://***@host/a.csv: no such host'
    >>> render_addresses("task 'https://host/image?id=7' has two labels")
    "task 'https://host/image?id=7' has two labels"
    """
    text = render_given(text)
    if ":/" in text:
        text = IN_TEXT.sub(_rendered_in_text, text)
    return SECRET_SETTING.sub(rf"\1\2{HIDDEN}", text) if "=" in text else text


def render_given(text: str) -> str:
    """Return a text with the addresses of the command line rendered by `render_address`; nothing else changes.

    >>> with known_addresses(["https://host/a.csv?id=7"]):
    ...     render_given("https://host/a.csv?id=7: 3 rows, the first of https://host/b.csv?id=8")
    'https://host/a.csv?***: 3 rows, the first of https://host/b.csv?id=8'
    """
    for address in _addresses.get():
        rendered = render_address(address)
        text = text.replace(address, rendered).replace(re.sub(":/+", ":/", address, count=1), rendered)
    return text


def _rendered_in_text(match: "re.Match[str]") -> str:
    address = match[0].rstrip(PUNCTUATION)
    scheme, _, rest = address.partition(":")
    slashes = len(rest) - len(rest.lstrip("/"))
    rest = SECRET_OPTION.sub(rf"\g<1>{HIDDEN}", rest)
    return f"{scheme}:{rest[:slashes]}{_without_user(rest[slashes:])}{match[0][len(address) :]}"


def hide_secrets(text: str, *addresses: str) -> str:
    """Return the message of another library with its addresses rendered, and with the secrets of addresses replaced.

    Secrets are replaced only as complete words: a user "u" is not replaced in "refused".

    Args:
        text: the message.
        addresses: addresses that the library was given, in addition to those of the command line.

    >>> hide_secrets("port 'pa' is no number; connection refused", "postgres://u:pa/ss@host/crowd?user=u")
    "port '***' is no number; connection refused"
    """
    addresses = (*addresses, *_addresses.get())
    for address in addresses:
        text = text.replace(address, render_address(address))
    text = render_addresses(text)
    for secret in sorted(
        {secret_text for address in addresses for secret_text in _secrets(address)}, key=len, reverse=True
    ):
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", HIDDEN, text)
    return text


def _secrets(address: str) -> Iterator[str]:
    """Yield the secrets in an address: complete, and in the parts that a parser may read, in each encoding."""
    match = ADDRESS.fullmatch(address)
    rest = match["rest"] if match is not None else address
    user, at, location = rest.rpartition("@")
    if not at:  # user:password, without a host
        user = re.split("[?#]", rest, maxsplit=1)[0]
        user = "" if user.rpartition(":")[2].split("/")[0].isdecimal() or ":" not in user else user
    values = [user, *re.split("[:@/?#&=]", user)]
    values += [value for _, value in parse_qsl(location.partition("?")[2], keep_blank_values=True)]
    values += re.findall("[^=&?]*=([^&]*)", location.partition("?")[2])
    values += [value.strip("'\"") for _, _, value in SECRET_SETTING.findall(address)]
    for value in values:
        for form in (
            value,
            unquote(value),
            unquote_plus(value),
            quote(value),
            quote(value, safe=""),
            quote_plus(value),
        ):
            if form.strip():
                yield form


def public_cause(error: Exception, *addresses: str) -> Exception | None:
    """Return an error for use as the cause of another; None if its message, shown in a traceback, has a secret.

    >>> public_cause(OSError("no route to https://ann:secret@host/")) is None
    True
    """
    return error if hide_secrets(str(error), *addresses) == str(error) else None


@contextmanager
def known_addresses(words: Sequence[str]) -> Iterator[None]:
    """Within the block, replace the secrets of the addresses among these words of a command line in messages.

    >>> with known_addresses(["aggregate", "--connect=nosuch://host/x?code=secret"]):
    ...     render_addresses("cannot use nosuch://host/x?code=secret")
    'cannot use nosuch://host/x?***'
    """
    values = [*words, *(word.partition("=")[2] for word in words if word.startswith("-"))]
    token = _addresses.set(tuple(value for value in values if render_address(value) != value))
    try:
        yield
    finally:
        _addresses.reset(token)
