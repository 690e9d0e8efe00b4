"""Data-parallel training: each process has its own simulations, and all apply the mean of their gradients.

Their weights stay identical. Each process has a local pipe to the first and blocks on it, so waiting uses no
CPU. Sums are in rank order, so the same seed gives the same bytes.
"""

import multiprocessing
import pickle
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from leogym.agents.training.stopping import Stopped
from leogym.common.errors import InputError

JOIN_S = 10.0
"""Time limit for a process to end after its last message."""


class Fault(Exception):
    """Why a rank stopped, as a message to the first."""


class Ended(Exception):
    """The process at the other end of a pipe ended."""


class Ranks:
    """One process of a run.

    Args:
        rank: its number; the first, 0, reports and writes.
        size: the number of processes.
        links: in the first process, pipes to the others in order; in the others, the pipe to the first.
    """

    def __init__(self, rank: int = 0, size: int = 1, links: Sequence[Connection] = ()) -> None:
        self.rank, self.size = rank, size
        self._links = links

    def gather(self, value: Any) -> list[Any] | None:
        """Return every rank's value in order on the first, None on the others."""
        if self.rank:
            _send(self._links[0], value, 0)
            return None
        return [value, *(_receive(link, rank) for rank, link in enumerate(self._links, 1))]

    def broadcast(self, value: Any) -> Any:
        """Return the first rank's value."""
        if self.rank:
            return _receive(self._links[0], 0)
        for rank, link in enumerate(self._links, 1):
            _send(link, value, rank)
        return value

    def mean(self, values: torch.Tensor) -> torch.Tensor:
        """Return the mean of ``values``, of the same shape everywhere, over all ranks."""
        parts = self.gather(values.numpy())
        if parts is None:
            return torch.from_numpy(self.broadcast(None))
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return torch.from_numpy(self.broadcast(total / len(parts)))


ALONE = Ranks()


class MeanGradients:
    """Replaces the gradients of ``parameters`` by their mean over ``ranks`` as soon as all are accumulated.

    This precedes anything that reads them, such as norm clipping. Ranks must make the same number of updates.

    Raises:
        RuntimeError: on a step of ``optimizer`` if some parameter has no gradient.
    """

    def __init__(self, ranks: Ranks, parameters: Iterable[nn.Parameter], optimizer: Optimizer) -> None:
        self._ranks = ranks
        self._parameters = [parameter for parameter in parameters if parameter.requires_grad]
        self._missing = len(self._parameters)
        for parameter in self._parameters:
            parameter.register_post_accumulate_grad_hook(self._take)
        optimizer.register_step_pre_hook(self._require_mean)

    def _take(self, _: torch.Tensor) -> None:
        self._missing -= 1
        if self._missing:
            return
        gradients = [parameter.grad for parameter in self._parameters if parameter.grad is not None]
        mean = self._ranks.mean(torch.cat([gradient.reshape(-1) for gradient in gradients]))
        for gradient, part in zip(gradients, mean.split([g.numel() for g in gradients]), strict=True):
            gradient.copy_(part.view_as(gradient))

    def _require_mean(self, *_: Any) -> None:
        if self._missing:
            raise RuntimeError(f"{self._missing} parameters have no gradient: ranks would diverge")
        self._missing = len(self._parameters)


@contextmanager
def started(size: int, work: Callable[..., None], *arguments: Any) -> Iterator[Ranks]:
    """Run ``work(ranks, *arguments)`` in ``size`` - 1 other processes; yield this process's ranks, the first.

    The others end with the context, and by themselves if this process is killed. If one of them ends early or
    fails, raise `InputError`.
    """
    if size == 1:
        yield ALONE
        return
    # Do not fork: this process may have threads, for example of Ray or a tracker.
    context = multiprocessing.get_context("spawn")
    links: list[Connection] = []
    processes: list[SpawnProcess] = []
    try:
        for rank in range(1, size):
            ours, theirs = context.Pipe()
            process = context.Process(target=_run, args=(theirs, rank, size, work, arguments), daemon=True)
            process.start()
            theirs.close()
            links.append(ours)
            processes.append(process)
        yield Ranks(0, size, links)
        for process in processes:
            process.join(JOIN_S)
    except Ended as ended:
        (rank,) = ended.args
        processes[rank - 1].join(JOIN_S)
        raise InputError(f"--workers: {_how(rank, size, processes[rank - 1])}") from None
    finally:
        for link, process in zip(links, processes, strict=True):
            link.close()
            process.kill()
            process.join()


def _how(rank: int, size: int, process: SpawnProcess) -> str:
    code = process.exitcode
    if code is None:
        how = "no longer answers"
    else:
        how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
    return f"process {rank + 1} of {size} {how}"


def _run(link: Connection, rank: int, size: int, work: Callable[..., None], arguments: tuple[Any]) -> None:
    # A terminal or job scheduler signals the whole group; only the first process handles it and ends these.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    torch.set_num_threads(1)  # as in the first process
    try:
        work(Ranks(rank, size, [link]), *arguments)
    except (Ended, Stopped):
        pass  # the first process was killed or asked to stop
    except InputError as error:
        with suppress(OSError):  # the first process may have failed, too
            link.send_bytes(pickle.dumps(Fault(str(error))))


def _send(link: Connection, value: Any, rank: int) -> None:
    try:
        # Pickle by value: `Connection.send` would share tensors, which disappear with their process.
        link.send_bytes(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
    except OSError:
        # The other's Fault may be waiting unread.
        _receive(link, rank)
        raise Ended(rank) from None


def _receive(link: Connection, rank: int) -> Any:
    try:
        value = pickle.loads(link.recv_bytes())
    except (EOFError, OSError):
        raise Ended(rank) from None
    if isinstance(value, Fault):
        raise InputError(str(value))
    return value
