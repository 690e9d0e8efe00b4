"""The user's own stacks."""

import sys
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
IN_PYTHON = f"{STACK}modules: [yaml.nodes]\n"


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


def test_hosts_get_a_stacks_python_modules_but_not_pythons_library(register):
    names = {f"{file.parent.name}/{file.name}" for file in stacks.module_files(register(IN_PYTHON))}
    assert {"yaml/__init__.py", "yaml/nodes.py"} <= names
    assert f"__pycache__/nodes.{sys.implementation.cache_tag}.pyc" in names
    assert not {name for name in names if name.startswith(("collections/", "encodings/"))}
    assert stacks.module_files(register()) == []


def test_python_modules_that_cannot_be_imported_are_one_line(register):
    stack = register(IN_PYTHON.replace("nodes", "no_such_part"))
    with pytest.raises(InputError, match=r"^quic:mine: modules: ModuleNotFoundError: .*no_such_part'$"):
        stacks.module_files(stack)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sender": "no-such-program"}, "no-such-program: not on this machine's PATH: make mine$"),
        (
            {"text": IN_PYTHON.replace("yaml", "no_such_module")},
            "no_such_module: this Python has no such module: make mine$",
        ),
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
