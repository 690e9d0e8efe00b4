"""Backends, which turn scenarios into measurements."""

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

import leosim

from leogym import kernel_bridge
from leogym.common import build
from leogym.common.errors import InputError
from leogym.common.nearest import suggest_names
from leogym.configs.scenario import CALL_SCHEME, Scenario
from leogym.evaluation.entries.process import Program
from leogym.evaluation.runs import programs
from leogym.kernel_bridge.bridge import own_objects
from leogym.kernel_bridge.host import schemes
from leogym.kernel_bridge.lab import image, own_modules, qemu
from leogym.kernel_bridge.lab import virtual_run as lab
from leogym.kernel_bridge.quic import stacks
from leogym.kernel_bridge.runner import backends as real
from leogym.kernel_bridge.runner.link_shells import Backend as LinkBackend
from leogym.kernel_bridge.runner.run import check, execute
from leogym.kernel_bridge.runner.served_flows import runnable_schemes
from leogym.kernel_bridge.runner.stop import Stop
from leogym.results.measurement import Measurement
from leogym.traces.path import cache

SERIES_MS = 100.0
"""Interval of the recorded time series: the path traces' grid."""


@dataclass(frozen=True)
class Inputs:
    """Traces and policies of runs as bytes, which can be sent to other machines."""

    traces: Mapping[str, bytes]
    policies: Mapping[str, Mapping[str, bytes]]
    part_rows: int = 1 << 18
    """About how many rows of series each run may hold in memory."""
    programs: Mapping[str, Program] = field(default_factory=dict)
    """Programs by scheme, which only the simulator runs."""


class Backend(Protocol):
    """Runs scenarios; thread-safe. Constructed from `Inputs` and a `Stop` that ends runs early."""

    real_time: bool
    """Whether runs take as long as their scenarios and disturb each other."""

    @staticmethod
    def version() -> str | None:
        """Return the version that, with the scenario, determines results; None: they are not reproducible."""
        ...

    def check(self, scenarios: Iterable[Scenario]) -> None:
        """Raise an `InputError` if the machine lacks something or the backend cannot express a scenario."""
        ...

    def run(self, scenario_json: str, interval_ms: float) -> Measurement:
        """Run a resolved `configs.scenario.Scenario`; raise a `StoppedError` if the `Stop` is set."""
        ...


@runtime_checkable
class Streaming(Protocol):
    """A backend that can yield a measurement in parts."""

    def stream(self, scenario_json: str, interval_ms: float) -> Iterator[Measurement]:
        """Yield the parts of what ``run`` returns, in order of time."""
        ...


def measure(engine: Backend, scenario_json: str, interval_ms: float) -> Iterator[Measurement]:
    """Run a scenario and yield its measurement, in parts if the backend can."""
    if isinstance(engine, Streaming):
        yield from engine.stream(scenario_json, interval_ms)
    else:
        yield engine.run(scenario_json, interval_ms)


class Simulator:
    """The packet-level simulator."""

    real_time = False

    def __init__(self, inputs: Inputs, stop: Stop | None = None) -> None:
        self._stop = stop or Stop()
        self._traces = {name: cache.parse(csv, name) for name, csv in inputs.traces.items()}
        self._policies = {scheme: policy_of(files) for scheme, files in inputs.policies.items()}
        self._part_rows = inputs.part_rows
        self._programs = inputs.programs

    @staticmethod
    def schemes() -> list[str]:
        """Return the schemes that run without a policy, those of QUIC stacks and that of calls."""
        return [*leosim.schemes(), *leosim.stack_schemes(), CALL_SCHEME]

    @staticmethod
    def version() -> str | None:
        """Return the digest of the simulator's build."""
        return build.core()

    def check(self, scenarios: Iterable[Scenario]) -> None:
        """Reject scenarios whose flows several programs steer."""
        for scenario in scenarios:
            programs.steered(scenario, self._programs)

    def run(self, scenario_json: str, interval_ms: float, series_ms: float = SERIES_MS) -> Measurement:
        """Simulate a scenario on the calling thread, without the GIL; a row of series every ``series_ms``."""
        if (name := self._program_of(scenario_json)) is not None:
            return programs.simulate(
                scenario_json,
                name,
                self._programs[name],
                self._traces,
                self._policies,
                interval_ms=interval_ms,
                series_ms=series_ms,
                stop=self._stop,
            )
        [log] = leosim.run(
            [scenario_json],
            self._traces,
            self._policies,
            interval_ms=interval_ms,
            series_ms=series_ms,
            threads=1,
            check=self._stop.check,
        )
        return Measurement.of(log)

    def stream(self, scenario_json: str, interval_ms: float) -> Iterator[Measurement]:
        """Simulate a scenario on the consuming thread, without the GIL."""
        if self._program_of(scenario_json) is not None:
            yield self.run(scenario_json, interval_ms)
            return
        simulation = leosim.Simulation(
            scenario_json, self._traces, self._policies, interval_ms=interval_ms, series_ms=SERIES_MS
        )
        names = simulation.link_names
        schemes = [{"flow": flow, "scheme": name} for flow, name in enumerate(simulation.flow_schemes)]
        intervals = max(1, self._part_rows // (len(schemes) + len(names)))
        while not simulation.finished:
            self._stop.check()
            series = simulation.advance(intervals * SERIES_MS / 1e3, check=self._stop.check)
            flows, links, invalid = schemes, [], None
            if simulation.finished:
                log = simulation.run_log()
                flows, links, invalid = log.flows, log.links, log.invalid
            yield Measurement(flows, links, *series[:2], names, invalid, series[2])

    def _program_of(self, scenario_json: str) -> str | None:
        if not self._programs:
            return None
        return programs.steered(Scenario.model_validate_json(scenario_json), self._programs)


class _OfKernel:
    """A backend whose flows run on a Linux kernel."""

    def __init__(self, inputs: Inputs, stop: Stop | None = None) -> None:
        self._stop = stop or Stop()
        require_no_programs(inputs.programs)
        self._traces, self._policies = inputs.traces, inputs.policies


class RealTcp(_OfKernel):
    """The host's real TCP stack behind link shells."""

    real_time = True
    links: type[LinkBackend]

    @staticmethod
    def schemes() -> list[str]:
        """Return the schemes of this machine's kernel and of leo-bridge."""
        return runnable_schemes(schemes.available(), [], agents=False)

    @staticmethod
    def version() -> str | None:
        """Return None: real-time runs are not reproducible."""
        return None

    def check(self, scenarios: Iterable[Scenario]) -> None:
        """Reject scenarios that the machine's shells cannot express."""
        for scenario in scenarios:
            check(scenario, self._traces, self.links(), self._policies)

    def run(self, scenario_json: str, interval_ms: float) -> Measurement:
        """Run a scenario in real time."""
        scenario = Scenario.model_validate_json(scenario_json)
        try:
            with policy_folders(self._policies) as policies:
                return execute(scenario, self._traces, self.links(), SERIES_MS, policies, self._stop)
        except RuntimeError as error:
            return _invalid(error)


class Lab(_OfKernel):
    """A stock Linux kernel in virtual time; each run has its own virtual machine and is undisturbed."""

    real_time = False

    @staticmethod
    def schemes() -> list[str]:
        """Return the schemes of the guest's kernel and of leo-bridge."""
        return lab.schemes()

    @staticmethod
    def version() -> str | None:
        """Return the hash of the guest's image, stacks, QEMU and the code that reads the guest's logs."""
        package = Path(kernel_bridge.__file__).parent
        readers = sorted(path for path in package.rglob("*.py") if not path.name.startswith("test_"))
        parts = [hashlib.sha256(path.read_bytes()).hexdigest() for path in readers]
        own = [module.sha256 for module in own_modules.registered(image.latest()).values()]
        words = [
            *own,
            *own_objects.digests(),
            stacks.digest(),
            str(image.latest().manifest["sha256"]),
            qemu.version(),
            build.core(),
            *parts,
        ]
        return hashlib.sha256("\0".join(words).encode()).hexdigest()

    def check(self, scenarios: Iterable[Scenario]) -> None:
        """Reject scenarios that the guest cannot express."""
        for scenario in scenarios:
            lab.check(scenario, self._traces, self._policies)

    def run(self, scenario_json: str, interval_ms: float) -> Measurement:
        """Run a scenario in a virtual machine; blocks."""
        try:
            scenario = Scenario.model_validate_json(scenario_json)
            return lab.execute(scenario, self._traces, SERIES_MS, policies=self._policies, stop=self._stop)
        except RuntimeError as error:
            return _invalid(error)


def _invalid(error: RuntimeError) -> Measurement:
    """Return the measurement of a run that failed: other runs go on."""
    return Measurement([], [], {}, {}, [], str(error))


BACKENDS: dict[str, type[Simulator] | type[RealTcp] | type[Lab]] = {
    "simulator": Simulator,
    **{name: type(name, (RealTcp,), {"links": links}) for name, links in real.BACKENDS.items()},
    "lab": Lab,
}


def backend(name: str) -> type[Simulator] | type[RealTcp] | type[Lab]:
    """Return the backend called ``name``, or raise an `InputError` that lists all."""
    if name not in BACKENDS:
        raise InputError(
            f"--backend: {name}: not a backend that this build runs {suggest_names(name, BACKENDS)}"
        )
    return BACKENDS[name]


def require_no_programs(scheme_programs: Mapping[str, Program]) -> None:
    """Raise an `InputError` for programs: they run in step with a simulation, not with a clock."""
    if scheme_programs:
        raise InputError(f"--schemes: {next(iter(scheme_programs))}: only --backend simulator runs a program")


@contextmanager
def policy_folders(policies: Mapping[str, Mapping[str, bytes]]) -> Iterator[dict[str, Path]]:
    """Write policies' files to temporary folders for the block; yield them by scheme."""
    with tempfile.TemporaryDirectory() as folder:
        folders = {}
        for index, (scheme, files) in enumerate(policies.items()):
            folders[scheme] = Path(folder) / str(index)
            folders[scheme].mkdir()
            for name, data in files.items():
                (folders[scheme] / name).write_bytes(data)
        yield folders


def policy_of(files: Mapping[str, bytes]) -> leosim.Policy:
    """Return the policy in files by name."""
    with policy_folders({"": files}) as folders:
        return leosim.Policy.load(str(folders[""]))
