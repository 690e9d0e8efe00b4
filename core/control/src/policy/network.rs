//! A feed-forward network that maps one row of numbers to another.
//!
//! Sums run in a fixed order, without fused multiply-add and without a choice of kernel by processor or batch size,
//! and `tanh` and `exp` come from `libm` rather than the system: the same row gives the same bits in any batch, on any
//! number of threads and on any machine.

use std::ops::Range;

/// A value's place in the scratch memory of one row.
pub(super) type Slot = Range<usize>;

/// Inputs of a dense layer that are taken in one pass over its outputs.
const BLOCK: usize = 8;

/// A dense layer: `y = x W + b`.
#[derive(Clone, Debug)]
pub(super) struct Dense {
    /// By input, then by output: a pass over the outputs is a run of independent sums, which compilers vectorise.
    weights: Vec<f32>,
    bias: Vec<f32>,
}

impl Dense {
    /// A layer whose weight from input `i` to output `o` is `weight(i, o)`; `bias` has one number an output.
    pub(super) fn new(inputs: usize, bias: Vec<f32>, weight: impl Fn(usize, usize) -> f32) -> Self {
        let weight = &weight;
        let weights = (0..inputs).flat_map(|i| (0..bias.len()).map(move |o| weight(i, o))).collect();
        Self { weights, bias }
    }

    fn apply(&self, x: &[f32], y: &mut [f32]) {
        let outputs = self.bias.len();
        y.copy_from_slice(&self.bias);
        let (blocks, rest) = x.as_chunks::<BLOCK>();
        let (of_blocks, of_rest) = self.weights.split_at(blocks.len() * BLOCK * outputs);
        for (x, weights) in blocks.iter().zip(of_blocks.chunks_exact(BLOCK * outputs)) {
            let rows: [&[f32]; BLOCK] = std::array::from_fn(|i| &weights[i * outputs..][..outputs]);
            for (output, y) in y.iter_mut().enumerate() {
                for (x, row) in x.iter().zip(rows) {
                    *y += x * row[output];
                }
            }
        }
        for (x, weights) in rest.iter().zip(of_rest.chunks_exact(outputs)) {
            for (y, weight) in y.iter_mut().zip(weights) {
                *y += x * weight;
            }
        }
    }
}

/// A function of one number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Activation {
    Relu,
    LeakyRelu { slope: f32 },
    Elu { alpha: f32 },
    Tanh,
    Sigmoid,
    Clip { min: f32, max: f32 },
}

impl Activation {
    fn apply(self, x: f32) -> f32 {
        match self {
            Self::Relu => x.max(0.0),
            Self::LeakyRelu { slope } => {
                if x < 0.0 {
                    slope * x
                } else {
                    x
                }
            }
            Self::Elu { alpha } => {
                if x < 0.0 {
                    alpha * libm::expm1f(x)
                } else {
                    x
                }
            }
            Self::Tanh => libm::tanhf(x),
            Self::Sigmoid => 1.0 / (1.0 + libm::expf(-x)),
            Self::Clip { min, max } => x.max(min).min(max),
        }
    }
}

/// A function of two rows, number by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Combination {
    Add,
    Sub,
    Mul,
    Div,
}

impl Combination {
    fn apply(self, a: f32, b: f32) -> f32 {
        match self {
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::Mul => a * b,
            Self::Div => a / b,
        }
    }
}

/// What a step does to its input.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Dense(Dense),
    /// `y = x · scale + shift`.
    Affine {
        scale: Vec<f32>,
        shift: Vec<f32>,
    },
    Activation(Activation),
    /// Combined with a second row.
    Combination(Combination, Slot),
}

#[derive(Clone, Debug)]
struct Step {
    op: Op,
    input: Slot,
    output: Slot,
}

/// A sequence of steps over the scratch memory of a row. The input is its beginning.
#[derive(Clone, Debug)]
pub(super) struct Network {
    steps: Vec<Step>,
    input: Slot,
    output: Slot,
    scratch: usize,
}

impl Network {
    /// A network that returns its input of `inputs` numbers.
    pub(super) fn new(inputs: usize) -> Self {
        Self { steps: Vec::new(), input: 0..inputs, output: 0..inputs, scratch: inputs }
    }

    /// Place of the input.
    pub(super) fn input(&self) -> Slot {
        self.input.clone()
    }

    /// Append a step that computes `outputs` numbers from earlier ones; return their place.
    pub(super) fn push(&mut self, op: Op, input: Slot, outputs: usize) -> Slot {
        let output = self.scratch..self.scratch + outputs;
        self.steps.push(Step { op, input, output: output.clone() });
        self.scratch = output.end;
        output
    }

    /// Say which value the network returns.
    pub(super) fn set_output(&mut self, output: Slot) {
        self.output = output;
    }

    /// Numbers in the output.
    pub(super) fn output_dim(&self) -> usize {
        self.output.len()
    }

    /// Map each row of `x` to the row of `y` with the same number.
    pub(super) fn run(&self, x: &[f32], y: &mut [f32]) {
        let mut scratch = vec![0.0; self.scratch];
        for (x, y) in x.chunks_exact(self.input.len()).zip(y.chunks_exact_mut(self.output.len())) {
            scratch[self.input()].copy_from_slice(x);
            for step in &self.steps {
                step.run(&mut scratch);
            }
            y.copy_from_slice(&scratch[self.output.clone()]);
        }
    }
}

impl Step {
    fn run(&self, scratch: &mut [f32]) {
        // Every step writes behind all that it reads.
        let (earlier, later) = scratch.split_at_mut(self.output.start);
        let x = &earlier[self.input.clone()];
        let y = &mut later[..self.output.len()];
        match &self.op {
            Op::Dense(dense) => dense.apply(x, y),
            Op::Affine { scale, shift } => {
                for (((y, x), scale), shift) in y.iter_mut().zip(x).zip(scale).zip(shift) {
                    *y = x * scale + shift;
                }
            }
            Op::Activation(activation) => {
                for (y, x) in y.iter_mut().zip(x) {
                    *y = activation.apply(*x);
                }
            }
            Op::Combination(combination, second) => {
                for ((y, a), b) in y.iter_mut().zip(x).zip(&earlier[second.clone()]) {
                    *y = combination.apply(*a, *b);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights that are small, different and of both signs.
    fn weight(input: usize, output: usize) -> f32 {
        ((input * 37 + output * 11) % 17) as f32 / 16.0 - 0.5
    }

    #[test]
    fn a_dense_layer_of_any_width_is_the_product_with_its_weights() {
        for (inputs, outputs) in [(1, 1), (3, 5), (7, 32), (50, 33), (5, 64), (2, 100)] {
            let bias: Vec<f32> = (0..outputs).map(|output| output as f32 / 8.0).collect();
            let dense = Dense::new(inputs, bias.clone(), weight);
            let x: Vec<f32> = (0..inputs).map(|input| input as f32 / 4.0 - 1.0).collect();
            let mut y = vec![f32::NAN; outputs];
            dense.apply(&x, &mut y);
            // All numbers are small multiples of 1/64: every sum is exact.
            for (output, y) in y.iter().enumerate() {
                let sum: f32 = x.iter().enumerate().map(|(input, x)| x * weight(input, output)).sum();
                assert_eq!(*y, bias[output] + sum, "{inputs} to {outputs}, output {output}");
            }
        }
    }

    #[test]
    fn a_row_gives_the_same_bits_in_any_batch() {
        let mut network = Network::new(50);
        let bias = (0..70).map(|output| output as f32 * 0.013).collect();
        let dense = Dense::new(50, bias, |input, output| weight(input, output) * 0.37);
        let hidden = network.push(Op::Dense(dense), network.input(), 70);
        let hidden = network.push(Op::Activation(Activation::Tanh), hidden, 70);
        let dense = Dense::new(70, vec![0.1; 3], |input, output| weight(input, output) * 0.91);
        let output = network.push(Op::Dense(dense), hidden, 3);
        network.set_output(output);
        let x: Vec<f32> = (0..50 * 17).map(|i| (i % 101) as f32 * 0.017 - 0.8).collect();
        let mut batch = vec![0.0; 3 * 17];
        network.run(&x, &mut batch);
        for (x, expected) in x.chunks(50).zip(batch.chunks(3)) {
            let mut alone = [0.0; 3];
            network.run(x, &mut alone);
            assert_eq!(alone.map(f32::to_bits), [expected[0], expected[1], expected[2]].map(f32::to_bits));
        }
    }

    #[test]
    fn every_step_computes_what_its_name_says() {
        let run = |op: Op| {
            let mut network = Network::new(3);
            let output = network.push(op, network.input(), 3);
            network.set_output(output);
            let mut y = [f32::NAN; 3];
            network.run(&[-2.0, 0.0, 3.0], &mut y);
            y
        };
        let activation = |activation| run(Op::Activation(activation));
        assert_eq!(activation(Activation::Relu), [0.0, 0.0, 3.0]);
        assert_eq!(activation(Activation::LeakyRelu { slope: 0.25 }), [-0.5, 0.0, 3.0]);
        assert_eq!(activation(Activation::Elu { alpha: 2.0 }), [2.0 * (-2f32).exp_m1(), 0.0, 3.0]);
        assert_eq!(activation(Activation::Clip { min: -1.0, max: 2.0 }), [-1.0, 0.0, 2.0]);
        let close = |got: [f32; 3], want: [f64; 3]| {
            for (got, want) in got.into_iter().zip(want) {
                assert!((f64::from(got) - want).abs() < 1e-7, "{got} is not {want}");
            }
        };
        close(activation(Activation::Tanh), [-0.964_027_58, 0.0, 0.995_054_75]);
        close(activation(Activation::Sigmoid), [0.119_202_92, 0.5, 0.952_574_13]);
        let affine = Op::Affine { scale: vec![2.0, 5.0, 1.0], shift: vec![1.0, 0.5, -1.0] };
        assert_eq!(run(affine), [-3.0, 0.5, 2.0]);
        for (combination, expected) in [
            (Combination::Add, [-4.0, 0.0, 6.0]),
            (Combination::Sub, [0.0, 0.0, 0.0]),
            (Combination::Mul, [4.0, 0.0, 9.0]),
        ] {
            assert_eq!(run(Op::Combination(combination, 0..3)), expected);
        }
        assert_eq!(Combination::Div.apply(3.0, 2.0), 1.5);
    }
}
