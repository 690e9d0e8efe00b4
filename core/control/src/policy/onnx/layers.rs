//! Dense layers, normalisations and reductions.

use std::sync::Arc;

use super::super::dense::Dense;
use super::super::functions::{Activation, Reduction};
use super::super::neural_network::{Network, Op, Slot};
use super::elementwise::activated;
use super::node::Node;
use super::shapes::{axis, spread, transposed};
use super::value::{Content, Kind, Value, elements};

type Outputs = Result<Vec<Value>, String>;

/// Dimensions and numbers of a constant.
type Constant<'a> = (&'a [usize], &'a [f64]);

impl Node<'_> {
    pub(super) fn gemm(&self, network: &mut Network) -> Outputs {
        if self.integer("transA", 0) != 0 {
            return Err("transA must be 0".to_owned());
        }
        let bias = if self.has(2) { Some((self.constant(2)?, self.float("beta", 1.0))) } else { None };
        self.dense(network, self.integer("transB", 0) != 0, self.float("alpha", 1.0), bias)
    }

    pub(super) fn mat_mul(&self, network: &mut Network) -> Outputs {
        self.dense(network, false, 1.0, None)
    }

    /// `alpha · x W + beta · bias` for constant W and bias.
    fn dense(
        &self,
        network: &mut Network,
        transposed: bool,
        alpha: f32,
        bias: Option<(Constant<'_>, f32)>,
    ) -> Outputs {
        let (x, slot) = (self.value(0)?, self.row(0)?);
        let (dims, weights) = self.constant(1)?;
        let [first, second] = dims[..] else {
            return Err("the weights must have two dimensions".to_owned());
        };
        let (inputs, outputs) = if transposed { (second, first) } else { (first, second) };
        let Some((width, rows)) = x.dims.split_last().filter(|(width, _)| **width == inputs) else {
            let width = x.dims.last().copied().unwrap_or(1);
            return Err(format!("the weights take {inputs} numbers, the input has {width}"));
        };
        let bias = match bias {
            Some(((dims, data), beta)) => {
                let numbers = spread(dims, data, &[1, outputs])?;
                numbers.into_iter().map(|number| beta * number).collect()
            }
            None => vec![0.0; outputs],
        };
        let dense = Arc::new(Dense::new(inputs, bias, |input, output| {
            let index = if transposed { output * inputs + input } else { input * outputs + output };
            alpha * weights[index] as f32
        }));
        let dims = [rows, &[outputs]].concat();
        elements(&dims)?;
        let mut y: Option<Slot> = None;
        for row in 0..slot.len() / width {
            let x = slot.start + row * width..slot.start + (row + 1) * width;
            let next = network.push(Op::Dense(Arc::clone(&dense)), x, outputs);
            y = Some(y.map_or(next.start, |y| y.start)..next.end);
        }
        let content = Content::Row(y.ok_or("its input is empty")?);
        Ok(vec![Value { kind: Kind::Float, dims, content }])
    }

    /// `(x - mean) / sqrt(variance + epsilon) · scale + shift`, folded into one factor and one term.
    pub(super) fn batch_normalization(&self, network: &mut Network) -> Outputs {
        if self.integer("training_mode", 0) != 0 {
            return Err("training_mode must be 0".to_owned());
        }
        let (x, slot) = (self.value(0)?, self.row(0)?);
        let n = slot.len();
        if x.dims.get(1) != Some(&n) {
            return Err(format!("its input must have the shape (batch, {n}), not {:?}", x.dims));
        }
        let epsilon = f64::from(self.float("epsilon", 1e-5));
        let parameter = |index| {
            let (dims, data) = self.constant(index)?;
            spread(dims, data, &[n])
        };
        let (mut scale, mut shift) = (Vec::with_capacity(n), Vec::with_capacity(n));
        let (gammas, betas, means, variances) = (parameter(1)?, parameter(2)?, parameter(3)?, parameter(4)?);
        for (((gamma, beta), mean), variance) in gammas.into_iter().zip(betas).zip(means).zip(variances) {
            let factor = f64::from(gamma) / (f64::from(variance) + epsilon).sqrt();
            scale.push(factor as f32);
            shift.push((f64::from(beta) - f64::from(mean) * factor) as f32);
        }
        if scale.iter().chain(&shift).any(|number| !number.is_finite()) {
            return Err("variance + epsilon must be above 0".to_owned());
        }
        Ok(vec![x.with(Content::Row(network.map(Op::Affine { scale, shift }, slot)))])
    }

    pub(super) fn layer_normalization(&self, network: &mut Network) -> Outputs {
        let (x, slot) = (self.value(0)?, self.row(0)?);
        let first = axis(self.integer("axis", -1), x.dims.len())?;
        let normal = &x.dims[first..];
        let parameter = |index| {
            let (dims, data) = self.constant(index)?;
            spread(dims, data, normal)
        };
        let scale = parameter(1)?;
        let shift = if self.has(2) { parameter(2)? } else { vec![0.0; scale.len()] };
        let epsilon = self.float("epsilon", 1e-5);
        if epsilon <= 0.0 {
            return Err("epsilon must be above 0".to_owned());
        }
        Ok(vec![x.with(Content::Row(network.map(Op::LayerNorm { epsilon, scale, shift }, slot)))])
    }

    pub(super) fn softmax(&self, network: &mut Network) -> Outputs {
        let (x, slot) = (self.value(0)?, self.row(0)?);
        let at = axis(self.integer("axis", -1), x.dims.len())?;
        if x.dims[at + 1..].iter().any(|dim| *dim != 1) {
            return Err("its axis must be the last".to_owned());
        }
        Ok(vec![x.with(Content::Row(network.map(Op::Softmax(x.dims[at]), slot)))])
    }

    pub(super) fn log_softmax(&self, network: &mut Network) -> Outputs {
        let shares = self.softmax(network)?;
        Ok(shares.iter().map(|shares| activated(network, Activation::Log, shares)).collect())
    }

    pub(super) fn arg_max(&self, network: &mut Network) -> Outputs {
        if self.integer("select_last_index", 0) != 0 {
            return Err("select_last_index must be 0".to_owned());
        }
        let reduced = self.reduce_over(network, Reduction::ArgMax, &[self.integer("axis", 0)])?;
        Ok(vec![Value { kind: Kind::Integer, ..reduced }])
    }

    pub(super) fn reduce(&self, network: &mut Network, reduction: Reduction) -> Outputs {
        let axes = match self.integers(1, "axes")? {
            Some(axes) if !axes.is_empty() => axes,
            _ if self.integer("noop_with_empty_axes", 0) != 0 => return Ok(vec![self.value(0)?.clone()]),
            _ => (0..self.value(0)?.dims.len() as i64).collect(),
        };
        Ok(vec![self.reduce_over(network, reduction, &axes)?])
    }

    fn reduce_over(
        &self,
        network: &mut Network,
        reduction: Reduction,
        axes: &[i64],
    ) -> Result<Value, String> {
        let x = self.value(0)?;
        let rank = x.dims.len();
        let axes = axes.iter().map(|at| axis(*at, rank)).collect::<Result<Vec<_>, _>>()?;
        let keeps = self.integer("keepdims", 1) != 0;
        // The reduced axes come last, so that each group of numbers lies together.
        let (last, first): (Vec<usize>, Vec<usize>) = (0..rank).partition(|at| axes.contains(at));
        let group: usize = last.iter().map(|at| x.dims[*at]).product();
        let together = transposed(network, x, &[first, last].concat());
        let dims = (0..rank).filter(|at| keeps || !axes.contains(at));
        let dims: Vec<usize> = dims.map(|at| if axes.contains(&at) { 1 } else { x.dims[at] }).collect();
        let n = elements(&dims)?;
        let content = match &together.content {
            Content::Row(slot) => Content::Row(network.push(Op::Reduce(reduction, group), slot.clone(), n)),
            Content::Constant(data) => {
                let data: Vec<f32> = data.iter().map(|number| *number as f32).collect();
                Content::Constant(data.chunks(group).map(|group| f64::from(reduction.apply(group))).collect())
            }
        };
        Ok(Value { kind: x.kind, dims, content })
    }
}
