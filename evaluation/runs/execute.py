"""Run a plan on this machine's cores or as tasks on a Ray cluster."""

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from leogym.common import build
from leogym.common.cluster import joining
from leogym.common.errors import InputError
from leogym.common.machine import cores
from leogym.evaluation.runs.backends import Backend, Inputs, backend, measure
from leogym.evaluation.runs.plan import Run
from leogym.kernel_bridge.runner.stop import Stop
from leogym.results.measurement import Measurement

PACKAGES = ("numpy",)
"""Distributions besides leogym and leosim whose versions can change what a node measures."""
RETRIES = 3
"""Further attempts of a run whose worker or node is lost."""
NODE_CHECK_S = 10.0
"""A run's error may have its cause in a node that has just joined: its check ends within this time."""
PARTS_AHEAD = 2
"""Parts of a run that its task may produce ahead of the reader."""
AHEAD = 2
"""Runs submitted per thread, to keep all threads busy."""
LOOK_S = 0.5
"""Poll interval for signals: a blocking wait misses one just before it or on another thread."""

Item = TypeVar("Item")
Part = TypeVar("Part")
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

    threads = jobs_here(kind, jobs)
    yield from _on_threads(runs, parts, threads, lambda: AHEAD * threads, take, stop)


def run_on_ray(
    runs: Sequence[Run], inputs: Inputs, jobs: int, take: Take[Taken]
) -> Generator[tuple[Run, Taken], None, None]:
    """Like `run_here`, with each run as a task on the cluster of `joining.joined`.

    Traces and policies are sent along: the cluster's machines need this package but no files.
    """

    def label(run: Run) -> str:
        return f"{run.suite} {run.scenario.name} {run.scheme} {run.repeat}"

    yield from items_on_ray(
        runs,
        _measured,
        inputs,
        jobs,
        take,
        arguments=lambda run: (run.backend, run.scenario.to_json(), run.interval_ms),
        label=label,
    )


def items_here(
    items: Sequence[Item],
    work: Callable[[Item, Stop], Iterator[Part]],
    jobs: int,
    take: Callable[[Item, Iterator[Part]], Taken],
) -> Generator[tuple[Item, Taken], None, None]:
    """Like `run_here`, for items of any kind, whose ``work`` yields their parts."""
    stop, threads = Stop(), jobs or cores()
    yield from _on_threads(items, lambda item: work(item, stop), threads, lambda: threads, take, stop)


def items_on_ray(
    items: Sequence[Item],
    work: Callable[..., Iterator[Part]],
    shared: object,
    jobs: int,
    take: Callable[[Item, Iterator[Part]], Taken],
    *,
    arguments: Callable[[Item], tuple[Any, ...]],
    label: Callable[[Item], str],
) -> Generator[tuple[Item, Taken], None, None]:
    """Yield each item with ``take``'s result, like `run_on_ray`, for items of any kind.

    A task yields the parts of ``work(shared, *arguments(item))``. Parts arrive one by one, and tasks wait
    until they are fetched. Ray's client (``ray://``) cannot stream parts.

    ``jobs`` run at a time; 0: two per core of the cluster, to keep all busy, also of nodes that join later.
    """
    import ray
    from ray.exceptions import RayError, RayTaskError
    from ray.util.client import ray as client

    from leogym.common.cluster.head import first_line

    cluster, ours = joining.current(), build.describe(PACKAGES)
    cluster.require_cpus(1, "a run")
    common = ray.put(shared)
    streams = not client.is_connected()
    options: dict[str, Any] = {"num_cpus": 1, "max_retries": RETRIES}
    if streams:
        options |= {"num_returns": "streaming", "_generator_backpressure_num_objects": PARTS_AHEAD}
    task: Any = ray.remote(**options)(_run_remotely if streams else _run_remotely_as_a_whole)
    stop = Stop()

    def arrived(answer: Any) -> Iterator[Any]:
        while True:
            # Not only `ray.get`, which waits for ever if the cluster's head is lost.
            while not ray.wait([answer], timeout=LOOK_S)[0]:
                stop.check()
            if not streams:
                yield from ray.get(answer)
                return
            try:
                part = next(answer)
            except StopIteration:
                return
            yield ray.get(part)

    def parts(item: Item) -> Iterator[Part]:
        stop.check()
        answer = task.remote(work, common, *arguments(item))
        try:
            with stop.by(lambda: ray.cancel(answer, force=True)):
                answers = arrived(answer)
                if (why := build.refusal(ours, next(answers, None))) is not None:
                    raise InputError(cluster.with_resume(why))
                cluster.end_waiting()
                yield from answers
        except RayTaskError as error:
            if isinstance(error.cause, InputError):
                raise InputError(str(error.cause)) from None
            if (fault := cluster.fails_within(NODE_CHECK_S)) is not None:
                raise InputError(fault) from None
            raise
        except RayError as error:
            if (fault := cluster.fails_within(NODE_CHECK_S)) is not None:
                raise InputError(fault) from None
            why = f"its worker ended {RETRIES + 1} times: {first_line(error)}"
            raise InputError(cluster.with_resume(f"{label(item)}: {why}")) from None

    cluster.start_waiting(1, "a run")
    yield from _on_threads(items, parts, len(items), lambda: jobs or 2 * max(1, cluster.cpus), take, stop)


def _on_threads(
    items: Sequence[Item],
    parts: Callable[[Item], Iterator[Part]],
    threads: int,
    submitted: Callable[[], int],
    take: Callable[[Item, Iterator[Part]], Taken],
    stop: Stop,
) -> Generator[tuple[Item, Taken], None, None]:
    """Yield each item, such as a run, as it ends, with ``take``'s result from one of the threads.

    There are at most ``threads`` threads and ``submitted()`` unfinished items, a number that may change.
    On an early end, such as Ctrl-C, ask the active items to stop and wait for them.
    """
    if not items:
        return

    def measured(item: Item) -> Taken:
        return take(item, parts(item))

    # A pool starts no more threads than there are unfinished items.
    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        try:
            # Submit few at a time: a wait scans all pending futures.
            waiting, pending = iter(items), dict[Future[Taken], Item]()
            while True:
                free = max(0, submitted() - len(pending))
                pending |= {pool.submit(measured, item): item for item in islice(waiting, free)}
                if not pending:
                    break
                done, _ = wait(pending, LOOK_S, return_when=FIRST_COMPLETED)
                for future in done:
                    pending |= {pool.submit(measured, item): item for item in islice(waiting, 1)}
                    yield pending.pop(future), future.result()
        except BaseException:
            stop.ask()
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def jobs_here(kind: type[Backend], jobs: int) -> int:
    """Return how many runs of a backend run at a time on this machine, given ``--jobs``."""
    return jobs or (1 if kind.real_time else cores())


def _measured(inputs: Inputs, name: str, scenario_json: str, interval_ms: float) -> Iterator[Measurement]:
    """Yield the parts of a run's measurement."""
    yield from measure(backend(name)(inputs), scenario_json, interval_ms)


def _run_remotely(
    work: Callable[..., Iterator[Part]], shared: object, *arguments: Any
) -> Iterator[dict[str, str] | Part]:
    """Yield this node's build, then the parts of ``work``."""
    import ray

    yield {"node": ray.util.get_node_ip_address(), **build.describe(PACKAGES)}
    yield from work(shared, *arguments)


def _run_remotely_as_a_whole(*arguments: Any) -> list[Any]:
    return list(_run_remotely(*arguments))
