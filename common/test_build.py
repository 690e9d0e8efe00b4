import os
import shutil
from pathlib import Path

import leosim
import pytest

import leogym
from leogym.common import build


def test_a_build_is_that_of_the_core_the_files_the_arithmetic_and_the_packages() -> None:
    here = build.describe(("numpy", "no-such-package"))
    assert list(here) == ["leosim", "leogym", "C library", "numpy", "no-such-package"]
    assert here["leosim"] == leosim.BUILD
    assert here["no-such-package"] == build.NOT_INSTALLED
    assert build.core().startswith(leosim.BUILD)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("leosim", "leosim is build other, here {here:.12}: install the same wheels there"),
        ("leogym", "leogym has other files (other, here {here:.12}): install the same wheels there"),
        (
            "C library",
            "its C library rounds logarithms or powers otherwise: use the same system as here",
        ),
        ("numpy", "numpy is other, here {here}: install the same version there"),
    ],
)
def test_what_differs_is_named_with_the_remedy(name: str, line: str) -> None:
    here = build.describe(("numpy",))
    assert build.difference(here, here) is None
    expected = line.format(here=here[name])
    assert build.difference(here, {**here, name: "other"}) == expected
    assert build.refusal(here, {"node": "10.0.0.2", **here, name: "other"}) == f"node 10.0.0.2: {expected}"
    assert build.refusal(here, {"node": "10.0.0.2", **here}) is None
    # An older leogym's task sends its first part instead of its build.
    assert build.refusal(here, object()) == (
        "a node of the cluster has another leogym: install the same wheels there"
    )


def test_leogyms_digest_is_that_of_what_determines_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "leogym"
    (root / "room").mkdir(parents=True)
    for name in ("__init__.py", "room/rule.py", "room/values.yaml", "room/policy.onnx", "room/policy.json"):
        (root / name).write_text(name)
    (root / "agents/trained/mine").mkdir(parents=True)
    monkeypatch.setattr(leogym, "__file__", str(root / "__init__.py"))
    digest = build.files.__wrapped__
    before = digest()
    for name in (
        "room/test_rule.py",
        "room/conftest.py",
        "room/README.md",
        "room/rule.pyc",
        "agents/trained/mine/progress.csv",  # which wheels leave out
    ):
        (root / name).write_text("does not count")
    assert digest() == before
    copy = shutil.copytree(root / "room", tmp_path / "elsewhere")
    shutil.rmtree(root / "room")
    os.symlink(copy, root / "room")  # as in a checkout
    assert digest() == before
    for name in ("room/rule.py", "room/values.yaml", "room/policy.onnx", "room/policy.json"):
        text = (root / name).read_text()
        (root / name).write_text(f"{text} ")
        assert digest() != before
        (root / name).write_text(text)
    (root / "room" / "new.py").touch()
    assert digest() != before
