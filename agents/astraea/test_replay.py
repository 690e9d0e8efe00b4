import numpy as np
import pytest

from leogym.agents.astraea.replay import ReplayBuffer
from leogym.common.errors import InputError


def fill(buffer, count):
    """Add ``count`` transitions; all entries of a transition equal its number."""
    numbers = np.arange(buffer.added, buffer.added + count, dtype=np.float32)
    wide = np.repeat(numbers[:, None], 3, axis=1)
    buffer.add(wide, numbers[:, None], numbers, wide + 0.5)


def kept(buffer):
    return set(buffer.sample(2000).reward.tolist())


@pytest.fixture
def buffer():
    return ReplayBuffer(10, 3, 1, seed=1)


def test_a_transition_comes_out_as_it_went_in(buffer):
    fill(buffer, 7)
    batch = buffer.sample(20)
    assert batch.state.shape == (20, 3)
    for state, action, reward, after in zip(*batch, strict=True):
        assert state.tolist() == [reward.item()] * 3
        assert action.tolist() == [reward.item()]
        assert after.tolist() == [reward.item() + 0.5] * 3


def test_the_newest_overwrite_the_oldest(buffer):
    fill(buffer, 7)
    fill(buffer, 8)
    assert len(buffer) == 10
    assert kept(buffer) == set(range(5, 15))


@pytest.mark.parametrize("parts", [[4], [4, 4], [8, 8, 8], [10, 10], [3, 0, 3], [10, 5, 9, 2]])
def test_what_is_loaded_is_what_was_saved(buffer, tmp_path, parts):
    state = {}
    for part in parts:
        fill(buffer, part)
        state = buffer.save(tmp_path)
    fill(buffer, 6)  # not part of the loaded state
    buffer.save(tmp_path)
    again = ReplayBuffer(10, 3, 1, seed=9)
    again.load(tmp_path, state)
    total = sum(parts)
    assert again.added == total
    assert kept(again) == set(range(max(0, total - 10), total))
    fill(again, 3)
    assert kept(again) == set(range(max(0, total - 7), total + 3))


def test_draws_continue_where_they_were_saved(buffer, tmp_path):
    fill(buffer, 10)
    buffer.sample(5)
    state = buffer.save(tmp_path)
    expected = buffer.sample(50).reward.tolist()
    again = ReplayBuffer(10, 3, 1, seed=9)
    again.load(tmp_path, state)
    assert again.sample(50).reward.tolist() == expected


def test_saving_costs_what_is_new(buffer, tmp_path):
    fill(buffer, 9)
    buffer.save(tmp_path)
    fill(buffer, 2)
    buffer.save(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["000000000000-000000000009.npy", "000000000009-000000000011.npy"]


def test_chunks_that_no_checkpoint_needs_are_not_needed(buffer, tmp_path):
    for _ in range(4):
        fill(buffer, 6)
        state = buffer.save(tmp_path)
    needed = buffer.chunks(tmp_path)
    for path in tmp_path.iterdir():
        if path.name not in needed:
            path.unlink()
    assert sorted(path.name[:12] for path in tmp_path.iterdir()) == ["000000000012", "000000000018"]
    again = ReplayBuffer(10, 3, 1, seed=9)
    again.load(tmp_path, state)
    assert kept(again) == set(range(14, 24))


def test_a_missing_or_truncated_chunk_is_named(buffer, tmp_path):
    fill(buffer, 4)
    buffer.save(tmp_path)
    fill(buffer, 4)
    state = buffer.save(tmp_path)
    _, second = sorted(tmp_path.iterdir())
    second.write_bytes(second.read_bytes()[:-5])
    with pytest.raises(InputError, match=second.name):
        ReplayBuffer(10, 3, 1, seed=9).load(tmp_path, state)
    second.unlink()
    with pytest.raises(InputError, match="transitions 4 to 8 are missing"):
        ReplayBuffer(10, 3, 1, seed=9).load(tmp_path, state)
