//! The recurrent operators: a cell, applied to each element of a sequence.

use super::super::neural_network::{Network, Op, Slot};
use super::super::recurrent::{Weights, gru, lstm};
use super::node::Node;
use super::value::{Content, Kind, Value, elements, gather};

type Outputs = Result<Vec<Value>, String>;

/// Inputs of both operators in the ONNX specification.
const WEIGHTS: usize = 1;
const MEMORY_WEIGHTS: usize = 2;
const BIAS: usize = 3;
const SEQUENCE_LENGTHS: usize = 4;
const HIDDEN: usize = 5;
const CELL: usize = 6;
const PEEPHOLES: usize = 7;

/// Weights of a cell, as the file has them.
struct Arrays {
    input: Vec<f32>,
    memory: Vec<f32>,
    bias: Vec<f32>,
    size: usize,
}

impl Arrays {
    fn weights(&self) -> Weights {
        let (input_bias, memory_bias) = self.bias.split_at(self.bias.len() / 2);
        Weights::new(&self.input, &self.memory, input_bias, memory_bias, self.size)
    }
}

impl Node<'_> {
    /// Outputs: the state after each element of the sequence, and the last one.
    pub(super) fn gru(&self, network: &mut Network) -> Outputs {
        let (sequence, arrays) = self.cell(3)?;
        let weights = arrays.weights();
        let reset_after = self.integer("linear_before_reset", 0) != 0;
        let mut h = self.state(network, HIDDEN, arrays.size, sequence.len())?;
        let mut hidden_states = Vec::new();
        for x in sequence {
            h = gru(network, &weights, reset_after, x, h);
            hidden_states.push(h.clone());
        }
        Ok(vec![states(network, &hidden_states)?, states(network, &[h])?.reshaped(vec![1, 1, arrays.size])?])
    }

    /// Outputs: the hidden state after each element of the sequence, and the last hidden and cell states.
    pub(super) fn lstm(&self, network: &mut Network) -> Outputs {
        if self.has(PEEPHOLES) || self.integer("input_forget", 0) != 0 {
            return Err("must have neither peepholes nor input_forget".to_owned());
        }
        let (sequence, arrays) = self.cell(4)?;
        let weights = arrays.weights();
        let mut h = self.state(network, HIDDEN, arrays.size, sequence.len())?;
        let mut c = self.state(network, CELL, arrays.size, sequence.len())?;
        let mut hidden_states = Vec::new();
        for x in sequence {
            (h, c) = lstm(network, &weights, x, h, c);
            hidden_states.push(h.clone());
        }
        let last =
            |network: &mut Network, state| states(network, &[state])?.reshaped(vec![1, 1, arrays.size]);
        Ok(vec![states(network, &hidden_states)?, last(network, h)?, last(network, c)?])
    }

    /// Return the sequence, (length, 1, n), and the weights of a cell with `gates` gates.
    fn cell(&self, gates: usize) -> Result<(Vec<Slot>, Arrays), String> {
        let forward = self.attribute("direction").and_then(|direction| direction.s.as_deref());
        let plain = ["activations", "clip"].iter().all(|name| self.attribute(name).is_none());
        let layout = self.integer("layout", 0) == 0;
        if forward.is_some_and(|direction| direction != "forward")
            || !plain
            || !layout
            || self.has(SEQUENCE_LENGTHS)
        {
            return Err("must run forward with default activations, without clip, layout and sequence_lens"
                .to_owned());
        }
        let (slot, dims) = (self.row(0)?, &self.value(0)?.dims);
        let [length, 1, inputs] = dims[..] else {
            return Err(format!("its input must have the shape (length, batch, inputs), not {dims:?}"));
        };
        let ((input_dims, input), (dims, memory)) = (self.constant(WEIGHTS)?, self.constant(MEMORY_WEIGHTS)?);
        let [1, rows, size] = dims[..] else {
            return Err("its recurrent weights must have three dimensions, the first 1".to_owned());
        };
        if rows != gates * size || input_dims != [1, rows, inputs] {
            return Err(format!(
                "weights {input_dims:?} and {dims:?} do not fit {gates} gates with {inputs} inputs"
            ));
        }
        let bias = if self.has(BIAS) { self.constant(BIAS)?.1 } else { &[] };
        if !bias.is_empty() && bias.len() != 2 * rows {
            return Err(format!("its biases must be {} numbers, not {}", 2 * rows, bias.len()));
        }
        let [input, memory, bias] =
            [input, memory, bias].map(|data| data.iter().map(|number| *number as f32).collect());
        let sequence = (0..length).map(|at| slot.start + at * inputs..slot.start + (at + 1) * inputs);
        Ok((sequence.collect(), Arrays { input, memory, bias, size }))
    }

    /// Return an initial state. For a sequence of one it must be an input of the network, because zeros would
    /// mean no memory.
    fn state(&self, network: &mut Network, index: usize, size: usize, length: usize) -> Result<Slot, String> {
        if length > 1 && !self.has(index) {
            return Ok(network.push(Op::Constant(vec![0.0; size]), 0..0, size));
        }
        let slot =
            if length > 1 { self.value(index).map(|value| value.slot(network)) } else { self.row(index) };
        match slot {
            Ok(slot) if slot.len() == size => Ok(slot),
            Ok(slot) => Err(format!("input {index} must have {size} numbers, not {}", slot.len())),
            Err(rule) => Err(format!("must have an initial state: {rule}")),
        }
    }
}

/// The states after each element of a sequence, (length, 1, 1, size).
fn states(network: &mut Network, hidden_states: &[Slot]) -> Result<Value, String> {
    let size = hidden_states.first().map_or(0, Slot::len);
    let dims = vec![hidden_states.len(), 1, 1, size];
    elements(&dims)?;
    let places: Vec<usize> = hidden_states.iter().flat_map(Clone::clone).collect();
    Ok(Value { kind: Kind::Float, dims, content: Content::Row(gather(network, &places)) })
}
