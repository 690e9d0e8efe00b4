"""Native vector environments with threads, in processes that fork."""

import os
import signal

import numpy as np

from leogym.envs.flow import FlowVectorEnv
from leogym.envs.test_flow import SHORT

SECONDS = 60
ACTIONS = np.zeros((3, 1), np.float32)


def _digest(env: FlowVectorEnv) -> bytes:
    return b"".join(env.step(ACTIONS)[0].tobytes() for _ in range(20))


def test_a_vector_environment_with_threads_goes_on_after_a_fork_in_parent_and_child():
    env = FlowVectorEnv(3, SHORT, threads=2)
    env.reset(seed=1)
    _digest(env)  # the parent's threads run
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover (another process)
        signal.alarm(SECONDS)  # a child that hangs ends by this signal
        os.write(writing, _digest(env))
        os._exit(0)
    os.close(writing)
    parents = _digest(env)
    with os.fdopen(reading, "rb") as pipe:
        childs = pipe.read()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, f"the child ended by signal {status} ({signal.SIGALRM})"
    assert childs == parents
