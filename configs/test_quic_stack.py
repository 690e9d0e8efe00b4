"""Descriptions of QUIC stacks: their commands' values, and one line for each mistake."""

import pytest

from leogym.common.errors import InputError
from leogym.configs import quic_stack

STACK = {
    "name": "mine",
    "schemes": ["cubic"],
    "sender": "my-quic serve '*' $port --cc $scheme",
    "receiver": ["my-quic", "get", "$sender:$port/$bytes"],
    "version": "my-quic --version",
    "install": "pip install my-quic",
}


def test_the_values_go_into_the_commands():
    stack = quic_stack.parse(STACK, "mine.yaml")
    assert stack.command("sender", scheme="cubic", port=5000, sender="a", bytes=7) == [
        *("my-quic", "serve", "*", "5000", "--cc", "cubic")
    ]
    assert stack.command("receiver", scheme="cubic", port=5000, sender="a", bytes=7)[-1] == "a:5000/7"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"sender": "serve $bytes"},
            r"mine.yaml: sender: \$bytes: the values are \$port, \$programs, \$scheme",
        ),
        (
            {"receiver": "get $"},
            r"mine.yaml: receiver: \$: the values are \$bytes, \$port, \$programs, \$scheme, \$sender",
        ),
        ({"schemes": []}, "mine.yaml: schemes"),
        ({"name": "My stack"}, "mine.yaml: name"),
        ({"stop_signal": "KILL"}, "mine.yaml: stop_signal"),
        ({"modules": ["my-quic"]}, "mine.yaml: modules.0"),
        ({"log": "qlog"}, "mine.yaml: log"),
    ],
)
def test_a_mistake_is_one_line(change, message):
    with pytest.raises(InputError, match=f"^{message}"):
        quic_stack.parse({**STACK, **change}, "mine.yaml")
