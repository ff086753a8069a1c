"""report(): aggregate the answers, diagnose them, compare methods, draw charts, and render one HTML page."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack
from urllib.parse import quote

import numpy as np

from quorate import __version__
from quorate.advice.next_steps import NextSteps, steps_of
from quorate.answers import Answers
from quorate.arrays import Shown
from quorate.blocks.sampling import MAX_TESTED_ANSWERS
from quorate.charts.graph import MAX_EDGES, MAX_WORKERS, graph_chart
from quorate.charts.result import (
    MAX_DRAWN_WORKERS,
    MAX_MAP_WORKERS,
    SURE,
    agreement_chart,
    confidence_chart,
    skills_chart,
)
from quorate.diagnostics.diagnose import Diagnosis, diagnose_result, headline_of, problem_lines
from quorate.errors import OptionError
from quorate.evaluation.compare import Comparison, compare
from quorate.evaluation.metrics import Score, expected_error
from quorate.interrater.agreement import agreement
from quorate.io.arguments import check_arguments
from quorate.io.atomic import atomic_batch, make_folder
from quorate.io.extra_columns import TaskTexts, task_texts
from quorate.io.gold import gold_for, labels_for
from quorate.io.options import ReadKeywords, names_listed
from quorate.io.pipes import keep_pipes
from quorate.io.proposals import source_as_typed
from quorate.io.read import as_reading
from quorate.io.read_table import Source
from quorate.io.write_table import write_table, write_text
from quorate.methods.aggregate import aggregate
from quorate.renamed import renamed_attribute
from quorate.reporting import tables
from quorate.reporting.html import render, templates
from quorate.reporting.page_text import (
    ArrangedFindings,
    arrange,
    first_things,
    for_manager,
    headline,
    omissions,
    tiles,
    title_of,
)
from quorate.reporting.svg import to_svg
from quorate.result import Result, count


def captions(result: Result, confident: float, *, has_copying: bool = False) -> dict[str, str]:
    """Return the caption of each chart.

    Args:
        result: what was aggregated.
        confident: the confidence from which a label counts as reliable.
        has_copying: whether the graph marks pairs.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(100, 5, 3).answers)
    >>> captions(result, 0.9)["confidence"]
    'Number of tasks by confidence of the label. Orange: below 90%.'
    """
    n = result.answers.n_workers
    has_intervals = not np.isnan(result.intervals.low).all()
    interval = f" with {result.intervals.level:.0%} interval" if has_intervals else ""
    sampled = f" Drawn: {MAX_DRAWN_WORKERS:,} of {n:,} workers, evenly by rank." if n > MAX_DRAWN_WORKERS else ""
    few = f" Drawn: {MAX_WORKERS:,} of {n:,} workers, the most active of each group." if n > MAX_WORKERS else ""
    # n (n - 1) / 2 is an upper bound of the number of pairs; with fewer pairs the sentence is still true.
    thin = f" At most {MAX_EDGES:,} lines, the strongest." if n * (n - 1) // 2 > MAX_EDGES else ""
    marked = " Thick purple lines: these two agree more than their skills explain." if has_copying else ""
    part = f" Drawn: {MAX_MAP_WORKERS} of {n:,} workers, the most active." if n > MAX_MAP_WORKERS else ""
    return {
        "skills": f"Skill of each worker{interval}, best first. Dashed line: guessing.{sampled}",
        "graph": "Workers are joined if they share tasks; larger dots gave more answers. Groups inside a dashed ring "
        f"cannot be rated.{marked}{few}{thin}",
        "agreement": "How often each pair agrees. Small squares: fewer than 5 shared tasks; medium: fewer than 20."
        f"{part}",
        "confidence": f"Number of tasks by confidence of the label. Orange: below {confident:.0%}.",
    }


FAST_METHODS = ("quorate", "rank-one", "majority", "one-coin", "dawid-skene")  # methods to compare with by default


@dataclass(frozen=True, repr=False)
class Report(Shown):
    """The content of the page."""

    result: Result
    diagnosis: Diagnosis
    comparison: Comparison | None
    confident: float = SURE
    title: str = "The answers"
    left_out: tuple[str, ...] = ()  # sentences on rows that were left out before the answers were read
    file: str = "FILE"  # the answers as printed commands name them
    score: Score | None = None  # of the labels, if true labels are given
    texts: TaskTexts | None = None  # of the tasks; None unless a column is shown

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            return renamed_attribute(self, name, {"sure": "confident", "found": "arranged_findings"})

    @cached_property
    def next(self) -> NextSteps:
        """The next steps, and their effect."""
        return steps_of(self.result, self.diagnosis, self.confident, self.file, self.texts)

    @cached_property
    def arranged_findings(self) -> ArrangedFindings:
        """The problems, grouped for the page."""
        return arrange(self.diagnosis.findings, self.diagnosis.answers, self.diagnosis.n_tasks_tested)

    def summary(self) -> str:
        """Return the headline, the problems, the next steps, and how to write the page, as text."""
        problems = headline_of(self.diagnosis.findings)
        return "\n".join(
            [
                f"{self.title}: {headline(self.result, self.confident)}",
                problems,
                *problem_lines(self.diagnosis.findings, self.diagnosis.n_tasks_tested),
                self.next.summary(),
                "report.write('report.html') writes the page.",
            ]
        )

    def html(self, files: Mapping[str, str] | None = None) -> str:
        """Return the page as HTML; ``files`` has the addresses of the full tables ``workers`` and ``labels``."""
        context = {
            "title": self.title,
            "version": __version__,
            "method": self.result.method,
            "lead": self._lead(),
            "headline": headline(self.result, self.confident),
            "for_manager": for_manager(self.result, self.next, self.confident),
            "steps": self.next.all(),
            "before_and_after": self.next.line(),
            "tiles": tiles(self.result, self.confident, self.score),
            "first": first_things(self.result, self.diagnosis.findings),
            "problems": headline_of(self.diagnosis.findings),
            "findings": self.arranged_findings.groups,
            "omissions": omissions(self.result.answers, self.left_out),
            "not_asked": self.diagnosis.not_asked,
            "samples": [
                *self.diagnosis.sample_lines(),
                *([] if self.comparison is None else self.comparison.sample_line()),
            ],
            "n_answers": self.result.answers.n_answers,
            "level": None if np.isnan(self.result.intervals.low).all() else f"{self.result.intervals.level:.0%}",
            "n_scored": None if self.comparison is None else self.comparison.n_scored,
            "captions": captions(self.result, self.confident, has_copying=bool(self.arranged_findings.copying)),
            **self._sheets(files or {}),
        }
        return render(context, self._drawings())

    @check_arguments
    def write(self, path: str | Path, *, folder: str | Path | None = None, excel_safe: bool = False) -> list[Path]:
        """Write the page and, if a folder is given, workers.csv and labels.csv in it; the page then links to them.

        The path ``-`` is standard output.
        """
        page = Path(path)
        table_paths = [] if folder is None else [Path(folder) / f"{name}.csv" for name in ("workers", "labels")]
        html = self.html(
            {file.stem: quote(Path(os.path.relpath(file, page.parent)).as_posix()) for file in table_paths}
        )
        if folder is not None:
            make_folder(folder)
        with atomic_batch():  # all files are written, or none
            write_text(html, page)
            for file in table_paths:
                write_table(getattr(self.result, file.stem), file, excel_safe=excel_safe)
        return [page, *table_paths]

    def _lead(self) -> str:
        a = self.result.answers
        return (
            f"{count(a.n_workers, 'worker')} gave {count(a.n_answers, 'answer')} to {count(a.n_tasks, 'task')}. Here "
            "is what you can use, and what to do next."
        )

    def _sheets(self, files: Mapping[str, str]) -> dict[str, Any]:
        result = self.result
        findings = self.arranged_findings
        return {
            "workers": tables.worker_sheet(result, findings.flags, files.get("workers")),
            "tasks": tables.task_sheet(result, files.get("labels"), self.texts),
            "components": tables.component_sheet(self.diagnosis),
            "pairs": tables.pair_sheet(result, findings.copiers),
            "coefficients": tables.coefficient_sheet(self.diagnosis.agreement or agreement(result.answers)),
            "confidence": tables.confidence_sheet(result, self.confident),
            "methods": None if self.comparison is None else tables.method_sheet(self.comparison, result),
        }

    def _drawings(self) -> dict[str, str]:
        result = self.result
        findings = self.arranged_findings
        return {
            "skills": to_svg(skills_chart(result), "Workers by skill, with intervals; a table has the figures."),
            "graph": to_svg(
                graph_chart(result, copying=findings.copying),
                "Workers joined where they share tasks; a table lists the groups.",
            ),
            "agreement": to_svg(
                agreement_chart(result, first=findings.copiers),
                "How often each pair of workers agrees; a table lists the pairs.",
            ),
            "confidence": to_svg(
                confidence_chart(result, self.confident),
                "How many tasks have which confidence; a table has the figures.",
            ),
        }


@check_arguments
@keep_pipes()
def report(
    source: Answers | Source,
    *,
    method: str = "quorate",
    gold: Source = None,
    truth: Source = None,
    methods: Sequence[str] | str = FAST_METHODS,
    confident: float = SURE,
    title: str | None = None,
    left_out: Sequence[str] = (),
    show: str | None = None,
    **reading: Unpack[ReadKeywords],
) -> Report:
    """Compute the content of the report; its method ``write`` writes one HTML page that needs no network.

    Args:
        source: what `quorate.read` returned, or anything that it reads.
        method: how to aggregate; see `quorate methods`.
        gold: known labels of some tasks, which the methods may use, as in `quorate.aggregate`.
        truth: true labels to score the methods against, with the column names of the answers; the methods do not use
            them.
        methods: other methods to compare with; none if empty.
        confident: labels below this confidence need more answers.
        title: title of the page; by default the name of the file, or the numbers of answers and workers.
        left_out: sentences on rows that were left out before the answers were read.
        show: a column of the answers, such as the text, that is shown next to each task.
        reading: options of `quorate.read`.

    Raises:
        QuorateError: jinja2 is not installed.

    >>> import quorate
    >>> page = report(quorate.simulate.crowd(100, 5, 3).answers, title="Cats & dogs").html()
    >>> page[:15], "<h1>Cats &amp; dogs</h1>" in page
    ('<!DOCTYPE html>', True)
    """
    templates()  # raise an error at once if jinja2 is not installed
    if not 0 < confident <= 1:
        raise OptionError(f"confident= (--confident) must be above 0 and at most 1, got {confident:g}")
    loaded = as_reading(source, reading)
    texts = task_texts(loaded, show)
    known = gold_for(loaded, gold)
    true = labels_for(loaded, truth, "the true labels")
    result = aggregate(loaded.answers, method, gold=known)
    diagnosis = diagnose_result(result, gold=known)
    methods = names_listed(methods, ())
    chosen = [method, *(name for name in methods if name != method)]
    results = {earlier.method: earlier for earlier in (diagnosis.result, result)}  # these are not computed again
    comparison = None
    if methods:
        # Without true labels the page has no more than how many labels a method would change: the sample of the tests
        # does. True labels may be few: to score the methods, all answers are used.
        most = MAX_TESTED_ANSWERS if true is None else None
        comparison = compare(loaded.answers, true, methods=chosen, gold=known, results=results, most_answers=most)
    omitted = (*left_out, *(() if loaded.export is None else loaded.export.omissions()))
    named = title_of(loaded.name, loaded.answers) if title is None else title
    if loaded.is_sample:
        named = f"{named} (a sample of {loaded.answers.n_tasks:,} tasks)"
    score = None if true is None else expected_error(result, true)
    file = source_as_typed(loaded.source, loaded.options)
    return Report(result, diagnosis, comparison, confident, named, omitted, file, score, texts)
