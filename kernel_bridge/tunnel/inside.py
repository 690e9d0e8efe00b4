"""The first process of a tunnel's private namespaces: server, client, and a flow from client to server.

Runs as root with nothing but the standard library, as `kernel_bridge.runner.inside`, whose levels are here
the namespaces of the two ends.
"""

import importlib.util
import os
import subprocess
from pathlib import Path
from typing import Any


def _run_inside() -> Any:
    path = Path(__file__).parents[1] / "run" / "inside.py"
    spec = importlib.util.spec_from_file_location("run_inside", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


inside = _run_inside()
LOGS = ("ingress", "egress")


class TunnelRun(inside.Run):
    """A run through a tunnel: level 1 is the server's end, level 2 the client's."""

    def start_shells(self) -> subprocess.Popen[bytes]:
        """Start server and client; return the client, once both ends are there."""
        self.prepare_level(0)
        server = self.start_tunnel("server", [], level=1)
        assert server.stdout is not None
        # mm-tunnelclient localhost PORT CLIENT_ADDRESS SERVER_ADDRESS
        words = server.stdout.readline().decode().split()
        if len(words) != 5:
            _, stderr = server.communicate()
            raise RuntimeError(f"mm-tunnelserver: {stderr.decode(errors='replace').strip() or words}")
        client = self.start_tunnel("client", ["127.0.0.1", *words[2:]], level=2)
        for level, process in ((1, server), (2, client)):
            self.levels.append(self.read_mark(self.marks[level], process, level))
            self.prepare_level(level)
        self.server = server
        return client

    def start_tunnel(self, end: str, arguments: list[str], level: int) -> subprocess.Popen[bytes]:
        """Start one end around a command that marks its level and ends with its standard input."""
        folder = Path(self.run["folder"])
        pipe, script = folder / f"{end}.mark", folder / f"{end}.sh"
        os.mkfifo(pipe)
        # It takes only a command without options.
        script.write_text(f'#!/bin/sh\necho "{level} $$" >"{pipe}"\nexec /bin/cat\n')
        script.chmod(0o755)
        os.chown(pipe, self.run["uid"], self.run["gid"])
        marks = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.marks = {**getattr(self, "marks", {}), level: os.fdopen(marks, "rb", buffering=0)}
        logs = [f"--{name}-log={folder / end / name}.log" for name in LOGS]
        line = [str(self.private / f"mm-tunnel{end}"), *arguments, *logs, str(script)]
        return subprocess.Popen(
            [*self.as_ordinary_user(), *line],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=self.run["env"],
        )

    def end_shell(self, shell: subprocess.Popen[bytes]) -> None:
        """End the client, then the server."""
        for process in (shell, self.server):
            super().end_shell(process)


if __name__ == "__main__":
    raise SystemExit(inside.main(TunnelRun))
