"""A scenario's JSON schema, part by part."""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from leogym.common.strict import Range
from leogym.configs import scenario

Node = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """A part of a scenario: its model, its place in the file and the JSON schema of each field."""

    model: type[BaseModel]
    place: str
    fields: dict[str, Node]


def parts() -> dict[str, Part]:
    """Return the parts of a scenario by the names of their models."""
    whole = scenario.Scenario.model_json_schema()
    visited: dict[str, Part] = {}

    def visit(node: Node, place: str) -> None:
        if (name := node.get("$ref", "").rpartition("/")[2]) and name not in visited:
            definition = whole["$defs"].get(name, whole)
            fields = {
                field: child | {"required": field in definition.get("required", ())}
                for field, child in definition["properties"].items()
            }
            visited[name] = Part(getattr(scenario, name), place, fields)
            for field, child in fields.items():
                visit(child, f"{place}.{field}".removeprefix("."))
        for key, suffix in (("items", "[]"), ("additionalProperties", ".NAME")):
            if isinstance(inner := node.get(key), dict):
                visit(inner, place + suffix)
        for option in node.get("anyOf", ()):
            visit(option, place)

    visit({"$ref": "Scenario"}, "")
    return visited


def options(node: Node) -> list[Node]:
    """Return the alternatives of a field but null."""
    return [option for option in node.get("anyOf", [node]) if option.get("type") != "null"]


def limits(node: Node) -> Range | None:
    """Return the range of a number, or of the length of a list or mapping, if there is any."""
    keys = {"gt": ["exclusiveMinimum"], "lt": ["exclusiveMaximum"]}
    keys |= {"ge": ["minimum", "minItems", "minProperties"], "le": ["maximum", "maxItems"]}
    bounds = {bound: node[key] for bound, names in keys.items() for key in names if key in node}
    return Range(**bounds) if bounds else None
