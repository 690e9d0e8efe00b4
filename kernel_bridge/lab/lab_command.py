"""``leogym lab check|build|run SCENARIO|exec|module|stack``."""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from leogym.common import output_folder
from leogym.common.atomic import write_atomically, write_table
from leogym.common.command_line import OneLineParser
from leogym.common.errors import InputError, reports_input_errors
from leogym.configs import scenario
from leogym.kernel_bridge.bridge import own_objects
from leogym.kernel_bridge.lab import exec_command, image, links, machine, own_bpf, own_modules, virtual_run
from leogym.kernel_bridge.quic import stacks
from leogym.results.measurement import Measurement
from leogym.traces.path import cache

PROGRAM = "leogym lab"
HELP = "run scenarios and programs on a stock Linux kernel in virtual time"
EXAMPLES = ("check", "build", "run SCENARIO.yaml --seed 2", f"exec {exec_command.EXAMPLES[0]}")


def parser() -> OneLineParser:
    """Return the command line's parser."""
    line_parser = OneLineParser(
        prog=PROGRAM, description="A stock Linux kernel in virtual time.", examples=EXAMPLES
    )
    add_to(line_parser)
    return line_parser


@reports_input_errors
def main() -> int:
    """Run the process's command line."""
    return run(parser().parse_args())


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands to a parser."""
    does = parser.add_subparsers(dest="lab", required=True, metavar="check|build|run|exec|module|stack")
    does.add_parser(
        "check", help="report what this machine lacks, and the image's kernel and schemes", examples=("",)
    )
    build = does.add_parser("build", help="build the guest's image, without root", examples=("",))
    build.add_argument("--kernel", type=Path, metavar="FILE", help="a kernel, instead of the distribution's")
    build.add_argument("--modules", type=Path, metavar="DIR", help="the kernel's lib/modules/VERSION")
    build.add_argument("--shell", type=Path, metavar="FILE", help="a static busybox")
    run = does.add_parser(
        "run", help="run a scenario", examples=("SCENARIO.yaml --out runs/lab", "SCENARIO.yaml --seed 2")
    )
    run.add_argument("scenario", type=Path, metavar="SCENARIO", help="a scenario's YAML file")
    run.add_argument("--seed", type=int, metavar="S", help="seed, instead of the scenario's")
    run.add_argument("--out", type=Path, metavar="DIR", help="folder for the run log")
    exec_command.add_to(does)
    module = does.add_parser(
        "module",
        help="make a congestion control module or BPF object of your own a scheme",
        examples=("my_cc.c", "my_cc.c --set beta=700 --name my-cc-700", "my_cc.bpf.c"),
    )
    module.add_argument(
        "source",
        type=Path,
        metavar="FILE",
        help="a C source (.c, .bpf.c), a module (.ko) or a BPF object (.o)",
    )
    module.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the module"
    )
    module.add_argument(
        "--name", metavar="NAME", help="name of the scheme linux:NAME; default: the kernel's name"
    )
    stack = does.add_parser(
        "stack",
        help="make a QUIC stack of your own, described in a file, a scheme",
        examples=("my-stack.yaml",),
    )
    stack.add_argument("file", type=Path, metavar="FILE", help="a YAML file with the stack's programs")


def run(options: argparse.Namespace) -> int:
    """Execute the command; return the exit status."""
    if options.lab == "exec":
        return exec_command.run(options)
    commands = {"check": _check, "build": _build, "run": _run, "module": _module, "stack": _stack}
    lines = commands[options.lab](options)
    print("\n".join(lines))
    return 0


def _check(_: argparse.Namespace) -> list[str]:
    lack = links.missing()
    if lack is not None:
        return [lack]
    built = image.latest()
    known = stacks.registered().items()
    quic = [name for name, scheme in known if stacks.missing(scheme.stack) is None]
    own = [*own_modules.registered(built), *own_objects.registered()]
    schemes = ", ".join([*virtual_run.kernel_schemes(built), *own, *quic])
    return [f"lab: ready: Linux {built.manifest['kernel']}, schemes {schemes}"]


def _build(options: argparse.Namespace) -> list[str]:
    named = [options.kernel, options.modules, options.shell]
    if any(named) and not all(named):
        raise InputError("lab build: give all of --kernel, --modules and --shell, or none")
    before = image.folders()[-1:]
    built = image.build(image.OwnKernel(*named) if all(named) else None)
    try:
        machine.ready(built)
    except machine.GuestError as error:
        raise InputError(str(error)) from None
    size = built.initramfs.stat().st_size / 1e6
    lines = [f"lab: Linux {built.manifest['kernel']}, {size:.0f} MB: {built.initramfs.parent}"]
    number, freed = image.remove_others([*before, built.initramfs.parent])
    if number:
        lines.append(f"lab: removed older images: {number}, {freed / 1e6:.0f} MB; the previous one is kept")
    return lines


def _module(options: argparse.Namespace) -> list[str]:
    if own_bpf.is_bpf(options.source):
        if options.set:
            raise InputError("lab module: --set: a BPF object has no parameters: change its source")
        scheme, log = own_bpf.register(options.source, options.name)
    else:
        module, log = own_modules.register(options.source, options.name, options.set)
        scheme = own_objects.PREFIX + module.name
    return [f"lab: {scheme}: ready for Linux {image.latest().manifest['kernel']}: {log}"]


def _stack(options: argparse.Namespace) -> list[str]:
    stack = stacks.register(options.file)
    names = ", ".join(f"{stacks.PREFIX}{stack.name}-{scheme}" for scheme in stack.schemes)
    return [f"lab: {stack.name} {stacks.version(stack)}: {names}"]


def _run(options: argparse.Namespace) -> list[str]:
    if options.out is not None:
        output_folder.require(options.out, "a lab run")
    described = scenario.load(options.scenario)
    if options.seed is not None:
        described = described.model_copy(update={"seed": options.seed})
    traces = {name: cache.read_bytes(cache.file(name)) for name in sorted(described.traces)}
    try:
        kernel_log: list[bytes] = []
        log = virtual_run.execute(described, traces, progress=_show, on_kernel_log=kernel_log.append)
    except RuntimeError as error:
        raise InputError(str(error)) from None
    if options.out is not None:
        _write(options.out, log, described, kernel_log[0])
    return [json.dumps(flow) for flow in log.flows]


def _show(event: Mapping[str, object]) -> None:
    if sys.stderr.isatty() and event["event"] == "running":
        print(f"\r{event['run_s']:g} of {event['duration_s']:g} s", end="", file=sys.stderr)


def _write(folder: Path, log: Measurement, described: scenario.Scenario, kernel_log: bytes) -> None:
    import polars as pl  # here, because the import takes time and only --out needs it

    output_folder.make(folder)
    record = {
        "scenario": described.model_dump(mode="json"),
        "image": {name: value for name, value in image.latest().manifest.items() if name != "files"},
        "flows": log.flows,
        "links": log.links,
        "link_names": log.link_names,
        "invalid": log.invalid,
    }
    for earlier in ("run.json", "bbr.parquet"):  # with its record, a folder is whole
        (folder / earlier).unlink(missing_ok=True)
    write_atomically(folder / "kernel.log", kernel_log)
    for name, series in (("flows", log.flow_series), ("links", log.link_series), ("bbr", log.bbr_series)):
        if series or name != "bbr":
            write_table(folder / f"{name}.parquet", pl.DataFrame(series))
    write_atomically(folder / "run.json", json.dumps(record, indent=1).encode())
