from __future__ import annotations

import pytest

from configs.errors import InputError
from configs.scenario import parse


@pytest.mark.parametrize(
    ("key", "shown"), [("st\rt_s", r"st\rt_s"), ("a\nb", r"a\nb"), ("a\u2028b", r"a\u2028b")]
)
def test_a_key_that_would_break_the_line_is_escaped(key: str, shown: str) -> None:
    scenario = {
        "duration_s": 1,
        "links": {"a": {"rate_mbps": 1, "delay_ms": 1}},
        "flows": [{"scheme": "cubic", "route": ["a"], key: 1}],
    }
    with pytest.raises(InputError) as caught:
        parse(scenario, "x.yaml")
    assert str(caught.value) == f"x.yaml: flows.0.{shown}: unknown key"
