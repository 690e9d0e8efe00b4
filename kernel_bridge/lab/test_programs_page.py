"""The commands of docs/tasks/real-programs.md, with the files that the page tells the reader to save."""

import itertools
import re
import shlex
import shutil
from pathlib import Path

import pytest

from leogym.kernel_bridge.lab import lab_command, links

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/tasks/real-programs.md").read_text()
COMMANDS = [shlex.split(line)[1:] for line in re.findall(r"^    (leogym lab exec .*)$", PAGE, re.MULTILINE)]
FILES = dict(re.findall(r"as `([\w.]+)`:\n\n```\w+\n(.*?)```", PAGE, re.DOTALL))
PROGRAMS = ("curl", "iperf3", "gtlsclient", "gtlsserver", "openssl")

LACK = links.missing() or links.LeoInGuest().missing()


def test_the_page_has_a_command_of_each_kind_and_the_files():
    assert len(COMMANDS) == 5
    assert FILES.keys() == {"server.py", "client.py", "home.yaml"}


@pytest.mark.skipif(LACK is not None, reason=LACK or "")
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[-1].rsplit("/", 1)[-1])
def test_a_command_of_the_page_succeeds(words, tmp_path, monkeypatch, capsysbinary):
    used = {program for program in PROGRAMS if program in " ".join([*words, *FILES.values()])}
    if lacking := sorted(program for program in used if shutil.which(program) is None):
        pytest.skip(f"not installed: {', '.join(lacking)}")
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    Path("file").write_bytes(bytes(range(256)) * 2000)
    shorter = ["1" if before == "-t" else word for before, word in itertools.pairwise(words)]
    monkeypatch.setattr("sys.argv", ["leogym lab", *shorter])
    assert lab_command.main() == 0
    out = Path("runs/home" if "home.yaml" in words else "runs/programs")
    for result in out.glob("*/[!sc.]*"):
        if result.suffix not in (".stdout", ".stderr", ".pcap"):
            assert result.read_bytes() == Path("file").read_bytes(), result
    if "client.py" in words:
        assert capsysbinary.readouterr()[0] == b"HELLO\n"
