import shutil
import subprocess

import pytest

from leogym.commands import completion

CASES = [
    ("leogym ev", "evaluate"),
    ("leogym evaluate leo-sin", "leo-single"),
    ("leogym evaluate static-100-c", "static-100-cubic"),
    ("leogym evaluate --backend ker", "kernel"),
    ("leogym train --agent astr", "astraea"),
    ("leogym traces build sd-ny-i", "sd-ny-isl"),
    ("leogym traces export sd-ny-isl --format netem", "netem-trace"),
    ("leogym lab bui", "build"),
    ("leogym bridge lab bui", "build"),
    ("leogym leobench ju", "judge"),
    ("leogym agents hel", "held-out"),
    ("leogym completion zs", "zsh"),
]
BASH = """
COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMP_LINE="{line}"; COMP_POINT=${{#COMP_LINE}}
_shtab_leogym; printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module", params=completion.SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return request.param


@pytest.fixture(scope="module")
def script(shell: str) -> str:
    return completion.script(shell)


def run(shell: str, text: str) -> list[str]:
    done = subprocess.run([shell], input=text, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_every_shell_accepts_its_script(shell: str, script: str) -> None:
    subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_words_of_every_command_are_completed(shell: str, script: str) -> None:
    for line, expected in CASES:
        if shell == "bash":
            assert expected in run(shell, script + BASH.format(line=line)), line
        elif shell == "fish":
            found = run(shell, f"{script}\ncomplete -C '{line}'\n")
            assert expected in [one.partition("\t")[0] for one in found], line
        else:
            # zsh completes only at a terminal; its script must at least offer the word.
            assert expected in script


def test_a_name_may_also_be_a_file(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "leo-mine.yaml").write_text("")
    monkeypatch.chdir(tmp_path)
    found = run("bash", completion.script("bash") + BASH.format(line="leogym evaluate leo-"))
    assert {"leo-mine.yaml", "leo-single"} <= set(found)
