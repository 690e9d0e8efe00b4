import os
from pathlib import Path

import pytest

from leogym.common import home


@pytest.mark.parametrize("place", ["/dev/null/home", "home"])
def test_only_a_home_that_cannot_be_written_is_replaced_for_libraries(tmp_path, monkeypatch, place):
    (tmp_path / "home").mkdir()
    environment = {"HOME": str(tmp_path / place), "LEOGYM_CACHE": str(tmp_path / "cache")}
    monkeypatch.setattr(os, "environ", environment)
    home.prepare()
    expected = None if place == "home" else str(tmp_path / "cache" / "matplotlib")
    assert environment.get("MPLCONFIGDIR") == expected
    assert Path.home() == tmp_path / place
