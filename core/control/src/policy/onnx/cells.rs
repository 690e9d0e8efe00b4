//! The recurrent operators: one step of a cell per row.

use super::super::neural_network::{Network, Slot};
use super::super::recurrent::{Weights, gru, lstm};
use super::{Node, Value};

/// Inputs of both operators in the ONNX specification.
const WEIGHTS: usize = 1;
const MEMORY_WEIGHTS: usize = 2;
const BIAS: usize = 3;
const SEQUENCE_LENGTHS: usize = 4;
const HIDDEN: usize = 5;
const CELL: usize = 6;
const PEEPHOLES: usize = 7;

impl Node<'_> {
    /// Outputs: the sequence of one step, and its last state.
    pub(super) fn gru(&self, network: &mut Network) -> Result<Vec<Value>, String> {
        let (x, h, weights) = self.cell(3)?;
        let reset_after = self.integer("linear_before_reset", 0) != 0;
        let next = gru(network, &weights, reset_after, x, h);
        Ok(vec![Value::Row(next.clone()), Value::Row(next)])
    }

    /// Outputs: the sequence of one step, its last hidden state, and its cell state.
    pub(super) fn lstm(&self, network: &mut Network) -> Result<Vec<Value>, String> {
        if self.has(PEEPHOLES) || self.integer("input_forget", 0) != 0 {
            return Err("must have neither peepholes nor input_forget".to_owned());
        }
        let (x, h, weights) = self.cell(4)?;
        let c = self.state(CELL, weights.size)?;
        let (hidden, cell) = lstm(network, &weights, x, h, c);
        Ok(vec![Value::Row(hidden.clone()), Value::Row(hidden), Value::Row(cell)])
    }

    /// Return input, memory and weights of a cell with `gates` gates.
    fn cell(&self, gates: usize) -> Result<(Slot, Slot, Weights<'_>), String> {
        let forward = self.attribute("direction").and_then(|direction| direction.s.as_deref());
        let plain = ["activations", "clip"].iter().all(|name| self.attribute(name).is_none());
        if forward.is_some_and(|direction| direction != "forward") || !plain || self.has(SEQUENCE_LENGTHS) {
            return Err(
                "must run forward with default activations, without clip and sequence_lens".to_owned()
            );
        }
        let x = self.row(0)?;
        let (input, memory) = (self.constant(WEIGHTS)?, self.constant(MEMORY_WEIGHTS)?);
        let [1, rows, size] = memory.dims[..] else {
            return Err("its recurrent weights must have three dimensions, the first 1".to_owned());
        };
        if rows != gates * size || input.dims != [1, rows, x.len()] {
            let (input, memory) = (&input.dims, &memory.dims);
            return Err(format!(
                "weights {input:?} and {memory:?} do not fit {gates} gates with {} inputs",
                x.len()
            ));
        }
        let bias = if self.has(BIAS) { &self.constant(BIAS)?.data[..] } else { &[] };
        if !bias.is_empty() && bias.len() != 2 * rows {
            return Err(format!("its biases must be {} numbers, not {}", 2 * rows, bias.len()));
        }
        let (input_bias, memory_bias) = bias.split_at(bias.len() / 2);
        let weights = Weights { input: &input.data, memory: &memory.data, input_bias, memory_bias, size };
        Ok((x, self.state(HIDDEN, size)?, weights))
    }

    /// Return an initial state. It is required: a default of zeros would mean no memory.
    fn state(&self, index: usize, size: usize) -> Result<Slot, String> {
        match self.row(index) {
            Ok(slot) if slot.len() == size => Ok(slot),
            Ok(slot) => Err(format!("input {index} must have {size} numbers, not {}", slot.len())),
            Err(rule) => Err(format!("must have an initial state: {rule}")),
        }
    }

    fn has(&self, index: usize) -> bool {
        self.node.input.get(index).is_some_and(|name| !name.is_empty())
    }
}
