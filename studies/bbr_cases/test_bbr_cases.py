"""Each case's expectation holds for the BBRs as shipped, and for no BBR on which the case has no effect."""

from dataclasses import replace

import numpy as np
import pytest

from studies.bbr_cases import __main__ as command
from studies.bbr_cases import case, checks
from studies.bbr_cases.case import Case
from studies.bbr_cases.checks import VERSIONS, Check
from studies.bbr_cases.course import Course
from studies.bbr_cases.expectations import EXPECTATIONS

CASES = {entry.name: entry for entry in case.load()}
OTHER = {"bbr": "bbr3", "bbr3": "bbr"}
ROUND_ROWS = 8
"""Rows of a round trip."""


def checks_of(name: str, course: Course, scheme: str) -> dict[str, Check]:
    """Return what a case expects of a scheme's version, by what is measured."""
    checks = EXPECTATIONS[name](course, VERSIONS[command.SCHEMES[scheme]])
    return {check.what: check for check in checks}


def run(entry: Case, scheme: str) -> Course:
    """Return the course of a case in the simulator."""
    return entry.course(scheme, case.simulate)


def early(course: Course) -> Course:
    """Return the course of a BBR that changes its state a round trip too early."""
    names = ("state", "round", "full_bw_count", "pacing_gain", "cwnd_gain")
    tail = {name: np.full(ROUND_ROWS, course[name][-1]) for name in names}
    moved = {name: np.concatenate((course[name][ROUND_ROWS:], tail[name])) for name in names}
    return replace(course, rows={**course.rows, **moved})


def trusting(course: Course) -> Course:
    """Return the course of a BBR that takes the rate of the last round for the bandwidth."""
    mean = np.convolve(course["goodput_mbps"], np.full(ROUND_ROWS, 1 / ROUND_ROWS))
    return replace(course, rows={**course.rows, "bw_mbps": mean[: len(course["time_s"])]})


def window_limited(entry: Case) -> Case:
    """Return the case with a receive window of two BDPs, which leaves no room for aggregated ACKs."""
    window_bytes = 2 * entry.link["rate_mbps"] * 1e6 / 8 * 2e-3 * entry.link["delay_ms"]
    return replace(entry, flow={"tcp_rmem": [max(5000, int(2 * window_bytes))] * 3})


def test_the_cases_are_the_22_of_the_draft_and_each_has_an_expectation():
    assert len({entry.title for entry in CASES.values()}) == 22
    assert list(EXPECTATIONS) == list(CASES)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("scheme", OTHER)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_expectation_holds_for_the_scheme_and_fails_where_the_case_has_no_effect(name, scheme):
    entry = CASES[name]
    course = run(entry, scheme)
    expected = checks_of(name, course, scheme)
    assert [check for check in expected.values() if not check.passed] == []

    controls = {
        "nothing changes from the event on": course.frozen(),
        "no event, and a backlogged flow": run(entry.without_event(), scheme).since(course.event_s),
        "the other version": run(entry, OTHER[scheme]),
        "a window of two BDPs": run(window_limited(entry), scheme),
        "states change too early": early(course),
        "the last rate is the bandwidth": trusting(course),
        "CUBIC": run(entry, "cubic"),
    }
    if name.startswith("spurious"):
        controls["the packets are lost"] = run(entry.with_losses(), scheme)
    fails = {what: set() for what in expected}
    for control, other in controls.items():
        for what, check in checks_of(name, other, scheme).items():
            # CUBIC has no model: that an expectation of the model finds none says nothing.
            if not check.passed and (control != "CUBIC" or check.measured != "none"):
                fails[what].add(control)
    assert [what for what, failing in fails.items() if not failing] == []


def test_the_command_prints_both_tables_and_its_status_is_that_of_the_checks(capsys, monkeypatch):
    assert command.main(["--cases", "drain-inflight", "--schemes", "bbr,starquic-bbr3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "| Exiting DRAIN Based on Inflight (`drain-inflight`) | pass | pass |"
    assert "| `drain-inflight` | bbr | pacing gain in DRAIN | 0.3437 | 0.3369 to 0.3506 | pass |" in lines
    monkeypatch.setitem(checks.VERSIONS, 1, replace(VERSIONS[1], drain_gain=0.5))
    assert command.main(["--cases", "drain-inflight", "--schemes", "bbr"]) == 1
    assert "**1 of 4 fail**" in capsys.readouterr().out


@pytest.mark.parametrize(("option", "name"), [("--schemes", "cubic"), ("--cases", "drain")])
def test_an_unknown_name_is_refused(option, name, capsys):
    with pytest.raises(SystemExit):
        command.main([option, name])
    assert f"{option}: {name}: " in capsys.readouterr().err
