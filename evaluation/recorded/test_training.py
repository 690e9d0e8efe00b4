import pytest

from leogym.evaluation.recorded.training import MOST_ROWS, curves_beside


@pytest.fixture
def run(tmp_path):
    (tmp_path / "config.yaml").write_text("agent: ppo\n")
    (tmp_path / "progress.csv").write_text("steps,wall_s,reward\n10,1,\n20,2,0.5\n")
    return tmp_path


def test_a_policys_run_folder_gives_its_curves_without_wall_times(run):
    (run / "evaluation.csv").write_text("steps,wall_s,reward,power,fallbacks\n10,1,0.1,0.2,0\n20,2,0.3,,0\n")
    assert curves_beside(run / "policy") == {
        "evaluation.csv": {"steps": [10, 20], "reward": [0.1, 0.3], "power": [0.2, None]},
        "progress.csv": {"steps": [10, 20], "reward": [None, 0.5]},
    }


def test_long_curves_are_thinned_evenly(run):
    rows = "".join(f"{step},{step / 2}\n" for step in range(10 * MOST_ROWS + 1))
    (run / "progress.csv").write_text(f"steps,reward\n{rows}")
    curves = curves_beside(run / "policy")["progress.csv"]
    assert len(curves["steps"]) <= MOST_ROWS
    assert curves["steps"][:3] == [0, 11, 22]
    assert curves["reward"][2] == 11


@pytest.mark.parametrize("text", ["", "steps,reward\n", "steps,reward\n1,2\n", "a,b\n1,2\n3,4\n", "\x00\xff"])
def test_a_file_without_a_curve_gives_none(run, text):
    (run / "progress.csv").write_text(text)
    assert curves_beside(run / "policy") == {}


def test_a_policy_outside_a_run_folder_has_no_curves(run):
    (run / "config.yaml").unlink()
    assert curves_beside(run / "policy") == {}
