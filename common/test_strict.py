from typing import Annotated

import pytest

from leogym.common import yaml_text
from leogym.common.errors import InputError
from leogym.common.strict import Range, Strict, shown
from leogym.configs import scenario
from leogym.configs.scenario import Flow, Link, Queue, Scenario

GOOD = {
    "duration_s": 1,
    "links": {"l": {"rate_mbps": 1, "delay_ms": 1}},
    "flows": [{"scheme": "cubic", "route": ["l"]}],
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1e9", "must be a number above 1e-6 and below 10,000,000, not 1e+09"),
        ("0", "must be a number above 1e-6 and below 10,000,000, not 0"),
        ("fast", "must be a number above 1e-6 and below 10,000,000, not 'fast'"),
        (".nan", "must be a number above 1e-6 and below 10,000,000, not nan"),
        ("true", "must be a number above 1e-6 and below 10,000,000, not True"),
    ],
)
def test_a_rate_out_of_range_is_answered_by_the_range(value: str, expected: str) -> None:
    links = yaml_text.parse(f"l: {{rate_mbps: {value}, delay_ms: 1}}", "x.yaml")
    with pytest.raises(InputError) as caught:
        scenario.parse({**GOOD, "links": links}, "x.yaml")
    assert str(caught.value) == f"x.yaml: links.l.rate_mbps: {expected}"


def _ranges() -> list[tuple[type[Strict], str]]:
    models: list[type[Strict]] = [Scenario, Link, Flow, Queue, scenario.OnOff, scenario.Arrivals]
    numbers = [
        (model, name)
        for model in models
        for name, field in model.model_fields.items()
        if any(kind in str(field.annotation) for kind in ("float", "int"))
        and "tuple" not in str(field.annotation)
    ]
    return numbers


@pytest.mark.parametrize(("model", "name"), _ranges())
def test_every_number_of_a_scenario_has_a_range_that_its_message_names(
    model: type[Strict], name: str
) -> None:
    with pytest.raises(
        ValueError, match=rf"{name}\n.*must be a (whole )?number (from|above|at least) .*not -1e\+300"
    ):
        model.model_validate({name: -1e300})


def test_a_range_names_both_of_its_bounds() -> None:
    assert str(Range(ge=0, le=90)) == "from 0 to 90"
    assert str(Range(gt=1e-6, lt=1e7)) == "above 1e-6 and below 10,000,000"
    assert str(Range(ge=1)) == "at least 1"
    assert (shown(2**32), shown(0.5), shown(2.0**64)) == ("2^32", "0.5", "2^64")


def test_a_range_without_an_upper_bound_is_finite() -> None:
    class Model(Strict):
        value: Annotated[float, Range(ge=0)]

    assert Model(value=1e300).value == 1e300
    with pytest.raises(ValueError, match="must be a number at least 0, not inf"):
        Model.model_validate({"value": float("inf")})


@pytest.mark.parametrize(
    ("text", "number"), [("5e-5", 5e-5), ("1e9", 1e9), ("-2.E3", -2000.0), (".5e1", 5.0)]
)
def test_numbers_need_no_decimal_point_in_yaml(text: str, number: float) -> None:
    assert yaml_text.parse(f"a: {text}", "x.yaml") == {"a": number}
    assert yaml_text.parse(f"a: '{text}'", "x.yaml") == {"a": text}


def test_a_wrong_choice_is_answered_by_the_nearest() -> None:
    with pytest.raises(InputError, match=r"queue\.kind: .*not 'fqcodel' \(nearest: fq_codel"):
        scenario.parse(
            {**GOOD, "links": {"l": {"rate_mbps": 1, "delay_ms": 1, "queue": {"kind": "fqcodel"}}}}, "x.yaml"
        )
