//! A network that maps rows of numbers and, if it is recurrent, a row of memory to the next.
//!
//! A row gives the same bits in any batch, on any thread and machine: sums have a fixed order without fused multiply-add, and
//! `tanh` and `exp` come from `libm`. Longer vectors, where the processor has them, compute the same numbers.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use super::dense::Dense;
use super::functions::{Activation, Combination, Reduction};

/// A value's range in the scratch memory of a row.
pub(super) type Slot = Range<usize>;

/// The operation of a step.
#[derive(Clone, Debug)]
pub(super) enum Op {
    /// Shared, because a cell that is unrolled over a sequence applies it many times.
    Dense(Arc<Dense>),
    /// These numbers, with any input.
    Constant(Vec<f32>),
    /// The numbers at these places of the scratch memory.
    Gather(Vec<u32>),
    /// Rows of `width` numbers of a table, by their indices; a negative index counts from the end.
    Lookup {
        table: Vec<f32>,
        width: usize,
    },
    /// `y = x · scale + shift`.
    Affine {
        scale: Vec<f32>,
        shift: Vec<f32>,
    },
    Activation(Activation),
    /// With a second row.
    Combination(Combination, Slot),
    /// The first row where the input is not 0, else the second.
    Where(Slot, Slot),
    /// One number of each group of so many.
    Reduce(Reduction, usize),
    /// `exp(x) / Σ exp(x)` over each group of so many.
    Softmax(usize),
    /// `(x - mean) / sqrt(variance + epsilon) · scale + shift` over each group as long as `scale`.
    LayerNorm {
        epsilon: f32,
        scale: Vec<f32>,
        shift: Vec<f32>,
    },
}

#[derive(Clone, Debug)]
struct Step {
    op: Op,
    input: Slot,
    output: Slot,
}

/// Rows per pass over the weights.
const ROWS: usize = 16;

thread_local! {
    /// Scratch memory that the networks of a thread share, so that a decision allocates nothing. Every step
    /// reads only what an earlier one wrote, so remains of another network do not matter.
    static SCRATCH: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

/// A sequence of steps over a row's scratch memory, which starts with the input and the memory.
#[derive(Clone, Debug)]
pub(super) struct Network {
    steps: Vec<Step>,
    input: Slot,
    memory: Slot,
    output: Slot,
    /// The next memory, in pieces.
    next_memory: Vec<Slot>,
    scratch: usize,
}

impl Network {
    /// Create a network that returns its `inputs` numbers and keeps its `memory` numbers.
    pub(super) fn new(inputs: usize, memory: usize) -> Self {
        let (input, memory) = (0..inputs, inputs..inputs + memory);
        let scratch = memory.end;
        Self {
            steps: Vec::new(),
            output: input.clone(),
            next_memory: vec![memory.clone()],
            input,
            memory,
            scratch,
        }
    }

    pub(super) fn input(&self) -> Slot {
        self.input.clone()
    }

    pub(super) fn memory(&self) -> Slot {
        self.memory.clone()
    }

    /// Append a step with `outputs` outputs and return their slot.
    pub(super) fn push(&mut self, op: Op, input: Slot, outputs: usize) -> Slot {
        let output = self.scratch..self.scratch + outputs;
        self.steps.push(Step { op, input, output: output.clone() });
        self.scratch = output.end;
        output
    }

    /// Append a step with as many outputs as inputs.
    pub(super) fn map(&mut self, op: Op, input: Slot) -> Slot {
        let outputs = input.len();
        self.push(op, input, outputs)
    }

    pub(super) fn set_output(&mut self, output: Slot) {
        self.output = output;
    }

    /// Set the values of the next memory; together they are as long as the memory.
    pub(super) fn set_next_memory(&mut self, next_memory: Vec<Slot>) {
        debug_assert_eq!(next_memory.iter().map(Range::len).sum::<usize>(), self.memory.len());
        self.next_memory = next_memory;
    }

    pub(super) fn output_dim(&self) -> usize {
        self.output.len()
    }

    pub(super) fn memory_dim(&self) -> usize {
        self.memory.len()
    }

    /// Map each row of `x` to the same row of `y`, and update each row of `memory`.
    pub(super) fn run(&self, x: &[f32], memory: &mut [f32], y: &mut [f32]) {
        let count = y.len() / self.output.len();
        let numbers = self.scratch * count.min(ROWS);
        SCRATCH.with_borrow_mut(|scratch| {
            if scratch.len() < numbers {
                scratch.resize(numbers, 0.0);
            }
            let scratch = &mut scratch[..numbers];
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has AVX2.
                unsafe { self.run_with_avx2(scratch, count, x, memory, y) };
                return;
            }
            self.run_in::<false>(scratch, count, x, memory, y);
        });
    }

    /// [`run_in`](Self::run_in), compiled for vectors of eight numbers.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn run_with_avx2(
        &self,
        scratch: &mut [f32],
        count: usize,
        x: &[f32],
        memory: &mut [f32],
        y: &mut [f32],
    ) {
        self.run_in::<true>(scratch, count, x, memory, y);
    }

    /// `WIDE`: vectors have eight numbers.
    #[inline(always)]
    fn run_in<const WIDE: bool>(
        &self,
        scratch: &mut [f32],
        count: usize,
        x: &[f32],
        memory: &mut [f32],
        y: &mut [f32],
    ) {
        let (inputs, remembered, outputs) = (self.input.len(), self.memory.len(), self.output.len());
        let stride = self.scratch;
        for first in (0..count).step_by(ROWS) {
            let range = first..count.min(first + ROWS);
            let rows = &mut scratch[..stride * range.len()];
            for (row, number) in rows.chunks_exact_mut(stride).zip(range.clone()) {
                row[self.input()].copy_from_slice(&x[number * inputs..][..inputs]);
                row[self.memory()].copy_from_slice(&memory[number * remembered..][..remembered]);
            }
            for step in &self.steps {
                step.run::<WIDE>(rows, stride);
            }
            for (row, number) in rows.chunks_exact(stride).zip(range) {
                y[number * outputs..][..outputs].copy_from_slice(&row[self.output.clone()]);
                let mut memory = &mut memory[number * remembered..][..remembered];
                for piece in &self.next_memory {
                    let (rows, next_rows) = memory.split_at_mut(piece.len());
                    rows.copy_from_slice(&row[piece.clone()]);
                    memory = next_rows;
                }
            }
        }
    }
}

impl Step {
    #[inline(always)]
    fn run<const WIDE: bool>(&self, rows: &mut [f32], stride: usize) {
        if let Op::Dense(dense) = &self.op {
            dense.apply::<WIDE>(rows, stride, &self.input, &self.output);
            return;
        }
        for row in rows.chunks_exact_mut(stride) {
            // Every step writes behind everything that it reads.
            let (earlier, later) = row.split_at_mut(self.output.start);
            self.op.apply(earlier, &self.input, &mut later[..self.output.len()]);
        }
    }
}

impl Op {
    #[inline(always)]
    fn apply(&self, earlier: &[f32], input: &Slot, y: &mut [f32]) {
        let x = &earlier[input.clone()];
        match self {
            Self::Dense(_) => {}
            Self::Constant(numbers) => y.copy_from_slice(numbers),
            Self::Gather(places) => {
                for (y, place) in y.iter_mut().zip(places) {
                    *y = earlier[*place as usize];
                }
            }
            Self::Lookup { table, width } => {
                let rows = (table.len() / width) as i64;
                for (y, index) in y.chunks_exact_mut(*width).zip(x) {
                    let index = *index as i64;
                    let row = if index < 0 { index + rows } else { index }.clamp(0, rows - 1) as usize;
                    y.copy_from_slice(&table[row * width..][..*width]);
                }
            }
            Self::Where(first, second) => {
                let choices = earlier[first.clone()].iter().zip(&earlier[second.clone()]);
                for ((y, x), (first, second)) in y.iter_mut().zip(x).zip(choices) {
                    *y = if *x != 0.0 { *first } else { *second };
                }
            }
            Self::Reduce(reduction, group) => {
                for (y, x) in y.iter_mut().zip(x.chunks_exact(*group)) {
                    *y = reduction.apply(x);
                }
            }
            Self::Affine { scale, shift } => {
                for (((y, x), scale), shift) in y.iter_mut().zip(x).zip(scale).zip(shift) {
                    *y = x * scale + shift;
                }
            }
            Self::Activation(activation) => activation.apply_to_all(x, y),
            Self::Combination(combination, second) => {
                combination.apply_to_all(x, &earlier[second.clone()], y);
            }
            Self::Softmax(group) => {
                for (y, x) in y.chunks_exact_mut(*group).zip(x.chunks_exact(*group)) {
                    softmax(x, y);
                }
            }
            Self::LayerNorm { epsilon, scale, shift } => {
                let group = scale.len();
                for (y, x) in y.chunks_exact_mut(group).zip(x.chunks_exact(group)) {
                    normalize(x, y, *epsilon, scale, shift);
                }
            }
        }
    }
}

fn softmax(x: &[f32], y: &mut [f32]) {
    let largest = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for (y, x) in y.iter_mut().zip(x) {
        *y = libm::expf(x - largest);
        sum += *y;
    }
    y.iter_mut().for_each(|y| *y /= sum);
}

fn normalize(x: &[f32], y: &mut [f32], epsilon: f32, scale: &[f32], shift: &[f32]) {
    // In double precision, because a long sum of squares loses digits.
    let n = x.len() as f64;
    let mean = x.iter().map(|x| f64::from(*x)).sum::<f64>() / n;
    let squares = x.iter().map(|x| (f64::from(*x) - mean) * (f64::from(*x) - mean)).sum::<f64>();
    let factor = 1.0 / (squares / n + f64::from(epsilon)).sqrt();
    for (((y, x), scale), shift) in y.iter_mut().zip(x).zip(scale).zip(shift) {
        *y = ((f64::from(*x) - mean) * factor) as f32 * scale + shift;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small distinct weights of both signs.
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
            let mut network = Network::new(inputs, 0);
            let output = network.push(Op::Dense(Arc::new(dense)), network.input(), outputs);
            network.set_output(output);
            network.run(&x, &mut [], &mut y);
            // All numbers are small multiples of 1/64, so every sum is exact.
            for (output, y) in y.iter().enumerate() {
                let sum: f32 = x.iter().enumerate().map(|(input, x)| x * weight(input, output)).sum();
                assert_eq!(*y, bias[output] + sum, "{inputs} to {outputs}, output {output}");
            }
        }
    }

    #[test]
    fn a_row_gives_the_same_bits_in_any_batch() {
        let mut network = Network::new(50, 0);
        let bias = (0..70).map(|output| output as f32 * 0.013).collect();
        let dense = Dense::new(50, bias, |input, output| weight(input, output) * 0.37);
        let hidden = network.push(Op::Dense(Arc::new(dense)), network.input(), 70);
        let hidden = network.push(Op::Activation(Activation::Tanh), hidden, 70);
        let dense = Dense::new(70, vec![0.1; 3], |input, output| weight(input, output) * 0.91);
        let output = network.push(Op::Dense(Arc::new(dense)), hidden, 3);
        network.set_output(output);
        // More rows than in one pass.
        let x: Vec<f32> = (0..50 * 17).map(|i| (i % 101) as f32 * 0.017 - 0.8).collect();
        let mut batch = vec![0.0; 3 * 17];
        network.run(&x, &mut [], &mut batch);
        for (x, expected) in x.chunks(50).zip(batch.chunks(3)) {
            let mut alone = [0.0; 3];
            network.run(x, &mut [], &mut alone);
            assert_eq!(alone.map(f32::to_bits), [expected[0], expected[1], expected[2]].map(f32::to_bits));
        }
    }

    #[test]
    fn what_is_remembered_is_the_next_memory_of_its_own_row() {
        let mut network = Network::new(2, 2);
        let sum = network.map(Op::Combination(Combination::Add, network.memory()), network.input());
        network.set_output(sum.start..sum.start + 1);
        network.set_next_memory(vec![sum.start..sum.start + 1, sum.start + 1..sum.end]);
        let mut memory: Vec<f32> = (0..40).map(|i| 100.0 * i as f32).collect();
        let x: Vec<f32> = (0..40).map(|i| i as f32).collect();
        let mut y = [f32::NAN; 20];
        for round in 1..=3 {
            network.run(&x, &mut memory, &mut y);
            for (i, remembered) in memory.iter().enumerate() {
                assert_eq!(*remembered, (100 + round) as f32 * i as f32);
            }
            assert!(y.iter().zip(memory.chunks(2)).all(|(y, memory)| *y == memory[0]));
        }
    }

    #[test]
    fn every_step_computes_what_its_name_says() {
        let run = |op: Op| {
            let mut network = Network::new(3, 0);
            let output = network.push(op, network.input(), 3);
            network.set_output(output);
            let mut y = [f32::NAN; 3];
            network.run(&[-2.0, 0.0, 3.0], &mut [], &mut y);
            y
        };
        let activation = |activation| run(Op::Activation(activation));
        assert_eq!(activation(Activation::Relu), [0.0, 0.0, 3.0]);
        assert_eq!(activation(Activation::LeakyRelu { slope: 0.25 }), [-0.5, 0.0, 3.0]);
        assert_eq!(activation(Activation::Elu { alpha: 2.0 }), [2.0 * (-2f32).exp_m1(), 0.0, 3.0]);
        let [below, zero, above] = activation(Activation::Log);
        assert!(below.is_nan() && zero == f32::NEG_INFINITY && (above - 3f32.ln()).abs() < 1e-6);
        assert_eq!(activation(Activation::Clip { min: -1.0, max: 2.0 }), [-1.0, 0.0, 2.0]);
        let close = |got: [f32; 3], want: [f64; 3]| {
            for (got, want) in got.into_iter().zip(want) {
                assert!((f64::from(got) - want).abs() < 1e-7, "{got} is not {want}");
            }
        };
        close(activation(Activation::Tanh), [-0.964_027_58, 0.0, 0.995_054_75]);
        close(activation(Activation::Sigmoid), [0.119_202_92, 0.5, 0.952_574_13]);
        close(run(Op::Softmax(3)), [0.006_377_46, 0.047_123_42, 0.946_499_12]);
        let normal = Op::LayerNorm { epsilon: 0.0, scale: vec![1.0, 2.0, 1.0], shift: vec![0.0, 0.0, 1.0] };
        // Mean 1/3, variance 38/9.
        close(run(normal), [-1.135_549_94, -0.324_442_84, 2.297_771_37]);
        let affine = Op::Affine { scale: vec![2.0, 5.0, 1.0], shift: vec![1.0, 0.5, -1.0] };
        assert_eq!(run(affine), [-3.0, 0.5, 2.0]);
        for (combination, expected) in [
            (Combination::Add, [-4.0, 0.0, 6.0]),
            (Combination::Sub, [0.0, 0.0, 0.0]),
            (Combination::Mul, [4.0, 0.0, 9.0]),
        ] {
            assert_eq!(run(Op::Combination(combination, 0..3)), expected);
        }
    }
}
