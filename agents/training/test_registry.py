import sys

import pytest

from leogym import agents
from leogym.agents.training import registry
from leogym.common.errors import InputError


def test_the_schemes_are_the_folders():
    assert {"astraea", "aurora", "orca", "ppo", "sac", "td3", "vivace"} <= registry.schemes().keys()


def test_adding_a_scheme_is_adding_its_folder(tmp_path, monkeypatch):
    folder = tmp_path / "newcomer"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from leogym.agents.training.scheme import Scheme\n"
        "SCHEME = Scheme(name='newcomer', summary='A new one')\n"
    )
    monkeypatch.setattr(agents, "__path__", [*agents.__path__, str(tmp_path)])
    try:
        assert registry.get("newcomer").summary == "A new one"
    finally:
        sys.modules.pop("leogym.agents.newcomer", None)
        vars(agents).pop("newcomer", None)


def test_two_folders_with_the_same_name_are_refused(tmp_path, monkeypatch):
    (tmp_path / "copied").mkdir()
    (tmp_path / "copied" / "__init__.py").write_text("from leogym.agents.orca import SCHEME\n")
    monkeypatch.setattr(agents, "__path__", [*agents.__path__, str(tmp_path)])
    try:
        with pytest.raises(
            InputError, match=r"^agents/\w+: SCHEME: name: 'orca' is that of agents/\w+, too$"
        ):
            registry.schemes()
    finally:
        sys.modules.pop("leogym.agents.copied", None)
        vars(agents).pop("copied", None)


def test_a_package_that_defines_no_scheme_is_not_imported(tmp_path, monkeypatch):
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / "__init__.py").write_text("raise RuntimeError('as slow as torch')\n")
    monkeypatch.setattr(agents, "__path__", [*agents.__path__, str(tmp_path)])
    assert "slow" not in registry.schemes()


def test_an_agent_that_cannot_be_trained_is_answered_with_those_that_can():
    for name in ("moon", "nonsense"):
        with pytest.raises(InputError, match=rf"^--agent: {name}: .*astraea, aurora"):
            registry.get(name)


def test_every_trainer_of_every_scheme_can_be_imported():
    for scheme in registry.schemes().values():
        for engine in scheme.trainers:
            assert callable(scheme.trainer(engine))


def test_an_engine_that_does_not_train_the_scheme_is_answered_with_those_that_do():
    with pytest.raises(InputError, match="astraea is trained by native"):
        registry.get("astraea").trainer("sb3")
