"""The runs of a sweep over networks, schemes, loads and seeds."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import leosim

from leogym.common.errors import InputError
from leogym.configs import network as schema
from leogym.configs.network import Network
from leogym.evaluation.runs.schemes import Contestants, Policy, load_policy, parse, shipped
from leogym.traces.network.description import Description

OWN_SCHEMES = "own"
"""Stands for the schemes that a network's file names."""


@dataclass(frozen=True)
class Cell:
    """A run of a sweep."""

    network: Network
    """With this cell's schemes, load and seed."""
    schemes: str
    """Names joined by ``+``, or `OWN_SCHEMES`."""
    load: float

    @property
    def name(self) -> str:
        """The name of the run's folder."""
        return f"{self.network.name}--{self.schemes}--{_number(self.load)}--{self.network.seed}"


def _number(value: float) -> str:
    """Return a number in as few digits as tell it from all others."""
    return repr(value).removesuffix(".0")


def with_schemes(network: Network, names: Sequence[str]) -> Network:
    """Return a network whose traffic has these schemes, in equal shares.

    Raises:
        InputError: a scheme is not a valid name.
    """
    shares = dict.fromkeys(names, 1.0)
    traffic = [part.model_dump() | {"schemes": shares} for part in network.traffic]
    return schema.parse(network.model_dump() | {"traffic": traffic}, "--schemes")


def with_load(network: Network, load: float) -> Network:
    """Return a network whose arrivals have ``load`` times their rates.

    Raises:
        InputError: the network has no arrivals, or their rate would be out of range.
    """
    if load == 1:
        return network
    traffic = [part.model_dump() for part in network.traffic]
    arrivals = [part["arrivals"] for part in traffic if part["arrivals"] is not None]
    if not arrivals:
        raise InputError(f"--loads: {load:g}: {network.name} has no arrivals, whose rates this multiplies")
    for arrival in arrivals:
        arrival["rate_per_s"] *= load
    return schema.parse(network.model_dump() | {"traffic": traffic}, f"--loads: {load:g}")


def parse_schemes(text: str) -> tuple[list[list[str]], Contestants]:
    """Return the schemes of each run from ``NAME,NAME+NAME=DIR,…``, and all of them with their policies.

    Raises:
        InputError: a scheme is unknown or named twice in a run, or a policy cannot be loaded.
    """
    groups = [[item.strip() for item in group.split("+")] for group in text.split(",") if group.strip()]
    contestants = parse(",".join(dict.fromkeys(itertools.chain(*groups))), list(leosim.schemes()))
    named = [[item.partition("=")[0] for item in group] for group in groups]
    for group in named:
        if len(set(group)) < len(group):
            raise InputError(f"--schemes: {'+'.join(group)}: names a scheme twice")
    return named, contestants


def plan(
    networks: Sequence[Network], schemes: Sequence[list[str]], loads: Sequence[float], seeds: Sequence[int]
) -> list[Cell]:
    """Return a cell for each combination; without ``schemes`` the networks keep theirs.

    Raises:
        InputError: two networks have one name, or a network does not take a scheme, load or seed.
    """
    names = [network.name for network in networks]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{repeated[0]}: two networks have this name: give one a different name")
    cells = []
    for network, names, load in itertools.product(networks, schemes or [None], loads):
        loaded = with_load(network, load)
        mixed = loaded if names is None else with_schemes(loaded, names)
        for seed in seeds:
            seeded = schema.parse(mixed.model_dump() | {"seed": seed}, "--seeds")
            cells.append(Cell(seeded, OWN_SCHEMES if names is None else "+".join(names), load))
    return cells


def steered(given: Mapping[str, Policy]) -> set[str]:
    """Return the schemes for which there are policies: those ``given``, and shipped ones."""
    return {*given, *shipped()}


def policies(description: Description, given: Mapping[str, Policy]) -> dict[str, Policy]:
    """Return the policies of a network's flows, of `steered`."""
    named = {flow["scheme"] for flow in description.flows} & steered(given)
    return {name: given.get(name) or load_policy(shipped()[name]) for name in sorted(named)}
