"""A damaged or deleted file of a run's folder is refused in one line, or made again and said so."""

import shutil

import pytest

from leogym.agents import ship, train_cli
from leogym.agents.curves import curves
from leogym.agents.judging import held_out
from leogym.agents.test_killed_runs import AGENTS, carry_out, import_trainer
from leogym.agents.training.reporter import Reporter
from leogym.agents.training.run_folder import RunFolder
from leogym.common.errors import InputError
from tests import kills
from tests.damage import Damage, damaged, damages

GARBAGE = (b"\xff\xfe\x00", b"words that mean nothing\n")


def trained(agent, folder):
    """Return a finished run, trained in another process."""
    config = folder / "tiny.yaml"
    config.write_text(AGENTS[agent])
    import_trainer(agent)
    assert kills.in_child(lambda: carry_out(agent, folder / "run", config)) == 0
    return folder / "run"


@pytest.fixture(scope="module")
def orbit(tmp_path_factory):
    return trained("orbit", tmp_path_factory.mktemp("orbit"))


@pytest.fixture
def resume(monkeypatch, capsys):
    """Return a function that continues a finished run: its output, and the lines of a refusal."""
    monkeypatch.setattr(Reporter, "wall_s", property(lambda self: 0.0))
    monkeypatch.setattr(train_cli, "describe", lambda *_: {"command": "train.py"})

    def resumed(run, agent):
        capsys.readouterr()
        try:
            assert train_cli.run(["--agent", agent, "--out", str(run), "--resume"]) == 0
        except InputError as error:
            return "", str(error)
        return "".join(capsys.readouterr()), ""

    return resumed


def test_each_file_of_a_run(orbit, resume):
    whole = kills.contents(orbit)
    latest = (orbit / "checkpoints" / "latest").read_text().strip()
    refused, made_again = [], []
    for damage in damages(orbit):
        with damaged(orbit, damage):
            left = kills.contents(orbit)
            said, refusal = resume(orbit, "orbit")
            now = kills.contents(orbit)
            if refusal:
                refused.append(str(damage))
                assert "\n" not in refusal
                assert str(orbit) in refusal
                assert damage.file in refusal or "SHA256SUMS" in refusal, (damage, refusal)
                assert now == left, damage
            elif now.get(damage.file) == whole[damage.file] and damage.file != "SHA256SUMS":
                made_again.append(str(damage))
                part = damage.file.rpartition("/")[0] or damage.file
                assert f"{part}" in said.replace("policy: ", ""), (damage, said)
                assert "made again" in said, (damage, said)
            # Nothing reads an earlier checkpoint; without a record of digests, nothing can be compared.
            assert refusal or not kills.differences({**now, damage.file: b""}, {**whole, damage.file: b""}), (
                damage
            )
            if latest in damage.file and damage.file.count("/") == 2 and "SHA256SUMS" not in damage.file:
                assert refusal, damage
    assert refused
    for name in ("progress.csv", "evaluation.csv", "summary.json", "policy/policy.onnx", "best/policy.json"):
        for kind in ("deleted", "empty", "first", "middle", "last"):
            assert f"{name}: {kind}" in made_again
    for kind in ("deleted", "empty", "first", "middle", "last"):
        assert f"config.yaml: {kind}" in refused
        assert f"checkpoints/{latest}/training.pt: {kind}" in refused


@pytest.mark.parametrize("name", ["checkpoints/latest", "checkpoints/best", "progress.csv", "evaluation.csv"])
@pytest.mark.parametrize("garbage", GARBAGE, ids=["bytes", "words"])
@pytest.mark.parametrize("earlier", [False, True], ids=["now", "of an earlier version"])
def test_garbage_in_a_file_of_text_is_one_line_or_made_again(name, garbage, earlier, orbit, resume, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(orbit, run)
    if earlier:  # without digests and copies
        for path in (*run.rglob("SHA256SUMS"), *run.rglob("checkpoint.json")):
            path.unlink()
    (run / name).write_bytes(garbage)
    said, refusal = resume(run, "orbit")
    if refusal:
        assert refusal.startswith(str(run / name))
    else:
        assert "made again" in said or name == "checkpoints/best"
        assert (run / name).read_bytes() == (orbit / name).read_bytes()


def test_a_run_of_an_earlier_version_resumes(orbit, resume, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(orbit, run)
    for path in run.rglob("*"):
        if path.name in ("SHA256SUMS", "checkpoint.json") or path.match("checkpoints/0*/*.csv"):
            path.unlink()
    for folder in run.glob("checkpoints/0*/policy"):
        shutil.rmtree(folder)
    before = kills.contents(run)
    assert resume(run, "orbit")[1] == ""
    after = kills.contents(run)
    assert {name: data for name, data in after.items() if name in before and name != "SHA256SUMS"} == before


@pytest.mark.parametrize("name", ["progress.csv", "evaluation.csv", "config.yaml"])
@pytest.mark.parametrize("kind", ["deleted", "empty", "middle"])
def test_a_reader_of_a_run_refuses_a_damaged_file(name, kind, orbit, tmp_path):
    metric = "value" if name == "progress.csv" else "held_out_reward"
    with damaged(orbit, Damage(name, kind)):
        with pytest.raises(InputError, match=name):
            curves([orbit], metric)
        with pytest.raises(InputError, match=name):
            ship.ship([orbit], tmp_path / "shipped")
        if name == "config.yaml":
            with pytest.raises(InputError, match=name):
                held_out(orbit, 1)
    assert not (tmp_path / "shipped").exists()


@pytest.mark.parametrize("agent", ["astraea", "ppo", "sac"])
def test_each_file_of_a_checkpoint_of_an_engine_is_refused(agent, tmp_path):
    run = trained(agent, tmp_path)
    folder = RunFolder(run, {})
    latest = folder.latest_checkpoint()
    assert latest is not None
    folder.require_whole(latest)
    names = {damage.file for damage in damages(latest)}
    assert {"astraea": "training.pt", "ppo": "model.pt", "sac": "replay.npz"}[agent] in names
    for damage in damages(latest, skip=lambda name: name == "checkpoint.json"):
        if str(damage) == "SHA256SUMS: last":  # the end of its last line
            continue
        with damaged(latest, damage), pytest.raises(InputError, match=r": (is missing|damaged)"):
            folder.require_whole(latest)
    chunks = run / "checkpoints" / "replay"
    assert chunks.exists() == (agent == "astraea")
    if agent == "astraea":
        for stray in ("notes.npy", "000-1.npy", "notes.txt"):
            (chunks / stray).write_text("mine")
        folder.require_whole(latest)
        for damage in damages(chunks, skip=lambda name: not name.startswith("0000")):
            with damaged(chunks, damage), pytest.raises(InputError, match=damage.file):
                folder.require_whole(latest)
