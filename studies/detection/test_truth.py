import json

import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.traces.path import named_paths, path_trace
from studies.detection.truth import AnnouncedPath

ABOUT = {
    "format": "leogym-path-trace",
    "version": 1,
    "links": "isl",
    "reattach_s": 15.0,
    "reattach_phase_s": 12.0,
    "handovers": [
        {"time_s": 12.0, "kind": "hard", "end": "to", "predicted_s": 12.3},
        {"time_s": 27.0, "kind": "soft", "end": None, "predicted_s": 26.9},
    ],
}
ROWS = "0,20,10,10,0,1,0,\n12,60,10,10,0,1,1,\n12.5,25,10,10,0,1,1,\n27,26,10,10,0,1,2,\n30,26,10,10,0,1,2,\n"


def made(tmp_path, **changed):
    header = "time_s,delay_ms,uplink_mbps,downlink_mbps,loss,connected,path_id,event"
    file = tmp_path / "path.csv"
    file.write_text(f"# {json.dumps({**ABOUT, **changed})}\n{header}\n{ROWS}")
    return AnnouncedPath.load(str(file))


def test_changes_are_those_of_the_trace_from_any_offset_and_over_its_end(tmp_path):
    path = made(tmp_path)
    found = path.changes(0.0, 0.0, 30.0)
    assert found.time_s == [12.0, 27.0]
    # The spike of half a second is no part of the step: 40 to 50 ms, then 50 to 52.
    assert found.step_ms == pytest.approx([10.0, 2.0])
    # Replay wraps after 30 s; times count from the run's start.
    assert path.changes(20.0, -9.0, 40.0).time_s == pytest.approx([-8.0, 7.0, 22.0, 37.0])
    assert path.changes(20.0, -8.0, 37.0).time_s == pytest.approx([-8.0, 7.0, 22.0])


def test_a_wrong_announcement_moves_grid_and_predictions_and_nothing_else(tmp_path):
    path = made(tmp_path)
    for error_s, phase_s, predicted_s in ((2.0, 14.0, [14.3, 28.9]), (-13.0, -1.0, [29.3, 13.9])):
        wrong = path.announcing(error_s, seed=1)
        about = json.loads(wrong.metadata)
        assert about["reattach_phase_s"] == phase_s
        assert [one["predicted_s"] for one in about["handovers"]] == pytest.approx(predicted_s)
        assert [one["time_s"] for one in about["handovers"]] == [12.0, 27.0]
        assert np.array_equal(wrong.delay_ns, path.trace.delay_ns)
        assert np.array_equal(wrong.time_ns, path.trace.time_ns)


def test_exact_predictions_of_a_path_without_an_orbit_get_errors_of_predictions(tmp_path):
    handovers = [
        {"time_s": time_s, "kind": "reselection", "end": None, "predicted_s": time_s}
        for time_s in np.arange(3.0, 27.0, 0.01).round(3).tolist()
    ]
    path = made(tmp_path, links="synthetic", handovers=handovers)
    about = json.loads(path.announcing(0.0, seed=1).metadata)
    errors_s = np.array([one["predicted_s"] - one["time_s"] for one in about["handovers"]])
    # SaTCP, section V-B: about 90 % are within 0.6 s.
    assert 0.88 < np.mean(np.abs(errors_s) <= 0.6) < 0.92
    assert about["reattach_phase_s"] == 12.0


def test_the_announced_changes_of_a_built_path_are_those_of_its_rows(tmp_path):
    whole = named_paths.spec("ny-ldn-isl")
    path_trace.write(whole.model_copy(update={"duration_s": 200.0}), tmp_path / "built.csv")
    path = AnnouncedPath.load(str(tmp_path / "built.csv"))
    ids = path.trace.path_id
    rows_s = path.trace.time_ns[1:][np.diff(ids) != 0] / 1e9
    assert path.changes(0.0, 0.0, 200.0).time_s == pytest.approx(rows_s.tolist())
    assert len(rows_s) > 3


@pytest.mark.parametrize("key", ["handovers", "reattach_s"])
def test_a_path_that_announces_nothing_cannot_be_scored(tmp_path, key):
    with pytest.raises(InputError, match=f"path.csv: {key}: needed"):
        made(tmp_path, **{key: None if key == "reattach_s" else []})
