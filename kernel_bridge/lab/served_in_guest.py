"""Flows in the guest that leo-bridge serves: its own schemes, and exported policies.

What it needs goes into the guest with the run; `kernel_bridge.inside.guest_bridge` starts it there.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kernel_bridge.bridge import process as bridge_process
from kernel_bridge.host.schemes import OURS
from kernel_bridge.inside.session import Role, ServedResult, ServedSession
from kernel_bridge.lab.image import BRIDGE, Image
from kernel_bridge.lab.initramfs import File
from kernel_bridge.runner import served_flows
from kernel_bridge.runner.plan import Plan

Policies = Mapping[str, Mapping[str, bytes]]
"""Scheme to its policy folder's files."""


def missing(image: Image) -> str | None:
    """Say in one line why leo-bridge cannot run in an image's guest, or None."""
    if f"bin/{BRIDGE}" not in image.manifest["files"]:
        return (
            "lab: the image has no leo-bridge: make kernel builds it, then python -m kernel_bridge lab build"
        )
    if not image.manifest["btf"]:
        return (
            f"lab: Linux {image.manifest['kernel']} has no type information (BTF), which leo-bridge needs: "
            "python -m kernel_bridge lab build --kernel takes one with CONFIG_DEBUG_INFO_BTF=y"
        )
    return None


class ServedInGuest:
    """The bridge of one run.

    Args:
        plan: whose flows it serves.
        policies: what its policies' folders hold.
        folder: the run's, in the guest.
    """

    def __init__(self, plan: Plan, policies: Policies, folder: str) -> None:
        self._plan = plan
        folders = {scheme: Path(folder) / f"policies/{number}" for number, scheme in enumerate(policies)}
        self._deciders = served_flows.deciders(plan, folders)
        # The guest is this run's alone.
        self._names = {scheme: f"{OURS}{number}" for number, scheme in enumerate(self._deciders)}
        self.files = {
            str(folders[scheme] / name): File(data)
            for scheme in self._deciders
            if scheme in policies
            for name, data in policies[scheme].items()
        }
        """By absolute path in the guest."""

    def scheme(self, scheme: str, role: Role) -> str | None:
        """Return what an end of a flow sets ``TCP_CONGESTION`` to, if its scheme is served."""
        if scheme not in self._names:
            return None
        return self._names[scheme] if role == "send" else served_flows.RECEIVERS_SCHEME

    def described(self, first_port: int) -> ServedSession | None:
        """Return what the guest is told, or None where nothing is served.

        Args:
            first_port: flow ``n`` of the plan goes to port ``first_port + n``.
        """
        if not self._deciders:
            return None
        named = {self._names[scheme]: decider for scheme, decider in self._deciders.items()}
        reports = served_flows.reports(self._plan, first_port)
        return {
            "options": [*bridge_process.options(named), "--seed", str(self._plan.seed)],
            "satcp": self._names.get(served_flows.SATCP),
            "reports": {str(port): times for port, times in reports.items()},
        }

    def fault(self, told: ServedResult | None) -> str | None:
        """Say why the flows were not served as they should have been, from what the guest told."""
        if told is None:
            return None
        by_name = {one["scheme"]: one for one in told["schemes"]}
        found = (served_flows.unserved(scheme, by_name[name]) for scheme, name in self._names.items())
        return next(filter(None, found), told["fault"])
