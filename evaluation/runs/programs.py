"""A scenario whose flows a program steers, simulated in step with the program's process."""

import json
import math
from collections.abc import Mapping
from typing import Any

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError
from leogym.configs.scenario import Scenario
from leogym.evaluation.entries.process import Program, ProgramError, Running
from leogym.kernel_bridge.runner.stop import Stop
from leogym.results.flow_report import FlowReport, command
from leogym.results.measurement import Measurement

AGENT = "agent"
"""The scheme of flows that something outside the simulation steers."""


def steered(scenario: Scenario, programs: Mapping[str, Program]) -> str | None:
    """Return the program among a scenario's schemes, or None; an `InputError` for several."""
    schemes = sorted({flow.scheme for flow in scenario.flows} & programs.keys())
    if len(schemes) > 1:
        raise InputError(
            f"{scenario.name}: flows: one program steers flows of a run, not {' and '.join(schemes)}"
        )
    return schemes[0] if schemes else None


def simulate(
    scenario_json: str,
    name: str,
    program: Program,
    traces: Mapping[str, leosim.PathTrace],
    policies: Mapping[str, leosim.Policy],
    *,
    interval_ms: float,
    series_ms: float,
    stop: Stop,
) -> Measurement:
    """Run a scenario whose flows of the scheme ``name`` the program steers.

    The process is new and sees nothing of other runs, so runs do not depend on their order. A program that
    fails makes the run invalid, and its line says how.
    """
    resolved: dict[str, Any] = json.loads(scenario_json)
    for flow in resolved["flows"]:
        flow["scheme"] = AGENT if flow["scheme"] == name else flow["scheme"]
    text = json.dumps(resolved)
    try:
        # Build a simulation without running it, to count the flows.
        slots = leosim.Simulation(text, traces, policies, interval_ms=interval_ms).flow_schemes.count(AGENT)
        batch = leosim.Batch(1, slots=slots, interval_ms=interval_ms, series_ms=series_ms)
        decisions = slots * math.ceil(resolved["duration_s"] * 1000 / interval_ms)
        with Running(program, decisions) as running:
            batch.reset(0, text, traces, policies)
            commands = np.zeros((1, slots, 2))
            while not batch.finished[0]:
                stop.check()
                _steer(batch, running, program, commands[0])
                batch.command(commands)
    except ProgramError as error:
        return Measurement([], [], {}, {}, [], str(error))
    log = Measurement.of(batch.run_log(0))
    for flow in log.flows:
        flow["scheme"] = name if flow["scheme"] == AGENT else flow["scheme"]
    return log


def _steer(batch: leosim.Batch, running: Running, program: Program, commands: NDArray[np.float64]) -> None:
    """Set the commands (slots, 2) of the flows with an RTT sample to the program's; others keep theirs."""
    names = batch.report_fields
    reports: dict[int, FlowReport] = {}
    for slot in np.flatnonzero(batch.active[0]).tolist():
        fields = dict(zip(names, batch.reports[0, slot].tolist(), strict=True))
        commands[slot] = fields["cwnd_packets"], fields["pacing_rate_bytes_per_s"]
        if fields["min_rtt_us"] > 0:
            reports[slot] = FlowReport.of(fields)
    if not reports:
        return
    values = [
        (*report, *batch.paths[0, slot, ::-1].tolist()) if program.knows_path else report
        for slot, report in reports.items()
    ]
    answers = running.act(list(reports), values)
    for (slot, report), (window, rate) in zip(reports.items(), answers, strict=True):
        try:
            commands[slot] = command(report, window, rate)
        except ValueError as error:
            raise ProgramError(f"act: {error}") from None
