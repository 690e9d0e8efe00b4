"""The network of a program beside an interpreter of its lines."""

import ast
import json
import math
from typing import Any

import numpy as np
import pytest

from leogym.agents.search import checking, evolving, grammar
from leogym.agents.search.grammar import Program
from leogym.agents.search.test_grammar import PROGRAMS, SMALL, written

EVERYTHING = """
agent: orbit
interval_ms: 10
numbers:
  a: {start: 0.25, deviation: 0.1, low: -1.0, high: 1.0}
  b: {start: -0.5, deviation: 0.1, low: -1.0, high: 1.0}
memory: [level, count]
program: |
  next_count = count + 1 if count < 20 else 0
  size = sqrt(abs(x[0] - x[-1])) + exp(-x[2]) + log(1 + abs(x[3]))
  next_level = 0.9 * level + 0.1 * tanh(size / (1 + x[4] * x[4]))
  action[0] = a * size - b
  action[1] = min(x[0], x[1], a, next_level)
  action[2] = max(b, x[5] / 7)
  action[3] = clip(x[6], b, a)
  action[4] = level if x[7] > 0.5 or not (x[8] <= a and count >= 3) else -level
  action[5] = 0.5
  action[6] = next_count / 20
  action[7] = a
  action[8] = b
  action[9] = next_level
  action[10] = -a
"""


def files(program: Program, values: dict[str, float]) -> dict[str, bytes]:
    described = json.dumps(evolving.description(program)).encode()
    return {"policy.onnx": evolving.network_of(program, values), "policy.json": described}


class Interpreter:
    """Runs a program's lines one by one, as Python does."""

    def __init__(self, program: Program, values: dict[str, float]) -> None:
        self.program, self.values = program, values
        self.memory = dict.fromkeys(program.memory, 0.0)

    def act(self, observation: np.ndarray) -> list[float]:
        known: dict[str, Any] = {**self.values, **self.memory, "x": [float(one) for one in observation]}
        known |= {name: getattr(math, name) for name in ("exp", "log", "sqrt", "tanh")}
        known |= {"min": min, "max": max, "abs": abs, "clip": lambda x, low, high: min(max(x, low), high)}
        for target, line in self.program.lines:
            known[target] = eval(ast.unparse(line), {"__builtins__": {}}, known)
        self.memory = {name: known[f"next_{name}"] for name in self.memory}
        return [min(max(known[f"action[{at}]"], -1.0), 1.0) for at in range(self.program.dims[1])]


@pytest.mark.parametrize("text", [EVERYTHING, SMALL, *(path.read_text() for path in PROGRAMS)])
def test_a_policy_does_what_the_program_says(tmp_path, text):
    program = grammar.read(written(tmp_path, text))
    values = evolving.numbers(program, np.full(len(program.numbers), 0.3))
    policy, interpreter = checking.loaded(files(program, values)), Interpreter(program, values)
    memories = np.zeros((1, policy.memory_dim), np.float32)
    rng = np.random.default_rng(4)
    for _ in range(60):
        observation = rng.uniform(0, 2, program.dims[0]).astype(np.float32)
        found = np.clip(policy.act(observation[None], memories)[0], -1.0, 1.0)
        assert found == pytest.approx(interpreter.act(observation), abs=2e-5)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("action = x[-8] / x[-8]", "an action is not finite"),
        ("action = log(x[-8] - 1)", "an action is not finite"),
        ("action = 0", "a memory grows without bound"),
        ("action = 0.1", None),
    ],
)
def test_a_candidate_that_is_not_finite_or_bounded_is_told(tmp_path, line, told):
    grows = "seen * 2 + 1" if line == "action = 0" else "1"
    text = SMALL[: SMALL.index("  next_seen")] + f"  next_seen = {grows}\n  {line}\n"
    program = grammar.read(written(tmp_path, text))
    assert checking.fault(program, files(program, {"gain": 0.2})) == told


def test_the_cost_of_a_decision_is_measured(tmp_path):
    program = grammar.read(written(tmp_path, EVERYTHING))
    values = evolving.numbers(program, np.zeros(2))
    assert 0.01 < checking.decision_us(program, files(program, values)) < 100


def test_candidates_stay_within_the_bounds_and_pay_for_going_beyond(tmp_path):
    program = grammar.read(written(tmp_path, SMALL))
    assert evolving.numbers(program, np.array([1.0])) == {"gain": pytest.approx(0.3)}
    assert evolving.numbers(program, np.array([-9.0])) == {"gain": 0.0}
    assert evolving.penalty(program, np.array([1.0])) == 0.0
    assert evolving.penalty(program, np.array([-4.0])) == pytest.approx(4.0)
    evolution = evolving.started(program)
    assert np.array_equal(evolving.drawn(evolution, 3, 5), evolving.drawn(evolution, 3, 5))
