"""Paths over catalogues of satellites, through every command that flies them."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.traces.orbit import constellation, isl, places
from leogym.traces.orbit.satellites import Sgp4Orbits
from leogym.traces.path import named_paths, path_trace
from leogym.traces.path.build import Builder, build
from leogym.traces.path.spec import PathSpec
from tests.support import catalogues
from tests.support.catalogues import SYNTAXES, record

EPOCH = datetime(2026, 11, 16, 12, tzinfo=UTC)
WALKER = catalogues.walker()


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "shell.json"
    path.write_text(catalogues.as_json(WALKER))
    return path


def _spec(file, **changes):
    cities = places.cities()
    fields = {"name": "x", "from_site": cities["ny"], "to_site": cities["lax"], "duration_s": 1.0}
    return PathSpec.model_validate(fields | {"constellation": str(file)} | changes)


def _metadata(trace):
    return json.loads(trace.read_text().partition("\n")[0].removeprefix("# "))


@pytest.mark.parametrize("syntax", [*SYNTAXES, "tle"])
def test_the_same_elements_give_the_same_rows_in_every_form(tmp_path, syntax):
    rows = []
    for name in ("json", syntax):
        file = tmp_path / name
        file.write_text((SYNTAXES | {"tle": catalogues.as_tle})[name](WALKER))
        path_trace.write(_spec(file), tmp_path / "x.csv")
        rows.append((tmp_path / "x.csv").read_text().partition("\n")[2])
    assert rows[0] == rows[1]


def test_a_build_without_an_epoch_is_at_the_elements_own_and_its_command_says_so(
    run_traces, capsys, tmp_path, file
):
    out, again = tmp_path / "a.csv", tmp_path / "b.csv"
    words = "build --from NYC --to lax --attach shortest --duration 1 --constellation"
    assert run_traces(words, file, "--out", out) == 0
    assert capsys.readouterr().err == ""
    about = _metadata(out)
    assert about["epoch"] == "2026-11-16T12:00:00Z"
    assert about["elements"]["satellites"] == 528
    assert about["elements"]["first_epoch"] == about["elements"]["last_epoch"] == about["epoch"]
    assert run_traces(*about["command"].split()[2:], "--out", again) == 0
    assert again.read_bytes() == out.read_bytes()
    # The file of another day does not move the trace.
    file.write_text(catalogues.as_json([own | {"EPOCH": "2026-11-18T12:00:00"} for own in WALKER]))
    capsys.readouterr()
    assert run_traces(*about["command"].split()[2:], "--out", again) == 0
    assert capsys.readouterr().err.startswith(f"note: {file}: the build is 2.0 to 2.0 days")
    assert _metadata(again)["epoch"] == "2026-11-16T12:00:00Z"


@pytest.mark.parametrize(
    "command", ["build --from ny --to lax --attach shortest", "shared ny,lax ny,sd"], ids=["build", "shared"]
)
@pytest.mark.parametrize(
    ("epoch", "status", "line"),
    [
        ("2026-12-20T12:00:00Z", 0, "warning: {file}: the build is 34.0 to 34.0 days"),
        ("2000-01-01T00:00:00Z", 2, "{file}: epoch: the build is 9816.5 to 9816.5 days"),
    ],
)
def test_commands_warn_or_refuse_far_from_the_elements_in_one_line(
    run_traces, capsys, tmp_path, file, command, epoch, status, line
):
    words = "--constellation", file, "--duration 1 --out", tmp_path / "out", "--epoch", epoch
    assert run_traces(command, *words) == status
    err = capsys.readouterr().err
    assert err.startswith(line.format(file=file))
    assert err.count("\n") == 1
    assert (tmp_path / "out").exists() == (status == 0)


def test_shared_paths_without_an_epoch_are_at_the_elements_own(run_traces, tmp_path, file):
    out = tmp_path / "out"
    assert run_traces("shared ny,lax ny,sd --constellation", file, "--duration 1 --out", out) == 0
    for trace in out.glob("*.csv"):
        about = _metadata(trace)
        assert about["epoch"] == "2026-11-16T12:00:00Z"
        assert "--epoch 2026-11-16T12:00:00Z" in about["command"]
    assert "--epoch 2026-11-16T12:00:00Z" in (out / "scenario.yaml").read_text()


def test_shells_keep_their_epoch_and_command(tmp_path):
    for epoch in (None, datetime(2000, 1, 1, tzinfo=UTC)):
        path_trace.write(_spec("starlink-1", epoch=epoch), tmp_path / "x.csv")
        about = _metadata(tmp_path / "x.csv")
        assert about["epoch"] == "2000-01-01T00:00:00Z"
        assert "--epoch" not in about["command"]
        assert "elements" not in about


def test_a_picture_has_chains_only_over_the_elements_of_its_trace(run_traces, capsys, tmp_path, file):
    trace, picture = tmp_path / "x.csv", tmp_path / "x.html"
    path_trace.write(_spec(file), trace)
    assert run_traces("plot", trace, "--out", picture) == 0
    assert "SAT-" in picture.read_text()
    assert capsys.readouterr().err == ""
    file.write_text(catalogues.as_json(WALKER[1:]))
    assert run_traces("plot", trace, "--out", picture) == 0
    assert "SAT-" not in picture.read_text()
    rule = f"no chains are drawn: {file}: has other elements than the trace was built from\n"
    assert capsys.readouterr().err == rule


def test_one_that_fell_down_does_not_take_the_path_with_it(run_traces, capsys, tmp_path, file):
    whole, without = tmp_path / "a.csv", tmp_path / "b.csv"
    path_trace.write(_spec(file), whole)
    fallen = record(44_713, OBJECT_NAME="STARLINK-1007", MEAN_MOTION=16.8)
    file.write_text(catalogues.as_json([fallen, *WALKER]))
    words = "build --from ny --to lax --duration 1 --constellation"
    assert run_traces(words, file, "--out", without) == 0
    left_out, detour = capsys.readouterr().err.splitlines()
    assert left_out == f"note: {file}: left out: STARLINK-1007: decayed: below 100 km (1 of 529 satellites)"
    assert detour.endswith("try --attach shortest")
    rows = [trace.read_text().partition("\n")[2] for trace in (whole, without)]
    assert rows[0] == rows[1]


def _two_shells():
    """Return Starlink's shells at 53.05° and 548 km, and at 53.2° and 537 km, 72 x 22 each."""
    other = catalogues.walker(72, 22, INCLINATION=53.2, MEAN_MOTION=15.0975)
    shells = catalogues.walker(72, 22, INCLINATION=53.05, MEAN_MOTION=15.064)
    return shells + [
        own | {"NORAD_CAT_ID": own["NORAD_CAT_ID"] + 5000, "RA_OF_ASC_NODE": own["RA_OF_ASC_NODE"] + 2.5}
        for own in other
    ]


def test_shells_of_a_catalogue_are_told_apart_and_the_hint_names_the_other_attachment(tmp_path):
    file = tmp_path / "two.tle"
    file.write_text(catalogues.as_tle(_two_shells()))
    builder = Builder(_spec(file))
    assert [len(mesh) for mesh in builder.network.meshes] == [1584, 1584]
    ends = {"from_site": places.cities()["ny"], "to_site": places.cities()["ldn"]}
    refused = []
    for minute in range(0, 12, 3):
        try:
            build(_spec(file, **ends, epoch=EPOCH.replace(minute=minute)))
        except InputError as error:
            refused.append(str(error))
    assert refused
    assert all("its shells are not linked with each other, try --attach shortest" in line for line in refused)
    build(_spec(file, **ends, attach="shortest"))


def test_ends_over_different_shells_for_a_part_of_the_time_are_said(capsys, tmp_path):
    ends = {"from_site": places.cities()["ny"], "to_site": places.cities()["sd"]}
    path = build(_spec("starlink", **ends, duration_s=600.0, step_ms=5000, route_s=5.0))
    down_s = round(
        float(np.diff(path.time_ns)[[path.chains[n] is None for n in path.path_id[:-1]]].sum()) / 1e9
    )
    assert 0 < down_s < 600
    assert capsys.readouterr().err == (
        f"note: x: for {down_s} of 600 s the ends are at satellites of different shells, which no lasers "
        "join: try --attach shortest\n"
    )


def test_shells_close_to_each_other_are_told_apart_also_with_satellites_between_them(tmp_path):
    shells = [(53.05, 15.064), (53.16, 15.0311), (53.21, 15.097), (43.0, 15.064)]
    records = []
    for number, (inclination, motion) in enumerate(shells):
        for own in catalogues.walker(24, 22, INCLINATION=inclination, MEAN_MOTION=motion):
            # On station to a kilometre and a hundredth of a degree.
            off = np.sin(own["NORAD_CAT_ID"] * (1.0 + number))
            own |= {"NORAD_CAT_ID": own["NORAD_CAT_ID"] + 1000 * number}
            own |= {"INCLINATION": inclination + 0.01 * off, "MEAN_MOTION": motion + 0.003 * off}
            records.append(own)
    between = [record(9000 + number, MEAN_MOTION=15.03 + 0.002 * number) for number in range(40)]
    file = tmp_path / "x.csv"
    file.write_text(catalogues.as_csv([*records, *(own | {"INCLINATION": 53.1} for own in between)]))
    meshes = Builder(_spec(file)).network.meshes
    assert sorted((mesh // 528).min() for mesh in meshes) == [0, 1, 2, 3]
    assert all(len(mesh) == 528 and (mesh // 528).min() == (mesh // 528).max() for mesh in meshes)


def _being_raised():
    """Return 120 satellites in 6 rings at heights up to the shell's, and 30 launched together."""
    raised = [
        record(2000 + number, MEAN_MOTION=15.06 + number * 0.006, RA_OF_ASC_NODE=number % 6 * 60.0)
        | {"MEAN_ANOMALY": number * 18.0 % 360}
        for number in range(120)
    ]
    launched = [record(3000 + number, MEAN_MOTION=15.95, MEAN_ANOMALY=number * 12.0) for number in range(30)]
    return raised, launched


def test_satellites_on_their_way_to_a_shell_neither_join_it_nor_hold_users(capsys, tmp_path):
    raised, launched = _being_raised()
    shell = catalogues.walker(72, 22)
    file = tmp_path / "all.csv"
    file.write_text(catalogues.as_csv([*raised, *shell, *launched]))
    builder = Builder(_spec(file))
    serving = builder.serving
    assert serving is not None
    heights = builder.orbits.semi_major_km - 6378.135
    assert not serving[-30:].any()
    assert serving[120:-30].all()
    # Those within the shell's own height are taken for its members.
    assert heights[:120][serving[:120]].min() > 540
    assert np.count_nonzero(serving[:120]) < 15
    others = np.count_nonzero(~serving)
    note = f"note: {file}: {others} of 1734 satellites are in no shell, such as those being raised or lowered"
    assert capsys.readouterr().err.startswith(note)
    only = tmp_path / "shell.csv"
    only.write_text(
        catalogues.as_csv([own for own, serves in zip(_records(file), serving, strict=True) if serves])
    )
    assert build(_spec(file)).delay_ns.tolist() == build(_spec(only)).delay_ns.tolist()


def _records(file):
    header, *rows = file.read_text().splitlines()
    return [dict(zip(header.split(","), row.split(","), strict=True)) for row in rows]


def test_the_satellites_of_a_single_ring_hold_users(tmp_path):
    file = tmp_path / "ring.csv"
    file.write_text(catalogues.as_csv(catalogues.walker(1, 40, INCLINATION=40.0)))
    assert [len(mesh) for mesh in Builder(_spec(file)).network.meshes] == [40]


@pytest.mark.parametrize("inclination", [0.0, 0.04, 180.0])
def test_satellites_over_the_equator_are_one_ring(tmp_path, inclination):
    records = [
        record(
            number + 1,
            INCLINATION=inclination,
            MEAN_MOTION=5.0,
            ECCENTRICITY=0.0,
            RA_OF_ASC_NODE=number * 50 % 360,
            MEAN_ANOMALY=(number * 18 - number * 50 * (1 if inclination < 90 else -1)) % 360,
        )
        for number in range(20)
    ]
    file = tmp_path / "o3b.csv"
    file.write_text(catalogues.as_csv(records))
    data = constellation.load(str(file))
    links = isl.plus_grid(data, Sgp4Orbits(data, EPOCH))
    assert sorted(map(tuple, links.tolist())) == [(0, 1), (0, 19), *((n, n + 1) for n in range(1, 19))]


def test_bent_pipes_use_every_satellite(tmp_path, file):
    assert Builder(_spec(file, links="bent-pipe")).serving is None


def test_the_grid_of_a_part_of_the_satellites_is_that_of_their_motion(tmp_path):
    file = tmp_path / "part.csv"
    file.write_text(catalogues.as_csv(WALKER[:-7]))
    data = constellation.load(str(file))
    links = isl.plus_grid(data, Sgp4Orbits(data, EPOCH))
    assert np.bincount(links.ravel()).max() == 4


def test_a_name_of_a_path_takes_no_file(file):
    with pytest.raises(InputError, match="a name has no file: build a trace with --constellation"):
        named_paths.spec(f"sd-ny-isl@{file}")
