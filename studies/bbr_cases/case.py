"""The cases: scenarios from `cases.yaml`, and their runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import leosim

from leogym.common import yaml_text
from leogym.configs.scenario import Scenario, parse
from leogym.results.measurement import Measurement
from studies.bbr_cases.course import Course

FILE = Path(__file__).parent / "cases.yaml"
SERIES_MS = 5.0
"""Time between rows of the series: an eighth of the round trip."""
SILENCE_LEFT_MS = 1.0
"""How long ACKs pass after each silence."""
APPLICATION_MBPS = 10_000.0
"""Rate at which an application writes what it has before it pauses: no limit of the flow until then."""
TRACE_COLUMNS = (
    "time_s,up_delay_ms,down_delay_ms,uplink_mbps,downlink_mbps,"
    "up_loss,down_loss,up_connected,down_connected,path_id,event"
)

PATH_VALUES = {"rate_mbps", "delay_ms", "loss", "ack_silence_ms"}
"""Values of an event that change the path."""

Run = Callable[[Scenario, Mapping[str, bytes]], Measurement]
"""Runs a scenario over path traces (CSV) with a row every `SERIES_MS`."""


@dataclass(frozen=True)
class Case:
    """A test case of the draft."""

    name: str
    title: str
    duration_s: float
    link: dict[str, Any]
    flow: dict[str, Any]
    rise: dict[str, Any] | None
    """A change of the path before the case's event."""
    event: str | None
    """``change``, ``pause`` (of the application) or ``detour`` (another route); None: the flow's start."""
    values: dict[str, Any]
    """What the event changes, and when."""

    def course(self, scheme: str, run: Run, seed: int = 1) -> Course:
        """Run the case and return its course.

        An event that follows a state needs a run without it, to find the state's begin.
        """
        event_s = self.values.get("at_s", 0.0)
        pauses = self.event == "pause"
        within = self.values.get("within")
        if (states := within or self.values.get("after")) or pauses:
            course = self._run(scheme, run, seed, None)
            if states:
                entry_s = course.entry_s(states, self.values.get("from_s", 0.0), within is not None)
                # A scheme that is no BBR has no states.
                event_s = self.values["from_s"] if entry_s is None else entry_s
                event_s += self.values.get("wait_s", 0.0)
            if pauses:
                return self._run(scheme, run, seed, event_s, course.sent_bytes(event_s))
            if not self.values.keys() - {"after", "from_s"}:
                return course.since(event_s)
        return self._run(scheme, run, seed, event_s)

    def without_event(self) -> Case:
        """Return the case without its event, and with a backlogged flow."""
        return replace(self, event=None, flow={}, values={})

    def with_losses(self) -> Case:
        """Return the case with loss of the packets that its event delays."""
        values = {key: self.values[key] for key in ("after", "from_s")}
        return replace(self, event="change", values={**values, "for_s": 0.01, "loss": 1.0})

    def _run(
        self, scheme: str, run: Run, seed: int, event_s: float | None, sent_bytes: float = 0.0
    ) -> Course:
        link = {key: value for key, value in self.link.items() if key not in ("rate_mbps", "delay_ms")}
        trace, steps = self._trace(event_s)
        # Also in the run that finds a state's begin: the lab makes links without a trace in another way.
        changes_path = self.event == "change" and bool(self.values.keys() & PATH_VALUES)
        varies = changes_path or self.rise is not None
        if "ack_silence_ms" in self.values:
            link["reverse"] = {"queue": {"packets": 10_000}}
        flow: dict[str, Any] = {"scheme": scheme, "route": ["path"], **self.flow}
        if self.event == "pause" and event_s is not None:
            on_s = sent_bytes * 8e-6 / APPLICATION_MBPS
            # The application begins when the handshake ends.
            off_s = event_s + self.values["for_s"] - on_s - 2e-3 * self.link["delay_ms"]
            flow["rate_mbps"] = APPLICATION_MBPS
            flow["on_off"] = {"on_s": on_s, "off_s": off_s, "distribution": "constant"}
        data: dict[str, Any] = {
            "name": self.name,
            "duration_s": self.duration_s,
            "seed": seed,
            "host_jitter_us": 0.0,
            "handshake": True,
            "links": {"path": {**link, "trace": "steps"} if varies else {**self.link}},
            "flows": [flow],
        }
        if self.event == "detour":
            data["links"]["detour"] = {**self.link, "delay_ms": self.values["delay_ms"]}
            if event_s is not None:
                ways = (event_s, "detour"), (event_s + self.values["for_s"], "path")
                data["events"] = [
                    {"at_s": at_s, "reroute": {"flows": [0], "route": [link]}} for at_s, link in ways
                ]
        measurement = run(
            parse(data, f"{FILE.name}: {self.name}"), {"steps": trace.encode()} if varies else {}
        )
        return Course.of(measurement, steps, event_s or 0.0)

    def _trace(self, event_s: float | None) -> tuple[str, list[tuple[float, float]]]:
        """Return the link's path trace, and the times and rates of its steps."""
        state = {"rate_mbps": self.link["rate_mbps"], "delay_ms": self.link["delay_ms"], "loss": 0.0}
        steps = {0.0: state}
        if self.rise is not None:
            state = {**state, **{key: self.rise[key] for key in state if key in self.rise}}
            steps[self.rise["at_s"]] = state
        if self.event == "change" and event_s is not None:
            steps[event_s] = {**state, **{key: self.values[key] for key in state if key in self.values}}
            if "for_s" in self.values:
                steps[event_s + self.values["for_s"]] = state
        silence_ms = self.values.get("ack_silence_ms", 0.0)
        rows = []
        ends = [*list(steps)[1:], self.duration_s + 1.0]
        for (begin_s, values), end_s in zip(steps.items(), ends, strict=True):
            batched = bool(silence_ms) and event_s is not None and begin_s >= event_s
            rows += _rows(begin_s, end_s, values, silence_ms if batched else 0.0)
        metadata = '# {"format": "leogym-path-trace", "version": 2, "name": "steps"}'
        rows.append(_row(self.duration_s + 1.0, state, 1.0))
        text = "\n".join([metadata, TRACE_COLUMNS, *rows]) + "\n"
        return text, [(begin_s, float(values["rate_mbps"])) for begin_s, values in steps.items()]


def _rows(begin_s: float, end_s: float, values: dict[str, float], silence_ms: float) -> list[str]:
    """Return rows over which the path has ``values``, with ACKs in batches after ``silence_ms`` each."""
    if not silence_ms:
        return [_row(begin_s, values, 1000.0)]
    rows, at_s = [], begin_s
    while at_s < end_s:
        rows.append(_row(at_s, values, 0.0))
        rows.append(_row(at_s + silence_ms / 1e3, values, 1000.0))
        at_s += (silence_ms + SILENCE_LEFT_MS) / 1e3
    return [row for row in rows if float(row.split(",")[0]) < end_s]


def _row(time_s: float, values: dict[str, float], downlink_mbps: float) -> str:
    delay, loss = values["delay_ms"], values["loss"]
    return f"{time_s:.9f},{delay},{delay},{values['rate_mbps']},{downlink_mbps},{loss},0,1,1,0,"


def load() -> list[Case]:
    """Return the cases in the draft's order."""
    data = yaml_text.read(FILE)
    cases = []
    for entry in data["cases"]:
        event = next((name for name in ("change", "pause", "detour") if name in entry), None)
        cases.append(
            Case(
                entry["name"],
                entry["title"],
                float(entry["duration_s"]),
                {**data["path"], **entry.get("link", {})},
                entry.get("flow", {}),
                entry.get("rise"),
                event,
                entry.get(event, {}) if event else {},
            )
        )
    return cases


def simulate(scenario: Scenario, traces: Mapping[str, bytes]) -> Measurement:
    """Run a scenario in the simulator."""
    parsed = {name: leosim.PathTrace.parse(csv.decode(), name) for name, csv in traces.items()}
    [log] = leosim.run([scenario.to_json()], parsed, series_ms=SERIES_MS)
    return Measurement.of(log)
