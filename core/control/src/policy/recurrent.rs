//! Recurrent cells, built from the network's other steps.

use std::sync::Arc;

use super::dense::Dense;
use super::functions::{Activation, Combination};
use super::neural_network::{Network, Op, Slot};

/// The dense layers of a cell, from weights in ONNX layout: gate after gate, each by output and then by input.
pub(super) struct Weights {
    /// From the input, for all gates.
    input: Arc<Dense>,
    /// From the memory, for all gates.
    memory: Arc<Dense>,
    /// From the memory, for all gates but the last, and for the last.
    memory_apart: [Arc<Dense>; 2],
    /// Number of outputs.
    size: usize,
}

impl Weights {
    /// Take weights of the input, (gates × size, inputs), and of the memory, (gates × size, size), and the biases
    /// of both parts, (gates × size) or empty for zeros.
    pub(super) fn new(
        input: &[f32],
        memory: &[f32],
        input_bias: &[f32],
        memory_bias: &[f32],
        size: usize,
    ) -> Self {
        let gates = memory.len() / (size * size);
        let dense = |weights: &[f32], bias: &[f32], gates: std::ops::Range<usize>, gate_count: usize| {
            let (inputs, outputs, first) =
                (weights.len() / (gate_count * size), gates.len() * size, gates.start * size);
            let bias =
                if bias.is_empty() { vec![0.0; outputs] } else { bias[first..first + outputs].to_vec() };
            Arc::new(Dense::new(inputs, bias, |input, output| weights[(first + output) * inputs + input]))
        };
        Self {
            input: dense(input, input_bias, 0..gates, gates),
            memory: dense(memory, memory_bias, 0..gates, gates),
            memory_apart: [0..gates - 1, gates - 1..gates]
                .map(|range| dense(memory, memory_bias, range, gates)),
            size,
        }
    }

    fn gate(&self, gates: &Slot, number: usize) -> Slot {
        gates.start + number * self.size..gates.start + (number + 1) * self.size
    }
}

fn dense(network: &mut Network, layer: &Arc<Dense>, outputs: usize, x: Slot) -> Slot {
    network.push(Op::Dense(Arc::clone(layer)), x, outputs)
}

fn combine(network: &mut Network, combination: Combination, a: Slot, b: Slot) -> Slot {
    network.map(Op::Combination(combination, b), a)
}

fn activate(network: &mut Network, activation: Activation, x: Slot) -> Slot {
    network.map(Op::Activation(activation), x)
}

/// Append a gated recurrent unit (Cho et al., 2014): gates z, r and the candidate n, in this order.
///
/// ```text
/// z, r = σ(W x + b + U h + c)
/// n = tanh(W x + b + r ⊙ (U h + c))      with `reset_after`
/// n = tanh(W x + b + U (r ⊙ h) + c)      without
/// h' = (1 - z) ⊙ n + z ⊙ h
/// ```
///
/// Returns h'. Source: ONNX's operator GRU and its `linear_before_reset`: PyTorch sets it, Sonnet does not.
pub(super) fn gru(network: &mut Network, weights: &Weights, reset_after: bool, x: Slot, h: Slot) -> Slot {
    let (size, [first_two, third]) = (weights.size, &weights.memory_apart);
    let of_x = dense(network, &weights.input, 3 * size, x);
    let of_h = if reset_after {
        dense(network, &weights.memory, 3 * size, h.clone())
    } else {
        dense(network, first_two, 2 * size, h.clone())
    };
    let first_two_gates = |slot: &Slot| slot.start..slot.start + 2 * weights.size;
    let gates = combine(network, Combination::Add, first_two_gates(&of_x), first_two_gates(&of_h));
    let gates = activate(network, Activation::Sigmoid, gates);
    let (update, reset) = (weights.gate(&gates, 0), weights.gate(&gates, 1));
    let remembered = if reset_after {
        combine(network, Combination::Mul, reset, weights.gate(&of_h, 2))
    } else {
        let reset_memory = combine(network, Combination::Mul, reset, h.clone());
        dense(network, third, size, reset_memory)
    };
    let candidate = combine(network, Combination::Add, weights.gate(&of_x, 2), remembered);
    let candidate = activate(network, Activation::Tanh, candidate);
    let change = combine(network, Combination::Sub, h, candidate.clone());
    let memory_share = combine(network, Combination::Mul, update, change);
    combine(network, Combination::Add, candidate, memory_share)
}

/// Append a long short-term memory (Hochreiter and Schmidhuber, 1997): gates i, o, f, then the candidate g.
///
/// ```text
/// i, o, f = σ(W x + b + U h + d),   g = tanh(W x + b + U h + d)
/// c' = f ⊙ c + i ⊙ g,   h' = o ⊙ tanh(c')
/// ```
///
/// Returns h' and c'. Source: the ONNX operator LSTM, without peepholes.
pub(super) fn lstm(network: &mut Network, weights: &Weights, x: Slot, h: Slot, c: Slot) -> (Slot, Slot) {
    let of_x = dense(network, &weights.input, 4 * weights.size, x);
    let of_h = dense(network, &weights.memory, 4 * weights.size, h);
    let sums = combine(network, Combination::Add, of_x, of_h);
    let gates = activate(network, Activation::Sigmoid, sums.start..sums.start + 3 * weights.size);
    let candidate = activate(network, Activation::Tanh, weights.gate(&sums, 3));
    let [input, output, forget] = [0, 1, 2].map(|number| weights.gate(&gates, number));
    let old_cell = combine(network, Combination::Mul, forget, c);
    let new_cell = combine(network, Combination::Mul, input, candidate);
    let cell = combine(network, Combination::Add, old_cell, new_cell);
    let squashed = activate(network, Activation::Tanh, cell.clone());
    (combine(network, Combination::Mul, output, squashed), cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sigmoid(x: f64) -> f64 {
        1.0 / (1.0 + (-x).exp())
    }

    fn close(got: f32, want: f64) {
        assert!((f64::from(got) - want).abs() < 1e-6, "{got} is not {want}");
    }

    /// A cell of one number, so the tests can spell out the formulas.
    fn unit_weights(gates: usize) -> Weights {
        Weights::new(
            &[0.5, -1.0, 2.0, 0.25][..gates],
            &[1.5, 0.75, -0.5, 1.0][..gates],
            &[0.1, 0.2, 0.3, 0.4][..gates],
            &[-0.3, 0.4, 0.6, -0.2][..gates],
            1,
        )
    }

    #[test]
    fn a_gated_unit_follows_its_equations_either_way() {
        let (x, h) = (0.7f64, -0.4f64);
        let z = sigmoid(0.5 * x + 0.1 + 1.5 * h - 0.3);
        let r = sigmoid(-x + 0.2 + 0.75 * h + 0.4);
        let after = (2.0 * x + 0.3 + r * (-0.5 * h + 0.6)).tanh();
        let before = (2.0 * x + 0.3 - 0.5 * (r * h) + 0.6).tanh();
        for (reset_after, n) in [(true, after), (false, before)] {
            let mut network = Network::new(1, 1);
            let next = gru(&mut network, &unit_weights(3), reset_after, 0..1, 1..2);
            network.set_output(next.clone());
            network.set_next_memory(vec![next]);
            let (mut memory, mut y) = ([h as f32], [f32::NAN]);
            network.run(&[x as f32], &mut memory, &mut y);
            close(y[0], (1.0 - z) * n + z * h);
            assert_eq!(memory, y);
        }
    }

    #[test]
    fn a_long_short_term_memory_follows_its_equations() {
        let (x, h, c) = (0.7f64, -0.4f64, 1.2f64);
        let i = sigmoid(0.5 * x + 0.1 + 1.5 * h - 0.3);
        let o = sigmoid(-x + 0.2 + 0.75 * h + 0.4);
        let f = sigmoid(2.0 * x + 0.3 - 0.5 * h + 0.6);
        let g = (0.25 * x + 0.4 + h - 0.2).tanh();
        let mut network = Network::new(1, 2);
        let (hidden, cell) = lstm(&mut network, &unit_weights(4), 0..1, 1..2, 2..3);
        network.set_output(hidden.clone());
        network.set_next_memory(vec![hidden, cell]);
        let (mut memory, mut y) = ([h as f32, c as f32], [f32::NAN]);
        network.run(&[x as f32], &mut memory, &mut y);
        close(memory[1], f * c + i * g);
        close(memory[0], o * (f * c + i * g).tanh());
        assert_eq!(y[0], memory[0]);
    }
}
