"""Run the fuzz targets with a few hundred inputs each; ``make fuzz`` takes minutes."""

import tempfile

import pytest
from hypothesis import HealthCheck, given, settings

from leogym.common.errors import InputError
from tests.fuzz import targets
from tests.fuzz.mutation import near


@pytest.mark.parametrize("name", targets.TARGETS)
def test_every_seed_of_a_target_parses_and_leaves_no_file(name, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for seed in targets.TARGETS[name].seeds:
        assert targets.run(name, seed)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", targets.TARGETS)
def test_inputs_near_good_ones_parse_or_are_refused_in_one_line(name):
    @settings(max_examples=150, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(near(targets.TARGETS[name].seeds))
    def holds(data):
        targets.run(name, data)

    holds()


def test_a_refusal_of_two_lines_is_a_finding(monkeypatch):
    def parse(data):
        raise InputError("x:1: field\nrule")

    monkeypatch.setitem(targets.TARGETS, "bad", targets.Target(parse, (b"",)))
    with pytest.raises(AssertionError, match="must be refused in one line"):
        targets.run("bad", b"")


def test_any_other_error_is_a_finding(monkeypatch):
    monkeypatch.setitem(targets.TARGETS, "bad", targets.Target(lambda data: data[5], (b"",)))
    with pytest.raises(IndexError):
        targets.run("bad", b"")
