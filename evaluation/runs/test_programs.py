import pickle
from pathlib import Path
from typing import ClassVar

import leosim
import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.configs import suite
from leogym.configs.scenario import Scenario, parse
from leogym.evaluation.entries import confinement
from leogym.evaluation.entries.process import Program
from leogym.evaluation.runs import execute, inputs, plan, programs
from leogym.evaluation.runs.backends import SERIES_MS, Inputs, Lab, Simulator
from leogym.evaluation.runs.schemes import about, load_policy, load_program, shipped
from leogym.evaluation.runs.schemes import parse as parse_schemes
from leogym.kernel_bridge.runner.stop import Stop
from leogym.results.flow_report import FlowReport
from leogym.results.measurement import Measurement

CONFINED = pytest.mark.skipif(confinement.missing() is not None, reason=str(confinement.missing()))
MINE = "class Mine:\n    def act(self, report):\n        return {'pacing_mbps': 12}\n"


def scenario(schemes: list[str], duration_s: float = 6.0) -> Scenario:
    flows = [{"scheme": name, "start_s": 1.0 * at, "route": ["path"]} for at, name in enumerate(schemes)]
    link = {"rate_mbps": 20.0, "delay_ms": 15.0, "queue": {"kind": "droptail", "bdp": 1.0}}
    # A handshake takes an RTT sample before the first report.
    given = {"name": "shared", "duration_s": duration_s, "links": {"path": link}, "flows": flows}
    given["handshake"] = True
    return parse(given, "test")


class InProcess:
    """Stands for a program's process: a policy that the test's own process runs on reports."""

    policy: leosim.Policy

    def __init__(self, program: Program, decisions: int) -> None:
        self.most, self.asked = decisions, 0
        self.agents = leosim.Agents(2, agent=self.policy.spec)
        for slot in range(2):
            self.agents.start(slot, 0)

    def __enter__(self) -> "InProcess":
        return self

    def __exit__(self, *_: object) -> None:
        assert 0 < self.asked <= self.most

    def act(self, slots: list[int], reports: list[FlowReport]) -> list[tuple[float, float]]:
        self.asked += len(slots)
        commands = []
        for slot, report in zip(slots, reports, strict=True):
            self.agents.observe(slot, raw(report))
            [action] = self.policy.act(self.agents.observation(slot)[None])
            window, bytes_per_s = self.agents.act(slot, action)
            commands.append((float(window), bytes_per_s / 125e3))
        return commands


def raw(report: FlowReport) -> np.ndarray:
    """Return the fields of the raw report that was converted."""
    packet = report.packet_bytes
    fields = {
        "time_ns": report.time_s * 1e9,
        "interval_ns": report.interval_ms * 1e6,
        "delivered_bytes": report.delivered_packets * packet,
        "sent_bytes": report.sent_packets * packet,
        "lost_bytes": report.lost_packets * packet,
        "avg_throughput_bytes_per_s": report.delivery_rate_mbps * 125e3,
        "avg_rtt_us": report.rtt_ms * 1e3 if report.rtt_samples else 0.0,
        "rtt_samples": report.rtt_samples,
        "min_rtt_us": report.min_rtt_ms * 1e3,
        "srtt_us": report.smoothed_rtt_ms * 1e3,
        "rttvar_us": report.rtt_deviation_ms * 1e3,
        "cwnd_packets": report.cwnd_packets,
        "packets_out": report.in_flight_packets,
        "retrans_out": report.retransmissions_in_flight,
        "mss_bytes": packet,
        "pacing_rate_bytes_per_s": report.pacing_mbps * 125e3,
        "max_throughput_bytes_per_s": report.max_delivery_rate_mbps * 125e3,
        "ssthresh_packets": report.cwnd_packets,  # what an agent without a scheme beneath has
        "rtt_slope": report.rtt_slope,
    }
    values = [fields[name] for name in leosim.Batch(1).report_fields]
    return np.array([*np.round(values[:-1]), values[-1]])


def test_flows_that_a_program_steers_have_the_bytes_of_a_policy_that_does_the_same(monkeypatch):
    name = "astraea"
    policy = load_policy(shipped()[name])
    text = scenario([name, "cubic", name]).to_json()
    engine = Simulator(Inputs({}, {name: policy.files}))
    expected = engine.run(text, policy.interval_ms)
    monkeypatch.setattr(InProcess, "policy", leosim.Policy.load(str(policy.folder)), raising=False)
    monkeypatch.setattr(programs, "Running", InProcess)
    measured = simulated(text, name, Program("class", "Mine", b"", policy.interval_ms))
    assert measured.flows == expected.flows
    assert measured.links == expected.links
    for ours, theirs in (
        (measured.flow_series, expected.flow_series),
        (measured.link_series, expected.link_series),
    ):
        assert ours.keys() == theirs.keys()
        for column in ours:
            np.testing.assert_array_equal(ours[column], theirs[column])


def simulated(text: str, name: str, program: Program) -> Measurement:
    return programs.simulate(
        text,
        name,
        program,
        {},
        {},
        interval_ms=program.interval_ms,
        series_ms=SERIES_MS,
        stop=Stop(),
    )


class Recorder:
    """Stands for the process of a program that records reports and always gives the same command."""

    reports: ClassVar[list[tuple[float, ...]]] = []
    answer: tuple[float | None, float | None] = (None, None)

    def __init__(self, program: Program, decisions: int) -> None:
        self.reports.clear()

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def act(
        self, slots: list[int], reports: list[tuple[float, ...]]
    ) -> list[tuple[float | None, float | None]]:
        self.reports.extend(reports)
        return [self.answer] * len(slots)


def recorded(
    answer: tuple[float | None, float | None], monkeypatch: pytest.MonkeyPatch, *, knows_path: bool = False
) -> Measurement:
    """Return the measurement of a flow on 20 Mbit/s with 30 ms that gets one command again and again."""
    monkeypatch.setattr(programs, "Running", Recorder)
    monkeypatch.setattr(Recorder, "answer", answer)
    return simulated(scenario(["mine"]).to_json(), "mine", Program("class", "Mine", b"", 30.0, knows_path))


def test_a_report_measures_what_the_run_log_has(monkeypatch):
    [flow] = recorded((None, 10.0), monkeypatch, knows_path=True).flows
    reports = [FlowReport(*values[:-2]) for values in Recorder.reports]
    for mine, logged in (("goodput_mbps", "goodput_mbps"), ("rtt_ms", "rtt_mean_ms")):
        assert np.mean([getattr(report, mine) for report in reports]) == pytest.approx(flow[logged], rel=0.02)
    assert {values[-2:] for values in Recorder.reports} == {(30.0, 20.0)}  # base RTT, capacity
    last = reports[-1]
    assert (last.pacing_mbps, last.packet_bytes, last.lost_packets) == (10.0, 1448.0, 0.0)
    assert last.cwnd_packets == pytest.approx(2 * 10e6 / 8 * last.smoothed_rtt_ms / 1e3 / 1448, abs=1)
    assert all(report.rtt_ms >= report.min_rtt_ms >= 30.0 for report in reports)


def test_a_named_rate_and_a_named_window_each_bound_the_flow(monkeypatch):
    [paced] = recorded((None, 5.0), monkeypatch).flows
    assert paced["goodput_mbps"] == pytest.approx(5.0, rel=0.02)
    [windowed] = recorded((20.0, None), monkeypatch).flows
    assert windowed["goodput_mbps"] == pytest.approx(20 * 1448 * 8 / 30.6e-3 / 1e6, rel=0.05)
    [both] = recorded((10.0, 15.0), monkeypatch).flows
    assert both["goodput_mbps"] == pytest.approx(10 * 1448 * 8 / 30.6e-3 / 1e6, rel=0.1)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((None, None), "act: names neither cwnd_packets nor pacing_mbps"),
        ((-1.0, None), "act: cwnd_packets: -1: must be a finite number of at least 0"),
        ((None, float("inf")), "act: pacing_mbps: inf: must be a finite number of at least 0"),
    ],
)
def test_a_command_that_is_none_makes_the_run_invalid(answer, message, monkeypatch):
    assert recorded(answer, monkeypatch).invalid == message


def test_a_batch_takes_commands_of_its_shape_and_range_and_then_has_no_pickle():
    batch = leosim.Batch(1)
    batch.reset(0, scenario(["agent"]).to_json(), {})
    for wrong in (np.zeros((1, 2, 2)), np.full((1, 1, 2), -1.0), np.full((1, 1, 2), np.nan)):
        with pytest.raises(leosim.InputError, match="arguments: commands: must be C-contiguous"):
            batch.command(wrong)
    pickle.dumps(batch)
    batch.command(np.array([[[40.0, 1e6]]]))
    assert batch.paths.tolist() == [[[20.0, 30.0]]]
    with pytest.raises(leosim.InputError, match="a batch that commands steered cannot be pickled"):
        pickle.dumps(batch)


@pytest.fixture
def mine(tmp_path: Path) -> str:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    return f"{file}:Mine"


@CONFINED
def test_a_program_is_a_scheme_like_others_and_one_that_fails_makes_its_runs_invalid(mine, tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text(MINE.replace("return {'pacing_mbps': 12}", "raise ValueError('no idea')"))
    tried = suite.parse(
        {"name": "tried", "title": "", "repeats": 1, "scenario": scenario(["$scheme"], 3.0).model_dump()},
        "test",
    )
    contestants = parse_schemes(f"mine={mine},bad={bad}:Mine,cubic", Simulator.schemes())
    runs = plan.expand(
        tried,
        contestants,
        {},
        backend="simulator",
        backend_schemes=Simulator.schemes(),
        base_seed=1,
        repeats=1,
        version="",
    )
    needed = inputs.gather(runs, {}, contestants)
    finished = {
        run.scheme: last
        for run, last in execute.run_here(runs, needed, 1, lambda run, parts: list(parts)[-1])
    }
    line = 1 + bad.read_text().splitlines().index("        raise ValueError('no idea')")
    assert finished["bad"].invalid == f"ValueError: no idea (bad.py:{line})"
    for name in ("mine", "cubic"):
        [flow] = finished[name].flows
        assert flow["scheme"] == name
        assert flow["goodput_mbps"] > 1.0
    assert contestants.policies["mine"].interval_ms == 30.0


@CONFINED
def test_two_programs_of_one_run_and_a_program_on_another_backend_are_refused_in_one_line(mine):
    policy = load_program(mine)
    assert policy.program is not None
    assert "confined to a process of its own" in about("mine", policy)
    given = Inputs({}, {}, programs={"a": policy.program, "b": policy.program})
    with pytest.raises(InputError, match="shared: flows: one program steers flows of a run, not a and b"):
        Simulator(given).check([scenario(["a", "b"])])
    with pytest.raises(InputError, match="--schemes: a: only --backend simulator runs a program"):
        Lab(given)
