"""Start ``leo-bridge`` and end it."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from leogym.common.errors import InputError
from leogym.common.extras import install
from leogym.kernel_bridge.bridge.client import Bridge
from leogym.kernel_bridge.host.installed import installed


def program() -> str | None:
    """Return the path of ``leo-bridge``: ``$LEO_BRIDGE``, else as `installed` finds it."""
    if named := os.environ.get("LEO_BRIDGE"):
        return named
    path = installed("leo-bridge")
    return str(path) if path else None


def missing() -> str | None:
    """Return one line about the first thing that a bridge lacks on this machine, or None."""
    if (path := program()) is None:
        return f"leo-bridge: is not installed: {install('kernel')}, or make kernel in a clone"
    check = subprocess.run([path, "check"], capture_output=True, text=True, check=False)
    lacks = [line.removeprefix("NO").strip() for line in check.stdout.splitlines() if line.startswith("NO")]
    return f"leo-bridge: {lacks[0]}" if lacks else None


def clean() -> list[str]:
    """Remove congestion controls that killed bridges left; return a line about each."""
    if os.geteuid() != 0 or (path := program()) is None:
        return []
    return subprocess.run([path, "clean"], capture_output=True, text=True, check=False).stdout.splitlines()


@dataclass(frozen=True)
class Offered:
    """Flows offered to clients, adapted to an agent's specification (`core/control`)."""

    agent: str


@dataclass(frozen=True)
class OwnObject:
    """The user's BPF object with a congestion control, which needs no decisions."""

    file: Path


Decider = Path | str | Offered | OwnObject | None
"""What decides for a congestion control's flows; see `BridgeProcess`."""

OVER_CUBIC = "over-cubic"  # flows offered to clients, with Cubic between their commands, as Orca needs it
SCHEMES = ("copa", "satcp", "vivace", "vivace-kernel", "vivace-proteus")
"""Schemes that the bridge implements."""


def options(schemes: Mapping[str, Decider]) -> list[str]:
    """Return the options of ``leo-bridge run`` that register congestion controls (see `BridgeProcess`)."""
    arguments = []
    for name, decider in schemes.items():
        if decider is None:
            arguments += ["--offer", name]
        elif isinstance(decider, Path):
            arguments += ["--policy", f"{name}={decider}"]
        elif isinstance(decider, Offered):
            arguments += ["--offer", f"{name}={decider.agent}"]
        elif isinstance(decider, OwnObject):
            arguments += ["--object", f"{name}={decider.file}"]
        elif decider == OVER_CUBIC:
            arguments += ["--offer-over-cubic", name]
        elif decider == "satcp":
            arguments += ["--satcp", name]
        else:
            arguments += ["--scheme", f"{name}={decider}"]
    return arguments


class BridgeProcess:
    """A bridge that runs as long as the ``with`` block; it ends with this process, even if that is killed.

    Args:
        schemes: congestion controls by name (1 to 15 letters, digits, _ and .): a policy's folder, one of
            `SCHEMES`, an `OwnObject`, or None, `OVER_CUBIC` or an `Offered` to offer the flows to clients.
        interval_ms: monitor interval of flows without a policy.
        seed: seed of the schemes' random decisions.
        address: the socket to listen on.
        user: user to become after loading; only this user and root may connect. Default: the user who
            called sudo, else the account nobody.
        link: False ignores BPF links, as on kernels before Linux 6.4.

    Raises:
        InputError: the machine lacks something, or a policy is wrong.
    """

    def __init__(
        self,
        schemes: Mapping[str, Decider],
        *,
        interval_ms: float | None = None,
        seed: int | None = None,
        address: str | None = None,
        user: str | None = None,
        link: bool = True,
    ) -> None:
        self.address = f"@leo-bridge-{os.getpid()}-{id(self):x}" if address is None else address
        self._arguments = ["run", "--with-parent", "--socket", self.address, *options(schemes)]
        if interval_ms is not None:
            self._arguments += ["--interval-ms", f"{interval_ms:g}"]
        if seed is not None:
            self._arguments += ["--seed", str(seed)]
        if user is not None:
            self._arguments += ["--user", user]
        if not link:
            self._arguments.append("--no-link")
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        if (path := program()) is None:
            raise InputError(str(missing()))
        # Show its messages only if it does not start. A separate session keeps a terminal's Ctrl-C away.
        self.process = subprocess.Popen(
            [path, *self._arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        if not self.process.stdout.readline():
            _, why = self.process.communicate()
            self.process = None
            raise InputError(" ".join(why.split()) or "leo-bridge: ended without a message")
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.communicate()

    @property
    def pid(self) -> int:
        """Return the process id."""
        assert self.process is not None, "outside of its with block"
        return self.process.pid

    def client(self) -> Bridge:
        """Return a new connection to the bridge."""
        return Bridge(self.address)

    def too_late(self) -> list[str]:
        """Return why the run so far is invalid (late decisions); empty if it is valid."""
        with self.client() as client:
            schemes = client.status()["schemes"]
        return [f"{scheme['scheme']}: {scheme['too_late']}" for scheme in schemes if scheme["too_late"]]
