"""Check that each node of a cluster computes the same results and can use the output folder."""

import secrets
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import NodeDiedError, RayError, TaskUnschedulableError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from leogym.common import build
from leogym.common.atomic import write_atomically
from leogym.common.cluster.head import Node, first_line
from leogym.common.errors import InputError

WORKER_START_TIMEOUT_S = 60.0
"""A node must start a worker within this time."""
TOKEN_FILE = ".seen-by-nodes"
"""The file in the output folder that each node reads."""


@dataclass(frozen=True)
class Folder:
    """An output folder that all nodes write to, and the token in its `TOKEN_FILE`."""

    path: Path
    token: str

    @staticmethod
    def marked(path: Path) -> "Folder":
        """Write a new token into an existing folder."""
        folder = Folder(path.absolute(), secrets.token_hex(16))
        write_atomically(folder.path / TOKEN_FILE, folder.token.encode())
        return folder

    def clear(self) -> None:
        """Delete the token."""
        with suppress(OSError):
            (self.path / TOKEN_FILE).unlink()


class NodeChecks:
    """The checks of all nodes that have processors; each node is checked once."""

    def __init__(self, packages: Sequence[str], folder: Folder | None) -> None:
        """Check versions of the distributions ``packages``, and access to ``folder``."""
        self._packages, self._folder = tuple(packages), folder
        self._own_build = build.describe(self._packages)
        self._checking: dict[Any, Node] = {}
        self._passed: set[str] = set()

    def start(self, nodes: Iterable[Node]) -> None:
        """Start the checks of nodes that are new."""
        checked = self._passed | {node.id for node in self._checking.values()}
        for node in nodes:
            if node.id not in checked and node.cpus > 0:
                self._checking[_ask(node, self._packages, self._folder)] = node

    def faults(self, wait_s: float = 0.0) -> list[str]:
        """Return a line for each node whose check has ended and failed, waiting up to ``wait_s``."""
        if not self._checking:
            return []
        waiting = list(self._checking)
        ready, _ = ray.wait(waiting, num_returns=len(waiting), timeout=wait_s)
        faults = []
        for result in ready:
            node = self._checking.pop(result)
            try:
                fault = self._fault(ray.get(result))
            except RayError as error:
                if isinstance(error, TaskUnschedulableError | NodeDiedError):
                    continue  # it has left
                fault = f"cannot be checked: {first_line(error)}"
            if fault is None:
                self._passed.add(node.id)
            else:
                faults.append(f"node {node.address}: {fault}")
        return faults

    def require(self, nodes: Sequence[Node]) -> None:
        """Check nodes and wait for the answers.

        Raises:
            InputError: a node differs, does not see the folder, or does not answer.
        """
        self.start(nodes)
        if faults := self.faults(WORKER_START_TIMEOUT_S):
            more = f" (and {len(faults) - 1} more nodes)" if len(faults) > 1 else ""
            raise InputError(f"{faults[0]}{more}")
        if self._checking:
            node = next(iter(self._checking.values()))
            raise InputError(
                f"node {node.address}: has started no worker within {WORKER_START_TIMEOUT_S:g} s"
            )

    def _fault(self, result: dict[str, Any]) -> str | None:
        if (missing := result["missing"]) is not None:
            if missing in ("leogym", "leosim"):
                return f"{missing} is not installed: {build.REMEDY}"
            return f"leogym is another version or lacks a package ({missing}): {build.REMEDY}"
        if (fault := build.difference(self._own_build, result["build"])) is not None:
            return fault
        if result["folder"] is not None and self._folder is not None:
            return f"{self._folder.path}: --out: {result['folder']}: name a folder that all nodes share"
        return None


def _ask(node: Node, packages: tuple[str, ...], folder: Folder | None) -> Any:
    options: dict[str, Any] = {"num_cpus": 0, "max_retries": 3}
    options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(node.id, soft=False)
    check: Any = ray.remote(**options)(check_as_code())
    path, token = (str(folder.path / TOKEN_FILE), folder.token) if folder is not None else (None, None)
    return check.remote(packages, path, token)


def check_as_code() -> Callable[..., dict[str, Any]]:
    """Return the check for a node. Ray sends its code: the node may lack leogym or have an old one."""

    def check(packages: tuple[str, ...], path: str | None, token: str | None) -> dict[str, Any]:
        import os

        result: dict[str, Any] = {"missing": None, "build": {}, "folder": None}
        try:
            from leogym.common import build

            result["build"] = build.describe(packages)
        except ImportError as error:
            result["missing"] = error.name or str(error)
        if path is not None:
            try:
                with open(path) as file:
                    if file.read() != token:
                        result["folder"] = "is another folder on this node"
                probe = f"{path}-{os.getpid()}-{os.uname().nodename}"
                with open(probe, "w"):
                    pass
                os.unlink(probe)
            except FileNotFoundError:
                result["folder"] = "is not seen by this node"
            except OSError as error:
                result["folder"] = f"cannot be written by this node: {error.strerror}"
        return result

    return check
