import json
from contextlib import contextmanager
from pathlib import Path

import leosim
import numpy as np
import pyarrow.parquet as pq
import pytest

from leogym.agents.clone import pool, scenarios
from leogym.agents.clone import sequences as sequences_of_pool
from leogym.agents.clone.sequences import Sequences
from leogym.agents.clone.settings import SCHEMES, PoolRanges
from leogym.common.errors import InputError


def test_the_published_pool_has_thirteen_schemes_and_every_combination_up_to_192_mbps():
    ranges = PoolRanges()
    situations = scenarios.pool(ranges, 1)
    # 5 rates × 5 delays × 6 buffers × 5 steps, without 192 Mbit/s × 2, 192 × 4 and 96 × 4.
    assert len(SCHEMES) == 13
    assert len(situations) == 5 * 6 * (25 - 3)
    assert len({situation.seed for situation in situations}) == len(situations)
    shared = [situation for situation in situations if situation.shared]
    assert 0.15 < len(shared) / len(situations) < 0.35
    assert all(situation.step == 1 for situation in shared)


def test_held_out_situations_are_in_the_ranges_and_in_no_pool():
    ranges = PoolRanges()
    chosen, judged = (scenarios.held_out(ranges, 15, judge=judge) for judge in (False, True))
    assert chosen != judged
    for situation in chosen + judged:
        assert 12 <= situation.rate_mbps * max(1, situation.step) <= 192
        assert situation.rate_mbps not in ranges.rate_mbps
        assert 5 <= situation.one_way_ms <= 80
        assert 0.5 <= situation.queue_bdp <= 16
        assert not situation.shared
    assert {situation.step for situation in chosen} == set(ranges.steps)


def test_steps_that_leave_no_rate_are_left_out_and_ranges_without_a_step_are_one_line():
    ranges = PoolRanges(rate_mbps=(96.0, 192.0))
    assert {situation.step for situation in scenarios.held_out(ranges, 6, judge=False)} == {1.0, 0.5, 0.25}
    single = scenarios.held_out(PoolRanges(rate_mbps=(192.0,), steps=(1.0,)), 3, judge=True)
    assert [situation.rate_mbps for situation in single] == [192.0] * 3
    for drawn in (lambda of: scenarios.held_out(of, 1, judge=True), lambda of: scenarios.pool(of, 1)):
        with pytest.raises(InputError, match=r"settings: pool.rate_mbps: no step stays within 192 Mbit/s"):
            drawn(PoolRanges(rate_mbps=(100.0, 192.0), steps=(2.0,)))


def test_a_pool_says_what_it_is_and_has_a_row_group_for_each_scheme(tiny):
    folder = Path(tiny.pool_folder)
    index = json.loads((folder / "pool.json").read_text())
    assert (index["format"], index["version"], index["spec"]) == ("leogym-pool", 1, "sage")
    assert PoolRanges.model_validate(index["ranges"]) == tiny.pool
    assert index["runs"] == {"simulator": 6, "lab": 0}
    assert index["provenance"]["config"]["pool"]["scenarios"] == 3
    files = sorted(folder.glob("*.parquet"))
    assert len(files) == len(index["situations"]) == 3
    for path, name in zip(files, index["situations"], strict=True):
        file = pq.ParquetFile(path)
        assert file.metadata.num_row_groups == 2
        assert file.schema_arrow.names == ["observation", "action", "reward", "backend"]
        assert set(file.read(columns=["backend"])["backend"].to_pylist()) == {"simulator"}
        assert file.metadata.metadata[b"situation"].decode() == name


def test_an_action_is_what_the_next_observation_says_was_done_and_the_reward_follows_it():
    observations = np.zeros((5, 69), np.float32)
    observations[:, pool.ACTION_ENTRY] = [0.5, -0.25, 9.0, 7.0, -3.0]
    observations[:, 0] = [1, 2, 9, 3, 4]
    heard = np.array([True, True, False, True, True])
    run = pool.transitions(heard, observations, np.array([10, 20, 90, 30, 40], np.float32))
    np.testing.assert_array_equal(run["observation"][:, 0], [1, 2, 3])
    np.testing.assert_array_equal(run["action"], [-0.25, 2.0, -2.0])
    np.testing.assert_array_equal(run["reward"], [20, 30, 40])


def test_rows_are_of_the_scheme_whose_window_they_tell(tiny):
    situation = scenarios.Situation(12.0, 10.0, 2.0, 1.0, 1.0, 4.0, False, 5)
    runs = pool.watch(situation, ("reno", "vegas"), tiny)
    # Entry 59 is minimum over smoothed RTT; Vegas keeps the queue short. Each run has about 4 s of intervals.
    queues = {scheme: run["observation"][200:, 59].mean() for scheme, run in runs.items()}
    assert queues["vegas"] > 0.8 > queues["reno"]
    assert all(300 < len(run["action"]) < 400 for run in runs.values())
    assert all(np.isfinite(column).all() for run in runs.values() for column in run.values())
    assert runs["vegas"]["reward"][-1] > 20


def test_the_first_action_of_a_scheme_that_is_held_is_its_first_doubling(tiny):
    situation = scenarios.Situation(48.0, 20.0, 2.0, 1.0, 1.0, 4.0, False, 5)
    first, window = {}, 10 * 1448 * 8
    for hold in (False, True):
        ranges = tiny.pool.model_copy(update={"hold": hold})
        run = pool.watch(situation, ("cubic",), tiny.model_copy(update={"pool": ranges}))["cubic"]
        # Entry 63: largest delivered of the last 200 × minimum RTT / window.
        delivered = run["observation"][0, 67] * 1e8 * run["observation"][0, 11] * 0.1
        first[hold] = delivered / run["observation"][0, 63] / window, run["action"][0]
    # All ten packets of the first window arrive in one interval: an unheld scheme doubles its window in it.
    assert abs(first[False][0] - 2) < 0.1
    assert abs(first[True][0] - 1) < 0.1
    assert first[True][1] == 1.0


def test_an_interrupted_collection_is_completed_to_the_same_bytes(tiny, tmp_path):
    whole = Path(tiny.pool_folder)
    half = tmp_path / "half"
    half.mkdir()
    kept = pool.part(half, 1)
    kept.write_bytes(pool.part(whole, 1).read_bytes())
    (half / "settings.json").write_bytes((whole / "settings.json").read_bytes())
    modified = kept.stat().st_mtime_ns
    lines: list[str] = []
    pool.collect(tiny, half, lines.append)
    assert kept.stat().st_mtime_ns == modified
    for number in range(3):
        assert pool.part(half, number).read_bytes() == pool.part(whole, number).read_bytes()
    assert lines[0].startswith("pool: 3 situations with 2 schemes, 0.005 h simulated")
    assert "left" in lines[1]
    pool.collect(tiny, half, lines.append)
    assert len(lines) == 3, "an existing pool is not collected again"


def test_another_pool_has_another_folder(tiny, monkeypatch):
    other = tiny.model_copy(update={"seed": 2})
    own = pool.default_folder(tiny)
    assert own != pool.default_folder(other)
    assert own == pool.default_folder(tiny.model_copy(update={"gru": 99}))
    monkeypatch.setattr(leosim, "BUILD", "0" * 32)
    assert own != pool.default_folder(tiny)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 2}, r"settings.json: an unfinished pool of other settings \(seed\): delete this folder"),
        ({"reward": "sage-r1"}, r"other settings \(reward\)"),
        ({}, r"settings.json: is missing, but the folder has situations"),
    ],
)
def test_files_of_other_settings_are_not_mixed_in(tiny, tmp_path, change, message):
    names = ["situation-00000.parquet", *(["settings.json"] if change else [])]
    for name in names:
        (tmp_path / name).write_bytes((Path(tiny.pool_folder) / name).read_bytes())
    with pytest.raises(InputError, match=message):
        pool.collect(tiny.model_copy(update=change), tmp_path)


def test_a_finished_pool_of_other_ranges_is_refused_and_one_of_another_seed_is_not(tiny):
    folder = Path(tiny.pool_folder)
    held = tiny.model_copy(update={"pool": tiny.pool.model_copy(update={"hold": True})})
    with pytest.raises(InputError, match=r"pool.json: ranges: hold: is False, not True"):
        pool.collect(held, folder)
    assert pool.collect(tiny.model_copy(update={"seed": 2}), folder) == folder


def test_a_second_training_waits_and_takes_the_pool_that_the_first_collected(tiny, tmp_path, monkeypatch):
    @contextmanager
    def held(folder, *, wait):
        assert (folder, wait) == (tmp_path, True)
        for path in Path(tiny.pool_folder).iterdir():
            (folder / path.name).write_bytes(path.read_bytes())
        yield

    monkeypatch.setattr(pool.lock, "held", held)
    lines: list[str] = []
    pool.collect(tiny, tmp_path, lines.append)
    assert not lines, "nothing was collected again"


def test_a_scheme_that_is_not_there_is_named(tiny, tmp_path):
    ranges = tiny.pool.model_copy(update={"schemes": ("cubic", "qubic")})
    with pytest.raises(InputError, match=r"settings: pool.schemes: the simulator has no qubic"):
        pool.collect(tiny.model_copy(update={"pool": ranges}), tmp_path / "pool")


def test_sequences_are_stretches_of_runs_and_memory_is_bounded(tiny):
    folder = Path(tiny.pool_folder)
    sequences = Sequences(folder, 10, 4, 1)
    assert len(sequences) == 6
    rows = {}
    for number in range(3):
        for group in range(2):
            table = pq.ParquetFile(pool.part(folder, number)).read_row_group(group)
            rewards = table["reward"].to_numpy()
            rows |= {rewards[at : at + 10].tobytes(): (number, group) for at in range(len(rewards) - 9)}
    seen = set()
    for _ in range(40):
        batch = sequences.draw(3)
        assert batch.observation.shape == (3, 10, 69)
        seen |= {rows[reward.tobytes()] for reward in batch.reward}
        assert len(sequences._loaded) == 4
    assert len(seen) == 6, "all runs are used"


def test_sequences_depend_on_the_seed_and_go_on_after_a_restore(tiny):
    def drawn(sequences, count):
        return [sequences.draw(2).reward.tobytes() for _ in range(count)]

    folder = Path(tiny.pool_folder)
    first = Sequences(folder, 10, 4, 1)
    whole = drawn(first, 12)
    again = Sequences(folder, 10, 4, 1)
    assert drawn(again, 5) == whole[:5]
    restored = Sequences(folder, 10, 4, 3)
    restored.restore(again.state())
    assert drawn(restored, 7) == whole[5:]
    assert drawn(Sequences(folder, 10, 4, 2), 12) != whole


def test_streams_go_through_whole_runs_and_on_after_a_restore(tiny):
    folder = Path(tiny.pool_folder)
    runs = [
        pq.ParquetFile(pool.part(folder, number)).read_row_group(group)["reward"].to_numpy()
        for number in range(3)
        for group in range(2)
    ]
    length = 40
    sequences = Sequences(folder, length, 6, 1, streams=True)
    at: list[tuple[int, int]] = []
    began = 0
    for draw in range(40):
        if draw == 20:
            again = Sequences(folder, length, 6, 7, streams=True)
            again.restore(sequences.state())
            sequences = again
        batch = sequences.draw(3)
        for stream, reward in enumerate(batch.reward):
            if batch.fresh[stream]:
                (found,) = [
                    (run, first)
                    for run, rewards in enumerate(runs)
                    for first in range(len(rewards) - length + 1)
                    if (rewards[first : first + length] == reward).all() and (draw == 0 or first == 0)
                ]
                if draw == 0:
                    at.append(found)
                else:
                    run, first = at[stream]
                    assert first + 2 * length > len(runs[run]), "the stream left its run before the end"
                    at[stream] = found
                    began += 1
            else:
                run, first = at[stream]
                at[stream] = run, first + length
                np.testing.assert_array_equal(runs[run][first + length : first + 2 * length], reward)
    assert began > 3


def test_streams_that_stay_for_some_sequences_begin_runs_half_of_the_time(tiny):
    folder, length = Path(tiny.pool_folder), 10
    sequences = Sequences(folder, length, 6, 1, streams=True, stay=3)
    rewards = [run["reward"][:length] for run in sequences._loaded]
    stays, began, fresh = [0] * 8, 0, 0
    for draw in range(60):
        batch = sequences.draw(8)
        for stream in range(8):
            if batch.fresh[stream] and draw > 3:
                assert stays[stream] <= 3
                fresh += 1
                began += any((batch.reward[stream] == of).all() for of in rewards)
            stays[stream] = 1 if batch.fresh[stream] else stays[stream] + 1
    assert fresh >= 140
    assert 0.35 < began / fresh < 0.65


def test_only_the_runs_that_are_asked_for_are_learned_from(tiny):
    folder = Path(tiny.pool_folder)
    assert len(Sequences(folder, 10, 4, 1, schemes=("vegas",))) == 3
    assert len(Sequences(folder, 10, 4, 1, reward_share=1.0)) == 3
    assert len(Sequences(folder, 10, 4, 1, schemes=("vegas",), reward_share=1.0)) == 3
    with pytest.raises(InputError, match="no run"):
        Sequences(folder, 10, 4, 1, schemes=("reno",))


def test_the_best_run_is_learned_from_also_if_its_reward_is_negative(monkeypatch):
    runs = [(Path("a"), group) for group in range(3)]
    means = [-0.22, -0.2, -0.5]
    monkeypatch.setattr(sequences_of_pool, "_mean_reward", lambda _, group: means[group])
    assert sequences_of_pool._best(runs, 0.85) == runs[:2]
    assert sequences_of_pool._best(runs, 1.0) == runs[1:2]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "pool.json").unlink(), r"pool.json: cannot be read"),
        (lambda folder: (folder / "pool.json").write_text("{"), r"pool.json: cannot be read"),
        (lambda folder: (folder / "pool.json").write_text("{}"), r"pool.json: format: must be 'leogym-pool'"),
        (
            lambda folder: pool.part(folder, 2).write_bytes(b"PAR1"),
            r"situation-00002.parquet: cannot be read",
        ),
        (lambda folder: pool.part(folder, 0).unlink(), r"situation-00000.parquet: cannot be read"),
    ],
)
def test_a_damaged_pool_is_one_line(tiny, tmp_path, damage, message):
    for path in Path(tiny.pool_folder).iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    damage(tmp_path)
    with pytest.raises(InputError, match=message):
        Sequences(tmp_path, 10, 4, 1)


def test_a_pool_of_runs_that_are_too_short_is_one_line(tiny):
    with pytest.raises(InputError, match="no run is 100000 intervals long"):
        Sequences(Path(tiny.pool_folder), 100_000, 4, 1)
