"""Describe and judge flows that leo-bridge serves in the guest: its schemes, policies and own BPF objects.

They go into the guest with the run; `kernel_bridge.inside.guest_bridge` starts leo-bridge there.
"""

from collections.abc import Mapping
from pathlib import Path

from leogym.common.extras import install
from leogym.kernel_bridge.bridge import own_objects
from leogym.kernel_bridge.bridge import process as bridge_process
from leogym.kernel_bridge.host.schemes import NAME_PREFIX
from leogym.kernel_bridge.inside.session import Role, ServedResult, ServedSession
from leogym.kernel_bridge.lab.image import BRIDGE, BUILD, Image
from leogym.kernel_bridge.lab.initramfs import File
from leogym.kernel_bridge.runner import served_flows
from leogym.kernel_bridge.runner.plan import Plan

Policies = Mapping[str, Mapping[str, bytes]]  # the files of each scheme's policy folder


def missing(image: Image) -> str | None:
    """Return one line if leo-bridge cannot run in an image's guest, or None."""
    if f"bin/{BRIDGE}" not in image.manifest["files"]:
        return (
            f"lab: the image has no leo-bridge: {install('kernel')}, or make kernel in a clone; then {BUILD}"
        )
    if not image.manifest["btf"]:
        return (
            f"lab: Linux {image.manifest['kernel']} has no type information (BTF), which leo-bridge needs: "
            "build the image with a kernel that has CONFIG_DEBUG_INFO_BTF=y (lab build --kernel)"
        )
    return None


class ServedInGuest:
    """The bridge of one run; ``folder`` is the run's folder in the guest."""

    def __init__(self, plan: Plan, policies: Policies, folder: str) -> None:
        self._plan = plan
        folders = {scheme: Path(folder) / f"policies/{number}" for number, scheme in enumerate(policies)}
        registered = own_objects.registered()
        objects = {scheme: Path(folder) / f"objects/{number}" for number, scheme in enumerate(registered)}
        self._deciders = served_flows.deciders(plan, folders, objects)
        # Numbers suffice as names, because the guest has only this run.
        self._names = {scheme: f"{NAME_PREFIX}{number}" for number, scheme in enumerate(self._deciders)}
        self.files = {
            str(folders[scheme] / name): File(data)
            for scheme in self._deciders
            if scheme in policies
            for name, data in policies[scheme].items()
        }
        """The files of policies and objects, by absolute path in the guest."""
        self.files |= {
            str(objects[scheme]): File(registered[scheme].read_bytes())
            for scheme in self._deciders
            if scheme in objects
        }

    def scheme(self, scheme: str, role: Role) -> str | None:
        """Return the ``TCP_CONGESTION`` of a flow's end, or None if leo-bridge does not serve the scheme."""
        if scheme not in self._names:
            return None
        return self._names[scheme] if role == "send" else served_flows.RECEIVERS_SCHEME

    def described(self, first_port: int) -> ServedSession | None:
        """Return the guest's session for leo-bridge, or None if it serves no flow.

        Flow ``n`` of the plan goes to port ``first_port + n``.
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

    def fallbacks(self, result: ServedResult | None, first_port: int) -> dict[int, int]:
        """Return how often policies gave their flows to Cubic; see `served_flows.count_cubic_fallbacks`."""
        if result is None:
            return {}
        by_name = {status["scheme"]: status for status in result["schemes"]}
        by_scheme = {scheme: by_name[self._names[scheme]] for scheme in self._decided()}
        return served_flows.count_cubic_fallbacks(self._plan, by_scheme, first_port)

    def fault(self, result: ServedResult | None) -> str | None:
        """Return why leo-bridge's result makes the run invalid, or None."""
        if result is None:
            return None
        by_name = {status["scheme"]: status for status in result["schemes"]}
        faults = (
            served_flows.find_service_fault(scheme, by_name[self._names[scheme]])
            for scheme in self._decided()
        )
        return next(filter(None, faults), result["fault"])

    def _decided(self) -> list[str]:
        """Return the schemes for which leo-bridge decides."""
        return served_flows.decided(self._deciders)
