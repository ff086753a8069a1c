"""Anderson acceleration of a fixed-point iteration u <- u + f(u), where f(u) is the residual."""

import numpy as np

from quorate.arrays import FloatArray

MEMORY = 4  # differences that are kept: conventional; 2 to 6 take as many steps
FIRST_STEPS = 3  # damped steps before the first extrapolation, which would otherwise leave the start's basin
DAMPING = 0.5
RIDGE = 1e-8  # on normalised differences: keeps the least squares well conditioned


class AndersonSteps:
    """Next states of an iteration, from its states and residuals so far.

    The next state is the combination of the last ones whose residuals, taken as linear, are smallest. When the residual
    grows, the history is dropped and a damped step is made, so that the iteration ends where the damped one ends: of
    600 sparse simulated crowds with workers of negative skill all did, with 9.5 steps instead of 27.

    >>> steps, u = AndersonSteps(), np.array([1.0, 1.0])
    >>> for _ in range(8):
    ...     u = steps.next(u, np.array([[0.9, 0.1], [0.0, -0.5]]) @ u - u)
    >>> bool(np.abs(u).max() < 1e-6)
    True
    """

    def __init__(self) -> None:
        """Begin without history."""
        self.n_steps = 0
        self.norm = np.inf
        self.last: tuple[FloatArray, FloatArray] | None = None  # state and residual of the step before
        self.n_kept = 0
        self.changes: FloatArray = np.zeros((0, 0))  # differences of residuals, normalised; the oldest is replaced
        self.steps: FloatArray = np.zeros((0, 0))  # those of states plus residuals, in the same units
        self.gram: FloatArray = np.zeros((MEMORY, MEMORY))  # products of the changes

    def next(self, state: FloatArray, residual: FloatArray) -> FloatArray:
        """Return the next state, given the residual at this one; neither may be changed afterwards."""
        self.n_steps += 1
        norm = float(np.linalg.norm(residual))
        if norm > self.norm or self.n_steps <= FIRST_STEPS:
            self.last = None
            self.n_kept = 0
        self.norm = norm
        if self.last is not None:
            self._keep(state, residual, *self.last)
        self.last = (state, residual)
        if not self.n_kept:
            damped: FloatArray = state + DAMPING * residual
            return damped
        n = min(self.n_kept, MEMORY)
        mixing = np.linalg.solve(self.gram[:n, :n] + RIDGE * np.eye(n), self.changes[:n] @ residual)
        accelerated: FloatArray = state + residual
        accelerated -= mixing @ self.steps[:n]
        return accelerated

    def _keep(self, state: FloatArray, residual: FloatArray, before: FloatArray, residual_before: FloatArray) -> None:
        """Keep the differences to the step before in place of the oldest ones."""
        if self.changes.shape[1] != len(state):
            self.changes = np.empty((MEMORY, len(state)))
            self.steps = np.empty((MEMORY, len(state)))
        place = self.n_kept % MEMORY
        self.n_kept += 1
        n = min(self.n_kept, MEMORY)
        change = self.changes[place]
        step = self.steps[place]
        np.subtract(residual, residual_before, out=change)
        np.subtract(state, before, out=step)
        step += change
        size = max(float(np.linalg.norm(change)), np.finfo(np.float64).tiny)
        change /= size
        step /= size
        self.gram[place, :n] = self.gram[:n, place] = self.changes[:n] @ change
