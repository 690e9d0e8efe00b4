"""Grids of steps, re-selections and route updates, all counted from the epoch."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Clock:
    """Integer steps since the epoch, so a trace that starts later is the tail of one that starts earlier."""

    step_ms: int
    first_step: int  # the step of the trace's first row
    end_step: int  # the step of the trace's last row
    reattach_steps: int  # users choose satellites at multiples of this plus ``reattach_phase_steps``
    route_steps: int  # routes are updated at multiples of this
    reattach_phase_steps: int = 0

    def seconds(self, step: int) -> float:
        """Return the time of ``step`` since the epoch."""
        return step * self.step_ms / 1000

    @property
    def first_slot_step(self) -> int:
        """The last re-selection at or before the first row."""
        return self.next_reattach(self.first_step) - self.reattach_steps

    def next_reattach(self, step: int) -> int:
        """Return the first re-selection after ``step``."""
        slot = (step - self.reattach_phase_steps) // self.reattach_steps
        return (slot + 1) * self.reattach_steps + self.reattach_phase_steps

    def next_route(self, step: int) -> int:
        """Return the first route update after ``step``."""
        return (step // self.route_steps + 1) * self.route_steps
