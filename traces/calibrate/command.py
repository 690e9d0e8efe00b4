"""The command ``traces calibrate``."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from leogym.common import yaml_text
from leogym.common.command_line import leogym_command, number
from leogym.common.errors import InputError
from leogym.common.output_file import whole_file, write_file
from leogym.traces.capacity import terminal
from leogym.traces.path import cache

BLOCK = 2
"""Slots in a row that are fitted or judged together, so that steps between slots are judged, too."""
PICTURES = ("png", "svg", "pdf")
_JUDGED_SEED = 1 << 20  # the model that is judged is drawn anew
_JUDGED_TIMES = 3  # and longer than the data
_MODEL_DIGITS = 6


def add(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "calibrate",
        help="fit the model starlink to path traces, and say how far it is from them",
        examples=("runs/mine.csv --out mine.yaml", "runs/a.csv runs/b.csv --hold-out --picture fit.png"),
    )
    parser.add_argument("data", nargs="+", metavar="DATA", help="path traces, such as imported measurements")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="the fitted parameters, for synth starlink --model"
    )
    parser.add_argument(
        "--picture", type=Path, metavar="FILE", help=f"data beside model: {', '.join(PICTURES)}"
    )
    parser.add_argument(
        "--model", default="starlink", metavar="NAME|FILE", help="parameters of what the data do not show"
    )
    parser.add_argument(
        "--hold-out", action="store_true", help=f"fit every other {BLOCK} slots, and judge by the rest"
    )
    parser.add_argument(
        "--reattach-s", type=number, metavar="S", help="period of reconfigurations, of all DATA"
    )
    parser.add_argument(
        "--reattach-phase-s", type=number, metavar="S", help="first row to first reconfiguration"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the model's draws, default 0")


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand and return its exit status."""
    if arguments.picture is not None and arguments.picture.suffix[1:] not in PICTURES:
        raise InputError(f"{arguments.picture}: --picture: must end with one of .{', .'.join(PICTURES)}")
    for flag, value in (
        ("reattach-s", arguments.reattach_s),
        ("reattach-phase-s", arguments.reattach_phase_s),
    ):
        if value is not None and not 0 <= value <= 3600:
            raise InputError(f"calibrate: --{flag}: must be from 0 to 3,600, not {value:g}")
    if arguments.seed < 0:
        raise InputError(f"calibrate: --seed: must be at least 0, not {arguments.seed}")
    start = terminal.load(arguments.model)
    # They import libraries that load slowly.
    from leogym.traces.calibrate import distance, measured
    from leogym.traces.calibrate.fit import fit
    from leogym.traces.calibrate.observed import observe

    paths = [measured.load(name, arguments.reattach_s, arguments.reattach_phase_s) for name in arguments.data]
    data = observe(paths)
    fitted_slots = judged_slots = np.ones(data.slots, dtype=bool)
    if arguments.hold_out:
        fitted_slots = np.arange(data.slots) // BLOCK % 2 == 0
        judged_slots = ~fitted_slots
    fitted = fit(data.of(fitted_slots), paths, start, arguments.seed)
    before, after = (
        observe(
            [
                measured.simulated(parameters, path, arguments.seed + _JUDGED_SEED + index, _JUDGED_TIMES)
                for index, path in enumerate(paths)
            ]
        )
        for parameters in (start, fitted.terminal)
    )
    judged = data.of(judged_slots)
    for name, path in zip(arguments.data, paths, strict=True):
        print(f"{name}: {path.slots} slots of {path.period_ns / 1e9:g} s, {_shown(path)}")
    print(f"fitted to {int(fitted_slots.sum())} slots, judged by {int(judged_slots.sum())}")
    print("\nparameter: values (standard errors)")
    for parameter in fitted.parameters:
        print(
            f"  {parameter.field}: {_values(parameter.values)}"
            + ("" if np.isnan(parameter.errors).any() else f" ({_values(parameter.errors)})")
        )
    print(f"  as in {arguments.model}: {', '.join(fitted.unfitted)}")
    print(f"\n{'Kolmogorov-Smirnov distance':<28}{'values':>8}{'before':>8}{'after':>8}{'5 % by chance':>15}")
    earlier = {parameter.name: parameter.apart for parameter in distance.distances(judged, before)}
    for quantity in distance.distances(judged, after):
        chance = "" if np.isnan(quantity.chance) else f"{quantity.chance:.3f}"
        apart = f"{earlier[quantity.name]:>8.3f}{quantity.apart:>8.3f}"
        print(f"  {quantity.name:<26}{quantity.values:>8}{apart}{chance:>15}")
    if "rtt_ms" in data.series:
        lags = distance.LAGS_S
        print("\nautocorrelation of the RTT at " + ", ".join(f"{lag:g}" for lag in lags) + " s")
        for label, parameter in (("data", judged), ("before", before), ("after", after)):
            values = distance.autocorrelation(parameter)
            print(
                f"  {label:<8}"
                + " ".join("    -" if np.isnan(value) else f"{value:5.2f}" for value in values)
            )
    if arguments.out is not None:
        _write(fitted.terminal, arguments, int(fitted_slots.sum()))
        again = leogym_command("traces", "synth", "starlink", "--model", arguments.out)
        print(f"\n{arguments.out}: {again}")
    if arguments.picture is not None:
        from leogym.traces.calibrate import figure

        write_file(arguments.picture, figure.render(judged, before, after, arguments.picture.suffix[1:]))
        print(arguments.picture)
    return 0


def _shown(path: Any) -> str:
    options = [
        label
        for label, part in (
            ("download", path.down),
            ("upload", path.up),
            ("RTT", path.rtt_ms),
            ("loss", path.lost),
        )
        if part is not None
    ]
    bins = f", rows of {path.bin_ns / 1e6:g} ms" if path.bin_ns else ""
    return f"{', '.join(options)}{bins}"


def _values(values: Sequence[float]) -> str:
    return " ".join(f"{value:.4g}" for value in values)


def _write(fitted: terminal.Terminal, arguments: argparse.Namespace, slots: int) -> None:
    words = [*arguments.data, "--out", str(arguments.out)]
    if arguments.hold_out:
        words.append("--hold-out")
    for flag in ("reattach_s", "reattach_phase_s"):
        value = getattr(arguments, flag)
        if value is not None:
            words += [f"--{flag.replace('_', '-')}", f"{value:.12g}"]
    if arguments.model != "starlink":
        words += ["--model", arguments.model]
    if arguments.seed:
        words += ["--seed", str(arguments.seed)]
    tree = fitted.model_dump()
    tree["about"] = f"fitted to {slots} slots of {', '.join(Path(name).name for name in arguments.data)}"
    tree["sources"] = {
        "command": leogym_command("traces", "calibrate", *words),
        "data": "; ".join(f"{name} {cache.sha256(name)}" for name in arguments.data),
        "not fitted": f"as in {arguments.model}",
    }
    with whole_file(arguments.out) as file:
        # Through JSON, which has no tuples.
        plain = json.loads(
            json.dumps(tree), parse_float=lambda text: float(f"{float(text):.{_MODEL_DIGITS}g}")
        )
        file.write(yaml_text.dump(plain, default_flow_style=None, width=100, allow_unicode=True))
