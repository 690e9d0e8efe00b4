"""Everything that reads YAML uses `common.yaml_text`, and names file and line of what it refuses."""

import re
from collections.abc import Callable
from pathlib import Path

import gymnasium
import pytest

import leogym  # noqa: F401
from leogym.agents.search import grammar
from leogym.agents.training import settings
from leogym.common.errors import InputError
from leogym.configs import sampling, scenario, suite, sweep
from leogym.evaluation.leobench import version
from leogym.traces.capacity import terminal
from leogym.traces.orbit import constellation

ROOT = Path(__file__).resolve().parents[1]
# Without walking through what is installed or built, which takes seconds.
FOLDERS = [path for path in ROOT.iterdir() if path.is_dir() and path.name not in (".venv", "target")]
SOURCES = [*ROOT.glob("*.py"), *(path for folder in FOLDERS for path in folder.rglob("*.py"))]


def read_version(path: Path) -> object:
    return version.load(path.rename(path.with_name("version.yaml")).parent)


READERS: dict[str, Callable[[Path], object]] = {
    "constellation": lambda path: constellation.load(str(path)),
    "environment": lambda path: gymnasium.make("leo/Flow-v0", scenario=path),
    "LeoBench": read_version,
    "program": grammar.read,
    "sampler": lambda path: sampling.parse(str(path), "scenarios"),
    "scenario": scenario.load,
    "settings": settings.read_config,
    "suite": lambda path: suite.load(str(path)),
    "sweep": sweep.read,
    "terminal": lambda path: terminal.load(str(path)),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("name: a\nscenario: {}\nname: b", r"yaml:3: name: is also in line 1"),
        ("a: 1\n---\nb: 1", r"yaml:2: a second document"),
        ("a: &a [*a]", r"yaml:1: a\.0: \*a: is part of"),
        (b"\xff\xfea\x00", r"yaml:1: file: UTF-16 text"),
        ("[" * 9999, r"yaml:1: more than 64 lists"),
    ],
    ids=["key", "document", "alias", "encoding", "depth"],
)
def test_every_reader_names_file_and_line(reader, text, line, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=line) as caught:
        READERS[reader](path)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("reader", [name for name in READERS if name != "settings"])
@pytest.mark.parametrize("text", ["", "- a", "3"], ids=["empty", "list", "number"])
def test_every_reader_wants_a_mapping(reader, text, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"yaml: \(whole file\): must be a mapping of"):
        READERS[reader](path)


def test_no_other_module_reads_or_writes_yaml():
    users = {
        path.relative_to(ROOT).as_posix()
        for path in SOURCES
        if re.search(r"^\s*(import|from) (yaml|ruamel)\b", path.read_text("utf-8"), re.MULTILINE)
    }
    assert {name for name in users if not Path(name).name.startswith("test_")} == {"common/yaml_text.py"}
