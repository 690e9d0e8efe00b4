import json

import pytest

from leogym.agents import ship as shipping
from leogym.agents.__main__ import run
from leogym.agents.ship import ship
from leogym.common.errors import InputError


def trained(folder, seed, rewards, **settings):
    """Write a run's folder with held-out ``rewards`` of its checkpoints; the policy's bytes are the seed."""
    (folder / "best").mkdir(parents=True)
    command = f"train.py --agent astraea --seed {seed} --out {folder} --workers 2"
    lines = [f'# {{"command": "{command}"}}', "agent: astraea", f"seed: {seed}", "held_out_episodes: 4"]
    lines += [f"{name}: {value}" for name, value in settings.items()]
    (folder / "config.yaml").write_text("\n".join(lines) + "\n")
    (folder / "best/policy.onnx").write_bytes(b"%d" % seed)
    (folder / "best/policy.json").write_text(json.dumps({"provenance": {"command": command}}))
    (folder / "progress.csv").write_text(f"steps\n{seed}\n")
    rows = [f"{step},{reward}" for step, reward in enumerate(rewards)]
    (folder / "evaluation.csv").write_text("\n".join(["steps,reward", *rows]) + "\n")
    return folder


def test_the_seed_that_earned_most_ships_with_the_curves_of_all(tmp_path, capsys):
    runs = [
        trained(tmp_path / f"run-{seed}", seed, [-3, best, -2])
        for seed, best in ((1, -0.3), (2, -0.1), (3, -0.2))
    ]
    out = tmp_path / "trained"
    (out / "policy").mkdir(parents=True)
    (out / "progress-seed-9.csv").write_text("of another policy")
    (out / "choice.json").write_text("{}")
    assert run(["ship", *map(str, runs), "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"chosen: {runs[1]}\n"
    assert (out / "policy/policy.onnx").read_bytes() == b"2"
    assert json.loads((out / "choice.json").read_text())["reward_by_seed"] == {
        "1": -0.3,
        "2": -0.1,
        "3": -0.2,
    }
    curves = {path.name for path in out.glob("*.csv")}
    assert curves == {f"{name}-seed-{seed}.csv" for name in ("progress", "evaluation") for seed in (1, 2, 3)}


def test_where_a_run_was_written_does_not_travel_and_the_rest_of_its_command_does(tmp_path):
    ship([trained(tmp_path / "run", 1, [0.5])], tmp_path / "trained")
    for name in ("config.yaml", "policy/policy.json"):
        assert "train.py --agent astraea --seed 1 --workers 2" in (tmp_path / "trained" / name).read_text()
        assert str(tmp_path) not in (tmp_path / "trained" / name).read_text()


def test_a_command_that_ends_with_where_it_wrote_stays_a_description(tmp_path):
    run = trained(tmp_path / "run", 1, [0.5])
    said = {"provenance": {"command": "train.py --agent orca --out runs/orca", "commit": "0"}}
    (run / "best/policy.json").write_text(json.dumps(said))
    ship([run], tmp_path / "trained")
    described = json.loads((tmp_path / "trained/policy/policy.json").read_text())
    assert described["provenance"] == {"command": "train.py --agent orca", "commit": "0"}


def test_the_ranges_that_a_policy_knows_come_from_its_run_or_from_its_agents_preset(tmp_path, monkeypatch):
    def known(name, agent, **settings):
        run = trained(tmp_path / name, 1, [0.5], **settings)
        config = run / "config.yaml"
        config.write_text(config.read_text().replace("agent: astraea", f"agent: {agent}"))
        ship([run], tmp_path / "trained")
        return json.loads((tmp_path / "trained/policy/policy.json").read_text()).get("known_ranges")

    monkeypatch.setattr(shipping, "CONFIGS", tmp_path)
    (tmp_path / "knowing.yaml").write_text("agent: knowing\nknown_ranges: {rtt_ms: [5, 600]}\n")
    assert known("a", "astraea") is None
    assert known("b", "knowing") == {"rtt_ms": [5, 600]}
    assert known("c", "knowing", known_ranges="{rtt_ms: [9, 90], rate_mbps: null}") == {"rtt_ms": [9, 90]}


def test_runs_that_cannot_be_compared_are_refused_before_anything_is_replaced(tmp_path):
    first = trained(tmp_path / "a", 1, [0.5])
    others = {
        "differs from": trained(tmp_path / "b", 2, [0.5], gamma=0.9),
        "two runs have the same": trained(tmp_path / "c", 1, [0.5]),
        "no policy of this run was evaluated": trained(tmp_path / "d", 2, []),
    }
    for message, other in others.items():
        with pytest.raises(InputError, match=message):
            ship([first, other], tmp_path / "trained")
    assert not (tmp_path / "trained").exists()
