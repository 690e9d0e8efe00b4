"""The grammar of programs: lines of arithmetic from an observation to an action.

A line is ``NAME = EXPRESSION``. Expressions have numbers, ``x[i]`` (the observation's i-th number; negative
ones count from its end, where the newest interval is), names of ``numbers``, ``memory`` and earlier lines,
and

====================================  ==============================================
``a + b``, ``a - b``, ``a * b``        arithmetic, in 32-bit floats
``a / b``                             what divides must not be 0
``-a``, ``abs``, ``exp``, ``log``, ``sqrt``, ``tanh``  functions of one value
``min(a, b, …)``, ``max(a, b, …)``      of two and more
``clip(a, low, high)``                ``min(max(a, low), high)``
``a if CONDITION else b``             a condition compares (``< <= > >=``), or has ``and``, ``or``, ``not``
====================================  ==============================================

``action`` is the action, or ``action[0]``, ``action[1]``, … are its numbers; it is clipped to [-1, 1].
``next_NAME`` is what ``memory`` NAME holds at the next decision, and can be read after its line; all memories
are 0 at first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Annotated

import leosim
from pydantic import Field, ValidationError, model_validator

from leogym.common import yaml_text
from leogym.common.errors import InputError, one_line
from leogym.common.nearest import suggest_names
from leogym.common.strict import Positive, Range, Strict

MOST_OPERATIONS = 256
"""Of a decision: this bounds its cost, and the depth of its expressions."""
UNARY = ("abs", "exp", "log", "sqrt", "tanh")
FUNCTIONS = (*UNARY, "min", "max", "clip")
ACTION, NEXT, OBSERVED, OBSERVATION = "action", "next_", "x", "observation"
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]


class Number(Strict):
    """A number that the search changes."""

    start: Annotated[float, Range()]
    deviation: Positive
    """Of the first generation's values around ``start``."""
    low: Annotated[float, Range()]
    high: Annotated[float, Range()]

    @model_validator(mode="after")
    def _ordered(self) -> Number:
        if not self.low <= self.start <= self.high:
            raise ValueError("start: must be from low to high")
        return self


class Program(Strict):
    """A program's file."""

    agent: str
    """Observation and action: one of `leosim.Batch.agents()`."""
    interval_ms: Annotated[float, Range(ge=0.1, le=10_000)]
    numbers: Annotated[dict[Name, Number], Field(min_length=1)]
    memory: list[Name] = Field(default=[])
    program: str

    @model_validator(mode="after")
    def _meant(self) -> Program:
        if self.agent not in leosim.Batch.agents():
            raise ValueError(
                f"agent: {self.agent}: no such agent {suggest_names(self.agent, leosim.Batch.agents())}"
            )
        reserved = {ACTION, OBSERVED, OBSERVATION, *FUNCTIONS}
        named = [*self.numbers, *self.memory]
        for name in named:
            if name in reserved or name.startswith(NEXT) or named.count(name) > 1:
                raise ValueError(f"{name}: is a word of the grammar, or twice there")
        try:
            self._check_lines({*named}, reserved)
        except RecursionError:
            raise ValueError(f"program: is nested too deeply for {MOST_OPERATIONS} operations") from None
        return self

    @cached_property
    def dims(self) -> tuple[int, int]:
        """Length of the observation and of the action."""
        batch = leosim.Batch(1, agent=self.agent, interval_ms=self.interval_ms)
        return batch.observation_dim, batch.action_dim

    @cached_property
    def lines(self) -> list[tuple[str, ast.expr]]:
        """Each line's target (``action[0]`` for ``action``) and its expression."""
        return list(self._lines())

    @property
    def operations(self) -> int:
        """Operations of a decision."""
        counted = (ast.BinOp, ast.UnaryOp, ast.Call, ast.Compare, ast.BoolOp, ast.IfExp, ast.Subscript)
        nodes = [node for _, line in self.lines for node in ast.walk(line)]
        signs = [
            node for node in nodes if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.UnaryOp)
        ]
        return sum(isinstance(node, counted) for node in nodes) - len(signs)

    def _lines(self) -> Iterator[tuple[str, ast.expr]]:
        try:
            tree = ast.parse(self.program)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ValueError(f"program: {' '.join(str(error).split())}") from None
        for line in tree.body:
            match line:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    yield (f"{ACTION}[0]" if name == ACTION else name), value
                case ast.Assign(
                    targets=[
                        ast.Subscript(value=ast.Name(id="action"), slice=ast.Constant(value=int() as at))
                    ],
                    value=value,
                ):
                    yield f"{ACTION}[{at}]", value
                case _:
                    raise ValueError(f"program: line {line.lineno}: must be NAME = EXPRESSION")

    def _check_lines(self, defined: set[str], reserved: set[str]) -> None:
        width, actions = self.dims
        expected = {f"{ACTION}[{index}]" for index in range(actions)} | {
            f"{NEXT}{name}" for name in self.memory
        }
        done: set[str] = set()
        for target, value in self.lines:
            where = f"program: line {value.lineno}"
            if target in reserved or target in defined or target in done:
                raise ValueError(f"{where}: {target}: is taken")
            if (target.startswith((NEXT, f"{ACTION}["))) and target not in expected:
                raise ValueError(f"{where}: {target}: is no memory, or no number of the action")
            self._check(value, defined | done, width, where)
            done.add(target)
        if missing := sorted(expected - done):
            raise ValueError(f"program: {missing[0]}: no line sets it")
        if self.operations > MOST_OPERATIONS:
            raise ValueError(f"program: has {self.operations} operations, at most {MOST_OPERATIONS} may be")

    def _check(self, node: ast.expr, defined: set[str], width: int, where: str) -> None:
        match node:
            case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
                return
            case ast.Name(id=name):
                if name not in defined:
                    raise ValueError(f"{where}: {name}: is not known here {suggest_names(name, defined)}")
            case ast.Subscript(value=ast.Name(id="x"), slice=index):
                at = integer(index)
                if at is None or not -width <= at < width:
                    raise ValueError(
                        f"{where}: x[{ast.unparse(index)}]: must be from {-width} to {width - 1}"
                    )
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                self._check(operand, defined, width, where)
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _ARITHMETIC):
                self._check(left, defined, width, where)
                self._check(right, defined, width, where)
            case ast.IfExp(test=test, body=body, orelse=other):
                self._check_condition(test, defined, width, where)
                self._check(body, defined, width, where)
                self._check(other, defined, width, where)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if _takes(
                name, len(arguments)
            ):
                for argument in arguments:
                    self._check(argument, defined, width, where)
            case _:
                raise ValueError(f"{where}: {ast.unparse(node)}: is not in the grammar")

    def _check_condition(self, node: ast.expr, defined: set[str], width: int, where: str) -> None:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if isinstance(op, _COMPARISONS):
                self._check(left, defined, width, where)
                self._check(right, defined, width, where)
            case ast.BoolOp(values=values):
                for value in values:
                    self._check_condition(value, defined, width, where)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._check_condition(operand, defined, width, where)
            case _:
                raise ValueError(f"{where}: {ast.unparse(node)}: must be a comparison, and, or, not")


def integer(node: ast.expr) -> int | None:
    """Return an integer of the source, which may be negative; None for anything else."""
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return -value
    return None


def _takes(name: str, count: int) -> bool:
    if name in UNARY:
        return count == 1
    return count == 3 if name == "clip" else name in ("min", "max") and count >= 2


def read(path: Path) -> Program:
    """Return the program in a file; an `InputError` names file, field and rule."""
    try:
        return Program.model_validate(yaml_text.read(path))
    except ValidationError as error:
        raise InputError(one_line(str(path), error)) from None


def as_yaml(program: Program, values: dict[str, float]) -> str:
    """Return the file of a program whose numbers start at ``values``."""
    data = program.model_dump(mode="json")
    for name, value in values.items():
        data["numbers"][name]["start"] = value
    body = data.pop("program")
    lines = "".join(f"  {line}\n" for line in body.strip().splitlines())
    return f"{yaml_text.dump(data)}program: |\n{lines}"
