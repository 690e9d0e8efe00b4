"""The command that runs one suite of an evaluation again."""

import shlex
from pathlib import Path

import polars as pl

from leogym.common.command_line import leogym_command
from leogym.configs import suite as suites
from leogym.configs.suite import Suite
from leogym.evaluation.recorded.results import Results


def of_suite(results: Results, suite: Suite) -> str:
    """Return the command line that runs a suite alone as before; the user's policies keep their folders."""
    words = _arguments(str(results.description["command"]))
    config = results.description["config"]
    name = suite.name
    if name not in suites.shipped() and suite.source != f"configs/scenarios/{name}.yaml":
        # Use the path of a user's file from the command; a scenario file's suite has it as source.
        files = [word for word in [*words, suite.source] if word.endswith((".yaml", ".yml"))]
        named = [word for word in files if Path(word).stem == name]
        name = (named or (files if len(files) == 1 else []) or [name])[0]
    options: list[str] = []
    if "--schemes" in words[:-1]:
        options += ["--schemes", words[words.index("--schemes") + 1]]
    elif suite.tests_schemes:
        options += ["--schemes", ",".join(_tested(results, suite))]
    if (backend := config.get("backend", "simulator")) != "simulator":
        options += ["--backend", str(backend)]
    if config.get("repeats"):
        options += ["--repeats", str(config["repeats"])]
    options += [f"--{name}" for name in ("quick", "spot") if config.get(name)]
    if (seed := results.description["seed"]) != 1:
        options += ["--seed", str(seed)]
    return leogym_command("evaluate", name, *options)


def _arguments(command: str) -> list[str]:
    """Return a command's words, with ``--name=value`` as two."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    return [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]


def _tested(results: Results, suite: Suite) -> list[str]:
    ran = set(results.runs.filter(pl.col("suite") == suite.name)["run_scheme"])
    return [scheme for scheme in results.schemes if scheme in ran]
