import io
import json
from datetime import UTC, datetime

import numpy as np
import pytest
from sgp4 import omm as reference_omm
from sgp4.api import Satrec

from leogym.common.errors import InputError
from leogym.traces.orbit import catalogue, constellation, tle
from leogym.traces.orbit.satellites import Sgp4Orbits
from tests.support import catalogues
from tests.support.catalogues import SYNTAXES, record

EPOCH = datetime(2026, 11, 16, 12, tzinfo=UTC)
SMALL = catalogues.walker(3, 4)


def _parsed(text, source="x"):
    found = catalogue.parse(text, source)
    assert found is not None
    return found.satellites


def _refusal(text, source="x"):
    with pytest.raises(InputError) as error:
        catalogue.parse(text, source)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_every_syntax_has_the_elements_of_the_two_line_form(syntax):
    expected = _parsed(catalogues.as_tle(SMALL))
    assert _parsed(SYNTAXES[syntax](SMALL)) == expected
    assert expected[5].name == "SAT-6"
    assert expected[5].number == "6"
    assert expected[5].epoch == EPOCH


@pytest.mark.parametrize("syntax", SYNTAXES)
@pytest.mark.parametrize("name", ["x.txt", "x.tle", "x.yaml", "x"])
def test_the_content_says_the_format_not_the_name(tmp_path, syntax, name):
    file = tmp_path / name
    file.write_text(SYNTAXES[syntax](SMALL))
    assert constellation.load(str(file)).satellite_names == [f"SAT-{number}" for number in range(1, 13)]


@pytest.mark.parametrize("syntax", [*SYNTAXES, "tle"])
def test_a_mark_windows_line_ends_blanks_and_other_letters_are_read(tmp_path, syntax):
    records = [own | {"OBJECT_NAME": f"Žižka {own['NORAD_CAT_ID']}"} for own in SMALL]
    text = (SYNTAXES | {"tle": catalogues.as_tle})[syntax](records)
    file = tmp_path / "x.txt"
    file.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "  \r\n").encode())
    assert constellation.load(str(file)).satellite_names[-1] == "Žižka 12"


def test_our_positions_are_those_of_the_reference_implementation_on_the_same_message(tmp_path):
    text = catalogues.as_csv([record(100_001, MEAN_ANOMALY=12.3456, ECCENTRICITY=0.0123)])
    file = tmp_path / "x.csv"
    file.write_text(text)
    reference = Satrec()
    reference_omm.initialize(reference, next(reference_omm.parse_csv(io.StringIO(text))))
    orbits = Sgp4Orbits(constellation.load(str(file)), EPOCH)
    for time_s in (0.0, 5_000.0, 86_400.0):
        _, position_km, _ = reference.sgp4(reference.jdsatepoch, reference.jdsatepochF + time_s / 86_400)
        # A microdegree less in a day's phase is a centimetre; days as floats have microseconds.
        assert orbits.inertial_km(time_s, 0) == pytest.approx(position_km, abs=1e-3)


def test_the_reference_reads_our_xml_as_we_do():
    text = catalogues.as_xml(SMALL)
    theirs = [fields["OBJECT_NAME"] for fields in reference_omm.parse_xml(io.StringIO(text))]
    assert [own.name for own in _parsed(text)] == theirs


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_catalogue_numbers_may_have_nine_digits(syntax):
    assert _parsed(SYNTAXES[syntax]([record(799_501_234)]))[0].number == "799501234"


def test_alpha_5_numbers_are_those_of_the_message():
    line_1, line_2 = catalogues.two_lines(record(1))
    lines = (catalogues.checked(line[:2] + "J2345" + line[7:]) for line in (line_1, line_2))
    # I and O are left out: A to H are 10 to 17, J is 18.
    assert _parsed("\n".join(lines))[0].number == "182345"


def test_a_single_object_a_row_with_semicolons_and_a_namespace_are_read():
    own = record(7)
    assert _parsed(json.dumps(own)) == _parsed(catalogues.as_csv([own]).replace(",", ";"))
    with_prefix = catalogues.as_xml([own]).replace("<ndm ", "<n:ndm ").replace("</ndm>", "</n:ndm>")
    assert _parsed(with_prefix)[0].number == "7"


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [
        ("2026-11-16T12:00:00", EPOCH),
        ("2026-11-16T12:00:00.5Z", EPOCH.replace(microsecond=500_000)),
        ("2026-320T12:00:00.0000001", EPOCH),
        ("2026-11-16 12:00:00", EPOCH),
    ],
)
def test_epochs_are_read_as_ccsds_and_space_track_write_them(epoch, expected):
    assert _parsed(json.dumps([record(1, EPOCH=epoch)]))[0].epoch == expected


WRONG_VALUES = [
    ({"EPOCH": ""}, "EPOCH: is missing"),
    ({"EPOCH": "2026-11-16"}, "EPOCH: must be UTC such as"),
    ({"EPOCH": "2026-13-16T12:00:00"}, "EPOCH: must be UTC such as"),
    ({"EPOCH": "2025-366T12:00:00"}, "EPOCH: must be UTC such as"),
    ({"EPOCH": "2026-11-16T12:00:00+01:00"}, "EPOCH: must be UTC such as"),
    ({"EPOCH": "1926-11-16T12:00:00"}, "EPOCH: must be from 1957 to 2199, not 1926"),
    ({"MEAN_MOTION": ""}, "MEAN_MOTION: is missing"),
    ({"MEAN_MOTION": 0}, "MEAN_MOTION: must be from 0.01 to 18, not 0"),
    ({"MEAN_MOTION": "nan"}, "MEAN_MOTION: must be a number such as 15.05, not 'nan'"),
    ({"MEAN_MOTION": "15,05"}, "MEAN_MOTION: must be a number such as 15.05, not '15,05'"),
    ({"MEAN_MOTION": "15.05 [rad/s]"}, "MEAN_MOTION: must be in rev/day, not 'rad/s'"),
    ({"ECCENTRICITY": 1}, "ECCENTRICITY: must be below 1"),
    ({"ECCENTRICITY": -0.1}, "ECCENTRICITY: must be from 0 to 1, not -0.1"),
    ({"INCLINATION": 180.1}, "INCLINATION: must be from 0 to 180, not 180.1"),
    ({"INCLINATION": "0.9 [rad]"}, "INCLINATION: must be in deg, not 'rad'"),
    ({"RA_OF_ASC_NODE": 361}, "RA_OF_ASC_NODE: must be from -360 to 360, not 361"),
    ({"MEAN_ANOMALY": "1e999"}, "MEAN_ANOMALY: must be from -360 to 360, not inf"),
    ({"BSTAR": ""}, "BSTAR: is missing"),
    ({"BSTAR": "", "BTERM": "0.01"}, "BTERM: belongs to SGP4-XP: SGP4 needs BSTAR"),
    ({"NORAD_CAT_ID": 10**9}, "NORAD_CAT_ID: must be from 0 to 1e+09"),
    ({"EPHEMERIS_TYPE": 4}, "EPHEMERIS_TYPE: 4 is SGP4-XP, which SGP4 cannot propagate"),
    ({"MEAN_ELEMENT_THEORY": "DSST"}, "MEAN_ELEMENT_THEORY: must be SGP4, not 'DSST'"),
    ({"REF_FRAME": "EME2000"}, "REF_FRAME: must be TEME, not 'EME2000'"),
    ({"TIME_SYSTEM": "TAI"}, "TIME_SYSTEM: must be UTC, not 'TAI'"),
    ({"CENTER_NAME": "MARS"}, "CENTER_NAME: must be EARTH, not 'MARS'"),
    ({"DECAY_DATE": "soon"}, "DECAY_DATE: must be a day such as 2026-11-16, not 'soon'"),
]


@pytest.mark.parametrize(("changes", "rule"), WRONG_VALUES)
def test_wrong_values_are_refused_with_record_and_keyword(changes, rule):
    records = [record(1) | dict.fromkeys(changes, ""), record(2, **changes)]
    good = record(1)
    records[0] |= {key: good.get(key, "") for key in changes}
    assert _refusal(json.dumps(records)).startswith(f"x: record 2: {rule}")
    assert _refusal(catalogues.as_csv(records)).startswith(f"x:3: {rule}")


def test_lines_are_those_at_which_the_message_starts():
    wrong = [SMALL[0], SMALL[1] | {"BSTAR": "x"}]
    assert _refusal(catalogues.as_kvn(wrong)).startswith("x:25: BSTAR: must be a number")
    assert _refusal(catalogues.as_xml(wrong)).startswith("x:6: BSTAR: must be a number")


WRONG_TEXTS = [
    ("[1, 2]", "x: file: has neither satellites (two-line elements, or OMM"),
    ("", "x: file: has neither"),
    ("No GP data found", "x: file: has neither"),
    ("[]", "x: file: has no satellite"),
    ('[{"EPOCH": [1]}]', "x: record 1: 'EPOCH': must be text or a number"),
    ('[{"EPOCH": 1, "EPOCH": 2}]', "x: file: is not JSON: an object has 'EPOCH' twice"),
    ('[{"EPOCH": 1,', "x:1: file: is not JSON: "),
    ('[{"A": ' + "[" * 100_000, "x: file: is not JSON: "),
    ("EPOCH,MEAN_MOTION\n", "x: file: has no satellite"),
    ("EPOCH,MEAN_MOTION\n1\n", "x:2: row: must have 2 fields, as the header, not 1"),
    ("EPOCH,MEAN_MOTION,EPOCH\n1,2,3\n", "x:1: EPOCH: is the name of two columns"),
    ('EPOCH,MEAN_MOTION\n"1,2\n', "x:3: row: is not CSV: "),
    ("CCSDS_OMM_VERS = 2.0\nEPOCH\n", "x:2: line: must be KEYWORD = VALUE, not 'EPOCH'"),
    ("EPOCH = 1\nEPOCH = 2\n", "x:2: EPOCH: is there twice in one message: each starts with CCSDS_OMM_VERS"),
    ("<opm/>", "x:1: 'opm': must be ndm or omm, the root of an OMM"),
    ("<omm>\n<segment>", "x:2: file: is not XML: no element found"),
    ("<omm><segment><EPOCH>1</EPOCH><EPOCH>1</EPOCH></segment></omm>", "x:1: EPOCH: is there twice"),
    ("<omm></omm>", "x: file: has no satellite"),
    ('<!DOCTYPE omm [<!ENTITY a "b">]>\n<omm>&a;</omm>', "x:1: DOCTYPE: an OMM has none"),
    ("<!DOCTYPE html>\n<html></html>", "x:1: file: is a web page"),
    ("<HTML><body>403</body></HTML>", "x:1: file: is a web page"),
]


@pytest.mark.parametrize(("text", "rule"), WRONG_TEXTS)
def test_texts_that_are_no_message_are_refused_with_line_and_rule(text, rule):
    assert _refusal(text).startswith(rule)


def test_entities_do_not_expand():
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    assert "DOCTYPE" in _refusal(f'<!DOCTYPE omm [<!ENTITY e0 "x">{levels}]><omm>&e11;</omm>')


def test_two_line_elements_of_another_theory_are_refused():
    line_1, line_2 = catalogues.two_lines(record(1))
    with pytest.raises(InputError, match="x:1: ephemeris type: 4 is SGP4-XP, which SGP4 cannot propagate"):
        tle.parse_text(f"{catalogues.checked(line_1[:62] + '4' + line_1[63:])}\n{line_2}\n", "x")


def test_a_grid_of_too_many_planes_is_refused():
    with pytest.raises(InputError, match="x:1: file: says 1 x 1001 satellites: at most 1000 planes of 1000"):
        tle.parse_text("1 1001\n" + "\n".join(catalogues.two_lines(record(1))), "x")


def test_a_yaml_file_may_name_a_message_beside_it(tmp_path):
    (tmp_path / "x.json").write_text(catalogues.as_json(SMALL))
    own = tmp_path / "own.yaml"
    own.write_text("{name: own, source: test, min_elevation_deg: 5, tle_file: x.json}")
    data = constellation.load(str(own))
    assert data.min_elevation_deg == 5
    assert np.degrees(data.elements.inclination_rad) == pytest.approx([53.0] * 12)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("tle_file: y.json", "{own}: tle_file: no file 'y.json' in the folder {folder}"),
        (
            "tle_file: own.yaml",
            "{own}: tle_file: {own} is YAML, and must be two-line elements, or",
        ),
        (
            "tle_file: x.json, orbits: circular",
            "{own}: (whole file): orbits: satellites of a tle_file fly by SGP4",
        ),
    ],
)
def test_a_yaml_file_that_names_no_catalogue_is_refused_with_file_and_folder(tmp_path, text, rule):
    (tmp_path / "x.json").write_text(catalogues.as_json(SMALL))
    own = tmp_path / "own.yaml"
    own.write_text(f"{{name: own, source: test, min_elevation_deg: 5, {text}}}")
    with pytest.raises(InputError) as error:
        constellation.load(str(own))
    assert str(error.value).startswith(rule.format(own=own, folder=tmp_path))
