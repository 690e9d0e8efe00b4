"""Programs inside namespaces and the guest import only the standard library and leo-bridge's client."""

from pathlib import Path

import pytest

from leogym.kernel_bridge import inside
from leogym.kernel_bridge.lab import guest_modules

INSIDE = Path(inside.__file__).parent


@pytest.mark.parametrize(
    "program", [path.stem for path in INSIDE.glob("*.py") if not path.name.startswith(("test_", "__"))]
)
def test_every_module_is_imported_without_site_packages(program):
    _, project = guest_modules.find_modules([f"leogym.kernel_bridge.inside.{program}"])
    light = {INSIDE.parents[1], INSIDE, INSIDE.parent, INSIDE.parent / "bridge"}
    assert {path.parent for path in project} <= light
    assert INSIDE / f"{program}.py" in project


def test_what_a_program_needs_beyond_that_is_one_line():
    with pytest.raises(RuntimeError, match="No module named 'leosim'") as caught:
        guest_modules.find_modules(["leogym.kernel_bridge.runner.plan"])
    assert "\n" not in str(caught.value)
