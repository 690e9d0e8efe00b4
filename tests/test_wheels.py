"""The wheels of `make wheels`, in an environment without the repository."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import leogym
from leogym.common import digests
from leogym.kernel_bridge.bridge import process as bridge_process
from leogym.traces.path import cache
from tests.printed_commands import WITH_SUBCOMMANDS, printed

ROOT = Path(__file__).resolve().parents[1]
OURS = ("leogym", "_leogym", "leo_app", "leo_bridge", "leosim", "mm_leo")
ROOMS = tuple(sorted(path.name for path in (ROOT / "leogym").iterdir() if path.is_dir()))
USED_AT_RUN_TIME = {".py", ".yaml", ".json", ".onnx", ".parquet", ".j2", ".js", ".html", ".c", ".h"}
HIDDEN = "raise ImportError(f'{__name__}: another package was meant')"
"""Content of the user's modules that have the names of ours."""

PROGRAMS = {"mm_leo": "mm-leo", "leo_app": "leo-app", "leo_bridge": "leo-bridge"}
"""Wheels that hold a program."""
LARGEST_BYTES = 800_000_000
"""Of an install without extras."""
SLOWEST_IMPORT_S = 0.3
SCENARIO = """
duration_s: 3
links: {l: {rate_mbps: 20, delay_ms: 20, queue: {packets: 60}}}
flows: [{scheme: $scheme, route: [l]}]
"""
HELPS = """
import contextlib, io, json, sys
from leogym.commands.__main__ import run
helps = {}
for words in json.loads(sys.argv[1]):
    sys.argv[:] = ["leogym"]
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        run([*words, "--help"])
    helps[" ".join(words)] = output.getvalue()
print(json.dumps(helps))
"""
EPISODE = """
import gymnasium, leogym
environment = gymnasium.make("leo/Flow-v0")
observation, _ = environment.reset(seed=1)
assert environment.step(environment.action_space.sample())[0].shape == observation.shape
import configs, envs, traces
assert (configs.MINE, envs.MINE, traces.MINE) == (1, 2, 3)
assert "site-packages" in leogym.__file__, leogym.__file__
"""

pytestmark = pytest.mark.xdist_group("wheels")  # two builds would disturb each other

Run = Callable[..., str]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheels by name, as `make wheels` builds them."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(["make", "--silent", "wheels", f"DIST={folder}"], cwd=ROOT, check=True)
    return {path.name.split("-")[0]: path for path in folder.glob("*.whl")}


def environment_python(folder: Path, with_pip: bool) -> Path:
    venv.create(folder, with_pip=with_pip, symlinks=True)
    return folder / "bin" / "python"


def share_packages(python: Path, folder: Path) -> None:
    """Give an environment every package of this one, except ours, as if they were installed there."""
    folder.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(OURS):
            (folder / entry.name).symlink_to(entry)
    [site] = python.parents[1].glob("lib/python*/site-packages")
    (site / "shared.pth").write_text(f"{folder}\n")


def install(python: Path, *arguments: str | Path) -> None:
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", *arguments]
    subprocess.run(pip, env=without_project(), check=True)


def without_project() -> dict[str, str]:
    """The variables of a machine without this project and Rust; built path traces are shared."""
    hidden = ("VIRTUAL_ENV", "PYTHONPATH", "CARGO_HOME")
    inherited = {name: value for name, value in os.environ.items() if name not in hidden}
    return inherited | {"PATH": "/usr/bin:/bin", "LEOGYM_CACHE": str(cache.folder().parent)}


def users_project(folder: Path) -> Path:
    """A project with packages that have the names of ours."""
    for number, name in enumerate(("configs", "envs", "traces"), 1):
        package = folder / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(f"MINE = {number}\n")
        for module in ("errors", "flow", "scenario", "path", "sampling", "registration"):
            (package / f"{module}.py").write_text(HIDDEN)
    for name in ("results", "agents", "evaluation", "kernel_bridge"):
        (folder / f"{name}.py").write_text(HIDDEN)
    return folder


def runner(python: Path, folder: Path) -> Run:
    def run(*arguments: str) -> str:
        """Run Python, which looks for modules in ``folder`` first, and return its output."""
        done = subprocess.run(
            [python, *arguments], cwd=folder, env=without_project(), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="module")
def run(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run Python with the wheels in the user's project."""
    folder = tmp_path_factory.mktemp("wheels")
    python = environment_python(folder / "venv", with_pip=False)
    share_packages(python, folder / "shared")
    install(python, "--no-index", *wheels.values())
    return runner(python, users_project(folder / "project"))


def shows_that_all_works(run: Run) -> None:
    run("-c", EPISODE)
    leogym = ("-m", "leogym")
    run(*leogym, "train", "--agent", "astraea", "--steps", "500", "--out", "x")
    evaluate = ("evaluate", "leo-single", "--quick", "--repeats", "1", "--schemes", "cubic,mine=x/policy")
    run(*leogym, *evaluate, "--out", "y")
    run(*leogym, "traces", "build", "sd-ny-isl", "--duration", "60", "--out", "p.csv")
    made = ("x/policy/policy.onnx", "y/report.html", "y/runs.parquet", "p.csv")
    sizes = run("-c", f"from os import stat; print(*(stat(name).st_size for name in {made}))")
    assert min(map(int, sizes.split())) > 1000


def test_training_evaluation_and_traces_work_beside_packages_of_the_same_names(run: Run) -> None:
    shows_that_all_works(run)


def installed(folder: Path, wheels: dict[str, Path], requirement: str) -> Path:
    """Install a requirement and what it needs in an empty environment; return its Python."""
    python = environment_python(folder, with_pip=True)
    links = f"--find-links={wheels['leogym'].parent}"
    command = [python, "-m", "pip", "install", "--quiet", links, requirement]
    subprocess.run(command, env=without_project(), check=True)
    return python


@pytest.mark.installs
def test_the_same_in_an_empty_environment(wheels: dict[str, Path], tmp_path: Path) -> None:
    python = installed(tmp_path / "venv", wheels, "leogym[train]")
    shows_that_all_works(runner(python, users_project(tmp_path / "project")))


def size(folder: Path) -> int:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files)


@pytest.mark.installs
def test_a_plain_install_is_small_starts_fast_and_evaluates_every_scheme(
    wheels: dict[str, Path], tmp_path: Path
) -> None:
    environment_python(tmp_path / "empty", with_pip=True)
    python = installed(tmp_path / "venv", wheels, "leogym")
    assert size(tmp_path / "venv") - size(tmp_path / "empty") <= LARGEST_BYTES
    run = runner(python, tmp_path)
    # Of this process, so that other processes do not count.
    timed = "import time; start = time.process_time(); import leogym; print(time.process_time() - start)"
    assert min(float(run("-c", timed)) for _ in range(5)) <= SLOWEST_IMPORT_S
    (tmp_path / "s.yaml").write_text(SCENARIO)
    options = ("--repeats", "1", "--cache", "none", "--out", "out")
    run("-m", "leogym", "evaluate", "s.yaml", "--schemes", "all,oracle", *options)
    shipped = "from leogym.evaluation.runs.schemes import shipped"
    known = set(run("-c", f"import leosim; {shipped}; print(*leosim.schemes(), *shipped())").split()) - {
        "udp"
    }
    found = run("-c", "import polars; print(*polars.read_parquet('out/runs.parquet')['run_scheme'].unique())")
    assert set(found.split()) == known
    trains = subprocess.run(
        [python, "-m", "leogym", "train", "--agent", "astraea", "--steps", "9"],
        cwd=tmp_path,
        env=without_project(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert trains.stderr.splitlines() == ["--engine native: needs PyTorch: pip install 'leogym[train]'"]


@pytest.mark.installs
@pytest.mark.skipif(bridge_process.missing() is not None, reason=str(bridge_process.missing()))
def test_orbit_runs_on_real_tcp_without_a_clone(wheels: dict[str, Path], tmp_path: Path) -> None:
    python = installed(tmp_path / "venv", wheels, "leogym[kernel]")
    run = runner(python, tmp_path)
    (tmp_path / "s.yaml").write_text(SCENARIO)
    assert "leo-bridge: ready" in run("-m", "leogym", "bridge", "check")
    options = ("--backend", "kernel", "--schemes", "orbit", "--repeats", "1", "--out", "out")
    run("-m", "leogym", "evaluate", "s.yaml", *options)
    use = "import polars; print(*polars.read_parquet('out/runs.parquet')['normalized_goodput'])"
    assert float(run("-c", use)) > 0.5


def test_the_wheel_of_leogym_has_what_is_used_at_run_time_and_nothing_else(wheels: dict[str, Path]) -> None:
    with zipfile.ZipFile(wheels["leogym"]) as wheel:
        inside = {name for name in wheel.namelist() if name.startswith("leogym/")}
    used = {
        f"leogym/{path.relative_to(ROOT)}"
        for room in ROOMS
        for path in (ROOT / room).rglob("*")
        if path.suffix in USED_AT_RUN_TIME
        or path.name == digests.NAME
        or path.is_relative_to(ROOT / "traces" / "data")
        if path.is_file()
        and not path.name.startswith(("test_", "conftest"))
        and not path.is_relative_to(ROOT / "kernel_bridge" / "bridge" / "bpf")
    }
    modules = {path.name for path in (ROOT / "leogym").iterdir() if path.suffix in (".py", ".parquet")}
    own = {f"leogym/{name}" for name in modules if not name.startswith("test_")}
    added = {"leogym/commit", "leogym/evaluation/report/plotly.min.js"}
    extra = {*own, *added, "leogym/kernel_bridge/inside/init"}
    assert inside == used | extra


def test_one_wheel_of_leosim_serves_all_pythons_and_many_linuxes(wheels: dict[str, Path]) -> None:
    assert "-cp311-abi3-manylinux_" in wheels["leosim"].name


def test_the_programs_need_no_shared_library(wheels: dict[str, Path], tmp_path: Path) -> None:
    for name in PROGRAMS.keys() & wheels.keys():
        assert "-py3-none-" in wheels[name].name
        program = unpacked(wheels[name], tmp_path)
        done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
        assert "statically linked" in done.stdout + done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot needs root")
def test_the_programs_start_in_a_tree_that_has_nothing_else(wheels: dict[str, Path], tmp_path: Path) -> None:
    for name in PROGRAMS.keys() & wheels.keys():
        program = unpacked(wheels[name], tmp_path)
        command = ["chroot", tmp_path, f"/{program.name}", "--help"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert program.name in done.stdout


def unpacked(wheel: Path, folder: Path) -> Path:
    """Write a wheel's program to a folder."""
    with zipfile.ZipFile(wheel) as archive:
        [member] = [name for name in archive.namelist() if ".data/scripts/" in name]
        program = folder / Path(member).name
        program.write_bytes(archive.read(member))
    program.chmod(0o755)
    return program


def test_a_wheel_has_every_command_that_programs_print(run: Run) -> None:
    commands = [
        words[:2] if words[0] in WITH_SUBCOMMANDS else words[:1]
        for words, place in printed().items()
        if not place.startswith("studies/")
    ]
    helps = json.loads(run("-c", HELPS, json.dumps(commands)))
    assert len(helps) > 10
    for words, text in helps.items():
        assert text.startswith(f"usage: leogym {words} [-h]"), words


def test_all_wheels_have_the_version_that_the_command_prints(wheels: dict[str, Path], run: Run) -> None:
    assert {path.name.split("-")[1] for path in wheels.values()} == {leogym.__version__}
    assert run("-m", "leogym", "--version") == f"leogym {leogym.__version__}\n"
    programs = {"mm_leo", "leo_app", *(["leo_bridge"] if bridge_process.program() else [])}
    assert wheels.keys() == {"leogym", "leosim", *programs}


def test_the_wheel_of_mm_leo_is_one_program_and_needs_nothing(wheels: dict[str, Path]) -> None:
    with zipfile.ZipFile(wheels["mm_leo"]) as wheel:
        files = [name for name in wheel.namelist() if ".dist-info/" not in name]
        metadata = next(name for name in wheel.namelist() if name.endswith("/METADATA"))
        text = wheel.read(metadata).decode()
    assert [Path(name).name for name in files] == ["mm-leo"]
    assert "Requires-Dist" not in text
    assert "mm-delay 20 CMD" in text, "its page is the wheel's description"


def test_provenance_has_the_commit_that_the_wheel_was_built_from(wheels: dict[str, Path], run: Run) -> None:
    with zipfile.ZipFile(wheels["leogym"]) as wheel:
        commit = wheel.read("leogym/commit").decode().strip()
    assert run("-c", "from leogym.results import provenance; print(provenance.commit())").strip() == commit
    assert len(commit.removesuffix("-dirty")) == 40


def test_a_wheel_finds_the_path_traces_that_a_checkout_built(run: Run) -> None:
    code = "from leogym.traces.path import cache; print(cache.file('sd-ny-isl'))"
    assert run("-c", code).strip() == str(cache.file("sd-ny-isl"))


def test_the_labs_guest_gets_our_modules_from_a_wheel(run: Run) -> None:
    code = "from leogym.kernel_bridge.lab import guest_modules as g; print(*map(g.name, g.find_modules()[1]))"
    names = run("-c", code).split()
    assert "project/leogym/kernel_bridge/inside/guest_boot.pyc" in names
    assert all(name.startswith("project/leogym/") for name in names)
