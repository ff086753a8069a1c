"""Notes on a result: a kind for programs, a sentence for people; and the commands that texts propose."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from quorate.answers import Answers
from quorate.errors import as_sentence, count, in_shell
from quorate.io.model_names import models_of, who_are_models
from quorate.io.proposals import advised_labels
from quorate.io.proposals import new_file as new_file

# The kinds of notes, which programs compare. A kind that is renamed needs an entry in RENAMED_KINDS.
UNDETERMINED = "undetermined"  # workers whose skill the data do not determine
ORIENTATION = "orientation"  # groups whose sign rests on the assumption that they are right more often than wrong
NOT_CONVERGED = "not-converged"  # the method stopped before it converged
OTHER_START = "other-start"  # the method could not begin as its paper requires
CONTRADICTION = "contradiction"  # the labels contradict most votes, or the agreement of the crowd
OTHER_METHOD = "other-method"  # another method ran than the one that is usual
DEPENDENT = "dependent"  # workers err together: their answers are worth few independent ones
FAMILY = "family"  # workers who repeat each other
JUDGES = "judges"  # workers that are models, whose agreement shows little about how often they are right
NOT_OUT_OF_CORE = "in-memory-only"  # what is done in memory only, not out of core
ALTERNATIVE = "alternative-optimum"  # other skills fit the agreements nearly as well
KNOWN_SKILLS = "known-skills"  # of how many workers a skill is known from before, and of whom in vain
MODEL = "model"  # what was left out of the predictions of a model that is one more worker
TRAINED = "trained-on-these"  # the model agrees with these answers more than the truth could
DOUBTFUL_SIGN = "doubtful-sign"  # a group whose skills sum to zero, within their error: its sign is open
UNSUPPORTED = "unsupported"  # why no confidence is stated, and what is needed for one
SOLVER = "solver"  # another solver ran than usual
LIKE_SCORES = "like-scores"  # labels that are numbers on a scale, for which there is `quorate rate`
FREE_TEXT = "free-text"  # nearly as many labels as answers
UNUSED_ABSTENTIONS = "unused-abstentions"  # a label that stands for an abstention never occurs
LOW_ONE_FACTOR_FIT = 0.8  # one-factor weight below which outputs warn that a group of workers shares a bias
TECHNICAL = (ALTERNATIVE, OTHER_START, SOLVER)  # for summaries with ``verbose`` only
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

# The kinds in results that version 0.2 saved.
RENAMED_KINDS = {
    "beyond-memory": NOT_OUT_OF_CORE,
    "not-settled": NOT_CONVERGED,
    "rival": ALTERNATIVE,
    "unheard": UNUSED_ABSTENTIONS,
}


@dataclass(frozen=True)
class Note:
    """One thing to know before trusting any figure.

    >>> note = Note(CONTRADICTION, "kos: 60% of the labels contradict the majority vote")
    >>> note.kind, str(note)
    ('contradiction', 'kos: 60% of the labels contradict the majority vote')
    """

    kind: str  # one of KINDS
    text: str

    def __str__(self) -> str:
        return self.text

    def __setstate__(self, state: dict[str, str]) -> None:
        """Read a note of a saved result, whose kind may have another name now."""
        self.__dict__.update(state, kind=RENAMED_KINDS.get(state["kind"], state["kind"]))


def percent(share: float) -> str:
    """Write a share in percent, with one decimal below 10%.

    >>> percent(0.186), percent(0.041), percent(0.05), percent(0.0)
    ('19%', '4.1%', '5%', '0%')
    """
    return f"{share:.1%}".replace(".0%", "%") if 0 < share < 0.0995 else f"{share:.0%}"


def change_of(now: float, after: float) -> str:
    """Write two shares with as many digits as it takes to distinguish them.

    >>> change_of(0.186, 0.17), change_of(0.186, 0.1853), change_of(0.1, 0.1)
    ('19% to 17%', '18.6% to 18.5%', '10% to 10%')
    """
    one = percent(now)
    two = percent(after)
    return f"{one} to {two}" if one != two or now == after else f"{now:.1%} to {after:.1%}"


# The answers as commands name them: the file with the options of reading it. The command line sets it.
typed_source: ContextVar[str] = ContextVar("the answers as typed", default="FILE")
# The options besides those of reading, such as --gold, that a command of this name takes and that were given to the one
# which is running. The command line sets it.
typed_options: ContextVar[Callable[[str], str]] = ContextVar("the options as typed", default=lambda _: "")


@contextmanager
def printed_commands_use(source: str, options: Callable[[str], str] = lambda _: "") -> Iterator[None]:
    """Let the commands that are printed inside the block name these answers and these options.

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
    """Write a command of the command line, with the options that the running command was given and this one takes.

    Args:
        name: of the command.
        source: the file and the options of reading it.
        options: what follows.

    >>> shell_command("advise", "answers.csv --task item", "--expert 30")
    'quorate advise answers.csv --task item --expert 30'
    """
    return " ".join(filter(None, ["quorate", name, source, typed_options.get()(name), options]))


def command(name: str, options: str, python: str) -> str:
    """Write what to run next: a complete command in a shell, a call elsewhere.

    Args:
        name: of the command.
        options: what follows the file and the options of reading it.
        python: the same as Python takes it.

    >>> command("advise", "--expert 30", "quorate.suggest_gold(answers, 30)")
    'quorate.suggest_gold(answers, 30)'
    """
    return shell_command(name, typed_source.get(), options) if in_shell.get() else python


LABELS_FILE = "labels.csv"  # what printed commands call the file of the labels, if there is none yet
EXPERT_FILE = "expert.csv"  # what printed commands call the file of an expert's labels, if there is none yet


def expert_command(n: int, *, is_random: bool | None = None) -> str:
    """Write the command that chooses tasks for an expert.

    Args:
        n: how many.
        is_random: whether all are drawn at random; None for the default.

    >>> expert_command(30)
    'quorate.suggest_gold(answers, 30)'
    """
    flag = {None: "", True: " --random", False: " --no-random"}[is_random]
    how = "" if is_random is None else f", random={is_random}"
    options = f"--expert {n}{flag} -o {new_file(EXPERT_FILE)}"
    return command("advise", options, f"quorate.suggest_gold(answers, {n}{how})")


def shared_bias_text(n_labels: int) -> str:
    """Describe answers that agree more than one skill per worker explains.

    Args:
        n_labels: tasks that an expert should label; 0 where there are too few tasks.

    >>> shared_bias_text(0)
    'The answers as a whole agree more than the skills of the workers explain. Some workers may copy or share a bias'
    """
    cause = "Some workers may copy or share a bias"
    text = f"The answers as a whole agree more than the skills of the workers explain. {cause}"
    return text if n_labels == 0 else f"{text}. Known labels would show who is right: {expert_command(n_labels)}"


def copying_text(n: int, names: str) -> str:
    """Describe a group of workers who repeat the same answers.

    >>> copying_text(3, "ann, bob and cy")
    '3 workers give the same answers far more often than their skills explain: ann, bob and cy. They may copy or ...
    """
    return (
        f"{n:,} workers give the same answers far more often than their skills explain: {names}. They may copy or "
        "share an account"
    )


def unchecked_models(answers: Answers, also: str = "") -> tuple[Note, ...]:
    """Warn if workers are language models, whose agreement shows little about their accuracy; nothing otherwise.

    Args:
        answers: whose workers may be models.
        also: what else follows, at the end of the sentence.

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
    """Split off the sentence at the end of a line that proposes a command: what stands before it, and the command."""
    sentences, mark, proposed = line.rpartition(": quorate")
    if not mark:
        return line, ""
    before, stop, _ = sentences.rpartition(". ")
    return f"{before}." if stop else "", proposed


def without_repeated_advice(lines: Iterable[str]) -> list[str]:
    """Leave out every sentence that proposes the same command as a line before it.

    >>> without_repeated_advice(["Label 30: quorate advise a.csv", "Not yet checked. To check: quorate advise a.csv"])
    ['Label 30: quorate advise a.csv', 'Not yet checked.']
    """
    proposed: set[str] = set()
    kept = []
    for line in lines:
        before, command_of_line = _advice_in(line)
        is_repeated = command_of_line in proposed
        if command_of_line:
            proposed.add(command_of_line)
        if not is_repeated or before:
            kept.append(before if is_repeated else line)
    return kept


def without_later_advice(warnings: Iterable[str], later: Iterable[str]) -> list[str]:
    """Leave out of warnings each sentence that proposes a command which stands in a later line.

    >>> without_later_advice(["No labels. Label 30: quorate advise a.csv"], ["1. Label 30", "   quorate advise a.csv"])
    ['No labels.']
    """
    text = "\n".join(later)
    kept = []
    for warning in warnings:
        before, proposed = _advice_in(warning)
        is_later = proposed and f"quorate{proposed}" in text
        if not is_later or before:
            kept.append(before if is_later else warning)
    return kept


def warning_line(note: Note) -> str:
    """Write a note as a sentence with a capital letter and a full stop; nearly all notes are warnings.

    >>> warning_line(Note(NOT_CONVERGED, "iwmv: no convergence after 3 votes"))
    'Warning: iwmv: no convergence after 3 votes.'
    """
    sentence = as_sentence(note.text.rstrip())
    return sentence if note.kind == KNOWN_SKILLS else f"Warning: {sentence}"
