import ast
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

from leogym.common import extras
from leogym.common.errors import InputError, reports_input_errors
from leogym.kernel_bridge.quic import stacks

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WITHOUT = ROOT / "tests" / "support" / "without_packages.py"
SCENARIO = "static-100-cubic"
ALL = tuple(extras.EXTRAS)
# Modules of packages whose names differ from them.
MODULES = {
    "pyyaml": "yaml",
    "stable-baselines3": "stable_baselines3",
    "grpcio": "grpc",
    "sb3-contrib": "sb3_contrib",
}

pytestmark = pytest.mark.xdist_group("extras")  # one process of `WITHOUT` for all


def leogym(words: str) -> str:
    return f"command(*{words.split()!r})"


def train(words: str) -> str:
    return leogym(f"train {words} --steps 100 --out out")


class Use(NamedTuple):
    """A use of LeoGym without packages."""

    code: str
    feature: str = ""
    """What the message says that needs the package; empty: it works without."""
    title: str = ""
    extra: str = ""
    missing: tuple[str, ...] = ALL


USES = {
    # Work without any extra.
    **{
        words: Use(leogym(words))
        for words in (
            *("--help", "train --help", "evaluate --list", "agents --help", "traces list", "bridge check"),
            *("fidelity --help", "leobench --help", "lab --help"),
            *("completion bash", "traces build sd-ny-isl --duration 1 --out path.csv"),
            f"evaluate {SCENARIO} --quick --repeats 1 --schemes cubic,astraea --cache none --out out",
        )
    },
    "parallel_env": Use("from leogym.envs import parallel_env; parallel_env().reset()"),
    "gymnasium.make": Use("import gymnasium, leogym; gymnasium.make('leo/Flow-v0').reset()"),
    # Need one.
    "--ray": Use(leogym(f"evaluate {SCENARIO} --ray local --out out"), "--ray", "Ray", "rllib"),
    "--sweep": Use(leogym("train --sweep x.yaml"), "--sweep", "Ray", "rllib"),
    **{
        agent: Use(train(f"--agent {agent}"), f"--engine {engine}", title, extra)
        for agent, engine, title, extra in (
            ("astraea", "native", "PyTorch", "train"),
            ("orbit", "native", "PyTorch", "train"),
            ("clone", "native", "PyTorch", "train"),
            ("aurora", "sb3", "PyTorch", "train"),
            ("ppo", "sb3", "PyTorch", "train"),
            ("recurrent_ppo", "sb3", "PyTorch", "train"),
            ("sac", "sb3", "SB3-Contrib", "sb3"),
            ("appo", "rllib", "PyTorch", "train"),
            ("bc", "rllib", "PyTorch", "train"),
        )
    },
    "--track tensorboard": Use(
        "from leogym.agents.training.tracking import TensorBoard; TensorBoard(None, None, 0)",
        "--track tensorboard",
        "PyTorch",
        "train",
    ),
    "--track wandb": Use(
        "from leogym.agents.training.tracking import WandB; WandB(None, None, 0)",
        "--track wandb",
        "Weights & Biases",
        "tracking",
    ),
    "agents import orca": Use(leogym("agents import orca x"), "agents import orca", "ONNX", "train"),
    "agents import sage": Use(leogym("agents import sage x"), "agents import sage", "PyTorch", "train"),
    "agents search": Use(leogym("agents search x.yaml"), "agents search", "ONNX", "train"),
    "rain": Use("import leogym.traces.capacity.rain", "rain", "ITU-Rpy", "weather"),
    "leogym.envs.sb3": Use("import leogym.envs.sb3", "leogym.envs.sb3", "Stable-Baselines3", "sb3"),
    "leogym.envs.rllib": Use("import leogym.envs.rllib", "leogym.envs.rllib", "Ray", "rllib"),
    "save_policy": Use(
        "from leogym.agents.export import save_policy", "leogym.agents.export", "PyTorch", "train"
    ),
}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, tuple[int, str, list[str]]]:
    """Exit status, standard error and written files of each use."""
    done = subprocess.run(
        [sys.executable, WITHOUT],
        input=json.dumps([[use.code, use.missing] for use in USES.values()]),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return dict(zip(USES, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("name", USES)
def test_a_use_without_packages_works_or_names_the_extra(
    name: str, outcomes: dict[str, tuple[int, str, list[str]]]
) -> None:
    use, (status, errors, files) = USES[name], outcomes[name]
    if not use.feature:
        assert (status, "Traceback" in errors) == (0, False), errors
        return
    *above, last = errors.splitlines()
    assert last.endswith(f"{use.feature}: needs {use.title}: pip install 'leogym[{use.extra}]'")
    if use.code.startswith("command"):
        assert (status, above, files) == (2, [], [])
    else:
        assert last.startswith("leogym.common.extras.MissingPackageError: ")


def imported(path: Path) -> set[str]:
    """The top-level packages that a file imports anywhere."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


def test_every_package_that_is_imported_is_a_dependency_or_of_an_extra() -> None:
    required = {text.split(">")[0].split("=")[0] for text in PROJECT["dependencies"]}
    required |= {"markupsafe", "pydantic_core"}  # which jinja2 and pydantic require
    installable = {MODULES.get(name, name) for name in required} | {*ALL, *sys.stdlib_module_names, "leogym"}
    # Which the user of a QUIC stack installs.
    quic_stacks = [scheme.stack for scheme in stacks.registered().values()]
    installable |= {module.partition(".")[0] for stack in quic_stacks for module in stack.modules}
    rooms = [path for path in (ROOT / "leogym").iterdir() if path.is_symlink()]
    files = [path for room in rooms for path in room.resolve().rglob("*.py")]
    sources = [path for path in files if not path.name.startswith(("test_", "conftest"))]
    unknown = {path: imported(path) - installable for path in sources}
    assert len(sources) > 200
    assert not {str(path): names for path, names in unknown.items() if names}


def test_every_extra_named_to_users_exists_and_has_the_package() -> None:
    declared = PROJECT["optional-dependencies"]
    for module, (_, extra) in extras.EXTRAS.items():
        packages = [text.split(">")[0].split("=")[0].split("[")[0] for text in declared[extra]]
        assert module in [MODULES.get(name, name) for name in packages]
    [everything] = declared["all"]
    assert set(everything.removeprefix("leogym[").removesuffix("]").split(",")) == declared.keys() - {"all"}


def test_a_missing_package_is_bad_input_and_an_import_error() -> None:
    with pytest.raises(InputError) as caught, extras.needed_by("--x"):
        raise ModuleNotFoundError(name="ray.rllib")
    assert isinstance(caught.value, ImportError)


def test_the_innermost_feature_is_named() -> None:
    with (
        pytest.raises(InputError, match=r"^inner: needs Ray"),
        extras.needed_by("outer"),
        extras.needed_by("inner"),
    ):
        raise ModuleNotFoundError(name="ray")


def test_a_command_names_the_extra_of_any_other_missing_package(capsys: pytest.CaptureFixture[str]) -> None:
    def main() -> int:
        raise ModuleNotFoundError(name="torch.nn")

    with pytest.raises(SystemExit) as caught:
        reports_input_errors(main)()
    assert caught.value.code == 2
    assert capsys.readouterr().err == "this command needs PyTorch: pip install 'leogym[train]'\n"


def test_other_missing_modules_are_not_hidden() -> None:
    with pytest.raises(ModuleNotFoundError, match="No module") as caught, extras.needed_by("--x"):
        import leogym_has_no_such_module  # noqa: F401
    assert not isinstance(caught.value, InputError)
