import re
import shutil
import subprocess

import pytest

from leogym.common.errors import InputError
from leogym.evaluation import cli
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.report import latex
from tests.support.sample_results import sample_results

ODD = "mine_50%&co"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    found = sample_results(tmp_path_factory.mktemp("latex"), ["leo-pair"], ["cubic", ODD], 2)
    config = found.description["config"]
    suites = [{**one, "figures": ["fairness"]} for one in config["suites"]]
    return Results(found.folder, {**found.description, "config": {**config, "suites": suites}}, found.runs)


def test_a_suites_table_has_a_row_for_every_scenario_and_scheme(results):
    [suite] = results.suites
    text = latex.suite_table(results, suite)
    rows = [line for line in text.splitlines() if line.endswith(r" \\")]
    scenarios = results.scenarios(suite.name)
    assert len(rows) == 1 + len(scenarios) * (1 + len(results.schemes))
    for line in rows:
        columns = len(re.findall(r"(?<!\\)&", line)) + 1
        assert columns == (1 if "multicolumn" in line else 1 + len(suite.headline))
    assert r"mine\_50\%\&co" in text
    row = results.interval(suite.name, scenarios[0], "cubic", suite.headline[0])
    assert row is not None
    assert f"{row['mean']:.3f}" in text
    assert text.startswith("% leo-pair: mean over repeats")


def test_suites_of_alike_names_and_one_named_as_the_document_have_files_of_their_own():
    files: dict[str, bytes] = {}
    for name in ("a_b", "a-b", "a.b", "all", "ranking"):
        files[f"{latex._unused(latex._plain(name), files)}.tex"] = b""
    assert list(files) == ["a-b.tex", "a-b-2.tex", "a.b.tex", "all-2.tex", "ranking-2.tex"]


def test_a_long_table_breaks_over_pages(results, monkeypatch):
    [suite] = results.suites
    assert r"\begin{tabular}" in latex.suite_table(results, suite)
    monkeypatch.setattr(latex, "MOST_ROWS", 3)
    assert r"\end{longtable}" in latex.suite_table(results, suite)


def test_the_document_has_every_table_and_figure_and_nothing_else_stays(results):
    folder = latex.write(results)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    document = (folder / "all.tex").read_text()
    (folder / "all.tex").write_text(document + "\\input{stale}\\includegraphics{figures/stale+a-.b.pdf}")
    (folder / "stale.tex").write_text("")
    (folder / "figures" / "stale+a-.b.pdf").write_bytes(b"")
    latex.write(results)
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    document = (folder / "all.tex").read_text()
    figures = re.findall(r"\\includegraphics\{(.*)\}", document)
    assert {str(path.relative_to(folder)) for path in folder.glob("figures/*")} == set(figures)
    assert all((folder / name).read_bytes().startswith(b"%PDF") for name in figures)
    assert {f"{name}.tex" for name in re.findall(r"\\input\{(.*)\}", document)} == {
        path.name for path in folder.glob("*.tex") if path.name != "all.tex"
    }


def test_a_users_own_files_stay_in_the_documents_folder(results):
    folder = latex.write(results)
    own = [folder / "paper.tex", folder / "figures" / "own.pdf"]
    for path in own:
        path.write_text("mine")
    latex.write(results)
    for path in own:
        assert path.read_text() == "mine"
        path.unlink()


def test_the_document_compiles(results):
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not on PATH: the document was not compiled")
    folder = latex.write(results)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def test_a_report_is_written_again_from_its_folder(tmp_path, capsys):
    scenario, out = tmp_path / "one.yaml", tmp_path / "out"
    scenario.write_text(
        "name: one\ntitle: one\nfigures: []\nscenario:\n  duration_s: 2\n"
        "  links: {l: {rate_mbps: 10, delay_ms: 5}}\n  flows: [{scheme: $scheme, route: [l]}]\n"
    )
    arguments = [str(scenario), "--schemes", "reno", "--repeats", "1", "--out", str(out), "--format", "latex"]
    assert cli.run(arguments) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [str(out / "latex"), str(out / "report.html")]
    before = (out / "report.html").read_bytes()
    (out / "report.html").unlink()
    for name in ("latex", "figures"):
        shutil.rmtree(out / name)
    assert cli.run(["report", str(out), "--format", "latex"]) == 0
    assert capsys.readouterr().out.splitlines() == [str(out / "latex"), str(out / "report.html")]
    assert (out / "report.html").read_bytes() == before
    assert (out / "latex" / "one.tex").exists()
    with pytest.raises(InputError, match=r"run\.json: cannot be read"):
        cli.run(["report", str(tmp_path / "nowhere")])
