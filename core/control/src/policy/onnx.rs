//! Reads an ONNX graph into a [`Network`]: a row `observation` in, a row `action` out, constant weights.
//!
//! The graph is read as it works on a batch of one, because a policy decides for one flow at a time. So every
//! shape is known, and what exporters write about shapes is computed here, once. Only nodes that the action and
//! the next states need are read.
//!
//! A recurrent policy has further inputs of any name, such as `state`, (batch, n) or (layers, batch, n),
//! initially zeros, each with an output `next_state`.

use std::collections::{BTreeMap, BTreeSet};

use rten_onnx::onnx::{GraphProto, ModelProto, NodeProto};

use super::framing;
use super::neural_network::{Network, Slot};

mod cells;
mod elementwise;
mod layers;
mod node;
mod shapes;
mod value;

use node::Node;
use value::{Content, Value};

const INPUT: &str = "observation";
const OUTPUT: &str = "action";
const NEXT: &str = "next_";

/// Most numbers that a recurrent policy may remember per flow.
const LARGEST_STATE: usize = 1 << 16;

/// A defect of a model: the part and the rule that it breaks.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) field: String,
    pub(super) rule: String,
}

impl Broken {
    fn new(field: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { field: field.into(), rule: rule.into() }
    }
}

/// A value of the graph that keeps memory from one action to the next.
struct State {
    name: String,
    dims: Vec<usize>,
}

/// Read the model in `bytes`, whose input has `observation_dim` numbers.
pub(super) fn read(bytes: &[u8], observation_dim: usize) -> Result<Network, Broken> {
    let truncated = || Broken::new("file", "truncated or not an ONNX model");
    if !framing::is_whole(bytes) {
        return Err(truncated());
    }
    let model =
        ModelProto::parse_buf(bytes).map_err(|error| Broken::new("file", format!("damaged: {error}")))?;
    let graph = model.graph.ok_or_else(truncated)?;
    let mut values = BTreeMap::new();
    for tensor in &graph.initializer {
        let name = tensor.name.as_deref().unwrap_or_default();
        values.insert(name.to_owned(), value::read(tensor, name)?);
    }
    let (observation, states) = inputs(&graph, &values, observation_dim)?;
    let action = action(&graph, !states.is_empty())?;
    let remembered = states.iter().map(|state| state.dims.iter().product::<usize>());
    let mut network = Network::new(observation_dim, remembered.sum());
    values.insert(observation.clone(), Value::row(network.input()));
    let mut next = network.memory().start;
    for State { name, dims } in &states {
        let end = next + dims.iter().product::<usize>();
        values.insert(name.clone(), Value { dims: dims.clone(), ..Value::row(next..end) });
        next = end;
    }
    for (index, node) in needed(&graph, &action, &states) {
        let name = node.name.as_deref().filter(|name| !name.is_empty());
        let operator = node.op_type.as_deref().unwrap_or_default();
        let field = name
            .map_or_else(|| format!("node {index} ({operator})"), |name| format!("node {name} ({operator})"));
        let outputs =
            Node { node, values: &values }.outputs(&mut network).map_err(|rule| Broken::new(field, rule))?;
        for (output, value) in node.output.iter().zip(outputs) {
            values.insert(output.clone(), value);
        }
    }
    if !states.is_empty() {
        network.set_next_memory(next_states(&graph, &values, &states)?);
    }
    match values.remove(&action).map(|value| value.content) {
        Some(Content::Row(slot)) => network.set_output(slot),
        _ => return Err(Broken::new("output", format!("no node computes {action:?} from {observation:?}"))),
    }
    Ok(network)
}

/// Return the nodes that the outputs need, in the order of the file.
fn needed<'a>(graph: &'a GraphProto, action: &str, states: &[State]) -> Vec<(usize, &'a NodeProto)> {
    let mut names: BTreeSet<String> = states.iter().map(|state| format!("{NEXT}{}", state.name)).collect();
    names.insert(action.to_owned());
    let mut nodes = Vec::new();
    // Nodes come after those that they need.
    for (index, node) in graph.node.iter().enumerate().rev() {
        if node.output.iter().any(|output| names.contains(output)) {
            names.extend(node.input.iter().cloned());
            nodes.push((index, node));
        }
    }
    nodes.reverse();
    nodes
}

/// Return the name of the observation, (batch, `observation_dim`), and every other input, the states. A network
/// with one input may call it anything. Skips weights, which old files list as inputs.
fn inputs(
    graph: &GraphProto,
    weights: &BTreeMap<String, Value>,
    observation_dim: usize,
) -> Result<(String, Vec<State>), Broken> {
    let named = graph.input.iter().map(|input| (input.name.as_deref().unwrap_or_default(), input));
    let inputs: Vec<_> = named.filter(|(name, _)| !weights.contains_key(*name)).collect();
    let observation = match inputs[..] {
        [(only, _)] => only,
        _ => INPUT,
    };
    let mut has_observation = false;
    let mut states = Vec::new();
    for (name, input) in inputs {
        let tensor = input.r#type.as_ref().and_then(|of| of.tensor_type.as_ref());
        let shape = tensor.and_then(|tensor| tensor.shape.as_ref());
        let dims: Option<Vec<Option<i64>>> =
            shape.map(|shape| shape.dim.iter().map(|dim| dim.dim_value).collect());
        if name == observation {
            has_observation = true;
            match dims.as_deref() {
                None | Some([_, None]) => {}
                Some([_, Some(dim)]) if usize::try_from(*dim) == Ok(observation_dim) => {}
                Some(_) => {
                    let rule = format!("{name:?} must have the shape (batch, {observation_dim})");
                    return Err(Broken::new("input", rule));
                }
            }
        } else if let Some(dims) = dims.as_deref().and_then(state_shape) {
            states.push(State { name: name.to_owned(), dims });
        } else {
            let rule = format!(
                "{name:?} is a state and must have the shape (batch, n) or (layers, batch, n) of 1 to \
                 {LARGEST_STATE} numbers"
            );
            return Err(Broken::new("input", rule));
        }
    }
    if !has_observation {
        return Err(Broken::new("input", format!("one must be named {INPUT:?}")));
    }
    Ok((observation.to_owned(), states))
}

/// Return the shape of a state in a batch of one. A free dimension is the batch.
fn state_shape(dims: &[Option<i64>]) -> Option<Vec<usize>> {
    let dims = match dims {
        [_, Some(n)] => vec![1, *n],
        [layers, batch, Some(n)] => vec![layers.unwrap_or(1), batch.unwrap_or(1), *n],
        _ => return None,
    };
    let dims: Vec<usize> = dims.into_iter().map(usize::try_from).collect::<Result<_, _>>().ok()?;
    let size = dims.iter().try_fold(1usize, |size, dim| size.checked_mul(*dim))?;
    (1..=LARGEST_STATE).contains(&size).then_some(dims)
}

/// Return the name of the output with the action: `action`, or the first of a network without states.
fn action(graph: &GraphProto, recurrent: bool) -> Result<String, Broken> {
    let mut names = graph.output.iter().map(|output| output.name.as_deref().unwrap_or_default());
    if names.clone().any(|name| name == OUTPUT) {
        return Ok(OUTPUT.to_owned());
    }
    match names.next() {
        Some(first) if !recurrent => Ok(first.to_owned()),
        _ => Err(Broken::new("output", format!("one must be named {OUTPUT:?}"))),
    }
}

/// Return the slots of the outputs `next_…` in the order of the states.
fn next_states(
    graph: &GraphProto,
    values: &BTreeMap<String, Value>,
    states: &[State],
) -> Result<Vec<Slot>, Broken> {
    let next = |State { name, dims }: &State| {
        let output = format!("{NEXT}{name}");
        let listed = graph.output.iter().any(|listed| listed.name.as_deref() == Some(&output));
        match values.get(&output).map(|value| &value.content) {
            Some(Content::Row(slot)) if listed && slot.len() == dims.iter().product::<usize>() => {
                Ok(slot.clone())
            }
            _ => {
                let n = dims.last().copied().unwrap_or_default();
                let shape = match dims[..] {
                    [layers, _, _] => format!("({layers}, batch, {n})"),
                    _ => format!("(batch, {n})"),
                };
                Err(Broken::new("output", format!("must have {output:?}, {shape}")))
            }
        }
    };
    states.iter().map(next).collect()
}

#[cfg(test)]
mod tests;
