"""Descriptions of programs: their defaults, and one line for each mistake."""

import pytest

from leogym.common.errors import InputError
from leogym.configs import program_run

LINKS = {"a": {"rate_mbps": 10, "delay_ms": 5}, "b": {"rate_mbps": 10, "delay_ms": 5}}
HOSTS = {
    "server": {"programs": {"web": {"command": "serve --port 80", "listens": 80}}},
    "gateway": {"behind": "a"},
    "client": {"behind": "b", "peer": "gateway", "programs": {"get": {"command": ["get", -4, "x y"]}}},
}


def _run(hosts=None, **more):
    return program_run.parse({"links": LINKS, "hosts": {**HOSTS, **(hosts or {})}, **more}, "run.yaml")


def test_hosts_are_a_tree_and_commands_are_words():
    run = _run(flows=[{"scheme": "cubic", "route": ["b", "a"]}])
    assert run.ordered_hosts() == ["server", "gateway", "client"]
    assert [program.command for _, _, program in run.programs()] == [
        ["serve", "--port", "80"],
        ["get", "-4", "x y"],
    ]
    assert [flow.route for flow in run.scenario().flows] == [["b", "a"], ["a"], ["b", "a"]]


@pytest.mark.parametrize(
    ("hosts", "more", "rule"),
    [
        (
            {"client": {**HOSTS["client"], "behind": "c"}},
            {},
            "hosts.client.behind: no link c: links are a, b",
        ),
        ({"client": {**HOSTS["client"], "behind": "a"}}, {}, "hosts.client.behind: a is the link of gateway"),
        ({"client": {**HOSTS["client"], "peer": "x"}}, {}, "hosts.client.peer: no host x"),
        ({"gateway": {}}, {}, "hosts: all but one have a link"),
        ({"gateway": {"behind": "a", "peer": "client"}}, {}, "hosts: their peers form a circle"),
        ({"client": {"behind": "b", "peer": "gateway"}}, {}, "hosts: no client"),
        ({"Client": HOSTS["client"]}, {}, "hosts.Client"),
        ({}, {"flows": [{"scheme": "cubic", "route": ["a", "b"]}]}, "flows.0.route: b does not follow a"),
        ({}, {"unix_time": "today"}, "unix_time: today: must be a time"),
        ({}, {"limit": 3}, "limit"),
        ({"server": {"programs": {"web": {"command": "'", "listens": 80}}}}, {}, "no closing quotation"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(hosts, more, rule):
    with pytest.raises(InputError, match=r"^run\.yaml: ") as caught:
        _run(hosts, **more)
    assert rule in str(caught.value)
    assert "\n" not in str(caught.value)
