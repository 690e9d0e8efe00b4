"""The page's commands for users of mahimahi."""

import re
from pathlib import Path

import pytest

from leogym.kernel_bridge.shell import program
from leogym.kernel_bridge.shell.test_shell import in_world
from leogym.kernel_bridge.shell.test_shell import pytestmark as of_shell
from tests.support.scenarios import path_trace

PAGE = Path(__file__).with_name("README.md")
COMMANDS = re.findall(r"\| `(mm-leo [^`|]* -- CMD)` \|", PAGE.read_text())
pytestmark = of_shell


def test_the_page_has_five_commands():
    assert len(COMMANDS) == 5


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_runs(command, tmp_path):
    (tmp_path / "path.csv").write_text(path_trace("0,20,12,48,0,1,0,", "60,20,12,48,0,1,0,"))
    words = [str(tmp_path / word) if word.startswith("path.") else word for word in command.split()]
    assert program() is not None
    words[0], words[-1:] = str(program()), ["sh", "-c", "ip route | grep -q ingress && exit 7"]
    done = in_world(*words)
    assert done.returncode == 7, done.stderr
    if "--log" in words:
        assert (tmp_path / "path.log").read_text().startswith("# {")
