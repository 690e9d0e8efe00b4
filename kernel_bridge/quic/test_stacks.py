"""The user's own stacks."""

from pathlib import Path

import leosim
import pytest

from leogym.common.errors import InputError
from leogym.kernel_bridge.quic import stacks

ROOT = Path(__file__).resolve().parents[2]
STACK = """
name: mine
schemes: [cubic, reno]
sender: {sender} $port
receiver: cat $sender
version: {version}
install: make mine
"""


@pytest.fixture
def register(tmp_path, monkeypatch):
    monkeypatch.setenv("LEOGYM_CACHE", str(tmp_path / "cache"))

    def register(text=STACK, sender="cat", version="echo mine 1.2"):
        file = tmp_path / "stack.yaml"
        file.write_text(text.format(sender=sender, version=version))
        return stacks.register(file)

    return register


def test_a_stack_of_ones_own_becomes_schemes_that_reports_describe(register):
    before = stacks.digest()
    register()
    assert stacks.registered()["quic:mine-reno"].scheme == "reno"
    assert stacks.describe("quic:mine-reno") == "QUIC stack mine mine 1.2 with its reno."
    assert stacks.digest() != before
    register(version="echo 1.3")
    assert stacks.describe("quic:mine-reno") == "QUIC stack mine 1.3 with its reno."
    assert stacks.describe("cubic") is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sender": "no-such-program"}, "no-such-program: not on this machine's PATH: make mine$"),
        ({"version": "cat /no-such-file"}, "quic:mine: version: .*cat: .*No such file"),
        ({"text": STACK.replace("mine", "ngtcp2")}, "name: ngtcp2: the name of another stack$"),
    ],
)
def test_a_stack_that_cannot_run_is_refused(register, change, message):
    with pytest.raises(InputError, match=message):
        register(**change)


def test_the_stacks_that_come_with_leogym_are_schemes():
    names = stacks.registered()
    assert {"quic:ngtcp2-cubic", "quic:ngtcp2-bbr", "quic:quinn-cubic", "quic:quinn-bbr"} <= names.keys()


def test_simulator_and_lab_run_the_same_version_of_quinn():
    [version] = {
        sentence.split("quinn-proto ")[1].split(")")[0] for sentence in leosim.stack_schemes().values()
    }
    entry = f'name = "quinn-proto"\nversion = "{version}"\n'
    for lock in (ROOT / "Cargo.lock", ROOT / "kernel_bridge/quic/Cargo.lock"):
        assert entry in lock.read_text(encoding="utf-8"), lock
