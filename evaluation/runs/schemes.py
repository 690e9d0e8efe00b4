"""The schemes under test, ``--schemes cubic,astraea=runs/x/policy``, and descriptions of schemes."""

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import leosim

from leogym.agents.training import registry
from leogym.agents.training.registry import shipped
from leogym.common import json_text, text_file
from leogym.common.errors import InputError, printable
from leogym.common.nearest import suggest_names
from leogym.configs.suite import LISTED_BY, Suite
from leogym.evaluation.entries import process
from leogym.kernel_bridge.quic import stacks
from leogym.results.metrics import ORACLE

POLICY_FILES = ("policy.onnx", "policy.json")

GROUPS = {
    "all": "classic and learned",
    "classic": "every scheme that runs without a policy, but udp, which does not control congestion, "
    "and oracle, the upper bound",
    "learned": "the policies that come with LeoGym",
}
"""Names that ``--schemes`` takes for several schemes, with what they stand for."""

UDP = "udp"
LEARNED = {
    "astraea": "Astraea (Liao et al., EuroSys 2024): multi-agent reinforcement learning for fairness; "
    "one action per monitor interval multiplies the window.",
    "orca": "Orca (Abbasloo et al., SIGCOMM 2020): a learned agent multiplies CUBIC's window every 20 ms.",
    "aurora": "Aurora (Jay et al., ICML 2019): a learned agent moves the sending rate every half RTT.",
    "sage": "A recurrent policy with the inputs and the action of Sage (Yen et al., SIGCOMM 2023), which "
    "learns offline from recorded runs of kernel schemes: it multiplies the window every 10 ms.",
    "orbit": "Orbit (ours): a network detects competitors and names rates for a controller, every 10 ms.",
}
"""The report's line about a policy's agent; lines about other schemes are those of `leosim.schemes`."""


@dataclass(frozen=True)
class Policy:
    """An exported policy behind a scheme's name, or a program that acts in its place."""

    folder: Path
    files: dict[str, bytes] = field(repr=False)
    metadata: dict[str, Any]
    departures: str | None = None
    """For a shipped policy, one line with its differences from the publication."""
    program: process.Program | None = None

    @property
    def shipped(self) -> bool:
        """Whether the policy comes with LeoGym or has weights of a publication's authors."""
        provenance = self.metadata.get("provenance", {})
        return self.departures is not None or bool(provenance.get("imported_from"))

    @property
    def interval_ms(self) -> float:
        """The monitor interval of its training."""
        return float(self.metadata["interval_ms"])

    @property
    def sha256(self) -> str:
        """The hash of network and metadata, or of the program."""
        if self.program is not None:
            return self.program.sha256
        return hashlib.sha256(b"".join(self.files[name] for name in POLICY_FILES)).hexdigest()

    @property
    def origin(self) -> str:
        """A sentence on the weights' origin."""
        if self.program is not None:
            path = (
                " It knows base RTT and capacity, which no sender measures."
                if self.program.knows_path
                else ""
            )
            return f"A program, confined to a process of its own.{path}"
        provenance = self.metadata.get("provenance", {})
        if imported := provenance.get("imported_from"):
            of = provenance.get("index_sha256", "")
            return f"Authors' weights, imported from {imported} (SHA-256 {of[:12]}…)."
        if self.departures is not None:
            return self.departures
        if not provenance:
            return "No provenance given."
        command = provenance.get("command")
        return f"Trained by: {command}." if command else "Its origin is unknown."


@dataclass(frozen=True)
class Contestants:
    """Schemes in the user's order, and their policies."""

    names: list[str] | None
    policies: dict[str, Policy]
    left_out: tuple[str, ...] = ()
    """Members of `GROUPS` that the backend does not run."""


def about(name: str, policy: Policy | None, *, located: bool = True, simulated: bool = True) -> str:
    """Return the report's description of a scheme; unless ``located`` without the path of its policy.

    Unless ``simulated``, a QUIC stack is described by its program.
    """
    text = "" if policy else _of_scheme(name, simulated)
    if policy:
        if policy.program is None:
            agent = policy.metadata.get("agent", "")
            text = LEARNED.get(agent, "") if policy.shipped else _own(agent)
        where = printable(policy.folder.as_posix()) if located else name
        kind = "Policy" if policy.program is None else "File"
        text += f" {policy.origin} {kind} {where}, SHA-256 {policy.sha256[:12]}…"
        steps = policy.metadata.get("provenance", {}).get("steps")
        text += f", trained for {steps:,} steps" if isinstance(steps, int) else ""
        text += f", monitor interval {policy.interval_ms:g} ms."
    return text.strip() or "No description."


def _of_scheme(name: str, simulated: bool) -> str:
    """Return the description of a scheme without a policy."""
    here = leosim.schemes() | (leosim.stack_schemes() if simulated else {})
    return here.get(name) or stacks.describe(name) or ""


def _own(agent: str) -> str:
    """Return the description of a policy that does not come with LeoGym, by its specification."""
    return f"A policy with the observation and action of {agent}." if agent else ""


def parse(text: str, backend_schemes: list[str]) -> Contestants:
    """Return the schemes of ``NAME,NAME=PATH,…``, with their policies loaded and checked.

    A name that is not in ``backend_schemes`` stands for that agent's shipped policy. A name of `GROUPS` adds
    its members that are not named elsewhere.

    Raises:
        InputError: a scheme is unknown or a duplicate, or a policy cannot be loaded.
    """
    names: list[str] = []
    policies: dict[str, Policy] = {}
    left_out: list[str] = []
    ours = shipped()
    items = [item for item in (part.strip() for part in text.split(",")) if item]
    named = {item.partition("=")[0] for item in items}
    for item in items:
        name, equals, path = item.partition("=")
        if item in GROUPS:
            members = [member for member in members_of(item) if member not in named and member not in names]
            names += [member for member in members if member in backend_schemes or member in ours]
            policies |= {
                member: load_policy(ours[member])
                for member in members
                if member not in backend_schemes and member in ours
            }
            left_out += [member for member in members if member not in backend_schemes and member not in ours]
            continue
        if not name or (equals and not path):
            raise InputError(f"--schemes: {item}: must be NAME or NAME=PATH")
        if name in names:
            raise InputError(f"--schemes: {name}: is a duplicate")
        if equals and name in backend_schemes:
            raise InputError(f"--schemes: {name}: is built in; give the policy another name")
        if equals:
            policies[name] = load_program(path) if process.is_program(path) else load_policy(Path(path))
        elif name not in backend_schemes and name in ours:
            policies[name] = load_policy(ours[name])
        else:
            require_known(name, "--schemes", backend_schemes)
        names.append(name)
    if not names:
        raise InputError("--schemes: (empty): must name at least one scheme")
    return Contestants(names, policies, tuple(left_out))


def members_of(group: str) -> list[str]:
    """Return the schemes of one of `GROUPS`; they do not depend on the backend."""
    classic = [name for name in leosim.schemes() if name not in (UDP, ORACLE)]
    return {"classic": classic, "learned": [*shipped()], "all": [*classic, *shipped()]}[group]


def of_suites(suites: Iterable[Suite]) -> Contestants:
    """Return the suites' own schemes, with the shipped policies of those that have one."""
    named = {name for suite in suites for name in suite.schemes}
    policies = {name: load_policy(folder) for name, folder in shipped().items() if name in named}
    return Contestants(None, policies)


def require_known(name: str, source: str, runnable: Collection[str]) -> None:
    """Raise an `InputError` that lists the ``runnable`` schemes unless ``name`` is one."""
    if name not in runnable:
        registry.require_present(name, source)
        where = ", but the simulator does" if name in {*leosim.schemes(), *leosim.stack_schemes()} else ""
        raise InputError(
            f"{source}: {name}: not a scheme that this backend runs{where} "
            f"{suggest_names(name, [*runnable, *shipped()], LISTED_BY)}; "
            f"a trained policy is given as --schemes {name}=PATH"
        )


def load_program(text: str) -> Policy:
    """Return the program ``FILE.py:Class`` or ``FILE.so``, or raise an `InputError`."""
    program = process.load(text)
    return Policy(Path(text), {}, {"interval_ms": program.interval_ms}, program=program)


def load_policy(path: Path) -> Policy:
    """Return the policy in the folder ``path`` or its subfolder ``policy``, or raise an `InputError`."""
    folder = path if (path / "policy.json").exists() else path / "policy"
    if not (folder / "policy.json").is_file():
        raise InputError(f"{path}: policy.json: there is no policy in this folder")
    try:
        leosim.Policy.load(str(folder))
        files = {name: (folder / name).read_bytes() for name in POLICY_FILES}
    except OSError as error:
        raise InputError(f"{folder}: cannot be read: {error.strerror}") from None
    name = str(folder / "policy.json")
    ours = [name for name, its in shipped().items() if (its / "policy").resolve() == folder.resolve()]
    departures = registry.get(ours[0]).departures if ours else None
    description = json_text.parse(text_file.decode(files["policy.json"], name), name)
    return Policy(folder, files, description, departures)
