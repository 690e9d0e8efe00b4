"""Page graphs from HAR files, YAML files and the shipped pages."""

import json
from pathlib import Path
from typing import Any

import pytest

from leogym.common.errors import InputError
from leogym.configs import page_graph, scenario
from leogym.configs.scenario import Page


def entry(url: str, begin_ms: int, time_ms: float, size: int, **more: Any) -> dict[str, Any]:
    """Return an entry of a HAR file."""
    return {
        "startedDateTime": f"2026-01-02T03:04:05.{begin_ms:03}Z",
        "time": time_ms,
        "request": {"url": url},
        "response": {"status": 200, "headersSize": 100, "bodySize": size, "content": {"size": size * 3}},
        **more,
    }


def har(folder: Path, *entries: dict[str, Any]) -> Path:
    """Write a HAR file and return its path."""
    path = folder / "page.har"
    path.write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}))
    return path


def test_an_object_of_a_har_file_waits_for_its_initiator_or_for_the_object_that_arrived_before_it(tmp_path):
    path = har(
        tmp_path,
        entry("https://a/", 0, 100, 1000),
        entry("https://a/late.png", 410, 50, 400, timings={"blocked": 5}),
        entry("https://a/style.css", 120, 80, 300, _initiator={"type": "parser", "url": "https://a/"}),
        entry("https://a/app.js", 150, 200, 500, _initiator={"type": "parser", "url": "https://a/"}),
        entry("data:image/png;base64,AA", 160, 0, 10),
    )
    assert page_graph.of_har(path) == [
        {"bytes": 1100, "after": [], "client_ms": 0.0},
        {"bytes": 400, "after": [0], "client_ms": 20.0},
        {"bytes": 600, "after": [0], "client_ms": 50.0},
        # It was requested at 415 ms, after 5 ms in the browser's queue; app.js arrived at 350 ms.
        {"bytes": 500, "after": [2], "client_ms": 65.0},
    ]
    assert len(Page.model_validate({"graph": str(path)}).objects) == 4


def test_a_page_keeps_the_objects_of_its_graph_when_it_is_written_and_read_again():
    for name in page_graph.shipped():
        page = Page.model_validate({"graph": name, "http": "http2"})
        assert page.graph is None
        assert page.objects
        assert Page.model_validate_json(page.model_dump_json()) == page


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("{", "not a HAR 1.2 file"),
        ('{"log": {}}', "not a HAR 1.2 file: KeyError: 'entries'"),
        ('{"log": {"entries": []}}', "log.entries: must have at least one request over HTTP"),
        ('{"log": {"entries": [{"request": {"url": "https://a"}}]}}', "KeyError: 'response'"),
    ],
)
def test_a_file_that_is_no_har_is_one_line_that_names_it(tmp_path, text, rule):
    path = tmp_path / "page.har"
    path.write_text(text)
    with pytest.raises(InputError, match=rule) as raised:
        page_graph.load(str(path))
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_graph_that_does_not_exist_is_one_line_with_those_that_do():
    with pytest.raises(InputError, match=r"graph: artikle: neither a page \(article\)"):
        page_graph.load("artikle")


@pytest.mark.parametrize(
    ("flow", "rule"),
    [
        ({"scheme": "cubic", "workload": {}}, "flows.0.workload: give one of video, page and call"),
        ({"scheme": "cubic", "workload": {"call": {}}}, "flows.0.scheme: a call needs the scheme gcc or udp"),
        ({"scheme": "gcc"}, "flows.0.scheme: gcc needs workload.call"),
        ({"scheme": "udp", "workload": {"video": {}}}, "flows.0.scheme: a video or page needs TCP"),
        (
            {"scheme": "cubic", "workload": {"video": {}}, "rate_mbps": 1.0},
            "flows.0.rate_mbps: a flow with a workload has none",
        ),
        (
            {"scheme": "cubic", "workload": {"video": {"bitrates_kbps": [300, 200]}}},
            "workload.video.bitrates_kbps: must be 1 to 12 rising numbers",
        ),
        (
            {"scheme": "cubic", "workload": {"video": {"buffer_s": 3}}},
            "workload.video.buffer_s: must be at least chunk_s",
        ),
        (
            {"scheme": "cubic", "workload": {"page": {"objects": [{"bytes": 1, "after": [0]}]}}},
            "workload.page.objects.0.after: must be indices of earlier objects",
        ),
        ({"scheme": "cubic", "workload": {"page": {}}}, "workload.page.objects: there must be at least one"),
        (
            {"scheme": "agent", "workload": {"page": {"graph": "article"}}},
            "flows.0.scheme: the scheme agent cannot load pages",
        ),
        (
            {"scheme": "gcc", "workload": {"call": {"start_mbps": 3}}},
            "workload.call.start_mbps: must be from min_mbps to max_mbps",
        ),
    ],
)
def test_what_no_workload_can_be_is_refused_in_one_line(flow, rule):
    link = {"rate_mbps": 10.0, "delay_ms": 10.0}
    data = {"duration_s": 10.0, "links": {"a": link}, "flows": [{"route": ["a"], **flow}]}
    with pytest.raises(InputError) as raised:
        scenario.parse(data, "x.yaml")
    assert rule in str(raised.value)
    assert "\n" not in str(raised.value)
