"""Everything to show -> one page that needs nothing beside it."""

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from quorate.errors import QuorateError, visible
from quorate.reporting.markup import rows_html


def render(context: Mapping[str, Any], drawings: Mapping[str, str], template: str = "report.html.j2") -> str:
    """Fill in the template; ids and labels are escaped, drawings are not.

    Args:
        context: what the template names.
        drawings: SVG from `quorate.reporting.drawing`, which escaped the names in it.
        template: a file of this folder, or a template itself if it has braces.

    Raises:
        QuorateError: jinja2 is not installed.

    >>> render({"worker": "<b>"}, {"dot": "<svg/>"}, "{{ worker }}: {{ drawings.dot }}")
    '&lt;b&gt;: <svg/>'
    """
    jinja2 = templates()
    from markupsafe import Markup  # which jinja2 needs

    def seen(value: Any) -> Any:
        """Write out what a page would obey instead of showing it; our own markup has none of it."""
        return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, finalize=seen
    )
    script = file_text("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # The page may run this one script and fetch nothing, whatever a name in it tries.
    ours = {"css": Markup(file_text("report.css")), "js": Markup(script), "script_hash": f"sha256-{digest}"}
    shown = {name: Markup(svg) for name, svg in drawings.items()}
    rows = {"rows": lambda sheet: Markup(rows_html(sheet))}
    text = template if "{{" in template else file_text(template)
    return str(environment.from_string(text).render({**context, **ours, **rows, "drawings": shown}))


def templates() -> Any:
    """Import what fills in templates.

    Raises:
        QuorateError: it is not installed.

    >>> templates().__name__
    'jinja2'
    """
    try:
        import jinja2
    except ImportError:
        raise QuorateError("a report needs jinja2: pip install 'quorate[report]'") from None
    return jinja2


def file_text(name: str) -> str:
    """Read a file that is packaged with this module.

    >>> file_text("report.js").splitlines()[0]
    '"use strict";'
    """
    return files("quorate.reporting").joinpath(name).read_text(encoding="utf-8")
