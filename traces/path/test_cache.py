import functools

import numpy as np
import pytest

from leogym.common.progress import Progress
from leogym.traces.path import cache, path_trace, synth

NAMES = ("starlink", "starlink-fast")


def test_what_is_missing_is_built_side_by_side_with_the_same_bytes(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LEOGYM_CACHE", str(tmp_path / "together"))
    monkeypatch.setattr(cache, "Progress", functools.partial(Progress, quiet_s=0.0))
    cache.build([*NAMES, str(tmp_path / "no-such-file.csv")])
    assert [line.partition("%")[0] for line in capsys.readouterr().err.splitlines()] == [
        "building path traces: 50 ",
        "building path traces: 100 ",
    ]
    together = sorted((tmp_path / "together" / "traces").glob("*.csv"))
    assert len(together) == len(NAMES)

    monkeypatch.setenv("LEOGYM_CACHE", str(tmp_path / "alone"))
    assert [cache.file(name).read_bytes() for name in sorted(NAMES)] == [
        path.read_bytes() for path in together
    ]


def test_a_path_has_another_file_if_leosim_computes_other_orbits(monkeypatch):
    before = cache._built("starlink")
    monkeypatch.setattr(cache, "sampled_positions", lambda: np.zeros((12, 3)))
    monkeypatch.setattr(cache, "_builder_digest", cache._builder_digest.__wrapped__)
    assert cache._built("starlink") != before


def test_what_is_cached_is_not_built_again(tmp_path, monkeypatch):
    monkeypatch.setenv("LEOGYM_CACHE", str(tmp_path))
    cache.build(NAMES)
    for module in (synth, path_trace):
        monkeypatch.setattr(module, "write", lambda *_: pytest.fail("built twice"))
    monkeypatch.setattr(cache, "Pool", lambda *_, **__: pytest.fail("processes for nothing"))
    cache.build(NAMES)
    assert all(cache.file(name).is_file() for name in NAMES)
