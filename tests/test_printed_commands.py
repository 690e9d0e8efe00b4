"""What programs print and record to be run works in a checkout; tests/test_wheels.py runs it in a wheel."""

import re

import pytest

from leogym.commands import __main__ as commands
from scripts.layers import ROOT, sources
from tests.printed_commands import WITH_SUBCOMMANDS, messages, printed

PRINTED = printed()
OF_A_CHECKOUT = (
    r"python3? -m (traces|agents|kernel_bridge|evaluation\.(leobench|fidelity))|\b(train|evaluate)\.py\b"
)
WRITTEN_OUT = rf"(?!^leogym [a-z ]+$)\bleogym ({'|'.join(commands.COMMANDS)})\b"
"""A command of leogym in a message; a program's name alone is its parser's."""
WRONG = re.compile(f"{OF_A_CHECKOUT}|{WRITTEN_OUT}")
HELP = ROOT / "commands/__main__.py"
"""Has examples of commands."""
PAGE = "# "
"""Begins a page of the docs, whose commands tests/test_docs.py parses."""


@pytest.mark.parametrize("words", PRINTED, ids=" ".join)
def test_a_printed_command_exists(words, monkeypatch, capsys):
    # The rest of a command without subcommands is its arguments.
    words = words[:2] if words[0] in WITH_SUBCOMMANDS else words[:1]
    monkeypatch.setattr("sys.argv", ["leogym"])
    with pytest.raises(SystemExit) as ended:
        commands.run([*words, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: leogym {' '.join(words)} [-h]")


def test_commands_of_every_room_are_among_them():
    assert len(PRINTED) > 10
    assert {("evaluate",), ("lab", "build"), ("bridge", "clean"), ("traces", "build")} <= PRINTED.keys()


def test_no_message_has_a_command_that_the_helper_did_not_make():
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sources()
        for line, text in messages(path)
        if path != HELP and not text.startswith(PAGE) and WRONG.search(text)
    ]
    assert not wrong, "\n".join(wrong)
