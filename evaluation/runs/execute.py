"""Running a plan: on this machine's cores, or as tasks of a Ray cluster."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from configs.errors import InputError
from evaluation.runs.backends import Backend, Inputs, backend, measure
from evaluation.runs.plan import Run
from kernel_bridge.runner.stop import Stop
from results.measurement import Measurement

RAY_ANSWER_S = 5.0
PARTS_AHEAD = 2
"""Parts of a run that its task may have ready before they are fetched."""
AHEAD = 2
"""Runs that each thread may have before it, so that none is idle."""
LOOK_S = 0.5
"""So often the main thread looks for signals: one that comes between Python's last look and a wait, or to
another thread, does not end the wait."""

Taken = TypeVar("Taken")
Take: TypeAlias = Callable[[Run, Iterator[Measurement]], Taken]


def run_here(
    runs: Sequence[Run], inputs: Inputs, jobs: int, take: Take[Taken]
) -> Generator[tuple[Run, Taken], None, None]:
    """Yield each run with what ``take`` made of its measurement, as it ends.

    One thread a run, so that each can be recorded the moment it ends; the simulator releases the GIL.

    Args:
        runs: all of one backend.
        inputs: every trace and policy that they name.
        jobs: runs at a time; 0 takes one a core, or one alone where they run in real time.
        take: called on the run's thread with its measurement, part by part.
    """
    if not runs:
        return
    kind, stop = backend(runs[0].backend), Stop()
    engine = kind(inputs, stop)

    def parts(run: Run) -> Iterator[Measurement]:
        return measure(engine, run.scenario.to_json(), run.interval_ms)

    yield from _on_threads(runs, parts, jobs_here(kind, jobs), take, stop)


def connect_ray(address: str) -> None:
    """Join the cluster at ``address``, as of `ray.init`; ``local`` starts one on this machine.

    Raises:
        InputError: no cluster answers.
    """
    # Ray tries for many minutes to reach a host that does not answer; a mistyped one should cost seconds.
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        try:
            socket.create_connection((host, int(port)), timeout=RAY_ANSWER_S).close()
        except (OSError, OverflowError) as error:
            raise InputError(f"--ray: {address}: no cluster answers: {error}") from None
    elif address not in ("local", "auto"):
        raise InputError(f"--ray: {address}: must be HOST:PORT, ray://HOST:PORT, auto or local")

    import ray  # a second of import time that only users of a cluster pay

    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
    except Exception as error:  # where a process of Ray's is late it raises just that
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        if address == "local":
            advice = "end other work here and try again, or leave --ray away: runs use all cores without it"
            raise InputError(f"--ray: local: Ray did not start: {reason}; {advice}") from None
        raise InputError(f"--ray: {address}: no cluster answers: {reason}") from None


def run_on_ray(
    runs: Sequence[Run], inputs: Inputs, jobs: int, take: Take[Taken]
) -> Generator[tuple[Run, Taken], None, None]:
    """Do what `run_here` does with each run a task of the cluster that was joined; then leave it.

    Traces and policies are sent along: the cluster's machines need this package, not these files. Parts come
    home one by one, and a task waits for those on their way; only through Ray's client (``ray://``), which
    has no streams, a run comes home as a whole.

    Args:
        runs: all of one backend.
        inputs: every trace and policy that they name.
        jobs: runs at a time; 0 takes two a core of the cluster, so that none is idle.
        take: called on a thread here with a run's measurement, part by part.
    """
    import ray
    from ray.exceptions import RayTaskError
    from ray.util.client import ray as client

    try:
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
    finally:
        ray.shutdown()


def _on_threads(
    runs: Sequence[Run],
    parts: Callable[[Run], Iterator[Measurement]],
    threads: int,
    take: Take[Taken],
    stop: Stop,
) -> Generator[tuple[Run, Taken], None, None]:
    """Yield each run as it ends, with what ``take`` made of its parts on one of so many threads.

    Whatever ends this before all runs have ended, as Ctrl-C, asks those that run to stop, and waits for them.
    """
    if not runs:
        return

    def one(run: Run) -> Taken:
        return take(run, parts(run))

    with ThreadPoolExecutor(min(threads, len(runs))) as pool:
        try:
            # Few at a time, for a wait looks at all that are pending.
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
    """Return how many runs of a backend there are at a time here, for ``--jobs``."""
    return jobs or (1 if kind.real_time else available_cores())


def available_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


def _run_remotely(name: str, inputs: Inputs, scenario_json: str, interval_ms: float) -> Iterator[Measurement]:
    yield from measure(backend(name)(inputs), scenario_json, interval_ms)


def _run_remotely_as_a_whole(*arguments: Any) -> list[Measurement]:
    return list(_run_remotely(*arguments))
