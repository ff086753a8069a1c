"""The classes that crowd-kit has not."""

from typing import Any

from quorate.estimators.estimator import Estimator, Voter, confusion_frame


class Quorate(Estimator):
    """The standard method: centred rank-one skills, then confusion matrices shrunk to them."""

    method = "quorate"

    @property
    def errors_(self) -> Any:
        """The probability of each worker's answer (rows: worker, label) given the true class (columns)."""
        matrices = self.result_.confusion
        if matrices is None:
            raise AttributeError("no confusion matrices were fitted: no skill is determined")
        return confusion_frame(self.result_, matrices)


class RankOne(Voter):
    """The paper's method: skills by rank-one completion of the agreements, then a log-odds vote."""

    method = "rank-one"


class RankOneCentred(Estimator):
    """The standard method's first stage: rank-one completion of answers centred at each worker's habit."""

    method = "rank-one-centred"


class IWMV(Voter):
    """Vote, weigh each worker by how far its agreement with the labels exceeds guessing, until the labels settle."""

    method = "iwmv"


class EigenRatio(Estimator):
    """ER: the ratio of two eigenvectors, per component."""

    method = "er"


class KOSSVD(Estimator):
    """The top singular vector of the centred answers."""

    method = "kos-svd"


class GhoshSVD(Estimator):
    """The top singular vector of the answers."""

    method = "ghosh-svd"


class OptDS(Estimator):
    """Tensor decomposition, then EM."""

    method = "opt-ds"


class M3V(Estimator):
    """Max-margin vote, by Gibbs sampling."""

    method = "m3v"


class M3VSVM(Estimator):
    """Max-margin vote, by alternating with a linear SVM."""

    method = "m3v-svm"
