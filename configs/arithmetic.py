"""Arithmetic over named numbers, for a suite's ``derived`` values: ``max(20, 0.5 * rtt_ms)``."""

import ast
import math
import operator
from collections.abc import Callable, Mapping

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
MOST_CHARACTERS = 500
"""Of an expression: this bounds the depth of its tree."""
_FUNCTIONS: dict[str, Callable[..., float]] = {"min": min, "max": max}


def names(expression: str) -> set[str]:
    """Return the names in an expression of numbers, names, ``+ - * /``, ``min()`` and ``max()``."""
    tree = _parse(expression)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called}


def evaluate(expression: str, values: Mapping[str, object]) -> float:
    """Return an expression's value: finite, and an integer unless an operation makes a float."""
    try:
        result = _value(_parse(expression), values)
    except (ZeroDivisionError, OverflowError):
        result = math.nan
    if not math.isfinite(result):
        raise ValueError(f"{expression}: is not a finite number")
    return result


def _parse(expression: str) -> ast.expr:
    if len(expression) > MOST_CHARACTERS:
        raise ValueError(f"{expression[:20]}…: is longer than {MOST_CHARACTERS} characters")
    try:
        tree = ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"{expression}: is not an arithmetic expression") from None
    _check(tree, expression)
    return tree


def _check(node: ast.expr, expression: str) -> None:
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return
        case ast.Name():
            return
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _check(operand, expression)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            _check(left, expression)
            return _check(right, expression)
        case ast.Call(func=ast.Name(id=name), args=[_, *_], keywords=[]) if name in _FUNCTIONS:
            for argument in node.args:
                _check(argument, expression)
            return None
        case _:
            raise ValueError(f"{expression}: may contain only numbers, names, + - * /, min() and max()")


def _value(node: ast.expr, values: Mapping[str, object]) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            value = values.get(name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(f"{name}: must be a number, not {value!r}")
            return value
        case ast.UnaryOp(operand=operand):
            return -_value(operand, values)
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_value(left, values), _value(right, values))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            operands = [_value(argument, values) for argument in arguments]
            return _FUNCTIONS[name](operands)
        case _:  # `_check` rejects everything else.
            raise AssertionError(ast.dump(node))
