import itertools
import struct
from pathlib import Path

import leosim
import numpy as np
import pytest

from leogym.agents.__main__ import run
from leogym.agents.published import actors
from leogym.agents.published.tensor_bundle import MAGIC, TensorBundle, crc32c, masked
from leogym.common.errors import InputError


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def block(entries: list[tuple[bytes, bytes]]) -> bytes:
    """Return a block with its trailer, shared prefixes and a restart every third entry."""
    body, restarts, last = b"", [], b""
    for number, (key, value) in enumerate(entries):
        shared = 0
        if number % 3 == 0:
            restarts.append(len(body))
        else:
            while shared < min(len(key), len(last)) and key[shared] == last[shared]:
                shared += 1
        body += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        last = key
    body += b"".join(struct.pack("<I", at) for at in [*restarts, len(restarts)]) + b"\0"
    return body + struct.pack("<I", masked(body))


def entry(array: np.ndarray, offset: int, dtype: int) -> bytes:
    dims = b"".join(b"\x12" + varint(1 + len(varint(size))) + b"\x08" + varint(size) for size in array.shape)
    data = array.tobytes()
    message = b"\x08" + varint(dtype) + b"\x12" + varint(len(dims)) + dims
    message += (b"\x20" + varint(offset) if offset else b"") + b"\x28" + varint(len(data))
    return message + b"\x35" + struct.pack("<I", masked(data))


def checkpoint(prefix: Path, tensors: dict[str, np.ndarray], dtype: int = 1) -> Path:
    """Write ``tensors`` as TensorFlow's saver does, in two blocks of keys."""
    data, entries = b"", [(b"", b"\x08\x01\x1a\x02\x08\x01")]  # one shard, little-endian, version 1
    for name in sorted(tensors):
        entries.append((name.encode(), entry(tensors[name], len(data), dtype)))
        data += tensors[name].tobytes()
    table, index = b"", []
    for part in (entries[: len(entries) // 2], entries[len(entries) // 2 :]):
        written = block(part)
        index.append((part[-1][0], varint(len(table)) + varint(len(written) - 5)))
        table += written
    handles = []
    for written in (block([]), block(index)):
        handles.append(varint(len(table)) + varint(len(written) - 5))
        table += written
    table += b"".join(handles).ljust(40, b"\0") + struct.pack("<Q", MAGIC)
    prefix.with_name(prefix.name + ".index").write_bytes(table)
    prefix.with_name(prefix.name + ".data-00000-of-00001").write_bytes(data)
    return prefix


def actor(*widths: int) -> dict[str, np.ndarray]:
    """Return the tensors of a random actor, and an unused one of a critic."""
    rng = np.random.default_rng(1)
    tensors = {"critic/fc1/kernel": np.ones((3, 2), np.float32), "global_step": np.array(7, np.float32)}
    for number, (a, b) in enumerate(itertools.pairwise(widths)):
        norm = "actor/batch_normalization" + (f"_{number}" if number else "")
        tensors |= {
            f"actor/fc{number + 1}/kernel": rng.normal(0, a**-0.5, (a, b)),
            f"actor/fc{number + 1}/bias": rng.normal(0, 0.1, b),
            f"{norm}/beta": rng.normal(0, 0.1, b),
            f"{norm}/moving_mean": rng.normal(0, 0.5, b),
            f"{norm}/moving_variance": rng.uniform(0.2, 2.0, b),
        }
    tensors |= {
        "actor/dense/kernel": rng.normal(0, 0.3, (widths[-1], 1)),
        "actor/dense/bias": np.array([0.1]),
    }
    return {name: array.astype(np.float32) for name, array in tensors.items()}


def expected(tensors: dict[str, np.ndarray], hidden: int, x: np.ndarray) -> np.ndarray:
    """Compute the actor as its authors define it: dense, batch norm, leaky ReLU; dense, tanh."""
    for number in range(hidden):
        norm = "actor/batch_normalization" + (f"_{number}" if number else "")
        x = x @ tensors[f"actor/fc{number + 1}/kernel"] + tensors[f"actor/fc{number + 1}/bias"]
        x = (x - tensors[f"{norm}/moving_mean"]) / np.sqrt(tensors[f"{norm}/moving_variance"] + 1e-3)
        x = x + tensors[f"{norm}/beta"]
        x = np.where(x > 0, x, 0.2 * x)
    return np.tanh(x @ tensors["actor/dense/kernel"] + tensors["actor/dense/bias"])


SHAPES = {"astraea": (50, 16, 12, 8), "orca": (70, 16, 12)}


@pytest.mark.parametrize("scheme", sorted(SHAPES))
def test_an_imported_actor_acts_as_its_checkpoint_says(tmp_path, scheme, capsys):
    tensors = actor(*SHAPES[scheme])
    prefix = checkpoint(tmp_path / "model.ckpt-1283529", tensors)
    assert run(["import", scheme, str(prefix), "--out", str(tmp_path / "out")]) == 0
    folder = tmp_path / "out" / "policy"
    assert capsys.readouterr().out.splitlines()[0] == f"policy: {folder}"
    policy = leosim.Policy.load(str(folder))
    assert (policy.spec, policy.interval_ms) == (scheme, actors.SCHEMES[scheme].interval_ms)
    x = np.random.default_rng(2).uniform(0, 2, (40, SHAPES[scheme][0])).astype(np.float32)
    actions = expected(tensors, len(SHAPES[scheme]) - 1, x)
    assert np.ptp(actions) > 0.2
    np.testing.assert_allclose(policy.act(x), actions, atol=1e-5)


def test_a_prefix_may_be_named_by_its_index(tmp_path):
    prefix = checkpoint(tmp_path / "model", actor(50, 4, 4, 4))
    bundle = TensorBundle(prefix.with_suffix(".index"))
    assert "actor/fc1/kernel" in bundle.names()
    np.testing.assert_array_equal(bundle.read("critic/fc1/kernel", 3, None), np.ones((3, 2)))


def test_the_checksum_is_that_of_the_standard():
    # RFC 3720, appendix B.4: 32 bytes of zeros, and of ones; the standard check value.
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(b"123456789") == 0xE3069283


def refused(prefix: Path, scheme: str = "astraea") -> str:
    with pytest.raises(InputError) as caught:
        actors.import_policy(scheme, prefix, prefix.parent / "out")
    assert "\n" not in str(caught.value)
    assert not (prefix.parent / "out" / "policy").exists()
    return str(caught.value)


def test_what_is_not_such_a_checkpoint_is_told_in_one_line(tmp_path):
    good = actor(50, 4, 4, 4)
    assert "cannot be read" in refused(tmp_path / "nowhere")
    prefix = checkpoint(tmp_path / "model", good)
    assert "actor/fc1/kernel: must have the shape (70, any), not (50, 4)" in refused(prefix, "orca")
    del good["actor/dense/bias"]
    assert "actor/dense/bias: no such tensor" in refused(checkpoint(tmp_path / "model", good))
    doubles = checkpoint(tmp_path / "model", {"actor/fc1/kernel": np.ones((50, 4))}, dtype=2)
    assert "must be of type float32, not number 2" in refused(doubles)
    bad = actor(50, 4, 4, 4)
    bad["actor/fc1/kernel"][3, 1] = np.nan
    assert "must be finite" in refused(checkpoint(tmp_path / "model", bad))


def test_a_file_cut_short_or_with_a_flipped_bit_is_never_believed(tmp_path):
    prefix = checkpoint(tmp_path / "model", actor(50, 4, 4, 4))
    for suffix in (".index", ".data-00000-of-00001"):
        path = prefix.with_name(prefix.name + suffix)
        whole = path.read_bytes()
        # The last tensors by name are the critic's and a counter, which the import does not read.
        used = len(whole) - (0 if suffix == ".index" else 4 * (3 * 2 + 1))
        for at in range(0, used, 97):
            path.write_bytes(whole[:at])
            refused(prefix)
        for at in range(0, 50 * 4, 13):
            flipped = bytearray(whole)
            flipped[at] ^= 0x10
            path.write_bytes(bytes(flipped))
            refused(prefix)
        path.write_bytes(whole)
    actors.import_policy("astraea", prefix, tmp_path / "out")
