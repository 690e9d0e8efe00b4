"""The core's structs of a scenario: the schema's fields, defaults and ranges in Rust."""

import json
import re
import typing
from typing import Literal

from leogym.common.strict import Range
from leogym.configs import queue, scenario, schema
from leogym.configs.part import Part
from leogym.configs.schema import Node

FILE = "core/sim/src/scenario/fields.rs"
PARTS = schema.parts()
ENUMS = {
    typing.get_args(alias): name
    for module in (queue, scenario)
    for name, alias in vars(module).items()
    if typing.get_origin(alias) is Literal
}
HEAD = f"""//! The fields of a scenario, written by `python -m configs.reference` from `configs/scenario.py`.

use std::collections::BTreeMap;

use leo_link::QueueKind;
use serde::Deserialize;

use super::ecn::EcnSpec;
use super::part::{{Broken, Part, check, read, within}};

pub const MOST_FLOWS: u64 = {scenario.MOST_FLOWS:_};
pub const MOST_TRANSFER_BYTES: u64 = {scenario.MOST_TRANSFER_BYTES:_};
"""


def text() -> str:
    """Return the file."""
    enums = [_enum(values, name) for values, name in ENUMS.items() if name != "QueueKind"]
    structs = [_struct(name, part) for name, part in PARTS.items()]
    with_rules = [name for name, part in PARTS.items() if issubclass(part.model, Part)]
    last = [
        "/// Parse and check the JSON of a part that has rules between its fields.",
        "pub fn check_part(part: &str, json: &str) -> Result<(), Broken> {",
        "    match part {",
        *(f'        "{name}" => read::<{_struct_name(name)}>(json),' for name in with_rules),
        '        _ => Err(Broken::new("", format!("{part} has no rules"))),',
        "    }\n}\n",
    ]
    return "\n".join([HEAD, *enums, *structs, *last])


def _enum(values: tuple[str, ...], name: str) -> str:
    fields = [field for part in PARTS.values() for field in part.fields.values()]
    defaults = {field.get("default") for field in fields if tuple(field.get("enum", ())) == values}
    variants = [f"{'#[default] ' if value in defaults else ''}{_variant(value)}" for value in values]
    derived = f"Clone, Copy, Debug, {'Default, ' if defaults & {*values} else ''}PartialEq, Eq, Deserialize"
    body = f"pub enum {name} {{ {', '.join(variants)} }}\n"
    return f'#[derive({derived})] #[serde(rename_all = "snake_case")]\n{body}'


def _struct(name: str, part: schema.Part) -> str:
    struct = _struct_name(name)
    types = {field: _type(node) for field, node in part.fields.items()}
    derived = ["Clone", "Debug", "PartialEq", "Deserialize"]
    if not re.search(r"String|Vec|Spec", " ".join(types.values())):
        derived.append("Copy")
    if not any(node["required"] for node in part.fields.values()):
        derived.append("Default")
    lines = [f"#[derive({', '.join(derived)})] #[serde(deny_unknown_fields)]", f"pub struct {struct} {{"]
    functions = []
    for field, node in part.fields.items():
        default, attribute = node.get("default"), ""
        if default and "enum" not in node:
            attribute = f'#[serde(default = "{struct}::default_{field}")] '
            value = repr(float(default)) if "f64" in types[field] else json.dumps(default)
            value += ".to_owned()" if isinstance(default, str) else ""
            value = f"Some({value})" if types[field].startswith("Option") else value
            functions.append(f"    fn default_{field}() -> {types[field]} {{ {value} }}")
        elif not node["required"] and not types[field].startswith("Option"):
            attribute = "#[serde(default)] "
        lines.append(f"    {attribute}pub {field}: {types[field]},")
    lines.append("}")
    if functions:
        lines += [f"impl {struct} {{", *functions, "}"]
    checks = [f"    {check}?;" for field, node in part.fields.items() for check in _checks(field, node)]
    if part.model is queue.Queue:
        checks += [f"    {_knob(field)}?;" for field in part.fields if field not in ("kind", *queue.SIZES)]
    result = "self.rules()" if issubclass(part.model, Part) else "Ok(())"
    validate = f"impl Part for {struct} {{ fn validate(&self) -> Result<(), Broken> {{"
    return "\n".join([*lines, validate, *checks, f"    {result}", "}}\n"])


def _type(node: Node) -> str:
    kind, *more = schema.options(node)
    if more:
        return "EcnSpec"
    if "anyOf" in node:
        return f"Option<{_type(kind)}>"
    if "$ref" in kind:
        return _struct_name(kind["$ref"].rpartition("/")[2])
    if "enum" in kind:
        return ENUMS[tuple(kind["enum"])]
    match kind["type"]:
        case "integer":
            most = kind.get("exclusiveMaximum", kind.get("maximum"))
            return "usize" if most is None else "u32" if most <= 2**32 else "u64"
        case "array" if "prefixItems" in kind:
            return f"[{_type(kind['prefixItems'][0])}; {kind['maxItems']}]"
        case "array":
            return f"Vec<{_type(kind['items'])}>"
        case "object":
            return f"BTreeMap<String, {_type(kind['additionalProperties'])}>"
    return {"number": "f64", "boolean": "bool", "string": "String"}[kind["type"]]


def _checks(field: str, node: Node) -> list[str]:
    """Return what checks a field's range, and the parts in it."""
    [kind, *more] = schema.options(node)
    optional, type_ = "anyOf" in node, kind.get("type", "")
    if more:
        return []
    if "$ref" in kind:
        each = "iter().try_for_each(|part| within({name}, part.validate()))"
        return [
            f"self.{field}.{each.format(name=_quoted(field))}"
            if optional
            else f'within("{field}", self.{field}.validate())'
        ]
    if "prefixItems" in kind:
        range_ = schema.limits(kind["prefixItems"][0])
        assert range_ is not None
        holds = f"self.{field}.is_none_or(|all| all.iter().all(|&n| {_holds(range_, 'n', True)}))"
        return [f'check("{field}", {holds}, "must be whole numbers {range_}")']
    checks = []
    range_ = schema.limits(kind)
    if range_ is not None and (holds := _holds(range_, "n", type_ != "number")):
        value = f"self.{field}" if type_ in ("number", "integer") else f"self.{field}.len()"
        rule = {"number": "must be a number", "integer": "must be a whole number"}.get(
            type_, "its length must be"
        )
        holds = f"{value}.is_none_or(|n| {holds})" if optional else re.sub(r"\bn\b", value, holds)
        holds = re.sub(r"(\S+)\.len\(\) >= 1$", r"!\1.is_empty()", holds)
        checks.append(f'check("{field}", {holds}, "{rule} {range_}")')
    items = kind.get("items") or kind.get("additionalProperties")
    if isinstance(items, dict) and "$ref" in items:
        each = ".enumerate()" if type_ == "array" else ""
        name = f'&format!("{field}.{{key}}")'
        checks.append(
            f"self.{field}.iter(){each}.try_for_each(|(key, part)| within({name}, part.validate()))"
        )
    return checks


def _knob(field: str) -> str:
    kinds = [f"QueueKind::{_variant(kind)}" for kind, knobs in queue.KNOBS.items() if field in knobs]
    return f'self.check_knob("{field}", self.{field}.is_none() || matches!(self.kind, {" | ".join(kinds)}))'


def _holds(range_: Range, name: str, whole: bool) -> str:
    """Return the condition that a number is in a range; empty if its type ensures that."""
    number = (lambda bound: f"{int(bound):_}") if whole else (lambda bound: f"{float(bound):_}")
    least = None if whole and range_.ge == 0 else range_.ge
    below = None if whole and range_.lt in (2**32, 2**64) else range_.lt
    if least is not None and (range_.le is not None or below is not None):
        end = f"={number(range_.le)}" if below is None else number(below)
        return f"({number(least)}..{end}).contains(&{name})"
    bounds = ((">", range_.gt), (">=", least), ("<=", range_.le), ("<", below))
    return " && ".join(f"{name} {sign} {number(bound)}" for sign, bound in bounds if bound is not None)


def _struct_name(model: str) -> str:
    return model if model == "Scenario" else f"{model}Spec"


def _variant(name: str) -> str:
    return "DualPi2" if name == "dualpi2" else "".join(part.capitalize() for part in name.split("_"))


def _quoted(name: str) -> str:
    return f'"{name}"'
