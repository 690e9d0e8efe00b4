"""A program as a policy's network: one ONNX node per operation."""

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from leogym.agents.search.grammar import ACTION, NEXT, OBSERVATION, UNARY, Program, integer
from leogym.agents.training.onnx_export import model

_BINARY = {ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul", ast.Div: "Div"}
_COMPARISONS = {ast.Lt: "Less", ast.LtE: "LessOrEqual", ast.Gt: "Greater", ast.GtE: "GreaterOrEqual"}
_COMBINED = {ast.And: "And", ast.Or: "Or"}


class _Graph:
    """Nodes so far; every value is (batch, 1)."""

    def __init__(self, program: Program, values: Mapping[str, float]) -> None:
        self.width = program.dims[0]
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[TensorProto] = []
        self._constants: dict[float, str] = {}
        self._observed: dict[int, str] = {}
        self.names = {name: self.constant(float(value)) for name, value in values.items()}
        self.names |= {name: name for name in program.memory}

    def node(self, kind: str, *inputs: str, output: str | None = None, axis: int | None = None) -> str:
        # No name of a program begins with an underscore.
        output = output or f"_{kind.lower()}_{len(self.nodes)}"
        attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
        self.nodes.append(helper.make_node(kind, list(inputs), [output], output, **attributes))
        return output

    def constant(self, value: float) -> str:
        if value not in self._constants:
            name = self._constants[value] = f"_number_{len(self._constants)}"
            self.initializers.append(numpy_helper.from_array(np.array([[value]], np.float32), name))
        return self._constants[value]

    def observed(self, at: int) -> str:
        at %= self.width
        if at not in self._observed:
            self._observed[at] = f"_x_{at}"
            self.initializers.append(numpy_helper.from_array(np.array([at]), f"_at_{at}"))
            self.node("Gather", OBSERVATION, f"_at_{at}", output=f"_x_{at}", axis=1)
        return self._observed[at]

    def value(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=int() | float() as value):
                return self.constant(float(value))
            case ast.Name(id=name):
                return self.names[name]
            case ast.Subscript(slice=index):
                return self.observed(integer(index) or 0)
            case ast.UnaryOp(operand=operand):
                return self.node("Neg", self.value(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return self.node(_BINARY[type(op)], self.value(left), self.value(right))
            case ast.IfExp(test=test, body=body, orelse=other):
                return self.node("Where", self.condition(test), self.value(body), self.value(other))
            case ast.Call(func=ast.Name(id="clip"), args=[first, low, high]):
                return self.node(
                    "Min", self.node("Max", self.value(first), self.value(low)), self.value(high)
                )
            case ast.Call(func=ast.Name(id=name), args=[first, *operands]):
                output = self.value(first)
                if name in UNARY:
                    return self.node(name.capitalize(), output)
                for operand in operands:
                    output = self.node(name.capitalize(), output, self.value(operand))
                return output
        raise AssertionError(ast.dump(node))  # the grammar has no other

    def condition(self, node: ast.expr) -> str:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self.node(_COMPARISONS[type(op)], self.value(left), self.value(right))
            case ast.BoolOp(op=op, values=[first, *operands]):
                output = self.condition(first)
                for operand in operands:
                    output = self.node(_COMBINED[type(op)], output, self.condition(operand))
                return output
            case ast.UnaryOp(operand=operand):
                return self.node("Not", self.condition(operand))
        raise AssertionError(ast.dump(node))


def network(program: Program, values: Mapping[str, float], description: str) -> bytes:
    """Return the ONNX model of a program whose numbers are ``values``."""
    width, actions = program.dims
    graph = _Graph(program, values)
    # A line without x and memory would be a constant, and an output must depend on the input.
    zero = graph.node("Mul", graph.observed(0), graph.constant(0.0))
    for target, line in program.lines:
        output = graph.value(line)
        if target.startswith((NEXT, f"{ACTION}[")):
            output = graph.node("Add", output, zero, output=target if target.startswith(NEXT) else None)
        graph.names[target] = output
    parts = [graph.names[f"{ACTION}[{index}]"] for index in range(actions)]
    graph.node("Concat", *parts, output=ACTION, axis=1)
    inputs = {OBSERVATION: width, **dict.fromkeys(program.memory, 1)}
    outputs = {ACTION: actions, **{f"{NEXT}{name}": 1 for name in program.memory}}
    return model(graph.nodes, graph.initializers, inputs, outputs, description)
