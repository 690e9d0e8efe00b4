"""Run a plan on this machine's cores or as tasks on a Ray cluster."""

import logging
import socket
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from leogym.configs import extras
from leogym.configs.errors import InputError
from leogym.configs.machine import cores
from leogym.evaluation.runs.backends import Backend, Inputs, backend, measure
from leogym.evaluation.runs.plan import Run
from leogym.kernel_bridge.runner.stop import Stop
from leogym.results.measurement import Measurement

RAY_ANSWER_S = 5.0
PARTS_AHEAD = 2
"""Parts of a run that its task may produce ahead of the reader."""
AHEAD = 2
"""Runs submitted per thread, to keep all threads busy."""
LOOK_S = 0.5
"""Poll interval for signals: a blocking wait misses one just before it or on another thread."""

Taken = TypeVar("Taken")
Take: TypeAlias = Callable[[Run, Iterator[Measurement]], Taken]


def run_here(
    runs: Sequence[Run], inputs: Inputs, jobs: int, take: Take[Taken]
) -> Generator[tuple[Run, Taken], None, None]:
    """Yield each run with ``take``'s result as soon as it ends.

    Each run has its own thread; the simulator releases the GIL.

    All runs have the same backend. ``jobs`` run at a time; 0: one per core, or one in real time. ``take`` is
    called on the run's thread with the parts of its measurement.
    """
    if not runs:
        return
    kind, stop = backend(runs[0].backend), Stop()
    engine = kind(inputs, stop)

    def parts(run: Run) -> Iterator[Measurement]:
        return measure(engine, run.scenario.to_json(), run.interval_ms)

    yield from _on_threads(runs, parts, jobs_here(kind, jobs), take, stop)


@contextmanager
def joined(address: str | None) -> Iterator[None]:
    """Join the cluster at ``address``, as for `ray.init`, and leave it afterwards; None: none.

    ``local`` starts one on this machine. Within another one, this does nothing: joining takes seconds, and
    so do a cluster's processes until they have imported this package.

    Raises:
        InputError: no cluster answers, or Ray does not start here.
    """
    if address is None:
        yield
        return
    with extras.needed_by("--ray"):
        import ray  # imported here because it takes a second
    if ray.is_initialized():
        yield
        return
    _join(address)
    try:
        yield
    finally:
        ray.shutdown()


def _join(address: str) -> None:
    import ray

    # Ray tries for minutes to reach a host that does not answer; report a mistyped one within seconds.
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        try:
            socket.create_connection((host, int(port)), timeout=RAY_ANSWER_S).close()
        except (OSError, OverflowError) as error:
            raise InputError(f"--ray: {address}: no cluster answers: {error}") from None
    elif address not in ("local", "auto"):
        raise InputError(f"--ray: {address}: must be HOST:PORT, ray://HOST:PORT, auto or local")

    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
    except Exception as error:  # Ray raises a plain Exception when one of its processes is late
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        if address == "local":
            advice = "end other work here and try again, or drop --ray: runs use all cores without it"
            raise InputError(f"--ray: local: Ray did not start: {reason}; {advice}") from None
        raise InputError(f"--ray: {address}: no cluster answers: {reason}") from None


def run_on_ray(
    runs: Sequence[Run], inputs: Inputs, jobs: int, take: Take[Taken]
) -> Generator[tuple[Run, Taken], None, None]:
    """Like `run_here`, with each run as a task on the `joined` cluster.

    Traces and policies are sent along: the cluster's machines need this package but no files. Parts arrive
    one by one, and tasks wait until they are fetched. Ray's client (``ray://``) cannot stream parts.

    ``jobs`` run at a time; 0: two per core of the cluster, to keep all busy.
    """
    import ray
    from ray.exceptions import RayTaskError
    from ray.util.client import ray as client

    shared = ray.put(inputs)
    streams = not client.is_connected()
    options: dict[str, Any] = {"num_cpus": 1, "max_retries": 3}
    if streams:
        options |= {"num_returns": "streaming", "_generator_backpressure_num_objects": PARTS_AHEAD}
    task: Any = ray.remote(**options)(_run_remotely if streams else _run_remotely_as_a_whole)
    stop = Stop()

    def parts(run: Run) -> Iterator[Measurement]:
        stop.check()
        answer = task.remote(run.backend, shared, run.scenario.to_json(), run.interval_ms)
        try:
            with stop.by(lambda: ray.cancel(answer, force=True)):
                arrived: Iterable[Any] = map(ray.get, answer) if streams else ray.get(answer)
                yield from arrived
        except RayTaskError as error:
            if isinstance(error.cause, InputError):
                raise InputError(str(error.cause)) from None
            raise

    cores = int(ray.cluster_resources().get("CPU", 1))
    yield from _on_threads(runs, parts, jobs or 2 * max(1, cores), take, stop)


def _on_threads(
    runs: Sequence[Run],
    parts: Callable[[Run], Iterator[Measurement]],
    threads: int,
    take: Take[Taken],
    stop: Stop,
) -> Generator[tuple[Run, Taken], None, None]:
    """Yield each run as it ends, with ``take``'s result from one of the threads.

    On an early end, such as Ctrl-C, ask the active runs to stop and wait for them.
    """
    if not runs:
        return

    def one(run: Run) -> Taken:
        return take(run, parts(run))

    with ThreadPoolExecutor(min(threads, len(runs))) as pool:
        try:
            # Submit few at a time: a wait scans all pending futures.
            waiting = iter(runs)
            pending = {pool.submit(one, run): run for run in islice(waiting, AHEAD * threads)}
            while pending:
                done, _ = wait(pending, LOOK_S, return_when=FIRST_COMPLETED)
                for future in done:
                    pending |= {pool.submit(one, run): run for run in islice(waiting, 1)}
                    yield pending.pop(future), future.result()
        except BaseException:
            stop.ask()
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def jobs_here(kind: type[Backend], jobs: int) -> int:
    """Return how many runs of a backend run at a time on this machine, given ``--jobs``."""
    return jobs or (1 if kind.real_time else cores())


def _run_remotely(name: str, inputs: Inputs, scenario_json: str, interval_ms: float) -> Iterator[Measurement]:
    yield from measure(backend(name)(inputs), scenario_json, interval_ms)


def _run_remotely_as_a_whole(*arguments: Any) -> list[Measurement]:
    return list(_run_remotely(*arguments))
