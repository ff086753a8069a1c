"""Each kernel against its formula, by loops over tasks and pairs; and the two forms of each against each other."""

from collections.abc import Callable, Iterator
from itertools import combinations, permutations
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.arrays import FloatArray
from quorate.blocks import kernels
from quorate.blocks.block import Block, check_codes
from quorate.blocks.numpy_kernels import resolve_roots
from quorate.blocks.worker_rows import dense
from tests.conftest import need

FORMS = ["numpy", *(["C"] if kernels.native is not None else [])]
NATIVE = kernels.native


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType | None:
    """Either form of the kernels."""
    monkeypatch.setattr(kernels, "native", NATIVE if request.param == "C" else None)
    return kernels.native


def a_block(seed: int, n_tasks: int = 40, n_workers: int = 9, n_classes: int = 3, most: int = 6) -> Block:
    """Tasks of 0 to ``most`` answers, each by another worker."""
    rng = np.random.default_rng(seed)
    answers_by_task = [rng.permutation(n_workers)[: rng.integers(0, most + 1)] for _ in range(n_tasks)]
    start = np.concatenate([[0], np.cumsum([len(answers) for answers in answers_by_task])])
    worker = np.concatenate([*answers_by_task, np.zeros(0, int)])
    known = np.where(rng.random(n_tasks) < 0.2, rng.integers(0, n_classes, n_tasks), -1)
    label = rng.integers(0, n_classes, len(worker))
    return check_codes(Block(start, worker, label, n_workers, n_classes, gold=known))


def answers_by_task(block: Block) -> Iterator[list[tuple[int, int]]]:
    """The (worker, class) of the answers of each task."""
    for low, high in zip(block.start[:-1], block.start[1:], strict=True):
        yield list(zip(block.worker[low:high].tolist(), block.label[low:high].tolist(), strict=True))


def bias_of_workers(block: Block, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).dirichlet(np.ones(block.n_classes), block.n_workers)


def skills(block: Block, seed: int = 1) -> FloatArray:
    return np.random.default_rng(seed).uniform(-0.4, 0.9, block.n_workers)


SIZES = [(2, 9), (3, 9), (4, 9), (5, 9), (7, 9), (64, 9), (65, 9), (3, 70), (300, 9)]


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize(("n_classes", "n_workers"), SIZES)
def test_centred_products_sum_over_pairs(n_classes: int, n_workers: int) -> None:
    block = a_block(0, n_classes=n_classes, n_workers=n_workers)
    x, f, unit = skills(block), bias_of_workers(block), np.eye(n_classes)
    signed, squares = np.zeros(n_workers), np.zeros(n_workers)
    for answers in answers_by_task(block):
        for (i, label), (j, other) in permutations(answers, 2):
            omega = 1 / (len(answers) - 1)
            signed[i] += omega * ((unit[label] - f[i]) @ (unit[other] - f[j])) * x[j]
            squares[i] += omega * x[j] ** 2
    found = kernels.centred_products([block], x, f)
    np.testing.assert_allclose(found, (signed, squares), atol=1e-12)


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize(("n_classes", "n_workers"), SIZES)
def test_agreement_products_and_pair_counts_sum_over_pairs(n_classes: int, n_workers: int) -> None:
    block = a_block(1, n_classes=n_classes, n_workers=n_workers)
    x = skills(block)
    signed, squares, n_pairs = np.zeros(n_workers), np.zeros(n_workers), np.zeros(2)
    for answers in answers_by_task(block):
        for (i, label), (j, other) in permutations(answers, 2):
            signed[i] += (1 if label == other else -1 / (n_classes - 1)) * x[j]
            squares[i] += x[j] ** 2
            n_pairs[int(label != other)] += 0.5
    np.testing.assert_allclose(kernels.agreement_products([block], x, n_classes), (signed, squares), atol=1e-12)
    np.testing.assert_allclose(kernels.coincidences([block], n_classes)[0], n_pairs)


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("even", [True, False])
def test_power_sums_are_those_of_the_peers(even: bool) -> None:
    block = a_block(2)
    x, other = skills(block), bias_of_workers(block)[:, 0]
    sums = np.zeros((6, block.n_workers))
    for answers in answers_by_task(block):
        for i, _ in answers:
            q = [sum(x[j] ** power for j, _ in answers if j != i) for power in (2, 3, 4)]
            omega = 1.0 if even else 1 / max(len(answers) - 1, 1)
            information = omega * sum(other[j] for j, _ in answers if j != i)
            sums[:, i] += [omega * q[0], *(omega**2 * each for each in (*q, q[0] ** 2)), information]
    np.testing.assert_allclose(kernels.power_sums([block], x, other, even)[0], sums, atol=1e-12)


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize(("n_classes", "most"), [(2, 6), (3, 6), (2, 60), (5, 60), (300, 6)])
def test_pulls_and_products_among_peers_sum_over_pairs(n_classes: int, most: int, even: bool) -> None:
    """Tasks of few answers go pair by pair, those of many by sums for each class."""
    block = a_block(9, n_classes=n_classes, n_workers=70, most=most)
    x, tried, f, unit = skills(block), skills(block, 2), bias_of_workers(block), np.eye(n_classes)
    a, b = 1.95, -1.2
    psi, matrix, where = np.zeros(len(block.worker)), np.zeros((70, 70)), 0
    for answers in answers_by_task(block):
        omega = 1.0 if even else 1 / max(len(answers) - 1, 1)
        for place, (i, label) in enumerate(answers):
            for j, other in answers:
                if i != j:
                    agreed = float((unit[label] - f[i]) @ (unit[other] - f[j]))
                    psi[where + place] += omega * (b * agreed * x[j] - tried[i] * x[j] ** 2)
                    matrix[i, j] += omega * (a * x[i] * x[j] + b * agreed)
        where += len(answers)
    table, weights = kernels.peer_table(x, tried, f), np.array([a, b])
    v = np.random.default_rng(1).normal(size=(70, 3))
    pieces = [block.span(0, 15), block.span(15, block.n_tasks)]
    np.testing.assert_allclose(kernels.answer_pulls(pieces, table, weights, even, len(psi)), psi, atol=1e-12)
    np.testing.assert_allclose(kernels.peer_matrix(pieces, table, weights, even), matrix, atol=1e-12)
    np.testing.assert_allclose(kernels.peer_products(pieces, table, weights, even, v), matrix @ v, atol=1e-11)
    signs = np.array([[1, -1], [-1, -1]], np.int8)[np.arange(block.n_tasks) % 2]
    sums, expected = np.zeros((70, 2)), np.zeros((70, 2))
    kernels.signed_sums(pieces[0], psi, signs[:15], sums)
    kernels.signed_sums(pieces[1], psi, signs[15:], sums)
    np.add.at(expected, block.worker, psi[:, None] * np.repeat(signs, block.per_task, axis=0))
    np.testing.assert_allclose(sums, expected, atol=1e-12)


def slow_scores(block: Block, logs: FloatArray, shift: FloatArray) -> FloatArray:
    """Log joint probabilities by a loop."""
    return np.array(
        [
            shift + sum((logs[i, label] for i, label in answers), np.zeros(len(shift)))
            for answers in answers_by_task(block)
        ]
    )


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize(("n_classes", "n_workers"), SIZES)
def test_em_counts_what_it_believes(n_classes: int, n_workers: int) -> None:
    block = a_block(3, n_classes=n_classes, n_workers=n_workers)
    rng = np.random.default_rng(3)
    logs = np.log(rng.dirichlet(np.ones(n_classes), (n_workers, n_classes)))
    shift = np.log(rng.dirichlet(np.ones(n_classes)))
    scores = slow_scores(block, logs, shift)
    np.testing.assert_allclose(kernels.task_scores(block, logs, shift), scores, atol=1e-11)
    q = np.exp(scores - scores.max(axis=1, keepdims=True))
    q /= q.sum(axis=1, keepdims=True)
    assert block.gold is not None
    held = block.gold >= 0
    q[held] = np.eye(n_classes)[block.gold[held]]
    counts = np.zeros((n_workers, n_classes, n_classes))
    for t, answers in enumerate(answers_by_task(block)):
        for i, label in answers:
            counts[i, label] += q[t]
    found, total = kernels.e_step([block], logs, shift)
    np.testing.assert_allclose(dense(found), counts, atol=1e-12)
    np.testing.assert_allclose(total, q.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(dense(kernels.expected_counts([block], q)[0]), counts, atol=1e-12)


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize(("n_classes", "n_workers"), SIZES)
def test_one_coin_is_the_em_step_of_its_matrices(n_classes: int, n_workers: int) -> None:
    block = a_block(9, n_classes=n_classes, n_workers=n_workers)
    right = np.log(0.5 + skills(block) / 2)
    wrong = np.log((0.5 - skills(block) / 2) / (n_classes - 1))
    shift = np.linspace(-1.0, 0.0, n_classes)
    is_right = np.eye(n_classes, dtype=bool)
    logs = np.where(is_right, right[:, None, None], wrong[:, None, None])
    counts, *totals = kernels.e_step([block], logs, shift, True, True)
    found, *found_totals = kernels.one_coin_e_step([block], right, wrong, shift)
    np.testing.assert_allclose(found, np.einsum("wcc->w", dense(counts)), atol=1e-12)
    for one, two in zip(found_totals, totals, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("form")
def test_equal_answers_are_counted_by_worker() -> None:
    block = a_block(10)
    label = np.random.default_rng(3).integers(0, block.n_classes, block.n_tasks)
    expected = np.zeros(block.n_workers)
    for chosen, answers in zip(label, answers_by_task(block), strict=True):
        for worker, given_label in answers:
            expected[worker] += given_label == chosen
    assert kernels.equal_answers(block, label).tolist() == expected.tolist()


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize(("n_classes", "n_workers"), SIZES)
def test_votes_and_responses_are_counts(n_classes: int, n_workers: int) -> None:
    block = a_block(4, n_classes=n_classes, n_workers=n_workers)
    weights = skills(block)
    votes, given, leading = np.zeros((block.n_tasks, n_classes)), np.zeros((n_workers, n_classes)), np.zeros(n_classes)
    for t, answers in enumerate(answers_by_task(block)):
        count = np.zeros(n_classes)
        for i, label in answers:
            votes[t, label] += weights[i]
            given[i, label] += 1
            count[label] += 1
        if answers:
            leading += (count == count.max()) / (count == count.max()).sum()
    np.testing.assert_allclose(kernels.vote_sums(block, weights), votes, atol=1e-12)
    found = kernels.response_counts([block], n_workers, n_classes)
    np.testing.assert_allclose(found[0], given)
    np.testing.assert_allclose(found[1], leading, atol=1e-12)


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("most", [6, 90])  # a task of 90 answers is marked by a mask
def test_peers_are_those_met_and_itself(most: int) -> None:
    block = a_block(6, n_workers=130, most=most)
    is_peer = np.eye(130, dtype=bool) & (np.bincount(block.worker, minlength=130) > 0)[:, None]
    for answers in answers_by_task(block):
        for (i, _), (j, _) in permutations(answers, 2):
            is_peer[i, j] = True
    bits = kernels.peer_bits([block], 20, 75, 130)
    found = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")[:, :130].astype(bool)
    assert np.array_equal(found, is_peer[20:75])


@pytest.mark.usefixtures("form")
@given(seed=st.integers(0, 10_000))
def test_the_probabilities_of_answers_are_summed_by_worker(seed: int) -> None:
    block = a_block(seed, n_tasks=9)
    posterior = np.random.default_rng(seed).random((block.n_tasks, block.n_classes))
    expected = np.zeros((block.n_workers, 2))
    for task, answers in enumerate(answers_by_task(block)):
        for worker, label in answers:
            p = posterior[task, label]
            expected[worker] += [p, p * (1 - p)]
    sums = np.zeros((block.n_workers, 2))
    kernels.add_chances(block, posterior, sums)
    np.testing.assert_allclose(sums, expected, rtol=1e-12)


@pytest.mark.usefixtures("form")
@given(seed=st.integers(0, 10_000), most=st.integers(1, 3))
def test_workers_are_joined_with_the_other_copy_of_those_they_met(seed: int, most: int) -> None:
    block = a_block(seed, n_tasks=8, most=most)
    root = kernels.component_roots([block], block.n_workers)
    resolve_roots(root)
    n = block.n_workers
    slow = list(range(2 * n))
    for answers in answers_by_task(block):
        for (i, _), (j, _) in permutations(answers, 2):
            a, b = slow[i], slow[j + n]
            slow = [min(a, b) if each in (a, b) else each for each in slow]
    assert root.tolist() == slow


@pytest.mark.usefixtures("form")
@given(seed=st.integers(0, 10_000), is_kept=st.lists(st.booleans(), min_size=9, max_size=9))
def test_workers_who_are_not_kept_join_nobody(seed: int, is_kept: list[bool]) -> None:
    block = a_block(seed, n_tasks=8)
    kept = np.array(is_kept)
    inside = kept[block.worker]
    start = np.concatenate([[0], np.cumsum(inside)])[block.start]
    smaller = Block(start, block.worker[inside], block.label[inside], block.n_workers, block.n_classes)
    roots = [kernels.component_roots([block], 9, kept), kernels.component_roots([smaller], 9)]
    for root in roots:
        resolve_roots(root)
    assert roots[0].tolist() == roots[1].tolist()


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize(("n_classes", "n_workers"), SIZES)
def test_coincidences_are_pairs_of_answers(n_classes: int, n_workers: int) -> None:
    block = a_block(5, n_classes=n_classes, n_workers=n_workers)
    n_pairs, disagreement, given_labels = np.zeros(2), 0.0, np.zeros(n_classes)
    for answers in answers_by_task(block):
        for (_, label), (_, other) in permutations(answers, 2):
            n_pairs[int(label != other)] += 0.5
            disagreement += (label != other) / (len(answers) - 1)
        for _, label in answers if len(answers) > 1 else []:
            given_labels[label] += 1
    found = kernels.coincidences([block.span(0, 15), block.span(15, block.n_tasks)], n_classes)
    np.testing.assert_allclose(found[0], n_pairs)
    np.testing.assert_allclose(found[1], [disagreement])
    np.testing.assert_allclose(found[2], given_labels)


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize(("n_classes", "n_workers"), SIZES)
def test_residuals_and_tetrads_sum_over_pairs(n_classes: int, n_workers: int) -> None:
    block = a_block(7, n_classes=n_classes, n_workers=n_workers).span(5, 35)
    rng = np.random.default_rng(7)
    n, first, unit = int(block.per_task.sum()), int(block.start[0]), np.eye(n_classes)
    rows, weight = rng.dirichlet(np.ones(n_classes), n), rng.random(block.n_tasks)
    f, u = bias_of_workers(block), rng.normal(size=n)
    products, scales, tetrads = np.zeros(block.n_tasks), np.zeros(block.n_tasks), np.zeros((block.n_tasks, 3))
    for t, (low, high) in enumerate(zip(block.start[:-1] - first, block.start[1:] - first, strict=True)):
        for a, b in permutations(range(low, high), 2):
            labels = block.label[[a + first, b + first]]
            residual = unit[labels] - rows[[a, b]]
            centred = unit[labels] - f[block.worker[[a + first, b + first]]]
            products[t] += weight[t] * (residual[0] @ residual[1])
            scales[t] += weight[t] * np.sqrt(1 - rows[a] @ rows[a]) * np.sqrt(1 - rows[b] @ rows[b])
            tetrads[t] += (centred[0] @ centred[1]) / (high - low - 1) * np.array([1, u[a], u[a] * u[b]])
    found = np.zeros(block.n_tasks), np.zeros(block.n_tasks)
    kernels.add_residuals(block, rows, weight, *found)
    np.testing.assert_allclose(found, (products, scales), atol=1e-12)
    np.testing.assert_allclose(kernels.tetrad_sums(block, f, u), tetrads, atol=1e-12)


WEIGHTS = np.array([1.9, -1.5])


def residuals(block: Block) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(4)
    products, scales = np.zeros(block.n_tasks), np.zeros(block.n_tasks)
    rows = rng.dirichlet(np.ones(block.n_classes), len(block.worker))
    kernels.add_residuals(block, rows, rng.random(block.n_tasks), products, scales)
    return products, scales


def peer_rows(block: Block) -> FloatArray:
    return kernels.peer_table(skills(block), skills(block, 2), bias_of_workers(block))


def signed_sums(block: Block) -> FloatArray:
    rng = np.random.default_rng(5)
    signs = 2 * rng.integers(0, 2, (block.n_tasks, 5), dtype=np.int8) - 1
    sums = np.zeros((block.n_workers, 5))
    kernels.signed_sums(block, rng.normal(size=len(block.worker)), signs, sums)
    return sums


def _chances(block: Block) -> FloatArray:
    sums = np.zeros((block.n_workers, 2))
    kernels.add_chances(block, np.random.default_rng(3).random((block.n_tasks, block.n_classes)), sums)
    return sums


def _em(block: Block) -> tuple[FloatArray, ...]:
    log_theta = np.log(bias_of_workers(block))[:, :, None] + np.zeros(block.n_classes)
    counts, total = kernels.e_step([block], log_theta, np.zeros(block.n_classes))
    return dense(counts), total


BOTH: dict[str, Callable[[Block], Any]] = {
    "centred": lambda b: kernels.centred_products([b], skills(b), bias_of_workers(b)),
    "agreement": lambda b: kernels.agreement_products([b], skills(b), b.n_classes),
    "powers": lambda b: kernels.power_sums([b], skills(b), skills(b, 2), False),
    "em": _em,
    "one coin": lambda b: kernels.one_coin_e_step(
        [b], np.log(0.5 + skills(b) / 2), np.log(0.5 - skills(b) / 2), np.linspace(-1.0, 0.0, b.n_classes)
    ),
    "chances": lambda b: (_chances(b),),
    "equal": lambda b: (kernels.equal_answers(b, np.arange(b.n_tasks) % (b.n_classes + 1) - 1),),
    "pulls": lambda b: (kernels.answer_pulls([b], peer_rows(b), WEIGHTS, False, len(b.worker)),),
    "signed sums": lambda b: (signed_sums(b),),
    "peers": lambda b: (kernels.peer_products([b], peer_rows(b), WEIGHTS, True, bias_of_workers(b)[:, :2]),),
    "peer pairs": lambda b: (kernels.peer_matrix([b], peer_rows(b), WEIGHTS, False),),
    "votes": lambda b: (kernels.vote_sums(b, skills(b)),),
    "coincidences": lambda b: kernels.coincidences([b], b.n_classes),
    "residuals": residuals,
    "tetrads": lambda b: (kernels.tetrad_sums(b, bias_of_workers(b), np.linspace(-1.0, 1.0, len(b.worker))),),
    "responses": lambda b: kernels.response_counts([b], b.n_workers, b.n_classes),
}


@pytest.mark.skipif(NATIVE is None, reason="the kernels in C were not built")
@pytest.mark.parametrize("name", BOTH)
@given(seed=st.integers(0, 10_000), n_classes=st.sampled_from([2, 3, 6, 257]), n_tasks=st.integers(0, 60))
def test_both_forms_say_the_same(name: str, seed: int, n_classes: int, n_tasks: int) -> None:
    block = a_block(seed, n_tasks=n_tasks, n_classes=n_classes)
    in_c = BOTH[name](block)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(kernels, "native", None)
        in_numpy = BOTH[name](block)
    for one, other in zip(in_c, in_numpy, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_the_kernels_in_c_are_built() -> None:
    need("compiler", NATIVE, "install a C compiler (on Debian: gcc, python3-dev), and the package again")
    assert kernels.native is not None


@pytest.mark.parametrize(
    ("start", "worker", "label"),
    [([0, 1], [2], [0]), ([0, 1], [-1], [0]), ([0, 1], [0], [2]), ([0, 2], [0], [0]), ([1, 0], [0], [0]), ([], [], [])],
)
def test_a_block_that_would_leave_its_tables_is_refused(start: list[int], worker: list[int], label: list[int]) -> None:
    with pytest.raises(ValueError, match="block"):
        check_codes(Block(np.array(start), np.array(worker), np.array(label), n_workers=2, n_classes=2))


@pytest.mark.skipif(NATIVE is None, reason="the kernels in C were not built")
@pytest.mark.parametrize("n_classes", [3, 300])
@pytest.mark.parametrize(("low", "high"), [(0, 9), (2, 5), (8, 9)])
def test_pairs_of_some_workers_are_counted_with_later_ones(n_classes: int, low: int, high: int) -> None:
    block = a_block(3, n_classes=n_classes)
    expected = np.zeros((9, 9), np.uint64)
    for answers in answers_by_task(block):
        for (i, label), (j, other) in combinations(sorted(answers), 2):
            expected[i, j] += 1 + 2**32 * (label == other)
    np.testing.assert_array_equal(kernels.pair_counts(block, low, high), expected[low:high])
