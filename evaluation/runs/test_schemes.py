import json
import re
import shlex
from pathlib import Path

import leosim
import pytest
import yaml

from leogym.common.errors import InputError
from leogym.configs import suite
from leogym.evaluation import listed
from leogym.evaluation.runs.backends import backend
from leogym.evaluation.runs.schemes import GROUPS, about, load_policy, of_suites, parse, shipped
from leogym.kernel_bridge.quic import stacks

PAGE = Path(__file__).resolve().parents[2] / "docs/schemes.md"


def words(text: str) -> str:
    return " ".join(text.split())


def test_an_agents_name_alone_stands_for_the_policy_that_comes_with_the_project():
    contestants = parse("cubic,aurora", ["cubic"])
    assert contestants.names == ["cubic", "aurora"]
    policy = contestants.policies["aurora"]
    assert policy.metadata["agent"] == "aurora"
    assert about("aurora", policy).startswith("Aurora (Jay et al., ICML 2019)")


def test_a_name_without_either_is_answered_with_those_there_are():
    for name in ("moon", "../aurora", "vivace"):
        with pytest.raises(InputError, match=rf"^--schemes: {name}: not a scheme .*cubic"):
            parse(f"cubic,{name}", ["cubic"])


def test_what_only_the_simulator_runs_is_answered_with_what_the_backend_runs():
    message = r"^--schemes: oracle: not a scheme that this backend runs, but the simulator does .*cubic, reno"
    with pytest.raises(InputError, match=message):
        parse("oracle", ["cubic", "reno"])


def test_a_group_stands_for_its_schemes():
    simulator = backend("simulator").schemes()
    classic, learned = parse("classic", simulator), parse("learned", simulator)
    assert set(classic.names or []) == {*leosim.schemes()} - {"udp", "oracle"}
    assert classic.policies == {}
    assert learned.names == list(learned.policies) == list(shipped())
    assert parse("all", simulator).names == [*(classic.names or []), *(learned.names or [])]
    assert set(GROUPS) == {"all", "classic", "learned"}


def test_a_group_leaves_out_what_is_named_beside_it_and_what_the_backend_does_not_run(tmp_path):
    mine = imported(tmp_path, "orca")
    found = parse(f"learned,orca={mine},cubic,classic", ["cubic", "reno"])
    assert found.names == [*(name for name in shipped() if name != "orca"), "orca", "cubic", "reno"]
    assert found.policies["orca"].folder == mine / "policy"
    assert set(found.left_out) == {*leosim.schemes()} - {"udp", "oracle", "cubic", "reno"}


def test_a_wrong_scheme_is_answered_by_the_nearest_policies_included():
    with pytest.raises(InputError, match=r"astrea: not a scheme .*nearest: astraea"):
        parse("astrea", ["cubic"])


def test_every_scheme_that_a_shipped_suite_runs_by_default_is_built_in_or_has_a_policy_here():
    suites = [suite.load(name) for name in suite.shipped()]
    own = of_suites(suites)
    assert own.names is None
    assert "astraea" in own.policies
    for one in suites:
        known = {*backend("simulator").schemes(), *stacks.registered(), *own.policies}
        assert set(one.schemes) <= known, one.name


def test_an_agents_former_name_is_answered_by_the_present_one():
    with pytest.raises(InputError, match=r"--schemes: sage: is clone now, .* leogym agents import sage"):
        parse("cubic,sage", ["cubic"])


@pytest.mark.parametrize("name", ["astraea", "aurora", "clone", "orbit", "orca"])
def test_report_list_and_page_name_the_differences_from_the_publication(name):
    policy = load_policy(shipped()[name])
    line = policy.origin
    assert "\n" not in line
    assert line.startswith(("Trained here, not", "A behavioural clone", "Ours, "))
    assert line in about(name, policy)
    assert f"{name} {line}" in words("\n".join(listed.lines()))
    assert f"| `{name}` | {line} |" in PAGE.read_text(encoding="utf-8")


def test_page_and_list_have_the_schemes_of_the_simulators_table():
    page = PAGE.read_text(encoding="utf-8")
    shown = words("\n".join(listed.lines()))
    for name, sentence in (leosim.schemes() | leosim.stack_schemes()).items():
        assert f"{name} {sentence}" in shown
        assert f"| `{name}` | {sentence} |" in page
        assert about(name, None) == sentence


def test_the_page_calls_nothing_as_published():
    assert "as published" not in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", shipped())
def test_what_a_shipped_policy_says_of_its_making_agrees_with_itself(name):
    folder = shipped()[name]
    provenance = load_policy(folder).metadata["provenance"]
    settings = yaml.safe_load((folder / "config.yaml").read_text())
    assert settings == provenance["config"]
    header = json.loads((folder / "config.yaml").read_text().splitlines()[0].removeprefix("# "))
    assert header["command"] == provenance["command"]
    assert header["commit"] == provenance["commit"]
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", provenance["commit"])
    # The command reproduces the run.
    words = shlex.split(provenance["command"])
    for flag in ("agent", "seed"):
        if f"--{flag}" in words:
            assert words[words.index(f"--{flag}") + 1] == str(settings[flag])


def imported(folder: Path, agent: str) -> Path:
    """Return a folder with an imported policy of ``agent``, with other weights than ours."""
    policy = load_policy(shipped()[agent])
    (folder / "policy").mkdir(parents=True)
    said = {"imported_from": "model.ckpt-1.index", "index_sha256": "ab" * 32}
    for file, content in policy.files.items():
        (folder / "policy" / file).write_bytes(content)
    description = json.dumps({**policy.metadata, "provenance": said})
    (folder / "policy" / "policy.json").write_text(description)
    return folder


def test_weights_of_the_authors_have_a_name_and_a_line_of_their_own(tmp_path):
    theirs = imported(tmp_path / "runs", "orca")
    contestants = parse(f"orca,orca-authors={theirs}", ["cubic"])
    ours, authors = (about(name, contestants.policies[name]) for name in ("orca", "orca-authors"))
    assert "Authors' weights, imported from model.ckpt-1.index (SHA-256 abababababab…)" in authors
    assert "Trained here" not in authors
    assert "Trained here, not Orca's own weights" in ours
    assert "Authors" not in ours


def test_a_policy_of_ones_own_says_how_it_was_trained(tmp_path):
    theirs = imported(tmp_path, "orca")
    path = theirs / "policy" / "policy.json"
    said = {**json.loads(path.read_text()), "provenance": {"command": "python train.py --agent orca"}}
    path.write_text(json.dumps(said))
    (policy,) = parse(f"mine={theirs}", ["cubic"]).policies.values()
    assert "Trained by: python train.py --agent orca." in about("mine", policy)
    assert "Trained here" not in about("mine", policy)
    assert about("mine", policy).startswith("A policy with the observation and action of orca. Trained by: ")
