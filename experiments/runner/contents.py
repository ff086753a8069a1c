"""One page with all items: self-contained except for measured times, for small screens and dark mode."""

import re
from collections.abc import Sequence
from html import escape

from experiments.runner.experiment import FAILS, HOLDS, Claim, Experiment, Tabulation, cell_text

LONG = 16  # number of rows from which a table is folded

STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #ffffff; --faint: #5c5c5c; --line: #d8d8d8;
  --good: #00664b; --bad: #a33b00; --mixed: #6b5200; --link: #00579c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --paper: #16181b; --faint: #a8a8a8; --line: #3a3d42;
  --good: #4fd1a5; --bad: #ff9d6b; --mixed: #e8c25a; --link: #7cc0ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 62rem; color: var(--ink); background: var(--paper);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
a { color: var(--link); }
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { font-size: 1.3rem; margin-top: 3rem; border-top: 1px solid var(--line);
  padding-top: 1rem; } h3 { font-size: 1rem; margin-bottom: .4rem; }
.where, .files, figcaption { color: var(--faint); font-size: .9rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { font-weight: 600; } td.number { text-align: right; white-space: nowrap; }
figure { margin: 1rem 0; }
.card { background: #ffffff; border: 1px solid var(--line); border-radius: .4rem; padding: .5rem; overflow-x: auto; }
.card svg, .card img { display: block; max-width: 100%; min-width: 34rem; height: auto; }
.good { color: var(--good); } .bad { color: var(--bad); } .mixed { color: var(--mixed); }
.good, .bad, .mixed { font-weight: 600; white-space: nowrap; }
summary { cursor: pointer; font-weight: 600; } details { margin: 1rem 0; }
code { font-size: .9em; }
"""


def section(experiment: Experiment, name: str, title: str, source: str, drawings: dict[str, str]) -> str:
    """Show one experiment: claims, figures, tables, notes, and where the files are.

    Args:
        experiment: what was found.
        name: of the item, and of its folder.
        title: for a reader.
        source: where the paper has it.
        drawings: the SVG of each figure.
    """
    parts = [f'<section id="{escape(name)}">', f"<h2>{rich(title)}</h2>", f'<p class="where">{rich(source)}</p>']
    if experiment.claims:
        parts.append("<ul>" + "".join(f"<li>{_claim(claim)}</li>" for claim in experiment.claims) + "</ul>")
    for figure in experiment.figures:
        drawn = own_ids(drawings[figure.name], figure.name)
        parts.append(_figure(drawn, figure.caption))
    if experiment.measured is not None:
        # Seconds differ from run to run; they are in a separate picture, so that the page itself is the same.
        figure = experiment.measured.figure
        address = escape(f"{name}/{figure.name}.svg")
        shown = f'<img src="{address}" alt="{escape(figure.caption)} The file {address} belongs beside this page.">'
        parts.append(_figure(shown, f"{figure.caption} Figures: {name}/{name}-measured.md"))
    parts += [table(sheet) for sheet in experiment.beside]
    parts.append("<h3>Settings</h3><ul>" + "".join(f"<li>{rich(note)}</li>" for note in experiment.notes) + "</ul>")
    links = [f"{name}.csv", f"{name}.md", *(f"{f.name}.{kind}" for f in experiment.figures for kind in ("png", "svg"))]
    if experiment.measured is not None:
        links += [f"{name}-measured.csv", f"{name}-measured.md"]
    shown_links = ", ".join(f'<a href="{escape(f"{name}/{link}")}">{escape(link)}</a>' for link in links)
    parts += [f'<p class="files">Files: {shown_links}</p>', "</section>"]
    return "\n".join(parts) + "\n"


def failure(name: str, title: str, source: str, reason: str) -> str:
    """Return the part of the page that says why an item is missing."""
    return (
        f'<section id="{escape(name)}"><h2>{rich(title)}</h2><p class="where">{rich(source)}</p>'
        f'<p class="bad">not run: {escape(reason)}</p></section>\n'
    )


def index(sections: Sequence[tuple[str, str, str]], claims: Sequence[tuple[str, Claim]], settings: str) -> str:
    """Return the page.

    Args:
        sections: name, title and HTML of each item, in the paper's order.
        claims: every claim with the name of its item.
        settings: how it was run, in a sentence.
    """
    contents = "".join(f'<li><a href="#{escape(name)}">{rich(title)}</a></li>' for name, title, _ in sections)
    rows = "".join(
        f'<tr><td>{_badge(claim.verdict)}</td><td><a href="#{escape(name)}">{rich(claim.text)}</a></td></tr>'
        for name, claim in claims
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>The paper's experiments, run again</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        "<h1>The paper's experiments, run again</h1>\n"
        "<p>Tables and figures of <em>Gradient Descent for Sparse Rank-One Matrix Completion for Crowd-Sourced "
        f"Aggregation of Sparsely Interacting Workers</em>, by quorate. {escape(settings)}</p>\n"
        f"<nav><ol>{contents}</ol></nav>\n"
        f'<h3>What the paper says, and what these runs say to it</h3>\n<div class="wide"><table>{rows}</table></div>\n'
        + "".join(html for _, _, html in sections)
        + "</body>\n</html>\n"
    )


def table(sheet: Tabulation) -> str:
    """Show a table; a long one is folded."""
    head = "".join(f'<th scope="col">{rich(column)}</th>' for column in sheet.columns)
    body = "".join(
        "<tr>" + "".join(f"<td{_kind(text)}>{rich(text)}</td>" for text in map(cell_text, row)) + "</tr>"
        for row in sheet.rows
    )
    shown = f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    if len(sheet.rows) <= LONG:
        return f"<h3>{rich(sheet.title)}</h3>{shown}"
    return f"<details><summary>{rich(sheet.title)} ({len(sheet.rows)} rows)</summary>{shown}</details>"


def rich(text: str) -> str:
    """Return escaped text, with text between backticks as code.

    >>> rich("run `a < b`")
    'run <code>a &lt; b</code>'
    """
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def own_ids(svg: str, prefix: str) -> str:
    """Return a drawing with ids renumbered and prefixed, because several drawings are on one page.

    >>> own_ids('<clipPath id="clip7"/><g clip-path="url(#clip7)"/>', "a")
    '<clipPath id="a-0"/><g clip-path="url(#a-0)"/>'
    """
    for number, name in enumerate(dict.fromkeys(re.findall(r'\bid="([^"]+)"', svg))):
        svg = svg.replace(f'id="{name}"', f'id="{prefix}-{number}"').replace(f"#{name})", f"#{prefix}-{number})")
    return svg


def _claim(claim: Claim) -> str:
    return f"{_badge(claim.verdict)} {rich(claim.text)} <span class='where'>{rich(claim.evidence)}.</span>"


def _badge(verdict: str) -> str:
    kind = {HOLDS: "good", FAILS: "bad"}.get(verdict, "mixed")
    return f'<span class="{kind}">{escape(verdict)}</span>'


def _figure(drawn: str, caption: str) -> str:
    return f'<figure><div class="card">{drawn}</div><figcaption>{rich(caption)}</figcaption></figure>'


def _kind(text: str) -> str:
    return ' class="number"' if re.fullmatch(r"[-+]?[\d.,]+( ± [\d.]+)?|–", text) else ""
