"""Answers -> the report: aggregate, diagnose, compare; then draw, and put it on one page."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack
from urllib.parse import quote

import numpy as np

from quorate import __version__
from quorate.answers import Answers
from quorate.arrays import Shown
from quorate.diagnosis.diagnose import Diagnosis, diagnose_result
from quorate.errors import OptionError
from quorate.evaluation.compare import Comparison, compare
from quorate.evaluation.score import Score, expected_error
from quorate.gold import gold_for, labels_for
from quorate.meetings.agreements import agreement
from quorate.methods.registry import METHODS, aggregate
from quorate.progress import report as tell
from quorate.reading.files import Source
from quorate.reading.options import ReadKeywords
from quorate.reading.pipes import keep_pipes
from quorate.reading.read import given
from quorate.reporting import listings
from quorate.reporting.captions import captions
from quorate.reporting.charts.agreement_chart import agreement_chart
from quorate.reporting.charts.confidence_chart import SURE, confidence_chart
from quorate.reporting.charts.graph_chart import graph_chart
from quorate.reporting.charts.skill_chart import skills_chart
from quorate.reporting.charts.specification import Spec
from quorate.reporting.drawing import converter, to_svg, warm_up
from quorate.reporting.facts import first_things, headline, nothing_found, omissions
from quorate.reporting.findings import Arranged, arrange
from quorate.reporting.next_steps import REMEDIES, Outlook, as_typed, outlook, title_of
from quorate.reporting.page import render, templates
from quorate.result import Result, count
from quorate.writing.tables import write_table, write_text
from quorate.writing.whole import make_folder, together

FAST = ("quorate", "rank-one", "majority", "one-coin", "dawid-skene")  # methods to compare with, unless told


@dataclass(frozen=True, repr=False)
class Report(Shown):
    """Everything that the page shows."""

    result: Result
    diagnosis: Diagnosis
    comparison: Comparison | None
    sure: float = SURE
    title: str = "The answers"
    left_out: tuple[str, ...] = ()  # before the answers were read
    file: str = "FILE"  # as commands name what was read
    score: Score | None = None  # of the labels, where the truth is known

    @cached_property
    def next(self) -> Outlook:
        """What to do next, and what it should bring."""
        return outlook(self.result, self.diagnosis, self.sure, self.file)

    @cached_property
    def found(self) -> Arranged:
        """What stands out."""
        return arrange(self.diagnosis.findings, self.diagnosis.answers)

    def summary(self) -> str:
        """Say what to do next, a line each, and how to write the page."""
        steps = (f"{step.title}: {step.why} {step.brings}".rstrip() for step in self.next.all())
        return "\n".join([f"{self.title}: {self.next.line()}", *steps, "report.write('report.html') makes the page"])

    def html(self, files: Mapping[str, str] | None = None) -> str:
        """Return the page; ``files`` are the addresses of the whole tables, ``workers`` and ``labels``."""
        context = {
            "title": self.title,
            "version": __version__,
            "method": self.result.method,
            "about": METHODS[self.result.method].about,
            "lead": self._lead(),
            "steps": self.next.all(),
            "before_and_after": self.next.line(),
            "tiles": headline(self.result, self.sure, self.score),
            "first": first_things(self.result, is_told=self._undetermined_are_told(), told=self._told()),
            # Whom to stop or train is said above, with the same figures.
            "findings": [group for group in self.found.groups if group.kind.replace(" ", "-") not in REMEDIES],
            "nothing": nothing_found(self.result),
            "omissions": omissions(self.result.answers, self.left_out),
            "not_asked": self.diagnosis.not_asked,
            "n_answers": self.result.answers.n_answers,
            "level": None if np.isnan(self.result.intervals.low).all() else f"{self.result.intervals.level:.0%}",
            "n_scored": None if self.comparison is None else self.comparison.n_scored,
            "captions": captions(self.result, self.sure, has_copying=bool(self.found.copying)),
            **self._sheets(files or {}),
        }
        return render(context, self._drawings())

    def write(self, path: str | Path, *, folder: str | Path | None = None, excel_safe: bool = False) -> list[Path]:
        """Write the page and, into a folder if one is given, workers.csv and labels.csv, which it then links to.

        A page of the name ``-`` goes to standard output.
        """
        page = Path(path)
        whole = [] if folder is None else [Path(folder) / f"{name}.csv" for name in ("workers", "labels")]
        html = self.html({file.stem: quote(Path(os.path.relpath(file, page.parent)).as_posix()) for file in whole})
        if folder is not None:
            make_folder(folder)
        with together():  # the page and its tables appear all or none
            write_text(html, page)
            for file in whole:
                write_table(getattr(self.result, file.stem), file, excel_safe=excel_safe)
        return [page, *whole]

    def _lead(self) -> str:
        a = self.result.answers
        return (
            f"{count(a.n_answers, 'answer')} by {count(a.n_workers, 'worker')} to {count(a.n_tasks, 'task')}, turned "
            f"into one label a task by the method {self.result.method}."
        )

    def _undetermined_are_told(self) -> bool:
        told = {worker for finding in self.diagnosis.of_kind("cannot-be-judged") for worker in finding.workers}
        return set(self.diagnosis.undetermined().tolist()) <= told

    def _told(self) -> set[str]:
        return {finding.kind for finding in self.diagnosis.findings}

    def _sheets(self, files: Mapping[str, str]) -> dict[str, Any]:
        result, found = self.result, self.found
        return {
            "workers": listings.worker_sheet(result, found.flags, files.get("workers")),
            "tasks": listings.task_sheet(result, files.get("labels")),
            "components": listings.component_sheet(self.diagnosis),
            "pairs": listings.pair_sheet(result, found.copiers),
            "coefficients": listings.coefficient_sheet(agreement(result.answers)),
            "confidence": listings.confidence_sheet(result, self.sure),
            "methods": None if self.comparison is None else listings.method_sheet(self.comparison, result),
        }

    def _drawings(self) -> dict[str, str]:
        result, found = self.result, self.found
        charts: list[tuple[str, Callable[[], Spec], str]] = [
            ("skills", lambda: skills_chart(result), "Workers by skill, with intervals; a table has the figures."),
            (
                "graph",
                lambda: graph_chart(result, copying=found.copying),
                "Workers joined where they share tasks; a table lists the components.",
            ),
            (
                "agreement",
                lambda: agreement_chart(result, first=found.copiers),
                "How alike each two workers answered; a table lists the pairs.",
            ),
            (
                "confidence",
                lambda: confidence_chart(result, self.sure),
                "How many tasks have which confidence; a table has the figures.",
            ),
        ]
        drawn = {}
        for number, (name, draw, label) in enumerate(charts):
            tell("drawing", number, len(charts))
            drawn[name] = to_svg(draw(), label)
        tell("drawing", len(charts), len(charts))
        return drawn


@keep_pipes()
def report(
    source: Answers | Source,
    *,
    method: str = "quorate",
    gold: Source = None,
    truth: Source = None,
    methods: Sequence[str] = FAST,
    sure: float = SURE,
    title: str | None = None,
    left_out: Sequence[str] = (),
    **reading: Unpack[ReadKeywords],
) -> Report:
    """Gather what the report shows; its ``write`` makes one HTML page that needs no network.

    Args:
        source: what `quorate.read` returned, or anything that it reads.
        method: how to aggregate; see `quorate methods`.
        gold: known labels of some tasks, which the methods may use, as in `quorate.aggregate`.
        truth: true labels to score the methods against, in the columns that the answers have; not shown to them.
        methods: others to compare with; none if empty.
        sure: a label of less confidence needs more answers.
        title: of the page; by default what the name of the file says, or how much there is.
        left_out: what was left out before the answers were read, a sentence each.
        reading: as `quorate.read` takes it.

    Raises:
        QuorateError: vl-convert or jinja2 is not installed.

    >>> import quorate
    >>> page = report(quorate.simulate.crowd(100, 5, 3).answers, title="Cats & dogs").html()
    >>> page[:15], "<h1>Cats &amp; dogs</h1>" in page
    ('<!DOCTYPE html>', True)
    """
    templates()  # say at once what is missing
    warm_up(converter())
    if not 0 < sure <= 1:
        raise OptionError(f"how sure a label must be is a share above 0 and at most 1, not {sure}")
    found = given(source, reading)
    known, true = gold_for(found, gold), labels_for(found, truth, "the truth")
    result = aggregate(found.answers, method, gold=known)
    diagnosis = diagnose_result(result, gold=known)
    chosen = [method, *(name for name in methods if name != method)]
    there = {each.method: each for each in (diagnosis.result, result)}  # not run again
    comparison = compare(found.answers, true, methods=chosen, gold=known, results=there) if methods else None
    omitted = (*left_out, *(() if found.export is None else found.export.omissions()))
    named = title_of(found.name, found.answers) if title is None else title
    if found.is_sample:
        named = f"{named} (a sample of {found.answers.n_tasks:,} tasks)"
    score = None if true is None else expected_error(result, true)
    return Report(result, diagnosis, comparison, sure, named, omitted, as_typed(found.source, found.options), score)
