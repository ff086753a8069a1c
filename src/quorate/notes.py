"""What a reader of a result must know: a kind, for whoever asks by program, and a sentence for whoever reads."""

from dataclasses import dataclass

UNDETERMINED = "undetermined"  # workers whose skill the data do not determine
ORIENTATION = "orientation"  # groups whose sign rests on the assumption that they are right more often than wrong
NOT_CONVERGED = "not-settled"  # the method stopped before it was done
OTHER_START = "other-start"  # the method could not begin as its paper says
CONTRADICTION = "contradiction"  # the labels contradict most votes, or the agreement of the crowd
OTHER_METHOD = "other-method"  # another method ran than the one that is usual
DEPENDENT = "dependent"  # workers err together: their answers are worth few independent ones
FAMILY = "family"  # workers who repeat each other
JUDGES = "judges"  # workers that are models, whose agreement shows little about how often they are right
NOT_OUT_OF_CORE = "beyond-memory"  # what is done in memory, and is not where the answers lie beyond it
ALTERNATIVE = "alternative-optimum"  # other skills fit the agreements nearly as well
KNOWN_SKILLS = "known-skills"  # of how many workers a skill is known from before, and of whom in vain
MODEL = "model"  # what was left out of the predictions of a model that is one more worker
TRAINED = "trained-on-these"  # the model agrees with these answers more than the truth could
DOUBTFUL_SIGN = "doubtful-sign"  # a group whose skills sum to zero, within their error: its sign is open
UNSUPPORTED = "unsupported"  # why no confidence is stated, and what is needed for one
LIKE_SCORES = "like-scores"  # labels that are numbers on a scale, for which there is `quorate rate`
UNUSED_ABSTENTIONS = "unheard"  # what was to be an abstention never occurs
LOW_ONE_FACTOR_FIT = (
    0.8  # below this `one_factor_weight`, a summary tells that one skill a worker does not explain who agrees with whom
)
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
        KNOWN_SKILLS,
        MODEL,
        TRAINED,
    ),
)


@dataclass(frozen=True)
class Note:
    """One thing to know before trusting any figure.

    >>> note = Note(NOT_CONVERGED, "iwmv: the labels had not settled after 3 votes")
    >>> note.kind, str(note)
    ('not-settled', 'iwmv: the labels had not settled after 3 votes')
    """

    kind: str  # one of KINDS
    text: str

    def __str__(self) -> str:
        return self.text
