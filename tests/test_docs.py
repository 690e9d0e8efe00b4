"""The docs' links resolve, their commands exist, and the short ones are run as a reader would."""

import argparse
import ast
import importlib.util
import inspect
import itertools
import re
import runpy
import shlex
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import leosim
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from leogym import evaluation
from leogym.agents import train_cli
from leogym.agents.training import registry
from leogym.commands import __main__ as leogym
from leogym.common.command_line import OneLineParser
from leogym.configs import names
from leogym.evaluation.entries import confinement
from leogym.evaluation.runs import schemes
from leogym.kernel_bridge.quic import stacks
from leogym.results.flow_report import FlowReport

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (
    "agents",
    "commands",
    "common",
    "configs",
    "core",
    "docs",
    "envs",
    "evaluation",
    "kernel_bridge",
    "results",
    "scripts",
    "studies",
    "tests",
    "traces",
)
PAGES = sorted(
    [*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))],
    key=lambda page: page.relative_to(ROOT).as_posix(),
)
SHELLS = ("", "sh", "bash", "console")
"""Languages of fences that hold command lines."""
WITHOUT_PARSER = (
    "results.columns",
    "configs.file_reference",
    "configs.reference",
    "configs.suite_table",
    "tests.documented_changes",
    "scripts/layers.py",
)
"""Commands without options. Others are started here, and stop at their parser."""
OF_CLIENTS = ("rl_zoo3.", "docs/use-with/")
"""Commands and scripts of libraries that are not installed here; tests/clients runs them."""
ADDED = ("gaimd", "hillclimb")
"""A scheme and an agent that the docs tell the reader to add first."""
START = re.compile(r"(?:^|[;&|]\s*|\bdo\s+|\$\s+)(?:\S*/)?(?:leogym|python3?|make)(?:\s|$)")
README = ROOT / "README.md"
FILES = ROOT / "docs/files.md"
MY_SCHEME = ROOT / "docs/tasks/my-scheme.md"
RUNNING = ROOT / "docs/running.md"

per_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


class Command(NamedTuple):
    """A command line of a page, without comment, prompt and environment."""

    page: Path
    line: int
    words: tuple[str, ...]
    mentioned: bool
    """In a sentence, where it may lack arguments."""

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}: {shlex.join(self.words)}"


@cache
def tokens(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))


def links(page: Path) -> Iterator[str]:
    for token in tokens(page):
        for child in token.children or ():
            target = child.attrs.get("href" if child.type == "link_open" else "src")
            if isinstance(target, str):
                yield unquote(target)


@cache
def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives a page's headings."""
    found: set[str] = set()
    for token, inline in zip(tokens(page), tokens(page)[1:], strict=False):
        if token.type == "heading_open":
            text = "".join(child.content for child in inline.children or ())
            found.add(re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-"))
    return found


def commands(page: Path) -> Iterator[Command]:
    """The commands of code blocks, and of code in sentences where it starts with leogym, python or make."""
    for token in tokens(page):
        first = token.map[0] + 1 if token.map else 0
        if token.type == "code_block" or (token.type == "fence" and token.info.strip() in SHELLS):
            text = token.content.replace("\\\n", "  ")
            for number, line in enumerate(text.splitlines()):
                yield from simple(page, first + number + (token.type == "fence"), line, False)
        for child in token.children or ():
            if child.type == "code_inline" and child.content.startswith(("leogym ", "python ", "make ")):
                yield from simple(page, first, child.content, True)


def simple(page: Path, number: int, line: str, mentioned: bool) -> Iterator[Command]:
    """The commands of one line: ``for …; do A && B; done`` has A and B."""
    if not START.search(line.strip()):
        return
    lexer = shlex.shlex(re.sub(r"\$\w+", "1", line), posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if set(word) <= set(";&|"):
            while words and (words[0] in ("do", "$") or words[0].endswith("$") or "=" in words[0]):
                del words[0]
            if ">" in words:
                del words[words.index(">") :]
            if words and Path(words[0]).name in ("leogym", "python", "python3", "make"):
                program = Path(words[0]).name.removesuffix("3")
                yield Command(page, number, (program, *words[1:]), mentioned)
            words = []
        else:
            words.append(word)


def all_commands(program: str) -> list[Command]:
    """One command for each different line."""
    found = {one.words: one for page in reversed(PAGES) for one in commands(page) if one.words[0] == program}
    return list(found.values())


def documented(command: str) -> list[str]:
    """A command's words; it must be in the docs."""
    words = shlex.split(command)
    assert any(list(one.words) == words for one in all_commands(words[0])), f"not in the docs: {command}"
    return words


def run(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run ``leogym …`` or ``python …`` in this process, which spares importing everything once a command."""
    module = words[1] == "-m"
    arguments = words[2:] if module else [str(ROOT / words[1]), *words[2:]]
    monkeypatch.setattr(sys, "argv", list(words) if words[0] == "leogym" else arguments)
    warnings.filterwarnings("ignore", "'.*' found in sys.modules", RuntimeWarning)  # pytest takes it back
    try:
        if words[0] == "leogym":
            sys.exit(leogym.run(words[1:]))
        elif module:
            runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise ExitStatusError(f"{shlex.join(words)}: exit status {end.code}") from None


class ExitStatusError(Exception):
    """A command ended with an exit status other than 0."""


class Accepted(BaseException):
    """A parser accepted its arguments."""


def refusal(one: Command, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> str | None:
    """Say why a command does not exist as documented, None if it does. Nothing is done."""
    name, *rest = one.words[2:] if one.words[1] == "-m" else one.words[1:]
    if one.words[0] == "leogym":
        if name.startswith("-") or name.isupper():  # --version, COMMAND
            return None
    elif one.words[1] != "-m":
        if not (ROOT / name).is_file():
            return "no such script"
    elif not name.startswith(OF_CLIENTS) and importlib.util.find_spec(name) is None:
        return "no such module"
    elif name.split(".")[0] not in FOLDERS:
        return None
    if name in WITHOUT_PARSER or name.startswith(OF_CLIENTS):
        return None
    try:
        run(list(one.words), monkeypatch)
    except Accepted as accepted:
        return deeper(name, accepted.args[0])
    except ExitStatusError:
        why = capfd.readouterr().err.strip()
        incomplete = re.search("arguments are required|expected (one|at least)", why)
        return None if one.mentioned and incomplete else why
    return f"has no parser: {rest} was run"


def deeper(name: str, options: argparse.Namespace) -> str | None:
    """Check names that only the work itself would look up: settings, suites, schemes."""
    try:
        trains = name in ("train", "train.py") and options.agent and not options.resume
        trains = trains and (options.config is None or (ROOT / options.config).exists())
        if trains and options.agent not in ADDED:
            algorithm = train_cli.take_algorithm(options)
            agent = registry.get(options.agent)
            task = {} if algorithm is None else train_cli.task_of(agent)
            train_cli.check(train_cli.fresh(algorithm or agent, options, task))
        if name in ("evaluate", "evaluate.py", "papers") and "suites" in options:
            for given in options.suites:
                if not given.endswith(".yaml") or (ROOT / given).exists():
                    names.as_suite(given)
            known = {
                *leosim.schemes(),
                *leosim.stack_schemes(),
                *schemes.shipped(),
                *schemes.GROUPS,
                *ADDED,
                *stacks.registered(),
                "…",
            }
            for given in (getattr(options, "schemes", None) or "").split(","):
                if (
                    given.strip("…")
                    and "=" not in given
                    and given not in known
                    and not given.endswith("-authors")
                ):
                    return f"no scheme {given}"
    except leosim.InputError as error:
        return str(error)
    return None


def test_git_has_no_folder_that_the_readme_does_not_show():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    folders = {name.partition("/")[0] for name in listed.splitlines() if "/" in name}
    assert {folder for folder in folders if not folder.startswith(".")} == {*FOLDERS, "leogym"}


@per_page
def test_every_relative_link_resolves(page):
    for target in links(page):
        if re.match(r"[a-z+]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{target}: no such file"
        assert file.is_relative_to(ROOT), f"{target}: not in the project"
        if anchor:
            assert file.suffix != ".md" or anchor in anchors(file), f"{target}: no such heading"


@per_page
def test_every_file_that_a_page_names_exists(page):
    rooms = {*FOLDERS, *(crate.name for crate in (ROOT / "core").iterdir())}
    homes = (ROOT, ROOT / "core", page.parent, ROOT / page.relative_to(ROOT).parts[0])
    for child in (child for token in tokens(page) for child in token.children or ()):
        name = child.content.rstrip("/")
        named = child.type == "code_inline" and re.fullmatch(r"[a-z_]+(/[\w.*-]+)+", name)
        if named and name.split("/")[0] in rooms and not re.search(r"[A-Z]{4,}/|/[A-Z]{4,}$", name):
            assert any(True for home in homes for _ in home.glob(name)), f"{name}: no such file"


@per_page
def test_every_file_that_a_command_reads_from_the_project_exists(page):
    for one in commands(page):
        for before, word in zip(one.words, one.words[1:], strict=False):
            value = re.sub(r"\.py:.*", ".py", word.rpartition("=")[2])  # a test's or a class's name
            ours = value.split("/")[0] in FOLDERS and "/" in value and value.isascii()
            if ours and before not in ("--out", "--to") and not re.search(r"[A-Z*{]{2,}|hillclimb", value):
                assert (ROOT / value).exists(), f"{one.place}: {value}: no such file"


def test_every_make_target_and_variable_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    variables = set(re.findall(r"\$\(([A-Z]+)\)|\$\((?:if|or) \$\(([A-Z]+)\)", makefile))
    known = {name for pair in variables for name in pair if name}
    wrong = []
    for one in all_commands("make"):
        for word in one.words[1:]:
            name, is_variable, _ = word.partition("=")
            if name not in (known if is_variable else targets):
                wrong.append(one.place)
    assert len(all_commands("make")) > 10
    assert not wrong


def test_every_command_is_one_that_its_parser_accepts(monkeypatch, capfd):
    def parse_args(
        parser: argparse.ArgumentParser, arguments: list[str] | None = None, namespace: Any = None
    ) -> None:
        parsed, unknown = parser.parse_known_args(arguments, namespace)
        if unknown:
            parser.error(f"unrecognized arguments: {' '.join(unknown)}")
        raise Accepted(parsed)

    for parser in (argparse.ArgumentParser, OneLineParser):
        monkeypatch.setattr(parser, "parse_args", parse_args)
    monkeypatch.chdir(ROOT)
    found = [*all_commands("leogym"), *all_commands("python")]
    assert len(all_commands("leogym")) > 80
    wrong = [(one.place, why) for one in found if (why := refusal(one, monkeypatch, capfd)) is not None]
    assert not wrong, "\n".join(f"{place}\n    {why}" for place, why in wrong)


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Runs a documented command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def follow(command: str, more: str = "") -> None:
        run([*documented(command), *shlex.split(more)], monkeypatch)

    return follow


def block(page: Path, language: str, containing: str) -> str:
    """The fence of a page that contains a text."""
    [found] = {
        token.content
        for token in tokens(page)
        if token.type == "fence" and token.info.strip() == language and containing in token.content
    }
    return found


def test_a_named_path_is_built_drawn_and_exported(reader, tmp_path):
    reader("leogym traces build sd-ny-isl --duration 300 --out sd-ny.csv")
    reader("leogym traces plot sd-ny.csv --out globe.html")
    reader("leogym traces plot sd-ny.csv --out globe.html", "--out sd-ny.png")
    reader("leogym traces export sd-ny.csv --format mahimahi --out shells")
    assert {path.name for path in tmp_path.iterdir()} == {"sd-ny.csv", "globe.html", "sd-ny.png", "shells"}


def test_paths_without_a_name_are_built(reader, tmp_path):
    reader("leogym traces build --from -33.87,151.21 --to Frankfurt --duration 600 --out path.csv")
    reader("leogym traces synth uniform-steps --rtt-ms 5,100 --out y.csv")
    assert {path.name for path in tmp_path.iterdir()} == {"path.csv", "y.csv"}


def test_a_scenario_is_evaluated_reported_and_compared(reader, tmp_path, capfd):
    (tmp_path / "my-scenario.yaml").write_text(block(RUNNING, "yaml", "two-cubic"), encoding="utf-8")
    for name in ("a", "b"):
        reader("leogym evaluate my-scenario.yaml", f"--quick --out runs/{name}")
    reader("leogym evaluate report runs/a --format latex")
    assert {"report.html", "latex"} <= {path.name for path in (tmp_path / "runs/a").iterdir()}
    capfd.readouterr()
    reader("leogym evaluate compare runs/a runs/b")
    assert capfd.readouterr().out


def test_the_readmes_environments_step(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(block(README, "python", "Flow-v0"), {})


def test_a_path_with_a_measured_capacity_is_evaluated_as_its_page_says(reader, tmp_path):
    page = ROOT / "docs/tasks/my-path.md"
    (tmp_path / "measured.csv").write_text(block(page, "csv", "seconds"), encoding="utf-8")
    (tmp_path / "nairobi.yaml").write_text(block(page, "yaml", "nairobi"), encoding="utf-8")
    reader('leogym traces build --from Nairobi --to "Frankfurt am Main" --duration 600 --out nbo-fra.csv')
    reader(
        "leogym traces import measured.csv --format starlink-csv --columns "
        "time_s=seconds,downlink_mbps=mbps --delay-ms 0.1 --bin-ms 15000 --out capacity.csv"
    )
    reader(
        "leogym traces synth uniform-steps --rtt-ms 0.2,0.2 --capacity-mbps 40,110 --duration 600 "
        "--out steps.csv"
    )
    evaluate = "leogym evaluate nairobi.yaml --schemes cubic,bbr3,astraea --repeats 5 --out runs/nairobi"
    reader(evaluate, "--repeats 1 --schemes cubic,bbr3")
    assert (tmp_path / "runs/nairobi/report.html").is_file()


@pytest.mark.skipif(confinement.missing() is not None, reason=str(confinement.missing()))
def test_a_rule_in_python_is_evaluated_as_its_page_says(tmp_path, monkeypatch):
    (tmp_path / "aimd.py").write_text(block(MY_SCHEME, "python", "class Aimd"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    words = documented("leogym evaluate leo-single --quick --schemes cubic,aimd=aimd.py:Aimd --out runs/aimd")
    run(["static-100" if word == "leo-single" else word for word in words], monkeypatch)
    utilization = dict(evaluation.load("runs/aimd").runs.select("scheme", "normalized_goodput").iter_rows())
    assert utilization.keys() == {"cubic", "aimd"}
    assert 0.75 < utilization["aimd"] < utilization["cubic"]  # it has no slow start


def test_every_field_of_a_flows_report_is_on_its_page_in_order():
    [report] = ast.parse(inspect.getsource(FlowReport)).body
    assert isinstance(report, ast.ClassDef)
    rows = [
        f"| `{field.target.id}` | {text.value.value.replace('``', '`')} |\n"
        for field, text in itertools.pairwise(report.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    ]
    assert len(rows) == len(FlowReport._fields)
    assert "".join(rows) in MY_SCHEME.read_text(encoding="utf-8")


def test_a_suite_of_ones_own_is_evaluated_as_its_page_says(reader, tmp_path):
    (tmp_path / "queue-size.yaml").write_text(
        block(FILES, "yaml", "queue_bdp: [0.5, 1, 4]"), encoding="utf-8"
    )
    reader("leogym evaluate queue-size.yaml --quick --out runs/queue-size")
    runs = evaluation.load(tmp_path / "runs/queue-size").runs
    assert set(runs["scenario"]) == {"queue-0.5", "queue-1", "queue-4"}


def test_a_sampler_of_ones_own_trains_and_makes_an_environment(reader, tmp_path):
    (tmp_path / "short-queues.yaml").write_text(block(FILES, "yaml", "sampler: leo"), encoding="utf-8")
    reader("leogym train --agent ppo --config short-queues.yaml --out runs/short-queues")
    assert leosim.Policy.load(str(tmp_path / "runs/short-queues/policy")).spec == "astraea"
    exec(block(FILES, "python", "queue_bdp") + "env.reset(seed=1)\n", {})


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
def test_a_sweep_of_ones_own_runs_as_its_page_says(reader, tmp_path):
    text = block(FILES, "yaml", "log_uniform").replace("trials: 2", "trials: 1")
    (tmp_path / "rates.yaml").write_text(text, encoding="utf-8")
    reader("leogym train --sweep rates.yaml --out runs/rates")
    rows = (tmp_path / "runs/rates/sweep.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1 + 2  # a draw with two seeds


def test_a_reward_of_ones_own_trains_a_policy(reader, tmp_path):
    train = "python docs/tasks/beat_cubic.py --steps 400000 --seed 1 --out runs/mine"
    reader(train, "--steps 4096 --out mine")
    assert leosim.Policy.load(str(tmp_path / "mine")).spec == "astraea"


def test_the_lists_are_printed(reader, capfd):
    for command in (
        "leogym traces list",
        "leogym evaluate --list",
        "leogym bridge check",
        "python -m tests.bench --list",
        "python scripts/layers.py",
    ):
        capfd.readouterr()
        reader(command)
        assert len(capfd.readouterr().out.splitlines()) > 5, command


def test_the_example_of_a_column_is_as_in_the_code():
    page = ROOT / "CONTRIBUTING.md"
    files = ("core/sim/src/run_log.rs", "core/sim/src/run_log.rs", "kernel_bridge/runner/run_log.py")
    examples = [token for token in tokens(page) if token.type == "fence" and token.info in ("rust", "python")]
    for token, file in zip(examples, files, strict=True):
        code = (ROOT / file).read_text(encoding="utf-8")
        for line in token.content.splitlines():
            assert line.strip() in ("…", "...") or line.strip() in code, f"{file}: has no {line.strip()}"


def test_a_column_of_the_run_log_is_written_into_the_docs(reader, tmp_path):
    page = tmp_path / "docs/metrics.md"
    page.parent.mkdir()
    good = (ROOT / "docs/metrics.md").read_text(encoding="utf-8")
    page.write_text(good.replace("their size as IP packets", ""), encoding="utf-8")
    reader("python -m results.columns docs/metrics.md")
    assert page.read_text(encoding="utf-8") == good
