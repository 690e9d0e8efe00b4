import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from leogym.configs import extras
from leogym.configs.errors import InputError

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
LACKING = "import sys; sys.modules.update(dict.fromkeys(sys.argv.pop(1).split(',')))\n"
"""Makes Python report these modules as not installed."""

USES = {
    "--engine rllib": "from leogym.agents.training import registry; registry.get('ppo').trainer('rllib')",
    "--engine sb3": "from leogym.agents.training import registry; registry.get('tqc').trainer('sb3')",
    "--ray": "from leogym.evaluation.runs.execute import joined; joined('local').__enter__()",
    "--sweep": "from leogym.agents import train_cli; train_cli.run(['--sweep', 'x.yaml'])",
    "--track wandb": "from leogym.agents.training.tracking import WandB; WandB(None, None, 0)",
    "leogym.envs.sb3": "import leogym.envs.sb3",
    "leogym.envs.rllib": "import leogym.envs.rllib",
    "rain": "import leogym.traces.capacity.rain",
}
NEEDS = {"--engine sb3": "sb3", "leogym.envs.sb3": "sb3", "--track wandb": "tracking", "rain": "weather"}


def last_line_without_extras(code: str, folder: Path) -> str:
    lacking = ",".join(extras.EXTRAS)
    done = subprocess.run(
        [sys.executable, "-c", LACKING + code, lacking], cwd=folder, capture_output=True, text=True
    )
    return done.stderr.strip().splitlines()[-1] if done.stderr else ""


@pytest.mark.parametrize("feature", USES)
def test_a_feature_whose_package_is_missing_names_the_extra(feature: str, tmp_path: Path) -> None:
    line = last_line_without_extras(USES[feature], tmp_path)
    assert f": {feature}: needs " in line
    assert line.endswith(f": pip install 'leogym[{NEEDS.get(feature, 'rllib')}]'")


def test_commands_and_environments_import_no_optional_package(tmp_path: Path) -> None:
    modules = (
        "leogym.agents.train_cli",
        "leogym.agents.astraea.train",
        "leogym.agents.training.reporter",
        "leogym.agents.__main__",
        "leogym.evaluation.cli",
        "leogym.evaluation.report.page",
        "leogym.traces.__main__",
        "leogym.kernel_bridge.__main__",
        "leogym.envs.parallel",
        "leogym.envs.flow",
    )
    code = f"import importlib\nfor name in {modules}: importlib.import_module(name)"
    assert last_line_without_extras(code, tmp_path) == ""


def test_every_extra_named_to_users_exists() -> None:
    declared = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    assert {extra for _, extra in extras.EXTRAS.values()} <= declared.keys()
    [everything] = declared["all"]
    assert set(everything.removeprefix("leogym[").removesuffix("]").split(",")) == declared.keys() - {"all"}


def test_a_missing_package_is_bad_input_and_an_import_error() -> None:
    with pytest.raises(InputError) as caught, extras.needed_by("--x"):
        raise ModuleNotFoundError(name="ray.rllib")
    assert isinstance(caught.value, ImportError)


def test_other_missing_modules_are_not_hidden() -> None:
    with pytest.raises(ModuleNotFoundError, match="No module") as caught, extras.needed_by("--x"):
        import leogym_has_no_such_module  # noqa: F401
    assert not isinstance(caught.value, InputError)
