"""A run with QUIC flows inside the lab's guest: their ends are programs on hosts, beside TCP flows' ends."""

import os
import time

from leogym.kernel_bridge.inside import scenario
from leogym.kernel_bridge.inside.guest_programs import GuestPrograms
from leogym.kernel_bridge.inside.programs import END_S
from leogym.kernel_bridge.inside.session import GuestQuicSession, QuicEnd


class GuestQuic(GuestPrograms):
    """A run with QUIC flows. Their senders are servers, which listen before the run's start."""

    def __init__(self, session: GuestQuicSession) -> None:
        super().__init__(session)
        self.ends = session["quic_ends"]
        self.stopped: set[int] = set()  # places of programs that were asked to stop

    def start_servers(self) -> None:
        """Start the logger of each end's first packets, and the senders."""
        words = []
        for end in self.ends:
            host = self.programs["hosts"][self.programs["programs"][end["program"]]["host"]]
            for way, file in end["first_packets"].items():
                words += [self.network(host["level"]), way, str(end["port"]), file]
        self.loggers.append(self.start_shell([*self.prefix(), "/bin/first_datagram", *words]))
        super().start_servers()

    def run_clients(self, origin_ns: int) -> bool:
        """Start the receivers and stop both ends of each flow at their times; the TCP flows run, too."""
        programs = self.programs["programs"]
        begins = [end for end in self.ends if programs[end["program"]]["listens"] is None]
        starts = [(programs[end["program"]]["start_ns"], True, end) for end in begins]
        stops = [(end["stop_ns"], False, end) for end in self.ends]
        # Stable: of ends that stop at the same time, the sender's program stops first.
        for at_ns, is_start, end in sorted([*starts, *stops], key=lambda event: event[:2]):
            self.pass_time(origin_ns + at_ns)
            if is_start:
                self.start_program(end["program"])
            else:
                self.stop(end)
        limit_ns = time.monotonic_ns() + round(END_S * 1e9)
        while self.running and time.monotonic_ns() < limit_ns:
            self.wait_until(limit_ns, set())
        self.end_ns = time.monotonic_ns() - origin_ns
        self.end_programs(limit_ns)
        for place, result in self.results.items():
            result["start_ns"] -= origin_ns
            result["stop_ns"] -= origin_ns
            if place in self.stopped:
                result["status"] = None
        for logger in self.loggers:
            self.end_shell(logger)
        return True

    def pass_time(self, until_ns: int) -> None:
        """Wait, and collect programs that end."""
        while time.monotonic_ns() < until_ns:
            self.wait_until(until_ns, set())

    def stop(self, end: QuicEnd) -> None:
        """Ask a program to stop, if it still runs."""
        if (program := self.running.get(end["program"])) is not None:
            os.kill(program.process.pid, end["stop_signal"])
            self.stopped.add(end["program"])


def main() -> int:
    """Carry out the session in the JSON file of the first argument; return the exit status."""
    return scenario.main(GuestQuic)
