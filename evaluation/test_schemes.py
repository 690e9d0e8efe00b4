import pytest

from configs.errors import InputError
from evaluation.schemes import about, parse


def test_an_agents_name_alone_stands_for_the_policy_that_comes_with_the_project():
    contestants = parse("cubic,aurora", ["cubic"])
    assert contestants.names == ["cubic", "aurora"]
    policy = contestants.policies["aurora"]
    assert policy.metadata["agent"] == "aurora"
    assert about("aurora", policy).startswith("Aurora (Jay et al., ICML 2019)")


def test_a_name_without_either_is_answered_with_those_there_are():
    for name in ("moon", "../aurora", "vivace"):
        with pytest.raises(InputError, match=rf"^--schemes: {name}: not a scheme .*cubic"):
            parse(f"cubic,{name}", ["cubic"])
