"""A scheme for LeoBench as a Python class: the same rule as in example-scheme/src/lib.rs."""

TARGET = 1.1  # a smoothed RTT of 1.1 times the minimum


class Careful:
    """The state of one flow: every flow has an object of its own."""

    agent = "astraea+cwnd_ratio"  # observation and action, one of leosim.Batch.agents()
    interval_ms = 30.0

    def __init__(self) -> None:
        self.starting = True

    def act(self, observation):
        """Return the action after an interval: the window is multiplied by 4 to the power of it."""
        latest = observation[-10:]
        inflation, min_rtt_s, loss = float(latest[2]), 0.5 * float(latest[5]), float(latest[6])
        if self.starting and inflation < 1.25 and loss == 0.0:
            return 0.5 * min(self.interval_ms / 1e3 / max(min_rtt_s, 0.01), 1.0)  # twice per RTT
        self.starting = False
        return max(-0.05, min(0.02, 0.2 * (TARGET - inflation)))
