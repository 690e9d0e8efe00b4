"""A scheme for LeoBench as a Python class: the same rule as in example-scheme/src/lib.rs."""

TARGET = 1.1  # a smoothed RTT of 1.1 times the minimum


class Careful:
    """The state of one flow: every flow has its own object."""

    interval_ms = 30.0

    def __init__(self) -> None:
        self.starting = True
        self.window = 10.0

    def act(self, report):
        """Return the window after an interval."""
        inflation = report.smoothed_rtt_ms / report.min_rtt_ms
        if self.starting and inflation < 1.25 and report.lost_packets == 0:
            # Twice the window per RTT, as in slow start.
            self.window *= 2 ** (report.interval_ms / max(report.min_rtt_ms, report.interval_ms))
        else:
            self.starting = False
            self.window *= 4 ** max(-0.05, min(0.02, 0.2 * (TARGET - inflation)))
        self.window = max(self.window, 4.0)
        return {"cwnd_packets": self.window}
