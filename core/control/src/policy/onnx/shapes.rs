//! Operators that move elements or describe shapes. The batch is one, so every shape is known.

use super::super::neural_network::{Network, Op};
use super::node::Node;
use super::value::{
    Content, Kind, Value, broadcast_places, common_shape, elements, gather, strided, strides,
};

type Outputs = Result<Vec<Value>, String>;

/// Return an axis of `rank`, where negative ones count from the end.
pub(super) fn axis(axis: i64, rank: usize) -> Result<usize, String> {
    let counted = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(counted)
        .ok()
        .filter(|axis| *axis < rank)
        .ok_or_else(|| format!("axis {axis} is not one of {rank}"))
}

fn size(integer: i64) -> Result<usize, String> {
    usize::try_from(integer).map_err(|_| format!("{integer} cannot be a length"))
}

impl Node<'_> {
    pub(super) fn constant_of_attribute(&self) -> Outputs {
        let list =
            |kind, data: Vec<f64>| Value { kind, dims: vec![data.len()], content: Content::Constant(data) };
        let single = |kind, number| Value { dims: Vec::new(), ..list(kind, vec![number]) };
        if let Some(tensor) = self.attribute("value").and_then(|value| value.t.as_ref()) {
            return super::value::read(tensor, "value")
                .map(|value| vec![value])
                .map_err(|broken| format!("{}: {}", broken.field, broken.rule));
        }
        if let Some(number) = self.attribute("value_float").and_then(|value| value.f) {
            return Ok(vec![single(Kind::Float, f64::from(number))]);
        }
        if let Some(number) = self.attribute("value_int").and_then(|value| value.i) {
            return Ok(vec![single(Kind::Integer, number as f64)]);
        }
        if let Some(value) = self.attribute("value_floats") {
            return Ok(vec![list(
                Kind::Float,
                value.floats.iter().map(|number| f64::from(*number)).collect(),
            )]);
        }
        if let Some(value) = self.attribute("value_ints") {
            return Ok(vec![list(Kind::Integer, value.ints.iter().map(|number| *number as f64).collect())]);
        }
        Err("must have a tensor as its value".to_owned())
    }

    pub(super) fn constant_of_shape(&self) -> Outputs {
        let dims = self.required(0, "shape")?.into_iter().map(size).collect::<Result<Vec<_>, _>>()?;
        let n = elements(&dims)?;
        let filled = match self.attribute("value").and_then(|value| value.t.as_ref()) {
            None => Value { kind: Kind::Float, dims: Vec::new(), content: Content::Constant(vec![0.0]) },
            Some(tensor) => super::value::read(tensor, "value").map_err(|broken| broken.rule)?,
        };
        match filled.content {
            Content::Constant(data) if data.len() == 1 => {
                Ok(vec![Value { kind: filled.kind, dims, content: Content::Constant(vec![data[0]; n]) }])
            }
            _ => Err("its value must be one number".to_owned()),
        }
    }

    pub(super) fn range(&self) -> Outputs {
        let [start, limit, delta] = [0, 1, 2].map(|index| self.scalar(index, 0.0));
        let (start, limit, delta) = (f64::from(start?), f64::from(limit?), f64::from(delta?));
        let n = ((limit - start) / delta).ceil();
        let n = elements(&[if n.is_finite() && n > 0.0 { n as usize } else { 0 }])?;
        let data = (0..n).map(|index| start + index as f64 * delta).collect();
        Ok(vec![Value { kind: self.value(0)?.kind, dims: vec![n], content: Content::Constant(data) }])
    }

    pub(super) fn shape(&self) -> Outputs {
        let dims = &self.value(0)?.dims;
        let rank = dims.len() as i64;
        let bound = |name, default| {
            let bound = self.integer(name, default);
            (if bound < 0 { bound + rank } else { bound }).clamp(0, rank) as usize
        };
        let (start, end) = (bound("start", 0), bound("end", rank));
        Ok(vec![Value::integers(dims[start.min(end)..end].iter().copied())])
    }

    pub(super) fn size(&self) -> Outputs {
        Ok(vec![Value::integers([self.value(0)?.len()]).reshaped(Vec::new())?])
    }

    pub(super) fn reshape(&self) -> Outputs {
        let x = self.value(0)?;
        let wanted = self.required(1, "shape")?;
        let keeps = self.integer("allowzero", 0) == 0;
        let mut dims = Vec::with_capacity(wanted.len());
        for (index, dim) in wanted.iter().enumerate() {
            dims.push(match *dim {
                0 if keeps => *x.dims.get(index).ok_or("copies a dimension that its input does not have")?,
                -1 => 0,
                dim => size(dim)?,
            });
        }
        if let Some(free) = wanted.iter().position(|dim| *dim == -1) {
            let fixed_dims = dims.iter().enumerate().filter(|(index, _)| *index != free).map(|(_, dim)| *dim);
            let fixed_size = fixed_dims.fold(1usize, usize::saturating_mul);
            dims[free] = x.len().checked_div(fixed_size).unwrap_or_default();
        }
        Ok(vec![x.reshaped(dims)?])
    }

    pub(super) fn flatten(&self) -> Outputs {
        let x = self.value(0)?;
        let at = self.integer("axis", 1);
        let at = if at == x.dims.len() as i64 { x.dims.len() } else { axis(at, x.dims.len())? };
        let product = |dims: &[usize]| dims.iter().product();
        Ok(vec![x.reshaped(vec![product(&x.dims[..at]), product(&x.dims[at..])])?])
    }

    pub(super) fn squeeze(&self) -> Outputs {
        let x = self.value(0)?;
        let axes = match self.integers(1, "axes")? {
            Some(axes) => axes.into_iter().map(|at| axis(at, x.dims.len())).collect::<Result<Vec<_>, _>>()?,
            None => (0..x.dims.len()).filter(|at| x.dims[*at] == 1).collect(),
        };
        let dims = x.dims.iter().enumerate().filter(|(at, _)| !axes.contains(at)).map(|(_, dim)| *dim);
        Ok(vec![x.reshaped(dims.collect())?])
    }

    pub(super) fn unsqueeze(&self) -> Outputs {
        let x = self.value(0)?;
        let axes = self.required(1, "axes")?;
        let rank = x.dims.len() + axes.len();
        let axes = axes.into_iter().map(|at| axis(at, rank)).collect::<Result<Vec<_>, _>>()?;
        let mut remaining_dims = x.dims.iter();
        let dims = (0..rank)
            .map(|at| if axes.contains(&at) { 1 } else { remaining_dims.next().copied().unwrap_or(1) });
        Ok(vec![x.reshaped(dims.collect())?])
    }

    pub(super) fn expand(&self, network: &mut Network) -> Outputs {
        let x = self.value(0)?;
        let wanted = self.required(1, "shape")?.into_iter().map(size).collect::<Result<Vec<_>, _>>()?;
        Ok(vec![x.broadcast(network, &common_shape(&x.dims, &wanted)?)?])
    }

    pub(super) fn tile(&self, network: &mut Network) -> Outputs {
        let x = self.value(0)?;
        let repeats = self.required(1, "repeats")?.into_iter().map(size).collect::<Result<Vec<_>, _>>()?;
        if repeats.len() != x.dims.len() {
            return Err(format!("{} repeats do not fit the shape {:?}", repeats.len(), x.dims));
        }
        // Each axis becomes two: the repeats, and the elements.
        let between = x.dims.iter().flat_map(|dim| [1, *dim]).collect();
        let dims: Vec<usize> = x.dims.iter().zip(&repeats).flat_map(|(dim, n)| [*n, *dim]).collect();
        let tiled = x.reshaped(between)?.broadcast(network, &dims)?;
        Ok(vec![tiled.reshaped(x.dims.iter().zip(&repeats).map(|(dim, n)| dim * n).collect())?])
    }

    pub(super) fn transpose(&self, network: &mut Network) -> Outputs {
        let x = self.value(0)?;
        let rank = x.dims.len();
        let order = match self.attribute("perm") {
            Some(perm) => perm.ints.iter().map(|at| axis(*at, rank)).collect::<Result<Vec<_>, _>>()?,
            None => (0..rank).rev().collect(),
        };
        if order.len() != rank || (0..rank).any(|at| !order.contains(&at)) {
            return Err(format!("its perm {order:?} must name each of {rank} axes once"));
        }
        Ok(vec![transposed(network, x, &order)])
    }

    pub(super) fn slice(&self, network: &mut Network) -> Outputs {
        let x = self.value(0)?;
        let (starts, ends) = (self.required(1, "starts")?, self.required(2, "ends")?);
        let axes = self.integers(3, "axes")?.unwrap_or_else(|| (0..starts.len() as i64).collect());
        let steps = self.integers(4, "steps")?.unwrap_or_else(|| vec![1; starts.len()]);
        if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
            return Err("its starts, ends, axes and steps must be as many".to_owned());
        }
        let (mut dims, mut apart, mut first) = (x.dims.clone(), strides(&x.dims), 0);
        for (((start, end), at), step) in starts.into_iter().zip(ends).zip(axes).zip(steps) {
            let at = axis(at, x.dims.len())?;
            let n = x.dims[at] as i64;
            let counted = |bound: i64| if bound < 0 { bound.saturating_add(n) } else { bound };
            let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
            let (start, end) = (counted(start).clamp(low.max(0), high), counted(end).clamp(low, high));
            let length = if step == 0 { 0 } else { (end - start + step - step.signum()) / step };
            dims[at] = size(length.max(0))?;
            first += start * apart[at];
            apart[at] *= step;
        }
        if elements(&dims).is_err() {
            // Exporters cut lists of dimensions, of which nothing may remain.
            return match x.kind {
                Kind::Integer if dims.contains(&0) => Ok(vec![Value::integers([])]),
                _ => Err(format!("its slice has the shape {dims:?}")),
            };
        }
        let places = strided(&dims, &apart, first);
        Ok(vec![x.select(network, dims, &places)])
    }

    pub(super) fn split(&self, network: &mut Network) -> Outputs {
        let x = self.value(0)?;
        let at = axis(self.integer("axis", 0), x.dims.len())?;
        let (n, parts) = (x.dims[at], self.node.output.len().max(1));
        let each = n.div_ceil(parts);
        let lengths = match self.integers(1, "split")? {
            Some(lengths) => lengths.into_iter().map(size).collect::<Result<Vec<_>, _>>()?,
            None => (0..parts).map(|part| each.min(n.saturating_sub(part * each))).collect(),
        };
        if lengths.iter().fold(0, |sum: usize, length| sum.saturating_add(*length)) != n
            || lengths.contains(&0)
        {
            return Err(format!("cannot split {n} into {lengths:?}"));
        }
        let apart = strides(&x.dims);
        let mut first = 0;
        let mut pieces = Vec::new();
        for length in lengths {
            let mut dims = x.dims.clone();
            dims[at] = length;
            let places = strided(&dims, &apart, first);
            pieces.push(x.select(network, dims, &places));
            first += length as i64 * apart[at];
        }
        Ok(pieces)
    }

    pub(super) fn concat(&self, network: &mut Network) -> Outputs {
        let parts =
            (0..self.node.input.len()).map(|index| self.value(index)).collect::<Result<Vec<_>, _>>()?;
        // No dimensions of a shape are left out.
        let parts: Vec<&Value> = parts.into_iter().filter(|part| part.len() > 0).collect();
        let Some(first) = parts.first() else { return Ok(vec![Value::integers([])]) };
        let at = axis(self.integer("axis", 0), first.dims.len())?;
        let fits = |part: &&Value| {
            part.dims.len() == first.dims.len()
                && (0..part.dims.len()).all(|axis| axis == at || part.dims[axis] == first.dims[axis])
        };
        if !parts.iter().all(fits) {
            let shapes: Vec<_> = parts.iter().map(|part| &part.dims).collect();
            return Err(format!("shapes {shapes:?} do not fit each other"));
        }
        let mut dims = first.dims.clone();
        dims[at] = parts.iter().map(|part| part.dims[at]).sum();
        let outer: usize = dims[..at].iter().product();
        let piece = |part: &Value, index: usize| {
            let length = part.len() / outer;
            index * length..(index + 1) * length
        };
        if parts.iter().all(|part| matches!(part.content, Content::Constant(_))) {
            let mut data = Vec::new();
            for (index, part) in (0..outer).flat_map(|index| parts.iter().map(move |part| (index, part))) {
                if let Content::Constant(numbers) = &part.content {
                    data.extend_from_slice(&numbers[piece(part, index)]);
                }
            }
            return Ok(vec![Value { kind: first.kind, dims, content: Content::Constant(data) }]);
        }
        let slots: Vec<_> = parts.iter().map(|part| part.slot(network)).collect();
        let mut places = Vec::new();
        for index in 0..outer {
            for (part, slot) in parts.iter().zip(&slots) {
                places.extend(piece(part, index).map(|place| slot.start + place));
            }
        }
        Ok(vec![Value { kind: first.kind, dims, content: Content::Row(gather(network, &places)) }])
    }

    pub(super) fn gather(&self, network: &mut Network) -> Outputs {
        let (x, indices) = (self.value(0)?, self.value(1)?);
        let at = axis(self.integer("axis", 0), x.dims.len())?;
        let dims = [&x.dims[..at], &indices.dims, &x.dims[at + 1..]].concat();
        elements(&dims)?;
        let Content::Constant(chosen) = &indices.content else {
            let outer: usize = x.dims[..at].iter().product();
            return if outer == 1 {
                lookup(network, x, x.dims[at], indices, dims)
            } else {
                Err(COMPUTED.to_owned())
            };
        };
        let (n, apart) = (x.dims[at] as i64, strides(&x.dims));
        let inner = apart[at] as usize;
        let mut places = Vec::new();
        for outer in 0..x.dims[..at].iter().product() {
            for index in chosen {
                let index = *index as i64;
                let index = if index < 0 { index + n } else { index };
                let index = size(index).ok().filter(|index| *index < x.dims[at]);
                let index = index.ok_or_else(|| format!("its indices must be within {n}"))?;
                let first = (outer * x.dims[at] + index) * inner;
                places.extend(first..first + inner);
            }
        }
        Ok(vec![x.select(network, dims, &places)])
    }

    pub(super) fn gather_nd(&self, network: &mut Network) -> Outputs {
        let (x, indices) = (self.value(0)?, self.value(1)?);
        let (Some((1, leading)), Some((n, inner)), 0) =
            (indices.dims.split_last(), x.dims.split_first(), self.integer("batch_dims", 0))
        else {
            return Err("its indices must be of the first axis only".to_owned());
        };
        let dims = [leading, inner].concat();
        lookup(network, x, *n, indices, dims)
    }

    fn required(&self, index: usize, attribute: &str) -> Result<Vec<i64>, String> {
        self.integers(index, attribute)?.ok_or_else(|| format!("must have {attribute}"))
    }
}

const COMPUTED: &str = "computed indices must choose from the first axis of constant numbers";

/// Rows of the constant `table` of `n` rows, by computed indices.
fn lookup(network: &mut Network, table: &Value, n: usize, indices: &Value, dims: Vec<usize>) -> Outputs {
    let Content::Constant(data) = &table.content else { return Err(COMPUTED.to_owned()) };
    let total = elements(&dims)?;
    let width = data.len() / n.max(1);
    let slot = indices.slot(network);
    if width == 0 || slot.len() * width != total {
        return Err(COMPUTED.to_owned());
    }
    let op = Op::Lookup { table: data.iter().map(|number| *number as f32).collect(), width };
    let content = Content::Row(network.push(op, slot, total));
    Ok(vec![Value { kind: table.kind, dims, content }])
}

/// Reorder the axes of a value.
pub(super) fn transposed(network: &mut Network, x: &Value, order: &[usize]) -> Value {
    let (apart, dims): (Vec<i64>, Vec<usize>) =
        order.iter().map(|at| (strides(&x.dims)[*at], x.dims[*at])).unzip();
    let places = strided(&dims, &apart, 0);
    x.select(network, dims, &places)
}

/// Broadcast constant numbers to a shape.
pub(super) fn spread(dims: &[usize], data: &[f64], to: &[usize]) -> Result<Vec<f32>, String> {
    Ok(broadcast_places(dims, to)?.into_iter().map(|place| data[place] as f32).collect())
}
