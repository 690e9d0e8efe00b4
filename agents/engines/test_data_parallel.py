import os
import select
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pipe

import pytest
import torch
from torch import nn

from leogym.agents.engines.data_parallel import Ended, MeanGradients, Ranks, started
from leogym.common.errors import InputError

LIMIT_S = 60.0


def together(size: int, work):
    """Return the results of ``work(ranks)`` in ``size`` threads."""
    ends = [Pipe() for _ in range(size - 1)]
    ranks = [Ranks(0, size, [ours for ours, _ in ends])]
    ranks += [Ranks(rank, size, [theirs]) for rank, (_, theirs) in enumerate(ends, 1)]
    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(work, ranks))


def network() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def test_ranks_are_heard_in_their_order_and_all_hear_the_first():
    heard = together(3, lambda ranks: (ranks.gather(10 * ranks.rank), ranks.broadcast(ranks.rank)))
    assert heard == [([0, 10, 20], 0), (None, 0), (None, 0)]


def test_gradients_of_parts_of_a_batch_become_the_gradient_of_all_of_it():
    batch = torch.randn(12, 4, generator=torch.Generator().manual_seed(2))
    whole = network()
    whole(batch).square().mean().backward()
    networks = [network() for _ in range(3)]

    def learn(ranks: Ranks) -> list[torch.Tensor]:
        own = networks[ranks.rank]
        MeanGradients(ranks, own.parameters(), torch.optim.Adam(own.parameters()))
        own(batch[4 * ranks.rank :][:4]).square().mean().backward()
        return [parameter.grad for parameter in own.parameters()]

    first, *others = together(3, learn)
    for mean, parameter in zip(first, whole.parameters(), strict=True):
        torch.testing.assert_close(mean, parameter.grad)
    for other in others:
        assert all(map(torch.equal, first, other)), "bitwise equal: weights must not diverge"


def test_weights_stay_the_same_in_all_ranks_whatever_each_learns_from():
    networks = [network() for _ in range(2)]

    def learn(ranks: Ranks) -> list[torch.Tensor]:
        own, generator = networks[ranks.rank], torch.Generator().manual_seed(ranks.rank)
        adam = torch.optim.Adam(own.parameters(), lr=0.1)
        MeanGradients(ranks, own.parameters(), adam)
        for _ in range(5):
            adam.zero_grad()
            own(torch.randn(3, 4, generator=generator)).square().mean().backward()
            nn.utils.clip_grad_norm_(own.parameters(), 0.1)
            adam.step()
        return list(own.parameters())

    first, second = together(2, learn)
    assert all(map(torch.equal, first, second))
    assert not any(map(torch.equal, first, network().parameters()))


def test_a_step_without_all_gradients_is_refused_since_ranks_would_drift_apart():
    part, other = nn.Linear(2, 1), nn.Linear(2, 1)
    parameters = [*part.parameters(), *other.parameters()]
    adam = torch.optim.Adam(parameters)
    MeanGradients(Ranks(), parameters, adam)
    part(torch.ones(1, 2)).sum().backward()
    with pytest.raises(RuntimeError, match=r"^2 parameters have no gradient"):
        adam.step()


def test_who_waits_for_a_rank_that_is_no_more_is_told():
    ours, theirs = Pipe()
    theirs.close()
    with pytest.raises(Ended):
        Ranks(0, 2, [ours]).gather(1)
    with pytest.raises(Ended):
        Ranks(0, 2, [ours]).broadcast(1)


def gather_pids(ranks: Ranks) -> list[int] | None:
    return ranks.gather(os.getpid())


def die(ranks: Ranks) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def object_to(ranks: Ranks, what: str) -> None:
    raise InputError(f"{what}: in rank {ranks.rank}")


def test_processes_end_with_the_run_and_are_not_this_one():
    with started(2, gather_pids) as ranks:
        first, second = gather_pids(ranks) or []
    assert first == os.getpid() != second
    with pytest.raises(ProcessLookupError):
        os.kill(second, 0)


def test_a_process_that_is_killed_ends_the_run_with_one_line():
    with (
        pytest.raises(InputError, match=r"^--workers: process 2 of 2 was killed by signal 9$"),
        started(2, die) as ranks,
    ):
        ranks.gather(None)


def test_what_a_process_cannot_go_on_for_is_what_the_run_ends_with():
    with pytest.raises(InputError, match=r"^a trace: in rank 1$"), started(2, object_to, "a trace") as ranks:
        ranks.gather(None)


def test_a_run_that_is_killed_leaves_no_process_behind():
    program = (
        "from leogym.agents.engines import data_parallel, test_data_parallel as here\n"
        "if __name__ == '__main__':\n"
        "    with data_parallel.started(2, here.follow) as ranks:\n"
        "        print(ranks.gather(None)[1], flush=True)\n"
        "        input()\n"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert run.stdin is not None
    assert run.stdout is not None
    with run.stdin, run.stdout:
        other = os.pidfd_open(int(run.stdout.readline()))
        run.kill()
        run.wait()
        ended, _, _ = select.select([other], [], [], LIMIT_S)
    os.close(other)
    assert ended


def follow(ranks: Ranks) -> None:
    ranks.gather(os.getpid())
    ranks.broadcast(None)
