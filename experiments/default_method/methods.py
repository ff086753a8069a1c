"""One interface to the methods that are scored: the product, and a reference implementation in one file.

    method = load_method("product")                       # quorate.aggregate
    method = load_method("prototype:PATH/default_combined.py")
    fitted = fit(method, crowd, gold=gold, group=group, judges=True, constants=Constants(judge_mean=-0.4))

**What is expected of the product.** `quorate.aggregate(answers, gold=, group=, judges=)`, a posterior in
`result.vote.posterior`, and the mean and 90 % interval of the share of right labels in
`result.confidence_basis.share_right`. Constants are replaced for one call where `PRODUCT_PLACES` says: a module
constant, or a field of a frozen dataclass that a module holds (`LAW = LawConstants()`); the product must read them from
that module when it is called. The posterior before calibration is recorded from the argument of `PRODUCT_APPLY`, the
one method that applies the calibration law to a block of tasks; blocks must come in the order of the tasks. The name
rule is `PRODUCT_NAME_RULE`. What the installed product lacks raises `MissingHookError`; commands then leave the figure
out and say so.

**What is expected of a prototype.** `fit(task, worker, label, n_tasks, n_workers, n_classes, gold=, group=, judges=)`
returns the posterior and a dictionary, with `share_right` where it states one. Its constants are module attributes of
the names in `PROTOTYPE_NAMES`.
"""

import importlib
import importlib.util
import inspect
from argparse import ArgumentParser
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np

import quorate
from experiments.default_method.data import UNKNOWN, Crowd, FloatArray, IntArray

ShareInterval = tuple[float, float, float]  # mean, low, high (90 %)


@dataclass(frozen=True)
class Constants:
    """Constants of the default method; None leaves the method's own value.

    The last four are no constants of the method: False switches a part off, for the ablation.
    """

    people_spread: float | None = None  # log b ~ N(0, spread^2)
    people_failure: float | None = None  # 1 - v ~ Exponential(mean failure)
    judge_mean: float | None = None  # log b ~ N(mean, spread^2)
    judge_spread: float | None = None
    judge_failure: float | None = None  # 1 - v ~ Exponential(mean failure * exp(-decay * alpha))
    judge_decay: float | None = None
    dependence_scale: float | None = None  # rho = (scale * products + worth * typical) / (norms + worth)
    typical_dependence: float | None = None
    typical_worth: float | None = None
    skill_scaling_power: float | None = None  # error mass of a worker's prior matrix: relative error rate ** power
    em_steps: int | None = None
    bias_counts: float | None = None  # pseudo-counts of the response bias; infinite: one response bias for all workers
    one_factor_slack: float | None = None  # standard errors; infinite: the one-factor model is always taken to fit
    least_skill_variance: float | None = None  # large: skills are not shrunk
    corrections: tuple[tuple[str, float], ...] | None = None  # by gold: kind and kappa
    skill_start: bool | None = None  # False: EM starts with one skill for all workers
    own_matrices: bool | None = None  # False: workers differ by their skills only
    calibrate: bool | None = None  # False: the posterior before calibration
    law_learns_from_gold: bool | None = None

    def replaced(self) -> dict[str, Any]:
        """Return the values that replace the method's own."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class Fitted:
    """Results of a method for a crowd."""

    posterior: FloatArray  # (tasks, classes)
    share_right: ShareInterval | None = None  # of the tasks without gold; None where the method states no interval
    info: Mapping[str, Any] = field(default_factory=dict)


class MissingHookError(Exception):
    """The method has no such constant, switch or output."""


class Method(Protocol):
    """A default method that can be scored."""

    name: str

    def fit(
        self,
        crowd: Crowd,
        gold: IntArray | None,
        group: IntArray | None,
        judges: bool | None,
        constants: Constants,
    ) -> Fitted:
        """Aggregate a crowd; `judges=None` lets the method decide which calibration law applies."""

    def uncalibrated(self, crowd: Crowd, constants: Sequence[Constants]) -> list[FloatArray]:
        """Return the posterior without gold before calibration, for constants that differ in the dependence only."""

    def is_judge_panel(self, worker_names: Sequence[str]) -> bool:
        """Return whether the names of the workers are those of models."""


def fit(
    method: Method,
    crowd: Crowd,
    gold: IntArray | None = None,
    group: IntArray | None = None,
    judges: bool | None = False,
    constants: Constants | None = None,
) -> Fitted:
    """Aggregate a crowd by a method.

    Args:
        method: of `load_method`.
        crowd: answers.
        gold: class of each task, UNKNOWN where it has no gold label.
        group: code of each worker's group, -1 for none.
        judges: use the calibration law of judge panels; None: as the method decides.
        constants: that replace the method's own.

    Raises:
        MissingHookError: the method has no constant of that name.
    """
    return method.fit(crowd, gold, group, judges, constants or Constants())


def load_method(name: str) -> Method:
    """Return the method of a command line: `product` or `prototype:PATH`."""
    if name == "product":
        return Product()
    kind, _, path = name.partition(":")
    if kind == "prototype" and Path(path).is_file():
        return Prototype(Path(path))
    raise SystemExit(f"--method must be product or prototype:PATH of an existing file, got {name!r}")


def add_method_options(parser: ArgumentParser) -> None:
    """Add `--method` and `--set` to a command."""
    parser.add_argument("--method", default="product", help="product, or prototype:PATH")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="replace a constant of the method, for example skill_scaling_power=0.5; may be repeated",
    )


def parse_constants(assignments: Sequence[str]) -> Constants:
    """Return the constants of `--set NAME=VALUE` options."""
    names = [each.name for each in fields(Constants)]
    values: dict[str, Any] = {}
    for assignment in assignments:
        name, _, value = assignment.partition("=")
        if name not in names:
            raise SystemExit(f"--set knows no constant {name!r}; it knows {', '.join(names)}")
        values[name] = literal_eval(value)
    return Constants(**values)


@contextmanager
def replaced_attribute(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Replace an attribute of a module or class for the time of a `with` block."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


# ---- the reference implementation

PROTOTYPE_NAMES = {
    "people_spread": "PEOPLE_SPREAD",
    "people_failure": "PEOPLE_FAILURE",
    "judge_mean": "JUDGE_MEAN",
    "judge_spread": "JUDGE_SPREAD",
    "judge_failure": "JUDGE_FAILURE",
    "judge_decay": "JUDGE_DECAY",
    "dependence_scale": "DEPENDENCE_SCALE",
    "typical_dependence": "TYPICAL_DEPENDENCE",
    "typical_worth": "TYPICAL_WORTH",
    "em_steps": "EM_STEPS",
    "bias_counts": "BIAS_COUNTS",
    "one_factor_slack": "SLACK",
    "least_skill_variance": "LEAST_VARIANCE",
    "corrections": "CORRECTIONS",
}


# Functions of the prototype whose results do not depend on the constants of the dependence.
STEPS_BEFORE_DEPENDENCE = ("cut", "count_kernel", "skills", "one_factor_fit", "em_step", "dependence_kernel")


class Replay:
    """A function whose results are kept, and returned in the same order after each `restart`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.results: list[Any] = []
        self.position = 0

    def restart(self) -> None:
        """Begin again with the first result."""
        self.position = 0

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Return the next kept result, or compute and keep it."""
        if self.position == len(self.results):
            self.results.append(self.function(*args, **options))
        self.position += 1
        return self.results[self.position - 1]


class Prototype:
    """A method in one file, which is loaded and never copied."""

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        spec = importlib.util.spec_from_file_location(f"prototype_{path.stem}", path)
        if spec is None or spec.loader is None:
            raise SystemExit(f"--method prototype: {str(path)!r} is no Python file")
        self.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)

    def fit(
        self,
        crowd: Crowd,
        gold: IntArray | None,
        group: IntArray | None,
        judges: bool | None,
        constants: Constants,
    ) -> Fitted:
        """Call the prototype; it has no rule for names, so `judges=None` means people."""
        options: dict[str, Any] = {"gold": gold, "group": group}
        if "judges" in inspect.signature(self.module.fit).parameters:
            options["judges"] = bool(judges)
        answers = crowd.answers
        sizes = (answers.n_tasks, answers.n_workers, answers.n_classes)
        with self._replaced(constants):
            posterior, info = self.module.fit(crowd.task, crowd.worker, crowd.label, *sizes, **options)
        return Fitted(posterior, info.get("share_right"), info)

    def uncalibrated(self, crowd: Crowd, constants: Sequence[Constants]) -> list[FloatArray]:
        """Run without gold and without the calibration law; steps before the dependence run once."""
        posteriors = []
        with ExitStack() as stack:
            if len(constants) > 1:
                for name in STEPS_BEFORE_DEPENDENCE:
                    step = Replay(getattr(self.module, name))
                    stack.enter_context(replaced_attribute(self.module, name, step))
            for chosen in constants:
                for name in STEPS_BEFORE_DEPENDENCE if len(constants) > 1 else ():
                    getattr(self.module, name).restart()
                fitted = self.fit(crowd, None, None, False, replace(chosen, calibrate=False))
                posteriors.append(fitted.posterior)
        return posteriors

    def is_judge_panel(self, worker_names: Sequence[str]) -> bool:
        """Raise: a prototype has no name rule."""
        raise MissingHookError(f"{self.name} has no rule for the names of workers")

    @contextmanager
    def _replaced(self, constants: Constants) -> Iterator[None]:
        with ExitStack() as stack:
            for name, value in constants.replaced().items():
                owner, attribute, new = self._replacement(name, value)
                if not hasattr(owner, attribute):
                    raise MissingHookError(f"{self.name} has no {attribute}, which {name} replaces")
                stack.enter_context(replaced_attribute(owner, attribute, new))
            yield

    def _replacement(self, name: str, value: Any) -> tuple[Any, str, Any]:
        """Return what to replace for a constant: owner, attribute, new value."""
        module = self.module
        if name in PROTOTYPE_NAMES:
            return module, PROTOTYPE_NAMES[name], value
        if value is True:
            raise ValueError(f"{name} can only be switched off, by False")
        if name == "skill_scaling_power":
            return module, "ConfusionMatrices", scaled_matrices(getattr(module, "ConfusionMatrices", object), value)
        if name == "skill_start":
            return module, "SkillModel", one_skill_model(getattr(module, "SkillModel", object))
        if name == "own_matrices":
            return module, "concentration", lambda counts, pooled: 1e9
        law = getattr(module, "Law", None)
        if name == "calibrate":
            return law, "apply", lambda law, posterior: posterior
        if name == "law_learns_from_gold":
            return law, "update", lambda law, posterior, gold: None
        raise MissingHookError(f"{self.name} has no switch {name}")


def scaled_matrices(base: Any, power: float) -> Any:
    """Return the prototype's confusion matrices with the relative error rates raised to a power."""

    class Scaled(base):  # type: ignore[misc]
        def __init__(self, relative: FloatArray, *rest: Any) -> None:
            super().__init__(np.power(relative, power), *rest)
            self.relative = relative  # later EM steps start from it again

    return Scaled


def one_skill_model(base: Any) -> Any:
    """Return the prototype's first model with the mean skill for every worker."""

    class OneSkill(base):  # type: ignore[misc]
        def __init__(self, skills: FloatArray, *rest: Any) -> None:
            super().__init__(np.full_like(skills, skills.mean()), *rest)

    return OneSkill


# ---- the product

PRODUCT_PLACES = {
    "people_spread": "quorate.calibration.calibration_law:PEOPLE.log_b_sd",
    "people_failure": "quorate.calibration.calibration_law:PEOPLE.failure",
    "judge_mean": "quorate.calibration.calibration_law:MODELS.log_b_mean",
    "judge_spread": "quorate.calibration.calibration_law:MODELS.log_b_sd",
    "judge_failure": "quorate.calibration.calibration_law:MODELS.failure",
    "judge_decay": "quorate.calibration.calibration_law:MODELS.failure_decay",
    "dependence_scale": "quorate.calibration.dependence:DEPENDENCE.scale",
    "typical_dependence": "quorate.calibration.dependence:DEPENDENCE.typical_rho",
    "typical_worth": "quorate.calibration.dependence:DEPENDENCE.typical_answers",
    "skill_scaling_power": "quorate.models.confusion_prior:SKILL_SCALING_POWER",
    "em_steps": "quorate.methods.quorate:EM_STEPS",
    "bias_counts": "quorate.skills.shrinkage:BIAS_PSEUDO_ANSWERS",
    "one_factor_slack": "quorate.calibration.one_factor:ONE_FACTOR_SLACK",
    "least_skill_variance": "quorate.skills.shrinkage:MIN_VARIANCE",
    "corrections": "quorate.calibration.gold_correction:CORRECTIONS",
}
# Parts that False switches off: the function or method, and what takes its place.
PRODUCT_SWITCHES: dict[str, tuple[str, Callable[..., Any]]] = {
    "own_matrices": ("quorate.models.confusion:dirichlet_concentration", lambda *args: 1e9),
    "calibrate": ("quorate.calibration.calibration_law:CalibrationLaw.calibrated", lambda law, posterior: posterior),
    "law_learns_from_gold": ("quorate.calibration.calibration_law:CalibrationLaw.updated", lambda law, *args: law),
}
PRODUCT_NAME_RULE = "quorate.io.model_names:is_panel_by_names"


class Product:
    """The default method of the package."""

    name = "product"

    def fit(
        self,
        crowd: Crowd,
        gold: IntArray | None,
        group: IntArray | None,
        judges: bool | None,
        constants: Constants,
    ) -> Fitted:
        """Call `quorate.aggregate`."""
        options: dict[str, Any] = {"judges": judges}
        if gold is not None:
            options["gold"] = gold_table(crowd, gold)
        if group is not None:
            workers = crowd.answers.worker_names.to_pylist()
            pairs = zip(workers, group.tolist(), strict=True)
            options["group"] = {worker: f"group {code}" for worker, code in pairs if code >= 0}
        with self._replaced(constants):
            result = quorate.aggregate(crowd.answers, **options)
            posterior = result.vote.posterior
        share = None if result.confidence_basis is None else result.confidence_basis.share_right
        interval = None if share is None else (share.mean, share.low, share.high)
        return Fitted(posterior, interval, {"result": result})

    def uncalibrated(self, crowd: Crowd, constants: Sequence[Constants]) -> list[FloatArray]:
        """Return the posterior before calibration."""
        from quorate.blocks.memory import blocks_of
        from quorate.methods.quorate import Prediction
        from quorate.methods.quorate import fit as fit_blocks

        posteriors = []
        for chosen in constants:
            with self._replaced(chosen):
                blocks = blocks_of(crowd.answers)
                prediction = fit_blocks(blocks).vote
                assert isinstance(prediction, Prediction)
                posteriors.append(np.concatenate(list(blocks.map(prediction.uncalibrated))))
        return posteriors

    def is_judge_panel(self, worker_names: Sequence[str]) -> bool:
        """Ask the product's name rule."""
        owner, attribute = find_place(PRODUCT_NAME_RULE)
        return bool(getattr(owner, attribute)(worker_names))

    @contextmanager
    def _replaced(self, constants: Constants) -> Iterator[None]:
        with ExitStack() as stack:
            for name, value in constants.replaced().items():
                if name in PRODUCT_PLACES:
                    stack.enter_context(replaced_constant(PRODUCT_PLACES[name], value))
                elif name not in PRODUCT_SWITCHES:
                    raise MissingHookError(f"the product has no switch {name}")
                elif value is False:
                    place, substitute = PRODUCT_SWITCHES[name]
                    owner, attribute = find_place(place)
                    stack.enter_context(replaced_attribute(owner, attribute, substitute))
            yield


def gold_table(crowd: Crowd, gold: IntArray) -> dict[str, list[Any]]:
    """Return gold labels as the table that `quorate.aggregate` reads."""
    known = np.flatnonzero(gold != UNKNOWN)
    tasks = crowd.answers.task_names.to_pylist()
    classes = crowd.answers.classes.to_pylist()
    return {
        "task": [tasks[index] for index in known.tolist()],
        "label": [classes[code] for code in gold[known].tolist()],
    }


def find_place(place: str) -> tuple[Any, str]:
    """Return the owner and the attribute of `module:attribute` or `module:Class.attribute`."""
    module_name, _, path = place.partition(":")
    *owners, attribute = path.split(".")
    owner: Any = import_or_missing(module_name, place)
    for name in owners:
        owner = getattr(owner, name, None)
    if not hasattr(owner, attribute):
        raise MissingHookError(f"the product at this commit has no {place}")
    return owner, attribute


@contextmanager
def replaced_constant(place: str, value: Any) -> Iterator[None]:
    """Replace a module constant, or one field of a frozen dataclass that a module holds."""
    module_name, _, path = place.partition(":")
    holder, _, field_name = path.partition(".")
    module = import_or_missing(module_name, place)
    before = getattr(module, holder, None)
    if before is None or (field_name and not hasattr(before, field_name)):
        raise MissingHookError(f"the product at this commit has no {place}")
    new = replace(before, **{field_name: value}) if field_name else value
    with replaced_attribute(module, holder, new):
        yield


def import_or_missing(module_name: str, place: str) -> ModuleType:
    """Import a module of the product that may not exist yet."""
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise MissingHookError(f"the product at this commit has no {place}") from error
