import leosim
import numpy as np
import pytest

from leogym.agents.__main__ import run
from leogym.agents.published import sage
from leogym.agents.published.test_published import checkpoint
from leogym.common.errors import InputError

WIDTH, GRU, COMPONENTS, BLOCKS = 10, 12, 5, 2
PREFIX, SUFFIX = "policy/_layers/", "/.ATTRIBUTES/VARIABLE_VALUE"


def published() -> dict[str, np.ndarray]:
    """Return small tensors under the names in the released checkpoint, and a counter."""
    rng = np.random.default_rng(0)
    shapes: dict[str, tuple[int, ...]] = {}

    def dense(path, inputs, outputs):
        shapes.update({f"{path}/w": (inputs, outputs), f"{path}/b": (outputs,)})

    def norm(path):
        shapes.update({f"{path}/scale": (WIDTH,), f"{path}/offset": (WIDTH,)})

    for layer, inputs in ((0, 69), (2, GRU)):
        dense(f"{layer}/_proprio_encoder/_network/_layers/0", inputs, WIDTH)
        norm(f"{layer}/_proprio_encoder/_network/_layers/1")
    shapes |= {"1/_w_i": (WIDTH, 3 * GRU), "1/_w_h": (GRU, 3 * GRU), "1/b": (3 * GRU,)}
    dense("3/_module/_layers/0/_layers/0", WIDTH, WIDTH)
    for block in range(1, BLOCKS + 1):
        for layer in (0, 1):
            dense(f"3/_module/_layers/{block}/_layer/_layers/{layer}", WIDTH, WIDTH)
        norm(f"3/_module/_layers/{block}/_layer_norm")
    for name in ("logit", "loc", "scale"):
        dense(f"4/_{name}_layer", WIDTH, COMPONENTS)
    # Small biases, so that observations determine most of the action.
    deviations = {"w": 0.7, "_w_i": 0.7, "_w_h": 0.7, "scale": 1.0, "b": 0.1, "offset": 0.1}
    tensors = {
        PREFIX + path + SUFFIX: rng.normal(0, deviations[path.rpartition("/")[2]], shape).astype(np.float32)
        for path, shape in shapes.items()
    }
    tensors[f"{PREFIX}4/_loc_layer/w{SUFFIX}"] *= 0.5  # actions stay within their bounds
    return {**tensors, f"save_counter{SUFFIX}": np.array(1, np.float32)}


def expected(tensors: dict[str, np.ndarray], observations: np.ndarray) -> np.ndarray:
    """Compute half the mixture's mean from the layers' definitions; observations are (flows, time, 69)."""

    def weight(path):
        return tensors[PREFIX + path + SUFFIX].astype(np.float64)

    def dense(path, x):
        return x @ weight(f"{path}/w") + weight(f"{path}/b")

    def norm(path, x):
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return x * weight(f"{path}/scale") + weight(f"{path}/offset")

    def encoder(layer, x):
        at = f"{layer}/_proprio_encoder/_network/_layers"
        return np.tanh(norm(f"{at}/1", dense(f"{at}/0", x)))

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    memory, actions = np.zeros((len(observations), GRU)), []
    w_i, w_h, bias = weight("1/_w_i"), weight("1/_w_h"), weight("1/b")
    for x in observations.swapaxes(0, 1):
        # Sonnet's unit: the reset gate acts before the recurrent weights, and z weighs the new state.
        inputs = encoder(0, x.astype(np.float64)) @ w_i + bias
        z, r = np.split(sigmoid(inputs[:, : 2 * GRU] + memory @ w_h[:, : 2 * GRU]), 2, axis=1)
        candidate = np.tanh(inputs[:, 2 * GRU :] + (r * memory) @ w_h[:, 2 * GRU :])
        memory = (1 - z) * memory + z * candidate
        y = dense("3/_module/_layers/0/_layers/0", encoder(2, memory))
        for block in range(1, BLOCKS + 1):
            at = f"3/_module/_layers/{block}"
            inner = np.maximum(dense(f"{at}/_layer/_layers/0", y), 0)
            y = norm(f"{at}/_layer_norm", y + dense(f"{at}/_layer/_layers/1", inner))
        shares = np.exp(dense("4/_logit_layer", y))
        shares /= shares.sum(-1, keepdims=True)
        actions.append((shares * dense("4/_loc_layer", y)).sum(-1))
    return (np.stack(actions, axis=1) / 2).clip(-1, 1)


def test_the_imported_policy_acts_as_its_checkpoint_says(tmp_path, capsys):
    tensors = published()
    prefix = checkpoint(tmp_path / "ckpt-1", tensors)
    assert run(["import", "sage", str(prefix), "--out", str(tmp_path / "out")]) == 0
    folder = tmp_path / "out" / "policy"
    assert capsys.readouterr().out.splitlines()[0] == f"policy: {folder}"
    policy = leosim.Policy.load(str(folder))
    assert (policy.spec, policy.interval_ms, policy.memory_dim) == ("sage", 10.0, GRU)
    observations = np.random.default_rng(5).normal(size=(3, 30, 69)).astype(np.float32)
    actions = expected(tensors, observations)
    assert actions.std() > 0.1
    memories = np.zeros((3, GRU), np.float32)
    for at in range(30):
        got = policy.act(np.ascontiguousarray(observations[:, at]), memories)[:, 0]
        np.testing.assert_allclose(got, actions[:, at], atol=1e-5)


def test_what_is_not_such_a_checkpoint_is_told_in_one_line(tmp_path):
    def refused(tensors):
        with pytest.raises(InputError) as caught:
            sage.import_policy(checkpoint(tmp_path / "ckpt-1", tensors), tmp_path / "out")
        assert not (tmp_path / "out").exists()
        assert "\n" not in str(caught.value)
        return str(caught.value)

    good = published()
    unit, first = PREFIX + "1/_w_i" + SUFFIX, PREFIX + "0/_proprio_encoder/_network/_layers/0/w" + SUFFIX
    assert f"{unit}: no such tensor" in refused({k: v for k, v in good.items() if k != unit})
    assert "must have the shape (10, 36), not (10, 35)" in refused({**good, unit: good[unit][:, 1:].copy()})
    assert "must have the shape (69, any), not (70, 10)" in refused(
        {**good, first: np.zeros((70, 10), np.float32)}
    )
    bad = good[unit].copy()
    bad[1, 2] = np.inf
    assert "must be finite" in refused({**good, unit: bad})
