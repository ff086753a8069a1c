"""Panels of models: recognised by names that are on no list, and never taken for people; alpha as elsewhere."""

import numpy as np
import pytest

import quorate
from quorate import simulate
from quorate.blocks.memory import blocks_of
from quorate.interrater.nominal_alpha import nominal_alpha
from quorate.io.model_names import is_model_name, is_panel, model_names, repeated_calls

MODELS = [
    "gpt-4o",
    "gpt4",
    "GPT-3.5-turbo",
    "claude-3-opus",
    "claude-2",
    "Llama-3.1-8B-Instruct",
    "meta-llama/Llama-2-7b-chat-hf",
    "o3-mini",
    "openai/o1",
    "mistral-large",
    "Mixtral-8x7B",
    "Qwen2.5-72B",
    "gemini_flash",
    "gemini-1.5-pro",
    "deepseek-r1",
    "text-davinci-003",
    "flan-t5-xxl",
    "command-r-plus",
    "anthropic/claude-sonnet-4",
    "brandnew-13b-instruct",
    "some-model-70b",
    "my_llm_v2",
    "falcon-40b",
    "gemma-2-9b-it",
    "phi-3-mini",
    "grok-2",
]
PEOPLE = [
    "Claude",
    "Gemma",
    "Claude Shannon",
    "Gemma Smith",
    "Ada Lovelace",
    "Nova",
    "Phil",
    "Bard",
    "Ernie",
    "anna",
    "worker 7",
    "worker_12",
    "rater3",
    "user-12b",
    "A2XJ8KQ",
    "annotator 4",
    "ann@example.org",
    "judge_1",
    "Miss Mistry",
    "Max-2024",
    "anna_2024-05-01",
    "P01",
    "s7",
    "Falcon",
    "Palmer",
    "Minnie",
    "-",
    "...",
]


@pytest.mark.parametrize("name", MODELS)
def test_models_are_recognised(name: str) -> None:
    assert is_model_name(name)


@pytest.mark.parametrize("name", PEOPLE)
def test_people_are_not(name: str) -> None:
    assert not is_model_name(name)


def test_a_panel_needs_two_models_and_a_quarter() -> None:
    assert is_panel(model_names(["gpt-4", "claude-3-opus", "ann", "bob"]))
    assert not is_panel(model_names(["gpt-4", "ann"]))
    assert not is_panel(model_names(["gpt-4", "claude-3-opus", *"abcdefgh"]))


def test_calls_of_one_model_are_one_group() -> None:
    group = repeated_calls(["gpt-4o (run 1)", "gpt-4o (run 2)", "gpt-4o", "call0", "call1", "llama-2", "llama-3"])
    assert group is not None
    assert group[0] == group[1]
    assert group[3] == group[4]
    assert len(set(group.tolist())) == 5
    assert repeated_calls(["gpt-3", "gpt-4", "claude-2", "claude-3"]) is None


@pytest.mark.parametrize("n_classes", [2, 4])
def test_alpha_is_that_of_the_agreement_command(n_classes: int) -> None:
    answers = simulate.crowd(60, 7, 3, n_classes=n_classes, seed=2).answers
    assert nominal_alpha(blocks_of(answers)) == pytest.approx(
        quorate.agreement(answers).overall["krippendorff_alpha"].value, abs=1e-12
    )


def test_alpha_of_one_class_is_zero() -> None:
    answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "x"]}, classes=["x", "y"])
    assert nominal_alpha(blocks_of(answers)) == 0.0
    assert np.isfinite(nominal_alpha(blocks_of(answers)))
