"""Apply a spec's models of capacity, loss and weather to the blocks of a built path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leogym.common.errors import InputError
from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.traces.capacity.loss import ConstantLoss, GilbertElliott
from leogym.traces.capacity.rows import Overlay, Rows
from leogym.traces.capacity.settings import parse_loss_burst
from leogym.traces.capacity.span import End, Floats, Grid, Model, View
from leogym.traces.capacity.starlink import Starlink
from leogym.traces.capacity.uniform_steps import UniformSteps
from leogym.traces.orbit import visibility

if TYPE_CHECKING:
    from leogym.traces.path.build import Builder
    from leogym.traces.path.path import Block

SLOT_S = 15  # slot length for a path without re-selections (``--attach shortest``)


class Conditions:
    """The models of one path."""

    def __init__(self, builder: Builder) -> None:
        """Create the models; raise InputError if one does not fit the path."""
        spec, clock = builder.spec, builder.clock
        self._builder = builder
        self._origin_ns = clock.first_step * clock.step_ms * NS_PER_MS
        phase_ns = clock.reattach_phase_steps * clock.step_ms * NS_PER_MS
        period_ns = clock.reattach_steps * clock.step_ms * NS_PER_MS
        if spec.attach == "shortest" and spec.reattach_s is None:
            period_ns = SLOT_S * NS_PER_S
        grid = Grid(period_ns, self._origin_ns - phase_ns)
        self._models: dict[str, Model] = {}
        try:
            if spec.capacity == "starlink":
                self._models["capacity"] = Starlink(grid, spec.seed, terminal_at=spec.terminal_at)
            elif spec.capacity == "uniform-steps":
                self._models["capacity"] = UniformSteps(grid, spec.seed)
            if spec.loss:
                self._models["loss"] = ConstantLoss(spec.loss)
            if spec.loss_burst is not None:
                self._models["loss_burst"] = GilbertElliott(parse_loss_burst(spec.loss_burst), spec.seed)
            if spec.rain is not None:
                # Rain imports libraries that load slowly.
                from leogym.traces.capacity.rain import Rain

                site = spec.from_site if spec.rain_at == "from" else spec.to_site
                self._models["rain"] = Rain(spec.rain, site, spec.rain_at, spec.seed, spec.duration_s)
        except ValueError as error:
            raise InputError(f"{spec.name}: {error}") from None
        base_mbps = 1.0 if "capacity" in self._models else spec.capacity_mbps
        self._overlay = Overlay(list(self._models.values()), base_mbps)
        self._waiting: Block | None = None
        self.rows = 0
        self.down_s = 0.0
        self.max_delay_ms = 0.0

    def metadata(self) -> dict[str, Any]:
        """Return each model's parameters."""
        return {name: model.metadata() for name, model in self._models.items()}

    def add(self, block: Block) -> str:
        """Take the next block, and return the lines of the previous one, whose end is now known."""
        before, self._waiting = self._waiting, block
        return "" if before is None else self._rows(before, int(block.time_ns[0])).text()

    def end(self) -> str:
        """Return the lines of the last block, which only ends the period."""
        if self._waiting is None:
            return ""
        return self._rows(self._waiting, int(self._waiting.time_ns[-1])).text()

    def _rows(self, block: Block, end_ns: int) -> Rows:
        def elevation_deg(end: End) -> Floats | None:
            if block.chain is None:
                return None
            # Chains start and end with a user next to its satellite.
            user, satellite = (0, 1) if end == "from" else (-1, -2)
            times_s = (block.time_ns + self._origin_ns) / NS_PER_S
            positions = self._builder.network.chain_positions_km(block.chain, times_s)
            station = self._builder.network.stations[0 if end == "from" else 1]
            ray = positions[:, satellite] - positions[:, user]
            return visibility.elevation_deg(station, station.position_km + ray)

        view = View(block.time_ns.astype(np.int64), end_ns, elevation_deg)
        rows = self._overlay.rows(view, block.delay_ns, block.connected, block.path_id, block.event)
        self.rows += len(rows.time_ns)
        lengths_ns = np.diff(rows.time_ns, append=end_ns)
        down = ~(rows.forward.connected & rows.backward.connected)
        self.down_s += float(lengths_ns[down].sum()) / NS_PER_S
        highest_ns = max(way.delay_ns.max() for way in (rows.forward, rows.backward))
        self.max_delay_ms = max(self.max_delay_ms, float(highest_ns) / NS_PER_MS)
        return rows
