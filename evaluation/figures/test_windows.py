import numpy as np

from leogym.configs import suite
from leogym.evaluation.fidelity import golden
from leogym.evaluation.figures import windows
from leogym.evaluation.report.page import columns_of
from tests.support.sample_results import sample_results


def test_windows_of_the_simulator_stand_beside_what_the_kernel_did_on_the_same_scale(tmp_path):
    results = sample_results(tmp_path, ["fidelity-leo"], ["cubic", "vegas"], 1)
    panels = list(windows.panels(results, results.suites[0]))
    assert columns_of(panels) == 2
    kept = golden.read(golden.FOLDER / "fidelity-leo.json").runs
    for ours, theirs in zip(panels[::2], panels[1::2], strict=True):
        assert ours.row == theirs.row
        ((left,), (right,)) = (panel.figure.axes for panel in (ours, theirs))
        assert (left.get_xlim(), left.get_ylim()) == (right.get_xlim(), right.get_ylim())
        mine = [run for run in kept if run.scenario.name == ours.row and run.scheme in results.schemes]
        drawn = [np.asarray(line.get_ydata()).tolist() for line in right.lines]
        assert drawn == [run.flows[0].cwnd_packets for run in mine]
        assert [line.get_color() for line in left.lines] == [line.get_color() for line in right.lines]
        assert "on the kernel" in theirs.label


def test_a_suite_that_the_kernel_has_not_run_has_no_such_panels(tmp_path):
    results = sample_results(tmp_path, ["leo-pair"], ["cubic"], 1)
    assert list(windows.panels(results, suite.load("leo-pair"))) == []
