"""A QUIC stack: the programs that are the ends of its flows, and its congestion controllers."""

from pathlib import Path
from string import Template
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator

from leogym.common import yaml_text
from leogym.common.errors import InputError, one_line
from leogym.common.strict import Strict
from leogym.configs.program_run import Command, Name

Module = Annotated[str, Field(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")]
_VALUES = {
    "sender": {"scheme", "port", "programs"},
    "receiver": {"scheme", "port", "programs", "sender", "bytes"},
}
"""The values that the command of each end may name."""


class QuicStack(Strict):
    """Programs that carry one flow: the sender listens, the receiver connects and asks for bytes.

    Commands may name ``$scheme`` (of ``schemes``), ``$port`` and ``$programs`` (the folder of LeoGym's own
    programs); the receiver's also ``$sender`` (the sender's host name) and ``$bytes`` (of the transfer, or
    more than a run can carry). Both ends find
    ``tls.crt``, ``tls.key`` and ``ca.crt`` in their working folder and leave their logs there (see
    `kernel_bridge.quic.logs`).
    """

    name: Name
    """Schemes of scenarios are ``quic:NAME-SCHEME``."""
    schemes: Annotated[list[Name], Field(min_length=1)]
    """Its congestion controllers."""
    sender: Command
    """The program that listens on the UDP port and sends what the receiver asks for."""
    receiver: Command
    """The program that asks for bytes, and ends when it has them."""
    modules: list[Module] = Field(default_factory=list)
    """Python modules that the programs import, of the Python that runs LeoGym. They go to the hosts with the
    packages that they import."""
    stop_signal: Literal["INT", "TERM"] = "TERM"
    """The signal that ends both programs; they must then complete their logs."""
    rtt_unit: Literal["ms", "s"] = "ms"
    """The unit of RTTs in the sender's qlog; qlog's definition has ms."""
    pacing_unit: Literal["bit/s", "B/s"] = "bit/s"
    """The unit of pacing rates in the sender's qlog; qlog's definition has bit/s."""
    version: Command
    """A command that prints the stack's version."""
    install: str
    """What to do if a program is not installed."""

    @field_validator("sender", "receiver")
    @classmethod
    def _known_values(cls, words: list[str], info: Any) -> list[str]:
        for word in words:
            template = Template(word)
            known = _VALUES[info.field_name]
            if not template.is_valid() or set(template.get_identifiers()) - known:
                names = ", ".join(f"${name}" for name in sorted(known))
                raise ValueError(f"{word}: the values are {names}")
        return words

    def command(self, end: Literal["sender", "receiver"], **values: object) -> list[str]:
        """Return the command of an end with its values."""
        return [Template(word).substitute(values) for word in getattr(self, end)]


def parse(data: Any, source: str) -> QuicStack:
    """Return the stack in ``data``; an `InputError` names ``source``, field and rule."""
    try:
        return QuicStack.model_validate(data)
    except ValidationError as error:
        raise InputError(one_line(source, error)) from None


def load(path: Path) -> QuicStack:
    """Return the stack in the YAML file at ``path``."""
    return parse(yaml_text.read(path), str(path))
