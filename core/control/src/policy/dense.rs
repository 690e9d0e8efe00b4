//! A dense layer: `y = x W + b`.

use super::neural_network::Slot;

/// Outputs summed at a time. They fit into the registers of any processor with vectors of four numbers, so
/// each sum is loaded and stored once.
const TILE: usize = 32;
/// Tile width for the remaining outputs.
const NARROW: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct Dense {
    inputs: usize,
    /// One tile after the other, each by input and then by output, so they are read once from front to back.
    weights: Vec<f32>,
    /// Padded to the length of all tiles.
    bias: Vec<f32>,
    outputs: usize,
}

impl Dense {
    /// Create a layer with `weight(i, o)` from input `i` to output `o` and a bias per output.
    pub(super) fn new(inputs: usize, mut bias: Vec<f32>, weight: impl Fn(usize, usize) -> f32) -> Self {
        let outputs = bias.len();
        bias.resize(outputs.next_multiple_of(NARROW), 0.0);
        let mut weights = Vec::with_capacity(inputs * bias.len());
        let mut first = 0;
        while first < bias.len() {
            let width = if bias.len() - first >= TILE { TILE } else { NARROW };
            for input in 0..inputs {
                weights.extend(
                    (first..first + width)
                        .map(|output| if output < outputs { weight(input, output) } else { 0.0 }),
                );
            }
            first += width;
        }
        Self { inputs, weights, bias, outputs }
    }

    /// Compute `output` from `input` in every row, in one pass over the weights. `WIDE`: two tiles fit into the
    /// processor's registers.
    #[inline(always)]
    pub(super) fn apply<const WIDE: bool>(
        &self,
        rows: &mut [f32],
        stride: usize,
        input: &Slot,
        output: &Slot,
    ) {
        let (mut weights, mut bias) = (self.weights.as_slice(), self.bias.as_slice());
        let mut first = 0;
        while !bias.is_empty() {
            let tiles = if WIDE && bias.len() >= 2 * TILE { 2 } else { 1 };
            let width = if bias.len() >= TILE { TILE } else { NARROW };
            let (of_tiles, behind) = weights.split_at(tiles * width * self.inputs);
            let (biases, biases_behind) = bias.split_at(tiles * width);
            let end = (first + tiles * width).min(self.outputs);
            for row in rows.chunks_exact_mut(stride) {
                // Every step writes behind everything that it reads.
                let (earlier, later) = row.split_at_mut(output.start);
                let (x, y) = (&earlier[input.clone()], &mut later[first..end]);
                match (tiles, width) {
                    (2, _) => sum_two(x, of_tiles, biases, y),
                    (_, TILE) => sum::<TILE>(x, of_tiles, biases, y),
                    _ => sum::<NARROW>(x, of_tiles, biases, y),
                }
            }
            (weights, bias, first) = (behind, biases_behind, end);
        }
    }
}

/// Compute the sums of a tile: the bias, then the inputs in order.
#[inline(always)]
fn sum<const WIDTH: usize>(x: &[f32], weights: &[f32], bias: &[f32], y: &mut [f32]) {
    let mut sums = [0.0; WIDTH];
    sums.copy_from_slice(bias);
    for (x, weights) in x.iter().zip(weights.chunks_exact(WIDTH)) {
        for (sum, weight) in sums.iter_mut().zip(weights) {
            *sum += x * weight;
        }
    }
    y.copy_from_slice(&sums[..y.len()]);
}

/// Compute the sums of two tiles at a time, so that the processor need not wait for one addition before the next.
#[inline(always)]
fn sum_two(x: &[f32], weights: &[f32], bias: &[f32], y: &mut [f32]) {
    let (weights, more_weights) = weights.split_at(x.len() * TILE);
    let (mut sums, mut more_sums) = ([0.0; TILE], [0.0; TILE]);
    sums.copy_from_slice(&bias[..TILE]);
    more_sums.copy_from_slice(&bias[TILE..]);
    let tiles = weights.chunks_exact(TILE).zip(more_weights.chunks_exact(TILE));
    for (x, (weights, more_weights)) in x.iter().zip(tiles) {
        for (sum, weight) in sums.iter_mut().zip(weights) {
            *sum += x * weight;
        }
        for (sum, weight) in more_sums.iter_mut().zip(more_weights) {
            *sum += x * weight;
        }
    }
    let (first, second) = y.split_at_mut(TILE);
    first.copy_from_slice(&sums);
    second.copy_from_slice(&more_sums[..second.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sum_begins_with_its_bias_and_takes_the_inputs_in_their_order() {
        let weight = |input: usize, output: usize| ((input * 37 + output * 11) % 17) as f32 * 0.37 - 2.9;
        for (inputs, outputs) in [(1, 1), (69, 7), (33, 8), (70, 33), (64, 48), (9, 131)] {
            let bias: Vec<f32> = (0..outputs).map(|output| output as f32 * 0.013).collect();
            let x: Vec<f32> = (0..inputs).map(|input| (input % 101) as f32 * 0.017 - 0.8).collect();
            let stride = inputs + outputs;
            let mut rows = [x.clone(), vec![f32::NAN; outputs]].concat().repeat(3);
            let dense = Dense::new(inputs, bias.clone(), weight);
            let mut two_at_a_time = rows.clone();
            dense.apply::<false>(&mut rows, stride, &(0..inputs), &(inputs..stride));
            dense.apply::<true>(&mut two_at_a_time, stride, &(0..inputs), &(inputs..stride));
            for row in rows.chunks(stride).chain(two_at_a_time.chunks(stride)) {
                for output in 0..outputs {
                    let mut expected = bias[output];
                    for (input, x) in x.iter().enumerate() {
                        expected += x * weight(input, output);
                    }
                    let got = row[inputs + output];
                    assert_eq!(got.to_bits(), expected.to_bits(), "{inputs} to {outputs}, output {output}");
                }
            }
        }
    }
}
