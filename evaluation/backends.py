"""Backends: whatever turns a scenario into a measurement. This build runs the simulator."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import leosim

from configs.errors import InputError
from evaluation.measurement import Measurement

SERIES_MS = 100.0
"""The interval of the time series that are kept: the grid of the path traces."""


@dataclass(frozen=True)
class Inputs:
    """What runs need beside their scenarios, as bytes, so that another machine can be sent it."""

    traces: Mapping[str, bytes]
    """Name in the scenario to the path trace's CSV."""
    policies: Mapping[str, Mapping[str, bytes]]
    """Scheme to its policy folder's files."""


class Backend(Protocol):
    """Runs one scenario at a time; several threads may call it at once."""

    def run(self, scenario_json: str, interval_ms: float) -> Measurement:
        """Run a scenario to its end.

        Args:
            scenario_json: a resolved `configs.scenario.Scenario`.
            interval_ms: the monitor interval of policies.

        Raises:
            InputError: the backend refuses the scenario.
        """
        ...


class Simulator:
    """The packet-level simulator."""

    def __init__(self, inputs: Inputs) -> None:
        self._traces = {
            name: leosim.PathTrace.parse(csv.decode(), name) for name, csv in inputs.traces.items()
        }
        self._policies = {scheme: _policy(files) for scheme, files in inputs.policies.items()}

    @staticmethod
    def schemes() -> list[str]:
        """Return the schemes that it runs without a policy."""
        return leosim.schemes()

    def run(self, scenario_json: str, interval_ms: float) -> Measurement:
        """Simulate a scenario on the calling thread, the GIL released."""
        try:
            [log] = leosim.run(
                [scenario_json],
                self._traces,
                self._policies,
                interval_ms=interval_ms,
                series_ms=SERIES_MS,
                threads=1,
            )
        except leosim.InputError as error:
            raise InputError(str(error)) from None
        return Measurement(log.flows, log.links, log.flow_series, log.link_series, log.link_names)


BACKENDS: dict[str, type[Simulator]] = {"simulator": Simulator}


def backend(name: str) -> type[Simulator]:
    """Return the backend called ``name``.

    Raises:
        InputError: this build has none of that name; the line lists those it has.
    """
    if name not in BACKENDS:
        raise InputError(f"--backend: {name}: not a backend that this build runs ({', '.join(BACKENDS)})")
    return BACKENDS[name]


def _policy(files: Mapping[str, bytes]) -> leosim.Policy:
    """Load a policy from its files' bytes."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            (Path(folder) / name).write_bytes(data)
        return leosim.Policy.load(folder)
