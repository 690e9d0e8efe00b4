//! Elementwise operators.

use super::super::functions::{Activation, Combination};
use super::super::neural_network::{Network, Op};
use super::node::Node;
use super::value::{Content, Kind, Value, broadcast_places, common_shape};

type Outputs = Result<Vec<Value>, String>;

/// A single number.
fn number(of: f32) -> Value {
    Value { kind: Kind::Float, dims: Vec::new(), content: Content::Constant(vec![f64::from(of)]) }
}

/// Apply a function to every element.
pub(super) fn activated(network: &mut Network, activation: Activation, x: &Value) -> Value {
    let content = match &x.content {
        Content::Row(slot) => Content::Row(network.map(Op::Activation(activation), slot.clone())),
        Content::Constant(data) => {
            let apply = |number: &f64| f64::from(activation.apply(*number as f32));
            Content::Constant(data.iter().map(apply).collect())
        }
    };
    x.with(content)
}

/// Combine two values element by element, each repeated along its axes of length 1.
pub(super) fn combined(
    network: &mut Network,
    combination: Combination,
    a: &Value,
    b: &Value,
) -> Result<Value, String> {
    let dims = common_shape(&a.dims, &b.dims)?;
    let kind = if combination.is_comparison() { Kind::Bool } else { a.kind };
    let truncates = combination == Combination::Div && kind != Kind::Float;
    let content = match (&a.content, &b.content) {
        (Content::Constant(x), Content::Constant(y)) => {
            let places = broadcast_places(&a.dims, &dims)?.into_iter().zip(broadcast_places(&b.dims, &dims)?);
            let apply = |(i, j): (usize, usize)| f64::from(combination.apply(x[i] as f32, y[j] as f32));
            let data = places.map(apply).map(|number| if truncates { number.trunc() } else { number });
            Content::Constant(data.collect())
        }
        _ if truncates => {
            return Err("must not divide integers that depend on the observation".to_owned());
        }
        _ => match affine(combination, a, b, &dims)? {
            Some((slot, op)) => Content::Row(network.map(op, slot)),
            None => {
                let (a, b) = (a.broadcast(network, &dims)?, b.broadcast(network, &dims)?);
                let (a, b) = (a.slot(network), b.slot(network));
                Content::Row(network.map(Op::Combination(combination, b), a))
            }
        },
    };
    Ok(Value { kind, dims, content })
}

/// Return one step of factors and terms, if the combination of a row with a constant is one.
fn affine(
    combination: Combination,
    a: &Value,
    b: &Value,
    dims: &[usize],
) -> Result<Option<(super::Slot, Op)>, String> {
    let (x, slot, constant, data, constant_first) = match (&a.content, &b.content) {
        (Content::Row(slot), Content::Constant(data)) => (a, slot, b, data, false),
        (Content::Constant(data), Content::Row(slot)) => (b, slot, a, data, true),
        _ => return Ok(None),
    };
    if dims.iter().product::<usize>() != x.len() {
        return Ok(None);
    }
    let numbers = super::shapes::spread(&constant.dims, data, dims)?.into_iter();
    let (scale, shift): (Vec<f32>, Vec<f32>) = match (combination, constant_first) {
        (Combination::Add, _) => numbers.map(|number| (1.0, number)).unzip(),
        (Combination::Sub, false) => numbers.map(|number| (1.0, -number)).unzip(),
        (Combination::Sub, true) => numbers.map(|number| (-1.0, number)).unzip(),
        (Combination::Mul, _) => numbers.map(|number| (number, 0.0)).unzip(),
        (Combination::Div, false) => numbers.map(|number| (number.recip(), 0.0)).unzip(),
        _ => return Ok(None),
    };
    if scale.iter().any(|number| !number.is_finite()) {
        return Err("must not divide by 0".to_owned());
    }
    Ok(Some((slot.clone(), Op::Affine { scale, shift })))
}

impl Node<'_> {
    pub(super) fn clip(&self, network: &mut Network) -> Outputs {
        // Bounds are attributes before operator set 11, inputs since then.
        let min = self.scalar(1, self.float("min", f32::MIN))?;
        let max = self.scalar(2, self.float("max", f32::MAX))?;
        Ok(vec![activated(network, Activation::Clip { min, max }, self.value(0)?)])
    }

    /// Numbers stay unchanged, except that integers lose the digits behind the point.
    pub(super) fn cast(&self, network: &mut Network) -> Outputs {
        let x = self.value(0)?;
        let to = match self.has(1) {
            true => Some(self.value(1)?.kind),
            false => Kind::of(rten_onnx::onnx::DataType(self.integer("to", 0) as i32)),
        };
        let cast = match (x.kind, to) {
            (_, None) => return Err("must be to FLOAT, DOUBLE, INT64, INT32 or BOOL".to_owned()),
            (Kind::Float, Some(Kind::Integer)) => activated(network, Activation::Truncate, x),
            (Kind::Float | Kind::Integer, Some(Kind::Bool)) => {
                let zero = combined(network, Combination::Equal, x, &number(0.0))?;
                combined(network, Combination::Sub, &number(1.0), &zero)?
            }
            _ => x.clone(),
        };
        Ok(vec![Value { kind: to.unwrap_or(x.kind), ..cast }])
    }

    pub(super) fn choice(&self, network: &mut Network) -> Outputs {
        let (condition, first, second) = (self.value(0)?, self.value(1)?, self.value(2)?);
        let dims = common_shape(&common_shape(&condition.dims, &first.dims)?, &second.dims)?;
        let [condition, first, second] =
            [condition, first, second].map(|value| value.broadcast(network, &dims));
        let (condition, first, second) = (condition?, first?, second?);
        let content = match (&condition.content, &first.content, &second.content) {
            (Content::Constant(condition), Content::Constant(a), Content::Constant(b)) => {
                let chosen = condition.iter().zip(a.iter().zip(b));
                Content::Constant(chosen.map(|(is, (a, b))| if *is != 0.0 { *a } else { *b }).collect())
            }
            _ => {
                let [condition, a, b] = [&condition, &first, &second].map(|value| value.slot(network));
                Content::Row(network.map(Op::Where(a, b), condition))
            }
        };
        Ok(vec![first.with(content)])
    }

    pub(super) fn not(&self, network: &mut Network) -> Outputs {
        let x = combined(network, Combination::Sub, &number(1.0), self.value(0)?)?;
        Ok(vec![Value { kind: Kind::Bool, ..x }])
    }

    pub(super) fn negative(&self, network: &mut Network) -> Outputs {
        Ok(vec![combined(network, Combination::Mul, self.value(0)?, &number(-1.0))?])
    }

    pub(super) fn reciprocal(&self, network: &mut Network) -> Outputs {
        Ok(vec![combined(network, Combination::Div, &number(1.0), self.value(0)?)?])
    }

    pub(super) fn power(&self, network: &mut Network) -> Outputs {
        let (x, exponent) = (self.value(0)?, self.value(1)?);
        let exponents = match &exponent.content {
            Content::Constant(data) => &data[..],
            Content::Row(_) => &[],
        };
        Ok(vec![match exponents {
            [2.0] if exponent.dims.len() <= x.dims.len() => combined(network, Combination::Mul, x, x)?,
            [0.5] if exponent.dims.len() <= x.dims.len() => activated(network, Activation::Sqrt, x),
            _ => combined(network, Combination::Pow, x, exponent)?,
        }])
    }

    pub(super) fn selu(&self, network: &mut Network) -> Outputs {
        let (alpha, gamma) = (self.float("alpha", 1.673_263_2), self.float("gamma", 1.050_701));
        let elu = activated(network, Activation::Elu { alpha }, self.value(0)?);
        Ok(vec![combined(network, Combination::Mul, &elu, &number(gamma))?])
    }

    /// `max(0, x) + min(0, α (exp(x / α) - 1))`.
    pub(super) fn celu(&self, network: &mut Network) -> Outputs {
        let alpha = number(self.float("alpha", 1.0));
        let scaled = combined(network, Combination::Div, self.value(0)?, &alpha)?;
        let elu = activated(network, Activation::Elu { alpha: 1.0 }, &scaled);
        Ok(vec![combined(network, Combination::Mul, &elu, &alpha)?])
    }

    /// `x` where it is positive, else `slope · x`.
    pub(super) fn p_relu(&self, network: &mut Network) -> Outputs {
        let (x, slope) = (self.value(0)?, self.value(1)?);
        let positive = combined(network, Combination::Greater, x, &number(0.0))?;
        let below = combined(network, Combination::Mul, x, slope)?;
        let [positive, x, below] = [&positive, x, &below].map(|value| value.broadcast(network, &below.dims));
        let (positive, x, below) = (positive?.slot(network), x?.slot(network), below?);
        let slot = below.slot(network);
        Ok(vec![below.with(Content::Row(network.map(Op::Where(x, slot), positive)))])
    }

    /// `x / (1 + |x|)`.
    pub(super) fn softsign(&self, network: &mut Network) -> Outputs {
        let x = self.value(0)?;
        let size = activated(network, Activation::Abs, x);
        let divisor = combined(network, Combination::Add, &size, &number(1.0))?;
        Ok(vec![combined(network, Combination::Div, x, &divisor)?])
    }

    /// `x tanh(softplus(x))`.
    pub(super) fn mish(&self, network: &mut Network) -> Outputs {
        let x = self.value(0)?;
        let soft = activated(network, Activation::Softplus, x);
        let gate = activated(network, Activation::Tanh, &soft);
        Ok(vec![combined(network, Combination::Mul, x, &gate)?])
    }

    /// `x σ(α x)`.
    pub(super) fn swish(&self, network: &mut Network) -> Outputs {
        let x = self.value(0)?;
        let scaled = combined(network, Combination::Mul, x, &number(self.float("alpha", 1.0)))?;
        let gate = activated(network, Activation::Sigmoid, &scaled);
        Ok(vec![combined(network, Combination::Mul, x, &gate)?])
    }

    pub(super) fn hard_sigmoid(&self, network: &mut Network) -> Outputs {
        let (alpha, beta) = (self.float("alpha", 0.2), self.float("beta", 0.5));
        Ok(vec![ramp(network, self.value(0)?, alpha, beta)?])
    }

    pub(super) fn hard_swish(&self, network: &mut Network) -> Outputs {
        let x = self.value(0)?;
        let gate = ramp(network, x, 1.0 / 6.0, 0.5)?;
        Ok(vec![combined(network, Combination::Mul, x, &gate)?])
    }

    /// `x Φ(x)` for the normal distribution function Φ, or its approximation by tanh.
    pub(super) fn gelu(&self, network: &mut Network) -> Outputs {
        let x = self.value(0)?;
        let approximate = self.attribute("approximate").and_then(|by| by.s.as_deref()) == Some("tanh");
        let signed = if approximate {
            let square = combined(network, Combination::Mul, x, x)?;
            let cube = combined(network, Combination::Mul, &square, x)?;
            let small = combined(network, Combination::Mul, &cube, &number(0.044_715))?;
            let sum = combined(network, Combination::Add, x, &small)?;
            let root = (2.0 * std::f32::consts::FRAC_1_PI).sqrt();
            let scaled = combined(network, Combination::Mul, &sum, &number(root))?;
            activated(network, Activation::Tanh, &scaled)
        } else {
            let root = std::f32::consts::FRAC_1_SQRT_2;
            let scaled = combined(network, Combination::Mul, x, &number(root))?;
            activated(network, Activation::Erf, &scaled)
        };
        let above = combined(network, Combination::Add, &signed, &number(1.0))?;
        let half = combined(network, Combination::Mul, x, &number(0.5))?;
        Ok(vec![combined(network, Combination::Mul, &half, &above)?])
    }
}

/// `max(0, min(1, alpha x + beta))`.
fn ramp(network: &mut Network, x: &Value, alpha: f32, beta: f32) -> Result<Value, String> {
    let scaled = combined(network, Combination::Mul, x, &number(alpha))?;
    let line = combined(network, Combination::Add, &scaled, &number(beta))?;
    Ok(activated(network, Activation::Clip { min: 0.0, max: 1.0 }, &line))
}
