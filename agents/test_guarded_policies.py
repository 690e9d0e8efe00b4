"""Policies that name what they know: they fall back to Cubic beyond it, come back, and are counted."""

import json
from pathlib import Path

import leosim
import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from leogym.agents.training.rollout import evaluate_policy
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings
from leogym.configs.sampling import AstraeaSampling
from leogym.configs.scenario import parse

POLICY = Path(__file__).resolve().parents[1] / "core/control/tests/fixtures/perceptron"
SECONDS = 60.0


def made(folder: Path, *, broken: bool = False, **entries) -> leosim.Policy:
    """Return the fixture's policy with further entries; a broken one answers NaN."""
    folder.mkdir(parents=True, exist_ok=True)
    said = json.loads((POLICY / "policy.json").read_text())
    (folder / "policy.json").write_text(json.dumps({**said, **entries}))
    model = onnx.load(POLICY / "policy.onnx")
    if broken:
        # Finite weights whose sums are infinities of both signs: each neuron has its opposite.
        for tensor in model.graph.initializer:
            shape = list(tensor.dims)
            large = np.full(shape, 1e38, np.float32)
            if shape[0] > 1:
                large[1::2] *= -1
            tensor.CopyFrom(numpy_helper.from_array(large, tensor.name))
    onnx.save(model, folder / "policy.onnx")
    return leosim.Policy.load(str(folder))


def flow(policy: leosim.Policy | None, scheme: str = "mine", links=None, **events) -> dict:
    data = {
        "name": "one",
        "duration_s": SECONDS,
        "links": links or {"l": {"rate_mbps": 20, "delay_ms": 20}},
        "flows": [{"scheme": scheme, "route": ["l"]}],
        **events,
    }
    policies = {} if policy is None else {scheme: policy}
    [log] = leosim.run([parse(data, "one").to_json()], {}, policies, interval_ms=30.0)
    return log.flows[0]


def test_a_policy_that_answers_nan_falls_back_if_it_names_a_fallback(tmp_path):
    plain = flow(made(tmp_path / "plain", broken=True))
    guarded = flow(made(tmp_path / "guarded", broken=True, fallback="cubic"))
    cubic = flow(None, "cubic")
    # Without a guard the window stays at its first ten packets.
    assert plain["goodput_mbps"] == pytest.approx(10 * 1448 * 8e-6 / 0.04, rel=0.05)
    assert (plain["fallbacks"], guarded["fallbacks"], cubic["fallbacks"]) == (None, 1, None)
    assert guarded["goodput_mbps"] == pytest.approx(cubic["goodput_mbps"], rel=0.02)
    assert guarded["rtt_mean_ms"] == pytest.approx(cubic["rtt_mean_ms"], rel=0.1)


def test_a_policy_without_ranges_runs_as_ever_and_within_its_ranges_alike(tmp_path):
    known = {"rate_mbps": [0.1, 100], "rtt_ms": [10, 500], "loss": [0, 1]}
    within = flow(made(tmp_path / "within", known_ranges=known))
    plain = flow(made(tmp_path / "plain"))
    assert within.pop("fallbacks") == 0
    assert plain.pop("fallbacks") is None
    assert within == plain


def test_beyond_its_ranges_a_policy_falls_back_and_comes_back_within_them(tmp_path):
    policy = made(tmp_path, known_ranges={"rtt_ms": [5, 60]})
    assert policy.known_ranges == {"rtt_ms": (5.0, 60.0)}
    short = {"rate_mbps": 20, "queue": {"packets": 20}}  # 12 ms
    links = {"l": {**short, "delay_ms": 20}, "far": {**short, "delay_ms": 60}}
    there = {"at_s": 5, "reroute": {"flows": [0], "route": ["far"]}}
    back = {"at_s": 25, "reroute": {"flows": [0], "route": ["l"]}}
    away = flow(policy, links=links, events=[there])
    again = flow(policy, links=links, events=[there, back, {**there, "at_s": 35}], duration_s=90.0)
    assert (away["fallbacks"], again["fallbacks"]) == (1, 2)


def test_held_out_evaluation_is_guarded_and_counts(tmp_path):
    settings = TrainSettings(
        agent="astraea", scenarios=AstraeaSampling(flows=(1, 1), rate_mbps=(5, 6), duration_s=10.0)
    )
    found = evaluate_policy(made(tmp_path / "a", broken=True, fallback="cubic"), settings, 2)
    assert found["fallbacks"] == 1
    assert found["normalized_goodput"] > 0.8
    assert "fallbacks" not in evaluate_policy(made(tmp_path / "b"), settings, 2)


def test_a_guarded_batch_is_repeated_by_its_pickle_s_arguments(tmp_path):
    policy = made(tmp_path, fallback="cubic")
    batch = leosim.Batch(1, guard=policy)
    assert batch.__getnewargs_ex__()[1]["guard"] is policy
    with pytest.raises(leosim.InputError, match="must not be NaN"):
        leosim.Batch(1).step(np.full((1, 1, 1), np.nan, np.float32))
    batch.step(np.full((1, 1, 1), np.nan, np.float32))


def test_training_writes_the_ranges_of_its_settings(tmp_path):
    settings = TrainSettings.model_validate(
        {"agent": "astraea", "known_ranges": {"rate_mbps": [10.0, 500.0], "loss": [0.0, 0.01]}}
    )
    provenance = {"config": settings.model_dump(mode="json")}
    run = RunFolder.create(tmp_path / "run", settings.to_yaml(), provenance)
    description = {key: json.loads((POLICY / "policy.json").read_text())[key] for key in
                   ("agent", "observation_dim", "action_dim", "interval_ms")}  # fmt: skip
    folder = run.write_policy((POLICY / "policy.onnx").read_bytes(), description, 1)
    assert leosim.Policy.load(str(folder)).known_ranges == {"rate_mbps": (10.0, 500.0), "loss": (0.0, 0.01)}
