import contextlib
import gc
import math
import os
import time
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from leogym import envs
from leogym.common.errors import InputError
from leogym.envs.sb3 import LeoVecEnv
from leogym.kernel_bridge.bridge import process as bridge_process
from leogym.kernel_bridge.host import schemes
from leogym.kernel_bridge.runner.leo_links import LeoLinks

pytestmark = pytest.mark.real_time

LACK = LeoLinks().missing() or bridge_process.missing()
needs_bridge = pytest.mark.skipif(LACK is not None, reason=LACK or "")
PIPE = {"rate_mbps": 12, "delay_ms": 10}


def _scenario(duration_s, *flows):
    agents = [{"scheme": "agent", "route": ["l"], **flow} for flow in flows]
    return {"name": "t", "duration_s": duration_s, "links": {"l": PIPE}, "flows": agents}


def _left():
    names = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    own = [name for name in names if name.startswith(f"{schemes.NAME_PREFIX}{os.getpid():x}.")]
    return own + list(Path("/tmp").glob(f"leogym-run-*-{os.getpid()}-*"))


@pytest.fixture
def opened():
    """Return a function that closes its argument at the end of the test."""
    with contextlib.ExitStack() as stack:
        yield lambda env: stack.enter_context(contextlib.closing(env))


@needs_bridge
@pytest.mark.parametrize("backend", ["mahimahi", "kernel"])
def test_steps_take_a_monitor_interval_and_windows_follow_the_actions(backend, opened):
    env = opened(gymnasium.make("leo/Flow-v0", scenario=_scenario(2, {}), backend=backend).unwrapped)
    _, before = env.reset(seed=1)
    first_s = last_s = before["time_s"]
    began_s, steps, late, over = time.monotonic(), 0, 0, False
    while not over:
        observation, reward, terminated, truncated, info = env.step(np.ones(1, np.float32))
        over = terminated or truncated
        steps += 1
        assert env.observation_space.contains(observation)
        assert abs(reward) <= 0.1 + 1e-6
        # A step does not wait for a bridge that is silent for three intervals.
        silent = info["time_s"] == before["time_s"]
        if not over and not silent and info["late_decisions"] == late:
            # Astraea's action of 1: ceil(1.025 cwnd), and at least the four packets of a fast retransmit.
            assert info["cwnd_packets"] == max(4, math.ceil(1.025 * before["cwnd_packets"]))
        if not over:
            last_s = info["time_s"]
        before, late = info, info["late_decisions"]
    # A late step spans more than one interval, and the last one is shorter.
    assert time.monotonic() - began_s > 0.03 * (steps - 2)
    assert steps + late >= (last_s - first_s) / 0.03 - 1
    assert truncated
    assert not terminated
    assert info["time_s"] == 2
    assert not _left(), "an episode that is over needs nothing more"


@needs_bridge
def test_orcas_actions_move_the_window_of_cubic_which_moves_on_by_itself(opened):
    env = gymnasium.make(
        "leo/Flow-v0", scenario=_scenario(30, {}), agent="orca", backend="kernel", interval_ms=20.0
    ).unwrapped
    opened(env)
    env.reset(seed=1)
    # "cwnd = 2^(2 a) x cwnd_u" (Abbasloo et al., SIGCOMM 2020, equation 1): an action of 0 is plain CUBIC.
    alone = [env.step(np.zeros(1, np.float32))[4]["cwnd_packets"] for _ in range(100)]
    assert len(set(alone)) > 5, "CUBIC grows between commands that leave its window"
    before, cwnds = alone[-1], []
    for _ in range(50):
        cwnds.append(env.step(np.full(1, -1.0, np.float32))[4]["cwnd_packets"])
    assert min(cwnds) < before / 2


@needs_bridge
@pytest.mark.parametrize("backend", ["mahimahi", "kernel"])
def test_auroras_steps_take_half_an_rtt_and_the_rate_follows_the_actions(backend, opened):
    scenario = {**_scenario(3, {}), "links": {"l": {"rate_mbps": 12, "delay_ms": 40}}}
    env = opened(gymnasium.make("leo/Flow-v0", scenario=scenario, agent="aurora", backend=backend).unwrapped)
    _, before = env.reset(seed=1)
    lengths, rates, over, sign = [], [], False, 1.0
    while not over:
        _, _, terminated, truncated, info = env.step(np.full(1, sign, np.float32))
        over = terminated or truncated
        # A flow is unpaced until its first command takes effect, at an ACK.
        if (
            not over
            and min(before["rtt_ms"], before["pacing_mbps"]) > 0
            and info["time_s"] > before["time_s"]
        ):
            # In the released simulator, an interval is 0.5 of the previous one's mean latency.
            lengths.append((info["time_s"] - before["time_s"]) / (before["rtt_ms"] / 2e3))
            # x (1 + 0.025 a) for a >= 0, else / (1 - 0.025 a) (Jay et al., ICML 2019, equation 1).
            rates.append((info["pacing_mbps"] / before["pacing_mbps"]) ** sign)
        # Stay below the link's rate, so that no queue hides the sending rate.
        sign = 1.0 if info["pacing_mbps"] < 3 else -1.0 if info["pacing_mbps"] > 6 else sign
        before = info
    # Medians, because a busy machine makes some steps long.
    assert len(lengths) > 20
    assert np.median(lengths) == pytest.approx(1.0, abs=0.05)
    assert np.median(rates) == pytest.approx(1.025, abs=0.001)
    assert truncated


@needs_bridge
def test_whoever_thinks_for_too_long_is_told_and_goes_on_with_what_is_the_case_now(opened):
    env = opened(gymnasium.make("leo/Flow-v0", scenario=_scenario(3, {}), backend="kernel").unwrapped)
    _, first = env.reset(seed=1)
    assert first["late_decisions"] == 0
    time.sleep(0.1)  # a bit more than three intervals
    second = first
    while second["time_s"] == first["time_s"]:
        second = env.step(np.zeros(1, np.float32))[4]
    assert second["late_decisions"] >= 3
    assert second["time_s"] - first["time_s"] > 0.1
    env.reset()
    assert len(_left()) == 2, "one run at a time: a scheme and a folder"
    env.close()
    assert not _left()


@needs_bridge
def test_flows_join_and_leave_a_parallel_environment_when_the_scenario_says_so(opened):
    env = opened(envs.parallel_env(_scenario(3, {"stop_s": 1.5}, {"start_s": 0.8}), backend="kernel"))
    env.reset(seed=1)
    events = []
    while env.agents:
        before = list(env.agents)
        _, _, terminations, truncations, _ = env.step(
            {name: env.action_space(name).sample() for name in before}
        )
        events += [(name, "joined") for name in env.agents if name not in before]
        events += [(name, "terminated") for name, ended in terminations.items() if ended]
        events += [(name, "truncated") for name, ended in truncations.items() if ended]
    assert events == [("flow_1", "joined"), ("flow_0", "terminated"), ("flow_1", "truncated")]
    assert not _left()


@needs_bridge
def test_a_dropped_environment_ends_its_run():
    env = gymnasium.make("leo/Flow-v0", scenario=_scenario(60, {}), backend="kernel")
    env.reset(seed=1)
    assert _left()
    del env
    gc.collect()  # wrappers refer to each other
    assert not _left()


@needs_bridge
@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: LeoVecEnv(2, _scenario(1, {}), backend="kernel"), "one scenario at a time"),
        (lambda: gymnasium.make("leo/Flow-v0", backend="tunnel"), "there are: simulator, mahimahi"),
        (
            lambda: envs.parallel_env(
                {**_scenario(1, {}), "links": {"l": {**PIPE, "queue": {"kind": "pie", "alpha": 1}}}},
                backend="kernel",
            ).reset(),
            "links.l.queue.alpha",
        ),
    ],
)
def test_what_real_time_cannot_do_is_one_line(make, rule):
    with pytest.raises(InputError, match=rule) as caught:
        make()
    assert "\n" not in str(caught.value)
    assert not _left()


def test_an_ordinary_user_gets_one_line(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(InputError, match=r"is not installed|is not built|need root") as caught:
        gymnasium.make("leo/Flow-v0", scenario=_scenario(1, {}), backend="mahimahi")
    assert "\n" not in str(caught.value)
