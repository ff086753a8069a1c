"""Notes on a result (a kind for programs, and a sentence), and the commands that texts propose."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from quorate.answers import Answers
from quorate.errors import as_sentence, count, in_shell
from quorate.io.model_names import models_of, who_are_models
from quorate.io.proposals import advised_labels
from quorate.io.proposals import new_file as new_file

# Kinds of notes, by which programs recognise them. A kind that is renamed needs an entry in RENAMED_KINDS.
UNDETERMINED = "undetermined"  # workers whose skill the data do not determine
ORIENTATION = "orientation"  # components whose sign is assumed: right more often than wrong
NOT_CONVERGED = "not-converged"  # the method stopped before it converged
OTHER_START = "other-start"  # the method could not begin as its paper requires
CONTRADICTION = "contradiction"  # the labels contradict most votes, or the agreement of the crowd
OTHER_METHOD = "other-method"  # another method than the usual one was used
DEPENDENT = "dependent"  # errors of workers are correlated: their answers are worth fewer independent ones
FAMILY = "family"  # workers who copy each other
JUDGES = "judges"  # workers are language models: their agreement shows little about their accuracy
NOT_OUT_OF_CORE = "in-memory-only"  # a step that was left out, because it is done only in memory
ALTERNATIVE = "alternative-optimum"  # other skills fit the agreements nearly as well
KNOWN_SKILLS = "known-skills"  # number of workers whose skill is known from before, and known workers who do not occur
MODEL = "model"  # predictions of a model, added as a worker, that were left out
TRAINED = "trained-on-these"  # the model agrees with these answers more than the true labels could
DOUBTFUL_SIGN = "doubtful-sign"  # components whose skills sum to zero within their error: sign not determined
UNSUPPORTED = "unsupported"  # why no confidence is stated, and what is needed for one
SOLVER = "solver"  # another solver than the usual one was used
LIKE_SCORES = "like-scores"  # labels are numbers on a scale; `quorate rate` is for these
FREE_TEXT = "free-text"  # nearly as many labels as answers
UNUSED_ABSTENTIONS = "unused-abstentions"  # an abstention label does not occur
LOW_ONE_FACTOR_FIT = 0.8  # one-factor weight below which outputs warn that a group of workers shares a bias
TECHNICAL = (ALTERNATIVE, OTHER_START, SOLVER)  # only in summaries with ``verbose``
KINDS = (
    *(UNDETERMINED, ORIENTATION, NOT_CONVERGED, OTHER_START, CONTRADICTION, OTHER_METHOD, DEPENDENT, FAMILY),
    *(
        JUDGES,
        NOT_OUT_OF_CORE,
        ALTERNATIVE,
        DOUBTFUL_SIGN,
        UNSUPPORTED,
        UNUSED_ABSTENTIONS,
        LIKE_SCORES,
        FREE_TEXT,
        KNOWN_SKILLS,
        MODEL,
        TRAINED,
        SOLVER,
    ),
)

# Kinds in results that version 0.2 saved -> present kinds.
RENAMED_KINDS = {
    "beyond-memory": NOT_OUT_OF_CORE,
    "not-settled": NOT_CONVERGED,
    "rival": ALTERNATIVE,
    "unheard": UNUSED_ABSTENTIONS,
}


@dataclass(frozen=True)
class Note:
    """A remark that the reader of a result must know.

    >>> note = Note(CONTRADICTION, "kos: 60% of the labels contradict the majority vote")
    >>> note.kind, str(note)
    ('contradiction', 'kos: 60% of the labels contradict the majority vote')
    """

    kind: str  # one of KINDS
    text: str

    def __str__(self) -> str:
        return self.text

    def __setstate__(self, state: dict[str, str]) -> None:
        """Restore a note from a saved result; a kind that was renamed gets its present name."""
        self.__dict__.update(state, kind=RENAMED_KINDS.get(state["kind"], state["kind"]))


def percent(share: float) -> str:
    """Return a share in percent as text, with one decimal below 10%.

    >>> percent(0.186), percent(0.041), percent(0.05), percent(0.0)
    ('19%', '4.1%', '5%', '0%')
    """
    return f"{share:.1%}".replace(".0%", "%") if 0 < share < 0.0995 else f"{share:.0%}"


def change_of(now: float, after: float) -> str:
    """Return two shares in percent as text, with one more digit if they would look equal otherwise.

    >>> change_of(0.186, 0.17), change_of(0.186, 0.1853), change_of(0.1, 0.1)
    ('19% to 17%', '18.6% to 18.5%', '10% to 10%')
    """
    one = percent(now)
    two = percent(after)
    return f"{one} to {two}" if one != two or now == after else f"{now:.1%} to {after:.1%}"


# The answers in printed commands: the file and its reading options. The command line sets it.
typed_source: ContextVar[str] = ContextVar("the answers as typed", default="FILE")
# Function from the name of a command to those options of the running command, other than reading options, that this
# command takes as well, such as --gold. The command line sets it.
typed_options: ContextVar[Callable[[str], str]] = ContextVar("the options as typed", default=lambda _: "")


@contextmanager
def printed_commands_use(source: str, options: Callable[[str], str] = lambda _: "") -> Iterator[None]:
    """Within the block, use these answers and options in printed commands.

    >>> with printed_commands_use("answers.csv"):
    ...     typed_source.get()
    'answers.csv'
    >>> typed_source.get()
    'FILE'
    """
    source_token = typed_source.set(source)
    options_token = typed_options.set(options)
    try:
        yield
    finally:
        typed_options.reset(options_token)
        typed_source.reset(source_token)


def shell_command(name: str, source: str, options: str = "") -> str:
    """Return a shell command, with the options of the running command that this one takes as well.

    Args:
        name: name of the command.
        source: the file and its reading options.
        options: further options.

    >>> shell_command("advise", "answers.csv --task item", "--expert 30")
    'quorate advise answers.csv --task item --expert 30'
    """
    return " ".join(filter(None, ["quorate", name, source, typed_options.get()(name), options]))


def command(name: str, options: str, python: str) -> str:
    """Return what to run next: a shell command if messages are for the command line, otherwise a Python call.

    Args:
        name: name of the command.
        options: options after the file and its reading options.
        python: the equivalent Python call.

    >>> command("advise", "--expert 30", "quorate.suggest_gold(answers, 30)")
    'quorate.suggest_gold(answers, 30)'
    """
    return shell_command(name, typed_source.get(), options) if in_shell.get() else python


LABELS_FILE = "labels.csv"  # file of labels in printed commands, if no such file exists
EXPERT_FILE = "expert.csv"  # file of an expert's labels in printed commands, if no such file exists


def expert_command(n: int, *, is_random: bool | None = None) -> str:
    """Return the command, or Python call, that chooses tasks for an expert.

    Args:
        n: number of tasks.
        is_random: whether all tasks are sampled at random; None for the default.

    >>> expert_command(30)
    'quorate.suggest_gold(answers, 30)'
    """
    flag = {None: "", True: " --random", False: " --no-random"}[is_random]
    how = "" if is_random is None else f", random={is_random}"
    options = f"--expert {n}{flag} -o {new_file(EXPERT_FILE)}"
    return command("advise", options, f"quorate.suggest_gold(answers, {n}{how})")


def shared_bias_text(n_labels: int) -> str:
    """Return the sentence about answers that agree more than one skill per worker explains.

    Args:
        n_labels: number of tasks that an expert should label; 0 if there are too few tasks.

    >>> shared_bias_text(0)
    'The answers as a whole agree more than the skills of the workers explain. Some workers may copy or share a bias'
    """
    cause = "Some workers may copy or share a bias"
    text = f"The answers as a whole agree more than the skills of the workers explain. {cause}"
    return text if n_labels == 0 else f"{text}. Known labels would show who is right: {expert_command(n_labels)}"


def copying_text(n: int, names: str) -> str:
    """Return the sentence about a group of workers who give the same answers.

    >>> copying_text(3, "ann, bob and cy")
    '3 workers give the same answers far more often than their skills explain: ann, bob and cy. They may copy or ...
    """
    return (
        f"{n:,} workers give the same answers far more often than their skills explain: {names}. They may copy or "
        "share an account"
    )


def unchecked_models(answers: Answers, also: str = "") -> tuple[Note, ...]:
    """Return the note that agreement of language models shows little about their accuracy; empty for other workers.

    Args:
        answers: answers whose workers may be models.
        also: a further consequence, added to the sentence.

    >>> import quorate
    >>> rows = {"task": [1, 1], "worker": ["gpt-4o", "claude-3-opus"], "label": ["x", "y"]}
    >>> print(unchecked_models(quorate.read(rows))[0].text)
    These 2 workers look like LLM judges by their names (use judges=False if they are people). Judges often share ...
    """
    models = models_of(answers, answers.judges)
    if models is None:
        return ()
    who = who_are_models(int(models.is_model.sum()), answers.n_workers, by_name=models.by_name)
    n = advised_labels(answers.n_tasks, has_models=True)
    remedy = f" Label {count(n, 'task')} yourself: {expert_command(n)}" if n else ""
    text = f"{who}. Judges often share mistakes, so agreement shows little about accuracy{also}.{remedy}"
    return (Note(JUDGES, text),)


def _advice_in(line: str) -> tuple[str, str]:
    """Return the text of a line before its last sentence, if that proposes a command, and the command (or "")."""
    sentences, mark, proposed = line.rpartition(": quorate")
    if not mark:
        return line, ""
    before, stop, _ = sentences.rpartition(". ")
    return f"{before}." if stop else "", proposed


def without_repeated_advice(lines: Iterable[str]) -> list[str]:
    """Return the lines without sentences that propose the same command as an earlier line.

    >>> without_repeated_advice(["Label 30: quorate advise a.csv", "Not yet checked. To check: quorate advise a.csv"])
    ['Label 30: quorate advise a.csv', 'Not yet checked.']
    """
    proposed: set[str] = set()
    remaining = []
    for line in lines:
        before, command_of_line = _advice_in(line)
        is_repeated = command_of_line in proposed
        if command_of_line:
            proposed.add(command_of_line)
        if not is_repeated or before:
            remaining.append(before if is_repeated else line)
    return remaining


def without_later_advice(warnings: Iterable[str], later: Iterable[str]) -> list[str]:
    """Return the warnings without sentences that propose a command which a later line contains.

    >>> without_later_advice(["No labels. Label 30: quorate advise a.csv"], ["1. Label 30", "   quorate advise a.csv"])
    ['No labels.']
    """
    text = "\n".join(later)
    remaining = []
    for warning in warnings:
        before, proposed = _advice_in(warning)
        is_later = proposed and f"quorate{proposed}" in text
        if not is_later or before:
            remaining.append(before if is_later else warning)
    return remaining


def warning_line(note: Note) -> str:
    """Return a note as a sentence, with "Warning: " before it except for `KNOWN_SKILLS`.

    >>> warning_line(Note(NOT_CONVERGED, "iwmv: no convergence after 3 votes"))
    'Warning: iwmv: no convergence after 3 votes.'
    """
    sentence = as_sentence(note.text.rstrip())
    return sentence if note.kind == KNOWN_SKILLS else f"Warning: {sentence}"
