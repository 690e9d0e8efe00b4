"""The first process of a tunnel's private namespaces: server, client, and a flow from client to server.

It carries out a run as `kernel_bridge.inside.scenario` does, with the ends' namespaces as levels 1 and 2.
"""

import subprocess
from pathlib import Path
from typing import IO

from leogym.kernel_bridge.inside import scenario

LOGS = ("ingress", "egress")


class TunnelRun(scenario.Run):
    """A run through a tunnel: level 1 is the server's end, level 2 the client's."""

    server: subprocess.Popen[bytes]

    def start_shells(self) -> subprocess.Popen[bytes]:
        """Start server and client; return the client once both have started."""
        self.prepare_level(0)
        server, server_marks = self.start_tunnel("server", [], level=1)
        assert server.stdout is not None
        # mm-tunnelclient localhost PORT CLIENT_ADDRESS SERVER_ADDRESS
        words = server.stdout.readline().decode().split()
        if len(words) != 5:
            _, stderr = server.communicate()
            raise RuntimeError(f"mm-tunnelserver: {stderr.decode(errors='replace').strip() or words}")
        client, client_marks = self.start_tunnel("client", ["127.0.0.1", *words[2:]], level=2)
        ends = ((server, server_marks), (client, client_marks))
        for level, (process, marks) in enumerate(ends, 1):
            self.levels.append(self.read_mark(marks, process, level))
            self.prepare_level(level)
        self.server = server
        return client

    def start_tunnel(
        self, end: str, arguments: list[str], level: int
    ) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
        """Start an end whose command marks its level; return the end and the pipe for the mark."""
        folder = Path(self.session["folder"])
        pipe, marks = self.make_marks(f"{end}.mark")
        script = folder / f"{end}.sh"
        # The tunnel's programs accept only a command without options.
        script.write_text(f'#!/bin/sh\necho "{level} $$" >"{pipe}"\nexec /bin/cat\n')
        script.chmod(0o755)
        logs = [f"--{name}-log={folder / end / name}.log" for name in LOGS]
        line = [str(self.private / f"mm-tunnel{end}"), *arguments, *logs, str(script)]
        return self.start_shell([*self.as_ordinary_user(), *line], stdout=subprocess.PIPE), marks

    def end_shell(self, shell: subprocess.Popen[bytes]) -> None:
        """End the client, then the server."""
        for process in (shell, self.server):
            super().end_shell(process)


if __name__ == "__main__":
    raise SystemExit(scenario.main(TunnelRun))
