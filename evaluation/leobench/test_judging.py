import json
import shutil
import subprocess
from pathlib import Path

import pytest

from leogym.agents import training
from leogym.agents.training import policy_folder
from leogym.common.errors import InputError
from leogym.evaluation import cli
from leogym.evaluation.entries import confinement
from leogym.evaluation.leobench import entering, judging, split, version
from leogym.evaluation.leobench.result import Result, encode, read
from leogym.evaluation.leobench.split import Split
from leogym.evaluation.leobench.version import PARTS, Version
from tests.support import tiny_benchmark

DOCS = Path(__file__).resolve().parents[2] / "docs/leobench"
CONFINED = pytest.mark.skipif(confinement.missing() is not None, reason=str(confinement.missing()))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Version:
    return version.load(tiny_benchmark.write(tmp_path_factory.mktemp("tiny")))


@pytest.fixture(scope="module")
def public(tiny: Version) -> Split:
    return split.dev(tiny)


def repeatable(result: Result) -> bytes:
    told = json.loads(encode(result))
    del told["circumstances"]
    return json.dumps(told).encode()


def test_two_judgings_of_one_seed_have_the_same_bytes_on_any_number_of_cores(tiny, public):
    entries = [entering.entrant("cubic", tiny), entering.entrant("astraea", tiny)]
    one = [each.result for each in judging.judge(entries, tiny, public, 1, jobs=1)]
    two = [each.result for each in judging.judge(entries, tiny, split.dev(tiny), 1, jobs=2)]
    assert [repeatable(each) for each in one] == [repeatable(each) for each in two]
    assert repeatable(one[0]) != repeatable(one[1])
    assert [each.entry.kind for each in one] == ["scheme", "policy"]
    assert set(one[0].parts) == set(PARTS)
    assert one[0].judged.status == "draft"
    assert one[0].score.value > 1
    assert one[0].failures == 0


def test_a_judging_has_paths_of_its_own_that_only_its_seed_determines(tiny):
    first, again, other = (split.judge(tiny, seed) for seed in (7, 7, 8))
    assert first.traces == again.traces
    assert first.seed == again.seed != other.seed
    assert {one.sha256 for one in first.traces.values()}.isdisjoint(
        one.sha256 for one in other.traces.values()
    )
    [alone, *_] = first.suites
    assert alone.grid["path"] == list(first.traces)
    assert all(" " not in name and "@starlink-1" in name for name in first.traces)


@CONFINED
def test_entries_that_fail_are_lines_and_score_nothing_and_the_judging_goes_on(tiny, public, tmp_path):
    file = tmp_path / "bad.py"
    file.write_text(
        "class Silent:\n    def act(self, report):\n        while True: pass\n"
        "class Late:\n    n = 0\n    def act(self, report):\n        self.n += 1\n"
        "        return {'cwnd_packets': report.cwnd_packets + 1 if self.n < 50 else float('nan')}\n"
    )
    entries = [entering.entrant(f"{file}:{name}", tiny) for name in ("Silent", "Late")]
    silent, late, cubic = judging.judge([*entries, ("cubic", None)], tiny, public, 1)
    assert len(silent.lines) == 4
    assert silent.lines[0] == "silent: alone sd-ny-isl 0: hangs: no answer within 0.5 s"
    assert silent.lines[3].startswith("silent: 2 runs not run: it failed in each of its first 3 runs")
    assert silent.result.score.value == 0
    assert silent.result.failures == len(silent.result.runs) == 5
    # The transfer ends before the 50th decision, which two flows have apart.
    assert 0 < late.result.failures < 5
    assert late.lines[0].endswith("ValueError: act: cwnd_packets: is not a number")
    assert {each.values["efficiency"] for each in late.result.runs if each.suite == "alone"} == {0.0}
    assert cubic.lines == ()
    assert cubic.result.failures == 0


@CONFINED
def test_the_docs_example_of_each_of_the_four_kinds_is_judged(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(version, "FOLDER", tmp_path / "versions")
    tiny_benchmark.write(tmp_path / "versions/tiny")
    crate = shutil.copytree(
        DOCS / "example-scheme", tmp_path / "crate", ignore=shutil.ignore_patterns("target")
    )
    build = ["cargo", "build", "--release", "--quiet", "--offline", "--manifest-path", crate / "Cargo.toml"]
    subprocess.run([*build, "--target-dir", tmp_path / "target"], check=True)
    trained = Path(training.__file__).parents[1] / "trained/astraea"
    entries = [
        "cubic",
        f"mine={trained}",
        f"{DOCS}/careful.py:Careful",
        f"rust={tmp_path}/target/release/libcareful.so",
    ]
    out = tmp_path / "out"
    assert cli.run(["leobench", *entries, "--version", "tiny", "--out", str(out)]) == 0
    found = {name: read(out / f"tiny--dev--{name}.json") for name in ("cubic", "mine", "careful", "rust")}
    assert [one.entry.kind for one in found.values()] == ["scheme", "policy", "class", "library"]
    assert all(one.failures == 0 and one.score.value > 0 for one in found.values())
    assert found["careful"].runs == found["rust"].runs
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("cubic: ")
    assert " of 100 on tiny draft, dev (efficiency " in told[0]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["nothing-like-it"], "ENTRY: nothing-like-it: not a scheme"),
        (["cubic", "cubic"], "cubic: two entries have this name"),
        (["cubic", "--split", "judge"], "--seed: is needed for --split judge"),
        (["cubic", "--seed", "3"], "--seed: is needed for --split judge, and only for it"),
        (["cubic", "--version", "v0"], "leobench: v0: no such version"),
        (["reno=docs"], "there is no policy in this folder"),
    ],
)
def test_a_wrong_command_is_answered_in_one_line(given, told):
    with pytest.raises(InputError, match=told) as caught:
        cli.run(["leobench", *given])
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_result_is_refused_by_field_and_rule(tiny, public, tmp_path):
    [found] = judging.judge([("reno", None)], tiny, public, 1)
    path = tmp_path / found.result.file_name
    path.write_bytes(encode(found.result))
    assert read(path) == found.result
    assert path.name == "tiny--dev--reno.json"
    for field, value, told in (
        ("score", {"value": 1.0, "low": 2.0, "high": 1.0, "runs": 3}, "low: must be at most high"),
        ("entry", {"name": "a b", "kind": "scheme", "sha256": None, "about": ""}, "entry.name: "),
        ("extra", 1, "extra: unknown key"),
    ):
        path.write_text(json.dumps(json.loads(encode(found.result)) | {field: value}))
        with pytest.raises(InputError, match=told):
            read(path)


def test_a_judges_suites_keep_the_kind_of_each_path_that_they_name():
    drawn = ["ny-lax-isl@starlink-1", "ny-chi-isl@kuiper-630", "ny-chi-bp@oneweb"]
    assert split._alike(["sd-ny-isl", "sd-ny-bp"], drawn) == [drawn[0], drawn[2]]
    assert split._alike(["sd-ny-bp", "sd-ny-isl", "ny-ldn-isl"], drawn) == [drawn[2], drawn[0], drawn[1]]


def test_what_a_result_says_of_an_entry_holds_no_folder_of_this_machine(tiny, tmp_path):
    trained = Path(training.__file__).parents[1] / "trained/astraea"
    folder = tmp_path / "secret/mine"
    description = json.loads((trained / "policy/policy.json").read_text())
    description["provenance"]["command"] = "python train.py --agent astraea --out /srv/people/me/runs/first"
    policy_folder.write(folder, (trained / "policy/policy.onnx").read_bytes(), description)
    name, policy = entering.entrant(str(folder), tiny)
    assert policy is not None
    entry = entering.described(name, policy)
    assert "/" not in entry.about.replace("://", "")
    assert "Trained by: python train.py --agent astraea --out first." in entry.about
    assert f"Policy mine, SHA-256 {policy.sha256[:12]}" in entry.about
    _, shipped = entering.entrant("astraea", tiny)
    assert "agents/trained" not in entering.described("astraea", shipped).about


def test_a_group_adds_its_members_once_and_tells_what_the_tier_does_not_run(tiny):
    mine = Path(training.__file__).parents[1] / "trained/astraea"
    found, left_out = entering.entrants([f"astraea={mine}", "learned", "reno", "classic"], tiny)
    names = [name for name, _ in found]
    assert names[0] == "astraea"
    assert len(names) == len(set(names))
    assert {"orbit", "cubic", "reno"} < set(names)
    assert left_out == []
    _, left_out = entering.entrants(["classic"], tiny, ["cubic"])
    assert "reno" in left_out


def test_keep_takes_a_result_that_this_build_would_give_again_and_no_other(
    tiny, public, tmp_path, monkeypatch
):
    def judged(seed: int) -> judging.Judgement:
        [found] = judging.judge([("cubic", None)], tiny, public, seed, earlier=tmp_path)
        return found

    first = judged(1)
    path = tmp_path / first.result.file_name
    path.write_bytes(encode(first.result))
    again = judged(1)
    assert (first.is_earlier, again.is_earlier) == (False, True)
    assert again.result == first.result
    assert not judged(2).is_earlier
    with monkeypatch.context() as patch:
        patch.setattr(judging, "_core", lambda: "0" * 64)
        assert not judged(1).is_earlier
    with monkeypatch.context() as patch:
        patch.setattr(judging.build, "files", lambda: "0" * 64)
        assert not judged(1).is_earlier
    path.write_text("{}")
    assert not judged(1).is_earlier
