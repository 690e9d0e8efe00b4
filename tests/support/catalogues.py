"""Catalogues for tests: a small Walker constellation in two-line elements and in every syntax of OMM."""

import csv
import io
import json

from leogym.traces.orbit import tle

EPOCH = "2026-11-16T12:00:00.000000"
TLE_EPOCH = "26320.50000000"


def checked(line):
    return line[:68] + str(tle.checksum(line))


def two_lines(fields):
    """Return the two lines of an OMM's fields, whose numbers have the digits of two-line elements."""
    number = f"{int(fields['NORAD_CAT_ID']):05d}"
    first = f"1 {number}U 26001A   {TLE_EPOCH}  .00000100  00000-0  20000-4 0  9990"
    second = (
        f"2 {number} {fields['INCLINATION']:8.4f} {fields['RA_OF_ASC_NODE']:8.4f} "
        f"{fields['ECCENTRICITY'] * 1e7:07.0f} {fields['ARG_OF_PERICENTER']:8.4f} "
        f"{fields['MEAN_ANOMALY']:8.4f} {fields['MEAN_MOTION']:11.8f}    10"
    )
    return checked(first), checked(second)


def record(number, **changes):
    """Return an OMM's fields as CelesTrak's CSV and JSON have them."""
    fields = {"OBJECT_NAME": f"SAT-{number}", "OBJECT_ID": "2026-001A", "EPOCH": EPOCH}
    fields |= {"MEAN_MOTION": 15.05, "ECCENTRICITY": 0.0001, "INCLINATION": 53.0, "RA_OF_ASC_NODE": 0.0}
    fields |= {"ARG_OF_PERICENTER": 90.0, "MEAN_ANOMALY": 0.0, "EPHEMERIS_TYPE": 0}
    fields |= {"CLASSIFICATION_TYPE": "U", "NORAD_CAT_ID": number, "ELEMENT_SET_NO": 999, "REV_AT_EPOCH": 1}
    fields |= {"BSTAR": 2e-5, "MEAN_MOTION_DOT": 1e-6, "MEAN_MOTION_DDOT": 0}
    return fields | changes


def walker(planes=24, slots=22, **changes):
    """Return the records of a Walker constellation."""
    return [
        record(
            plane * slots + slot + 1,
            RA_OF_ASC_NODE=plane * 360.0 / planes,
            MEAN_ANOMALY=round((slot * 360 / slots + plane * 7.5) % 360, 4),
            **changes,
        )
        for plane in range(planes)
        for slot in range(slots)
    ]


def as_tle(records):
    return "".join(f"{line}\n" for own in records for line in (own["OBJECT_NAME"], *two_lines(own)))


def as_csv(records):
    text = io.StringIO()
    table = csv.DictWriter(text, records[0], lineterminator="\n")
    table.writeheader()
    table.writerows(records)
    return text.getvalue()


def as_quoted_csv(records):
    """Return Space-Track's CSV, in which every value has quotes."""
    text = io.StringIO()
    head = {"CCSDS_OMM_VERS": "2.0", "COMMENT": "GENERATED VIA SPACE-TRACK.ORG API", "DECAY_DATE": ""}
    table = csv.DictWriter(text, head | records[0], quoting=csv.QUOTE_ALL, lineterminator="\n")
    table.writeheader()
    table.writerows(head | own for own in records)
    return text.getvalue()


def as_json(records):
    return json.dumps(records)


def as_space_track(records):
    """Return Space-Track's JSON: every value is text, absent ones are null."""
    head = {"CCSDS_OMM_VERS": "3.0", "CENTER_NAME": "EARTH", "REF_FRAME": "TEME", "TIME_SYSTEM": "UTC"}
    head |= {"MEAN_ELEMENT_THEORY": "SGP4", "DECAY_DATE": None, "TLE_LINE0": "0 SAT"}
    return json.dumps([head | {key: str(value) for key, value in own.items()} for own in records], indent=1)


def as_kvn(records):
    lines = []
    for own in records:
        lines += ["CCSDS_OMM_VERS = 3.0", "COMMENT a = b", "CREATION_DATE = 2026-11-16T13:00:00", ""]
        lines += ["CENTER_NAME = EARTH", "REF_FRAME = TEME", "TIME_SYSTEM = UTC"]
        units = {"MEAN_MOTION": " [rev/day]", "INCLINATION": " [deg]", "BSTAR": " [1/ER]"}
        lines += [f"{key} = {value}{units.get(key, '')}" for key, value in own.items()]
    return "\n".join(lines) + "\n"


def as_xml(records):
    text = '<?xml version="1.0" encoding="UTF-8"?>\n<ndm xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">\n'
    for own in records:
        fields = {key: f"<{key}>{value}</{key}>" for key, value in own.items()}
        fields["MEAN_MOTION"] = f'<MEAN_MOTION units="rev/day">{own["MEAN_MOTION"]}</MEAN_MOTION>'
        keys = list(fields)
        text += '<omm id="CCSDS_OMM_VERS" version="3.0"><header><CREATION_DATE/></header><body><segment>\n'
        text += f"<metadata><COMMENT>x</COMMENT>{fields['OBJECT_NAME']}<REF_FRAME>TEME</REF_FRAME></metadata>"
        text += f"<data><meanElements>{''.join(fields[key] for key in keys[2:9])}</meanElements>"
        text += f"<tleParameters>{''.join(fields[key] for key in keys[9:])}</tleParameters></data>\n"
        text += "</segment></body></omm>\n"
    return text + "</ndm>\n"


SYNTAXES = {
    "csv": as_csv,
    "quoted-csv": as_quoted_csv,
    "json": as_json,
    "space-track": as_space_track,
    "kvn": as_kvn,
    "xml": as_xml,
}
