import copy
import gc
import pickle
import subprocess
import sys
from itertools import pairwise

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.wrappers import AddRenderObservation, HumanRendering, RecordVideo
from matplotlib.figure import Figure

from leogym.common.errors import InputError
from leogym.envs import FLOW_ID, parallel_env
from leogym.envs.flow import FlowEnv
from leogym.envs.sb3 import LeoVecEnv

SHAPE = (480, 800, 3)
STATIC = {
    "name": "static",
    "duration_s": 1.5,
    "links": {"link": {"rate_mbps": 10.0, "delay_ms": 10.0, "queue": {"bdp": 1.0}}},
    "flows": [{"scheme": "agent", "route": ["link"]}],
}
TRACE = """# {"format": "leogym-path-trace", "version": 1, "name": "short"}
time_s,delay_ms,uplink_mbps,downlink_mbps,loss,connected,path_id,event
0,5,10,10,0,1,0,
1,5,10,10,0,%s
1.1,5,10,10,0,1,%d,
4,5,10,10,0,1,%d,
"""
ZERO = np.zeros(1, np.float32)


def frames(scenario: object, steps: int, seed: int = 1, **arguments: object) -> list[np.ndarray]:
    env = gymnasium.make(FLOW_ID, scenario=scenario, render_mode="rgb_array", **arguments)
    env.reset(seed=seed)
    drawn = [env.render()]
    for _ in range(steps):
        env.step(ZERO)
        drawn.append(env.render())
    env.close()
    return drawn


def test_frames_are_pictures_of_one_size_that_differ_as_the_episode_goes_on():
    drawn = frames(STATIC, 20)
    assert all(frame.shape == SHAPE and frame.dtype == np.uint8 for frame in drawn)
    assert all((frame != other).any() for frame, other in pairwise(drawn))


def test_the_same_seed_gives_the_same_bytes_however_often_it_was_drawn_before():
    every = frames("leo-agent", 30, seed=5)
    env = gymnasium.make(FLOW_ID, scenario="leo-agent", render_mode="rgb_array")
    env.reset(seed=6)
    env.render()
    env.reset(seed=5)
    for _ in range(30):
        env.step(ZERO)
    assert env.render().tobytes() == every[-1].tobytes()


def test_a_frame_marks_a_handover(tmp_path):
    (tmp_path / "handover.csv").write_text(TRACE % ("0,1,hard_handover", 1, 1))
    (tmp_path / "none.csv").write_text(TRACE % ("1,0,", 0, 0))
    red = []
    for name in ("handover", "none"):
        links = {"link": {"trace": str(tmp_path / f"{name}.csv")}}
        drawn = frames({**STATIC, "links": links, "duration_s": 3.0}, 60)
        strips = drawn[-1][50:420].astype(int)
        red.append(int(((strips[:, :, 0] > 150) & (strips[:, :, 1:].max(axis=2) < 80)).sum()))
    assert red[0] > 200, "a line through all strips"
    assert red[1] == 0


def test_without_a_mode_render_returns_none_and_matplotlib_is_not_imported():
    program = (
        "import gymnasium, leogym, sys\n"
        "env = gymnasium.make('leo/Flow-v0')\n"
        "env.reset(seed=1); env.step(env.action_space.sample())\n"
        "assert env.render() is None\n"
        "assert not [name for name in sys.modules if 'matplotlib' in name or 'envs.rendering' in name]\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert gymnasium.make_vec(FLOW_ID, num_envs=2).render() is None
    assert parallel_env().render() is None


@pytest.mark.parametrize(
    "face", [FlowEnv, parallel_env, LeoVecEnv, lambda **mode: gymnasium.make_vec(FLOW_ID, **mode)]
)
def test_an_unknown_mode_is_one_line_that_lists_the_known(face):
    with pytest.raises(InputError, match=r"^render_mode: 'ansi': unknown \(there are: .*rgb_array\)$"):
        face(render_mode="ansi")


def test_a_frame_before_the_first_reset_is_refused():
    with pytest.raises(ResetNeeded):
        FlowEnv(render_mode="rgb_array").render()


@pytest.mark.parametrize("interval_ms", [30.0, 50.0])
def test_a_video_runs_at_the_speed_of_life(interval_ms):
    env = gymnasium.make(FLOW_ID, render_mode="rgb_array", interval_ms=interval_ms)
    assert env.metadata["render_fps"] == round(1000 / interval_ms)
    assert FlowEnv.metadata["render_fps"] == 33


def test_the_vector_environment_gives_the_frames_of_its_single_environments():
    env = gymnasium.make_vec(FLOW_ID, num_envs=3, scenario=STATIC, render_mode="rgb_array")
    env.reset(seed=4)
    for _ in range(55):  # beyond the first episode
        env.step(np.zeros((3, 1), np.float32))
    drawn = env.render()
    assert isinstance(drawn, tuple)
    single = gymnasium.make_vec(
        FLOW_ID, num_envs=3, vectorization_mode="sync", scenario=STATIC, render_mode="rgb_array"
    )
    single.reset(seed=4)
    for _ in range(55):
        single.step(np.zeros((3, 1), np.float32))
    assert [frame.tobytes() for frame in drawn] == [frame.tobytes() for frame in single.render()]


def test_every_running_flow_of_the_parallel_environment_is_drawn():
    flows = [{"scheme": "agent", "route": ["link"]}, {"scheme": "agent", "route": ["link"], "start_s": 0.6}]
    env = parallel_env(scenario={**STATIC, "flows": flows}, render_mode="rgb_array")
    env.reset(seed=1)
    orange = []
    for _ in range(45):
        env.step({name: ZERO for name in env.agents})
        strips = env.render()[50:420].astype(int)
        orange.append(int(((strips[:, :, 0] > 180) & (strips[:, :, 2] < 60)).sum()))
    assert orange[10] == 0
    assert orange[-1] > orange[25] > 0


def test_stable_baselines_tiles_the_frames():
    env = LeoVecEnv(3, scenario=STATIC, render_mode="rgb_array")
    env.reset()
    env.step(np.zeros((3, 1), np.float32))
    assert env.render().shape == (2 * SHAPE[0], 2 * SHAPE[1], 3)


def test_observations_can_be_pictures():
    env = AddRenderObservation(gymnasium.make(FLOW_ID, scenario=STATIC, render_mode="rgb_array"))
    observation, _ = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    later, *_ = env.step(ZERO)
    assert later.shape == SHAPE
    assert (later != observation).any()


def test_gymnasiums_window_shows_the_frames(monkeypatch):
    pytest.importorskip("pygame", reason="needs pygame, with which Gymnasium shows frames")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = HumanRendering(gymnasium.make(FLOW_ID, scenario=STATIC, render_mode="rgb_array"))
    env.reset(seed=1)
    env.step(ZERO)
    assert env.render() is None
    assert env.screen_size == SHAPE[1::-1]
    env.close()


def test_recorded_videos_play(tmp_path):
    moviepy = pytest.importorskip("moviepy", reason="needs moviepy, with which Gymnasium writes videos")
    env = RecordVideo(
        gymnasium.make(FLOW_ID, scenario=STATIC, render_mode="rgb_array"), str(tmp_path / "videos")
    )
    env.reset(seed=1)
    over = False
    steps = 0
    while not over:
        *_, terminated, truncated, _ = env.step(ZERO)
        over, steps = terminated or truncated, steps + 1
    env.close()
    with moviepy.VideoFileClip(str(tmp_path / "videos" / "rl-video-episode-0.mp4")) as video:
        played = list(video.iter_frames())
        assert video.duration == pytest.approx(steps / 33, abs=0.05)  # moviepy may drop a frame
    assert (video.fps, video.size) == (33, [SHAPE[1], SHAPE[0]])
    assert played[0].shape == SHAPE
    assert (played[0] != played[-1]).any()


def test_stable_baselines_records_videos(tmp_path):
    moviepy = pytest.importorskip(
        "moviepy", reason="needs moviepy, with which Stable-Baselines3 writes videos"
    )
    from stable_baselines3.common.vec_env import VecVideoRecorder

    inner = LeoVecEnv(2, scenario=STATIC, render_mode="rgb_array")
    env = VecVideoRecorder(inner, str(tmp_path), lambda step: step == 0, video_length=10)
    env.reset()
    for _ in range(11):
        env.step(np.zeros((2, 1), np.float32))
    env.close()
    [file] = tmp_path.glob("*.mp4")
    with moviepy.VideoFileClip(str(file)) as video:
        assert video.fps == 33
        assert np.stack(list(video.iter_frames())).shape[1:] == (2 * SHAPE[0], SHAPE[1], 3)


def figures() -> int:
    gc.collect()
    return sum(type(item) is Figure for item in gc.get_objects())


def test_two_hundred_episodes_leave_one_figure():
    before = figures()
    env = gymnasium.make(FLOW_ID, scenario={**STATIC, "duration_s": 0.2}, render_mode="rgb_array")
    for seed in range(200):
        env.reset(seed=seed)
        env.step(ZERO)
        if seed % 20 == 0:
            env.render()
    assert figures() == before + 1
    del env
    assert figures() == before


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_draws_what_the_original_draws(copied):
    env = gymnasium.make(FLOW_ID, scenario="leo-agent", render_mode="rgb_array").unwrapped
    env.reset(seed=2)
    for _ in range(10):
        env.step(ZERO)
    env.render()
    other = copied(env)
    for each in (env, other):
        each.step(ZERO)
    assert other.render().tobytes() == env.render().tobytes()
