"""Running a plan: on this machine's cores, or as tasks of a Ray cluster."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any

from configs.errors import InputError
from evaluation.backends import Inputs, backend
from evaluation.measurement import Measurement
from evaluation.plan import Run

RAY_ANSWER_S = 5.0


def run_here(runs: Sequence[Run], inputs: Inputs, jobs: int) -> Iterator[tuple[Run, Measurement]]:
    """Yield each run with its measurement as it ends.

    One thread a run, so that each can be recorded the moment it ends; the simulator releases the GIL.

    Args:
        runs: all of one backend.
        inputs: every trace and policy that they name.
        jobs: runs at a time; 0 takes one a core, or one alone where they run in real time.
    """
    if not runs:
        return
    kind = backend(runs[0].backend)
    engine = kind(inputs)
    with ThreadPoolExecutor(jobs or (1 if kind.real_time else available_cores())) as pool:
        pending = {pool.submit(engine.run, run.scenario.to_json(), run.interval_ms): run for run in runs}
        try:
            while pending:
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield pending.pop(future), future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


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
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"--ray: {address}: no cluster answers: {reason}") from None


def run_on_ray(runs: Sequence[Run], inputs: Inputs) -> Iterator[tuple[Run, Measurement]]:
    """Yield each run with its measurement as it ends, a task of the cluster that was joined; then leave it.

    Traces and policies are sent along: the cluster's machines need this package, not these files.

    Args:
        runs: all of one backend.
        inputs: every trace and policy that they name.
    """
    import ray

    try:
        shared = ray.put(inputs)
        task = ray.remote(num_cpus=1, max_retries=3)(_run_remotely)
        pending: dict[Any, Run] = {
            task.remote(run.backend, shared, run.scenario.to_json(), run.interval_ms): run for run in runs
        }
        while pending:
            [ref], _ = ray.wait(list(pending), num_returns=1)
            yield pending.pop(ref), ray.get(ref)
    finally:
        ray.shutdown()


def available_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


def _run_remotely(name: str, inputs: Inputs, scenario_json: str, interval_ms: float) -> Measurement:
    return backend(name)(inputs).run(scenario_json, interval_ms)
