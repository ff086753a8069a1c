"""The HTML page of a rating: summary, four charts, the tables."""

from pathlib import Path

from quorate.arrays import Table
from quorate.charts.rating import heat_chart, lines_chart, needed_chart, scores_chart
from quorate.io.write_table import write_text
from quorate.rating.rating import Rating
from quorate.reporting.html import render
from quorate.reporting.svg import to_svg

MAX_ROWS = 200  # rows of each table on the page; the files of -o and --workers-out have all rows
TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src '{{ script_hash }}'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>{{ css }}
figure { margin: 1rem 0; max-width: 46rem; } figcaption { margin: .3rem 0 1rem; }
table { border-collapse: collapse; } th, td { padding: .15rem .6rem; text-align: right; }
th:first-child, td:first-child { text-align: left; }</style>
</head>
<body>
<main>
<h1>{{ title }}</h1>
{% for line in lines %}
<p>{{ line }}</p>
{% endfor %}
{% for name, heading, caption in figures %}
<h2>{{ heading }}</h2>
<figure>{{ drawings[name] }}<figcaption>{{ caption }}</figcaption></figure>
{% endfor %}
{% for heading, columns, body, more in tables %}
<h2>{{ heading }}</h2>
<div class="rows" tabindex="0" role="region" aria-label="{{ heading }}">
<table><thead><tr>{% for column in columns %}<th>{{ column }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in body %}
<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>
{% if more %}<p>{{ more }}</p>{% endif %}
{% endfor %}
</main>
<script>{{ js }}</script>
</body>
</html>
"""
CAPTIONS = {
    "scores": (
        "Scores",
        (
            "Each task's score with its interval; the hollow dot is the plain mean of its answers. If "
            "the dot lies outside the interval, the biases or noises of its raters explain the "
            "difference."
        ),
    ),
    "lines": (
        "Raters",
        "What each rater answers to a task of each score. Parallel lines differ in bias only; a flat line does not "
        "distinguish tasks; a falling line is reversed. The wider the line, the larger the rater's noise.",
    ),
    "needed": (
        "Raters needed",
        "Raters per task for a reliability of the score, biases removed; the dashed line is what a task has now.",
    ),
    "heat": (
        "Correlated errors",
        (
            "Correlation of what the scores do not explain, for pairs that share at least 10 tasks. Blue "
            "blocks are raters who make errors together: name them with --group, or give known scores "
            "with --gold."
        ),
    ),
}


def rating_page(rating: Rating, title: str = "Ratings and scores") -> str:
    """Return the page as self-contained HTML.

    Raises:
        QuorateError: jinja2 is not installed.
    """
    charts = {"scores": scores_chart(rating)}
    if rating.has_workers:
        charts["lines"] = lines_chart(rating)
    if rating.reliability.raters_needed(0.9) is not None:
        charts["needed"] = needed_chart(rating)
    heat = heat_chart(rating) if rating.shared.is_present else None
    if heat is not None:
        charts["heat"] = heat
    drawings = {name: to_svg(chart, CAPTIONS[name][0]) for name, chart in charts.items()}
    tables = [_listing("Scores", rating.scores)]
    if rating.has_workers:
        tables.append(_listing("Raters", rating.workers))
    context = {
        "title": title,
        "lines": rating.summary().splitlines(),
        "figures": [(name, *CAPTIONS[name]) for name in charts],
        "tables": tables,
    }
    return render(context, drawings, TEMPLATE)


def write_rating_report(rating: Rating, path: str | Path, title: str | None = None) -> None:
    """Write the page of a rating to a file; ``-`` is standard output."""
    write_text(rating_page(rating, title or "Ratings and scores"), path)


def _listing(heading: str, table: Table) -> tuple[str, list[str], list[list[str]], str]:
    body = [[_cell(value) for value in row.values()] for row in table.arrow.slice(0, MAX_ROWS).to_pylist()]
    more = f"The first {MAX_ROWS:,} of {len(table):,} rows." if len(table) > MAX_ROWS else ""
    return heading, list(table.column_names), body, more


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
