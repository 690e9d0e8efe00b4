import errno
import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from pydantic import ValidationError

from leogym.common.errors import InputError, one_line, reports_input_errors
from leogym.common.strict import Strict
from leogym.configs.sampling import Sampling
from leogym.configs.scenario import parse


@pytest.mark.parametrize(
    ("key", "expected"), [("st\rt_s", r"st\rt_s"), ("a\nb", r"a\nb"), ("a\u2028b", r"a\u2028b")]
)
def test_a_key_that_would_break_the_line_is_escaped(key: str, expected: str) -> None:
    scenario = {
        "duration_s": 1,
        "links": {"a": {"rate_mbps": 1, "delay_ms": 1}},
        "flows": [{"scheme": "cubic", "route": ["a"], key: 1}],
    }
    with pytest.raises(InputError) as caught:
        parse(scenario, "x.yaml")
    assert str(caught.value).startswith(f"x.yaml: flows.0.{expected}: unknown key (")


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ({"rate_mpbs": 1, "delay_ms": 1}, "links.a.rate_mpbs: unknown key (nearest: rate_mbps)"),
        ({"rate_mbps": 1, "delay_ms": 1, "xyz": 1}, "links.a.xyz: unknown key (there are: rate_mbps, "),
        (
            {"rate_mbps": 1, "delay_ms": 1, "queue": {"bpd": 1.0}},
            "links.a.queue.bpd: unknown key (nearest: bdp",
        ),
    ],
)
def test_an_unknown_key_is_answered_by_the_nearest_right_ones(link: dict[str, object], expected: str) -> None:
    scenario = {"duration_s": 1, "links": {"a": link}, "flows": [{"scheme": "cubic", "route": ["a"]}]}
    with pytest.raises(InputError) as caught:
        parse(scenario, "x.yaml")
    assert str(caught.value).startswith(f"x.yaml: {expected}")


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ({"sampler": "led"}, "ranges: sampler: 'led': unknown (nearest: leo, "),
        ({"duration_s": 3}, "ranges: sampler: is missing"),
        (3, "ranges: must be a mapping, not 3"),
    ],
)
def test_a_mapping_of_an_unknown_kind_is_answered_by_the_key_of_its_kind(
    ranges: object, message: str
) -> None:
    class Mixture(Strict):
        ranges: Sampling

    with pytest.raises(ValidationError) as caught:
        Mixture.model_validate({"ranges": ranges})
    assert one_line("x.yaml", caught.value).startswith(f"x.yaml: {message}")


def raises(error: BaseException) -> Callable[[], int]:
    def main() -> int:
        raise error

    return reports_input_errors(main)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (InputError("x.yaml: seed: must be\nabove 0"), "x.yaml: seed: must be above 0"),
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory", "a\nb"),
            r"a\nb: No such file or directory",
        ),
        (PermissionError(errno.EACCES, "Permission denied", b"\xff"), r"\udcff: Permission denied"),
        (MemoryError("Unable to allocate 8 EiB"), "not enough memory: Unable to allocate 8 EiB"),
    ],
)
def test_what_a_user_can_mend_is_one_line_and_status_2(
    error: BaseException, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        raises(error)()
    assert caught.value.code == 2
    assert capsys.readouterr().err == f"{line}\n"


def test_an_error_of_the_program_keeps_its_traceback() -> None:
    for error in (ValueError("a bug"), OSError("no file is named")):
        with pytest.raises(type(error)):
            raises(error)()


def test_ctrl_c_is_a_word_and_output_that_nobody_reads_is_none() -> None:
    program = "from common.errors import reports_input_errors as wrap\n{}\nraise SystemExit(wrap(main)())"
    interrupted = "def main(): raise KeyboardInterrupt"
    done = subprocess.run(
        [sys.executable, "-c", program.format(interrupted)], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, b"interrupted\n")
    read, write = os.pipe()
    os.close(read)
    talking = "def main(): print('x' * 100_000); return 0"
    command = [sys.executable, "-c", program.format(talking)]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


def test_the_error_can_be_imported_from_where_scripts_of_users_have_it():
    from leogym.configs import errors

    assert errors.InputError is InputError
