"""Options of ``lab exec`` that a YAML file leaves no place for."""

import pytest

from leogym.common.errors import InputError
from leogym.kernel_bridge.lab import exec_command, lab_command


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("server", "true"), ("listens", "80"), ("file", "a"), ("result", "a"), ("env", "A=B")),
        *(("stdin", "a"), ("against", "bbr"), ("queue", "droptail"), ("queue-bdp", "0")),
    ],
)
def test_an_option_that_belongs_into_the_yaml_file_is_refused_by_name(option, value):
    options = lab_command.parser().parse_args(["exec", "home.yaml", f"--{option}", value])
    with pytest.raises(InputError, match=f"^lab exec: --{option}: is for a command line without a YAML file"):
        exec_command.describe(options)
