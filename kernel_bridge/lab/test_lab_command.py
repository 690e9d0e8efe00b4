from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import leosim
import numpy as np
import pytest

from leogym.common import atomic
from leogym.configs.scenario import parse
from leogym.kernel_bridge.lab import lab_command
from leogym.results.measurement import Measurement

SCENARIO = {
    "name": "s",
    "duration_s": 1,
    "links": {"l": {"rate_mbps": 10, "delay_ms": 5}},
    "flows": [{"scheme": "bbr", "route": ["l"]}, {"scheme": "cubic", "route": ["l"]}],
}


def test_a_run_in_an_earlier_runs_folder_is_whole_only_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = parse(SCENARIO, "s")
    [log] = leosim.run([scenario.to_json()], {}, {}, interval_ms=30.0, series_ms=100.0)
    monkeypatch.setattr(lab_command.image, "latest", lambda: SimpleNamespace(manifest={}))
    measured: Any = Measurement.of(log)
    assert len(np.unique(measured.bbr_series["flow"])) == 1
    lab_command._write(tmp_path, measured, scenario, b"")
    written = []
    write = atomic.write_together

    def record(folder: Path, files: Mapping[str, bytes]) -> None:
        present = [(tmp_path / name).exists() for name in ("run.json", "bbr.parquet")]
        written.extend((name, *present) for name in files)
        write(folder, files)

    monkeypatch.setattr(atomic, "write_together", record)
    lab_command._write(tmp_path, measured, scenario, b"")
    names = ["kernel.log", "flows.parquet", "links.parquet", "bbr.parquet", "run.json"]
    assert written == [(name, False, name == "run.json") for name in names]
