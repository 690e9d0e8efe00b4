import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leogym.configs.arithmetic import evaluate, names

NUMBERS = st.integers(-1000, 1000).map(str) | st.floats(0.001, 1e6).map(repr) | st.sampled_from(["a", "b"])
EXPRESSIONS = st.recursive(
    NUMBERS,
    lambda inner: (
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda it: f"({it[0]} {it[1]} {it[2]})")
        | st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(
            lambda it: f"{it[0]}({it[1]}, {it[2]})"
        )
        | inner.map(lambda it: f"-({it})")
    ),
    max_leaves=12,
)


@given(EXPRESSIONS, st.integers(-50, 50), st.floats(0.5, 50))
def test_an_expression_means_what_it_means_in_python(expression: str, a: int, b: float) -> None:
    try:
        expected = eval(expression, {"a": a, "b": b})
    except ZeroDivisionError:
        expected = math.nan
    if math.isfinite(expected):
        assert evaluate(expression, {"a": a, "b": b}) == expected
    else:
        with pytest.raises(ValueError, match="is not a finite number"):
            evaluate(expression, {"a": a, "b": b})


def test_the_names_are_those_of_values_and_not_of_functions() -> None:
    assert names("max(rtt_ms, 20) * rounds / 1000") == {"rtt_ms", "rounds"}


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "2 *",
        "a.b",
        "__import__('os')",
        "[1]",
        "1 if a else 2",
        "a ** 9",
        "max()",
        "True",
        "'x'",
        "f(2)",
        "\0",
    ],
)
def test_whatever_is_more_than_arithmetic_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match=r"is not an arithmetic expression|may contain only numbers, names"):
        names(expression)


@pytest.mark.parametrize("value", [None, "text", True])
def test_a_name_without_a_number_is_named(value: object) -> None:
    with pytest.raises(ValueError, match="rtt_ms: must be a number"):
        evaluate("2 * rtt_ms", {"rtt_ms": value})
