from typing import Any

import leosim
import pytest

from leogym.common.errors import InputError
from leogym.configs import suite as suites
from leogym.evaluation.runs import schemes
from leogym.results.intervals import Interval
from studies.papers import paper
from studies.papers.claim import LEARNED, Part
from studies.papers.kinds import Ordering, Ratio, Trend, Value
from studies.papers.measures import MEASURES
from studies.papers.readings import choose

ALL = [(name, claim) for name in paper.shipped() for claim in paper.load(name).judged]
CLAIM: dict[str, Any] = {"id": "one", "where": "IV, Fig. 1", "says": "It is so.", "suite": "leo-single"}
VALUE = CLAIM | {
    "kind": "value",
    "metric": "goodput_mbps",
    "schemes": ["cubic"],
    "value": 1,
    "tolerance": 0,
    "unit": "Mbit/s",
}
RATIO = CLAIM | {"kind": "ratio", "metric": "jain", "of": {"scheme": "cubic"}, "to": {"scheme": "bbr"}}
TREND = CLAIM | {"kind": "trend", "metric": "jain", "schemes": ["cubic"], "along": "rtt_ms"}


def of(*claims: dict[str, Any]) -> paper.Paper:
    about = {"name": "p", "title": "T", "authors": "A", "venue": "V", "margin": 0.1}
    return paper.parse({**about, "claims": list(claims)}, "p.yaml")


def test_a_claim_of_each_kind_is_read():
    order = CLAIM | {"id": "two", "kind": "ordering", "metric": "jain", "order": ["cubic", ["bbr", "reno"]]}
    bound = CLAIM | {"id": "three", "kind": "bound", "metric": "jain", "schemes": ["cubic"], "at_most": 0.5}
    read = of(
        VALUE,
        order,
        bound,
        RATIO | {"id": "four", "value": 2, "tolerance": 0.1},
        TREND | {"id": "five", "direction": "rises"},
    )
    assert [claim.stated for claim in read.claims] == [
        "1 Mbit/s",
        "cubic > bbr, reno",
        "at most 0.5",
        "2 ×",
        "rises along rtt_ms",
    ]
    assert [claim.under_test for claim in read.claims] == [
        ["cubic"],
        ["cubic", "bbr", "reno"],
        ["cubic"],
        ["cubic", "bbr"],
        ["cubic"],
    ]


@pytest.mark.parametrize(
    ("claim", "rule"),
    [
        (VALUE | {"tolerence": 1}, "tolerence: unknown key"),
        (VALUE | {"kind": "number"}, "kind"),
        (VALUE | {"metric": "goodput"}, "there is no goodput"),
        (VALUE | {"unit": "bit/s"}, "unit: of goodput_mbps is 'Mbit/s'"),
        (VALUE | {"value": "1"}, "value"),
        (VALUE | {"id": "One"}, "id"),
        (VALUE | {"says": "It is so"}, "says"),
        (VALUE | {"schemes": []}, "schemes"),
        (VALUE | {"over": "all"}, "over"),
        (VALUE | {"window_s": [20, 10]}, "window_s: must end after it begins"),
        (VALUE | {"window_s": "count"}, "window_s"),
        (VALUE | {"scenarios": {"rtt_ms": {"from": 1}}}, "unknown key"),
        (CLAIM | {"kind": "ordering", "order": ["cubic", "bbr"]}, "metric: is missing"),
        (CLAIM | {"kind": "ordering", "metric": "jain", "order": ["cubic"]}, "order"),
        (CLAIM | {"kind": "bound", "metric": "jain", "schemes": ["cubic"]}, "give at_least, at_most or both"),
        (
            CLAIM | {"kind": "bound", "metric": "jain", "schemes": ["a"], "at_least": 2, "at_most": 1},
            "is above",
        ),
        (RATIO, "give at_least, at_most or both"),
        (RATIO | {"value": 1}, "value: goes with tolerance"),
        (RATIO | {"at_least": 1, "schemes": ["cubic"]}, "schemes: name them here"),
        (RATIO | {"at_least": 1, "to": {}}, "schemes: name them here"),
        (RATIO | {"at_least": 1, "to": RATIO["of"]}, "of: must differ from to"),
        (RATIO | {"at_least": 1, "of": {"scheme": "a", "metric": "jian"}}, "there is no jian"),
        (RATIO | {"at_least": 1, "metric": "power", "window_s": [0, 1]}, "power needs whole runs"),
        (TREND | {"direction": "up"}, "direction"),
        (TREND | {"direction": "flat"}, "by: flat needs"),
        (TREND | {"direction": "falls", "over": "max"}, "over: must be each or mean"),
    ],
)
def test_a_typo_is_one_clear_line(claim, rule):
    with pytest.raises(InputError) as caught:
        of(claim)
    message = str(caught.value)
    assert message.startswith("p.yaml: ")
    assert rule in message
    assert "\n" not in message


def test_two_claims_of_one_paper_have_two_ids():
    with pytest.raises(InputError, match="one: is a duplicate id"):
        of(VALUE, VALUE)


def test_all_five_papers_are_there():
    assert paper.shipped() == [
        "hystart-over-satellite",
        "learning-cc-for-leo",
        "leotcp",
        "satcp-leoem",
        "tcp-cc-over-starlink",
    ]
    assert all(paper.load(name).name == name for name in paper.shipped())


@pytest.mark.parametrize(("name", "claim"), ALL, ids=[f"{name}-{claim.id}" for name, claim in ALL])
def test_every_claim_names_what_there_is(name, claim):
    parts = [claim.of, claim.to] if isinstance(claim, Ratio) else [Part()]
    assert claim.metric is None or claim.metric in MEASURES
    # The authors' own weights of a learned scheme run only where a user has imported them.
    assert set(claim.under_test) <= {*leosim.schemes(), *schemes.shipped(), *LEARNED}
    for part in parts:
        suite_name = part.suite or claim.suite
        if suite_name not in suites.shipped() or claim.metric is None:
            continue
        suite = suites.load(suite_name)
        wanted = {**claim.scenarios, **part.scenarios}
        lacking = wanted.keys() - next(iter(suite.cases("cubic"))).values.keys()
        assert not lacking or claim.needs is not None, f"{suite_name} has no {lacking}"
        found = [] if lacking else choose(suite, wanted)
        if (part.window_s or claim.window_s) == "counted":
            assert all(case.fairness_last_s for case in suite.cases("cubic")), f"{suite_name} counts all"
        assert found or claim.needs is not None, f"{suite_name} has no scenario with {wanted}"
        if isinstance(claim, Trend):
            assert claim.needs is not None or all(claim.along in one.place.values for one in found)


@pytest.mark.parametrize(("name", "claim"), ALL, ids=[f"{name}-{claim.id}" for name, claim in ALL])
def test_no_claim_agrees_with_a_value_that_shows_no_effect(name, claim):
    if isinstance(claim, Ordering):
        # One difference above 0 in every repeat: no difference is no order.
        return
    no_effect = {Ratio: lambda: claim.no_effect, Trend: lambda: 0.0}.get(
        type(claim), lambda: claim.reference
    )()
    little = (isinstance(claim, Trend) and claim.direction == "flat") or getattr(claim, "little", False)
    if no_effect is None or little:
        return
    region = claim.region(paper.load(name).margin)
    noise = 1e-3 * max(1.0, abs(no_effect))
    for low, high in ((0, 0), (-noise, noise), (-noise, 0), (0, noise)):
        shown = Interval(no_effect, no_effect + low, no_effect + high, 5)
        assert region.outcome(shown) != "agrees"


@pytest.mark.parametrize("name", paper.shipped())
def test_no_claim_of_a_paper_is_its_own_on_other_ground(name):
    other_ground = set(paper.load(name).also_on.values())
    assert [claim.id for claim in paper.load(name).claims if claim.suites & other_ground] == []


@pytest.mark.parametrize(("name", "claim"), ALL, ids=[f"{name}-{claim.id}" for name, claim in ALL])
def test_a_time_until_something_lasts_is_a_number_only_where_runs_are_long_enough(name, claim):
    # Without recovery these measures have the length of the run.
    if claim.metric not in {"recovery_s", "rise_recovery_s", "convergence_s"} or not isinstance(claim, Value):
        return
    assert isinstance(claim.window_s, tuple)
    lasts_s = 3
    assert claim.region(paper.load(name).margin).high <= claim.window_s[1] - claim.window_s[0] - lasts_s


def test_a_claim_is_judged_on_another_suite_with_the_same_measure_and_region():
    about = {"name": "p", "title": "T", "authors": "A", "venue": "V", "margin": 0.1}
    ratio = RATIO | {"id": "two", "suite": "intra-rtt", "at_least": 1.5, "reason": "The path decides."}
    ratio |= {"of": {"scheme": "cubic"}, "to": {"scheme": "bbr", "suite": "leo-single"}}
    elsewhere = VALUE | {"id": "three", "suite": "starlink", "headline": True}
    read = paper.parse(
        {
            **about,
            "also_on": {"leo-single": "geometry"},
            "claims": [VALUE | {"headline": True}, ratio, elsewhere],
        },
        "p.yaml",
    )
    assert [claim.id for claim in read.claims] == ["one", "two", "three"]
    value, moved = read.judged[3:]
    assert (value.id, value.suite, value.headline, value.region(0.1)) == (
        "one@geometry",
        "geometry",
        False,
        read.claims[0].region(0.1),
    )
    assert isinstance(moved, Ratio)
    assert (moved.id, moved.suite, moved.to.suite, moved.reason) == (
        "two@geometry",
        "intra-rtt",
        "geometry",
        None,
    )
