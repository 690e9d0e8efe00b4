//! Values of a graph: constants, and numbers that depend on the observation.

use rten_onnx::onnx::{DataLocation, DataType, TensorProto};

use super::super::neural_network::{Network, Op, Slot};
use super::Broken;

/// Most elements of a value that an operator makes; weights may have more.
const LARGEST: usize = 1 << 20;

/// Types of elements, as far as they matter: all numbers are computed as FLOAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Float,
    Integer,
    Bool,
}

impl Kind {
    /// The kind of an ONNX data type, or `None` for one that policies do not have.
    pub(super) fn of(data_type: DataType) -> Option<Self> {
        match data_type {
            DataType::FLOAT | DataType::DOUBLE | DataType::FLOAT16 | DataType::BFLOAT16 => Some(Self::Float),
            DataType::INT64 | DataType::INT32 => Some(Self::Integer),
            DataType::BOOL => Some(Self::Bool),
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    /// Computed for each observation.
    Row(Slot),
    /// In double precision, which has every integer of a shape.
    Constant(Vec<f64>),
}

/// A tensor of a batch of one, its last axis fastest.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) kind: Kind,
    pub(super) dims: Vec<usize>,
    pub(super) content: Content,
}

impl Value {
    /// Numbers of the scratch memory, (1, n).
    pub(super) fn row(slot: Slot) -> Self {
        Self { kind: Kind::Float, dims: vec![1, slot.len()], content: Content::Row(slot) }
    }

    /// A list of integers.
    pub(super) fn integers(numbers: impl IntoIterator<Item = usize>) -> Self {
        let data: Vec<f64> = numbers.into_iter().map(|number| number as f64).collect();
        Self { kind: Kind::Integer, dims: vec![data.len()], content: Content::Constant(data) }
    }

    pub(super) fn len(&self) -> usize {
        match &self.content {
            Content::Row(slot) => slot.len(),
            Content::Constant(data) => data.len(),
        }
    }

    /// The same elements in another shape. Fails unless it has as many.
    pub(super) fn reshaped(&self, dims: Vec<usize>) -> Result<Self, String> {
        if dims.iter().try_fold(1usize, |size, dim| size.checked_mul(*dim)) != Some(self.len()) {
            return Err(format!("{} numbers do not fill the shape {dims:?} in a batch of one", self.len()));
        }
        Ok(Self { dims, ..self.clone() })
    }

    /// The same shape and kind with other content.
    pub(super) fn with(&self, content: Content) -> Self {
        Self { kind: self.kind, dims: self.dims.clone(), content }
    }

    /// The elements at these places, in a new shape.
    pub(super) fn select(&self, network: &mut Network, dims: Vec<usize>, places: &[usize]) -> Self {
        let content = match &self.content {
            Content::Constant(data) => Content::Constant(places.iter().map(|place| data[*place]).collect()),
            Content::Row(slot) => {
                let places: Vec<usize> = places.iter().map(|place| slot.start + place).collect();
                Content::Row(gather(network, &places))
            }
        };
        Self { kind: self.kind, dims, content }
    }

    /// The value repeated along axes of length 1, to the shape `dims`.
    pub(super) fn broadcast(&self, network: &mut Network, dims: &[usize]) -> Result<Self, String> {
        if self.dims == dims {
            return Ok(self.clone());
        }
        let places = broadcast_places(&self.dims, dims)?;
        Ok(self.select(network, dims.to_vec(), &places))
    }

    /// The slot of the value; writes a constant to the scratch memory.
    pub(super) fn slot(&self, network: &mut Network) -> Slot {
        match &self.content {
            Content::Row(slot) => slot.clone(),
            Content::Constant(data) => {
                let numbers = data.iter().map(|number| *number as f32).collect();
                network.push(Op::Constant(numbers), 0..0, data.len())
            }
        }
    }
}

/// Return a slot with the numbers at `places` of the scratch memory. Numbers that already lie so are not copied.
pub(super) fn gather(network: &mut Network, places: &[usize]) -> Slot {
    let first = places.first().copied().unwrap_or_default();
    if places.iter().enumerate().all(|(index, place)| *place == first + index) {
        return first..first + places.len();
    }
    let copied = places.iter().map(|place| *place as u32).collect();
    network.push(Op::Gather(copied), 0..0, places.len())
}

/// Return the number of elements of a shape that an operator makes. Fails if there are none or too many.
pub(super) fn elements(dims: &[usize]) -> Result<usize, String> {
    let size = dims.iter().try_fold(1usize, |size, dim| size.checked_mul(*dim));
    size.filter(|size| (1..=LARGEST).contains(size))
        .ok_or_else(|| format!("the shape {dims:?} must have 1 to {LARGEST} elements"))
}

/// Return the shape of two values that are broadcast to each other (ONNX: multidirectional).
pub(super) fn common_shape(a: &[usize], b: &[usize]) -> Result<Vec<usize>, String> {
    let rank = a.len().max(b.len());
    let at = |dims: &[usize], axis: usize| (axis + dims.len()).checked_sub(rank).map_or(1, |axis| dims[axis]);
    (0..rank)
        .map(|axis| match (at(a, axis), at(b, axis)) {
            (x, y) if x == y || y == 1 => Ok(x),
            (1, y) => Ok(y),
            _ => Err(format!("shapes {a:?} and {b:?} do not fit each other")),
        })
        .collect()
}

/// Return for each element of a value of shape `to` its place in one of shape `from`.
pub(super) fn broadcast_places(from: &[usize], to: &[usize]) -> Result<Vec<usize>, String> {
    if common_shape(from, to)? != to {
        return Err(format!("a value of shape {from:?} does not fit the shape {to:?}"));
    }
    elements(to)?;
    let mut strides = vec![0i64; to.len()];
    let mut stride = 1;
    for (axis, dim) in (0..to.len()).rev().zip(from.iter().rev()) {
        strides[axis] = if *dim == 1 { 0 } else { stride };
        stride *= *dim as i64;
    }
    Ok(strided(to, &strides, 0))
}

/// Return the strides of a shape: how far the next element along each axis lies.
pub(super) fn strides(dims: &[usize]) -> Vec<i64> {
    let mut strides = vec![1; dims.len()];
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis] * dims[axis] as i64;
    }
    strides
}

/// Return the places of the elements of a view: `first`, and `strides` apart along each axis of `dims`.
pub(super) fn strided(dims: &[usize], strides: &[i64], first: i64) -> Vec<usize> {
    let mut places = vec![first];
    for (dim, stride) in dims.iter().zip(strides) {
        places = places
            .iter()
            .flat_map(|place| (0..*dim as i64).map(move |index| place + index * stride))
            .collect();
    }
    places.into_iter().map(|place| place as usize).collect()
}

/// Read a tensor of the file.
pub(super) fn read(tensor: &TensorProto, name: &str) -> Result<Value, Broken> {
    let broken = |rule: String| Broken::new(format!("tensor {name}"), rule);
    if !tensor.external_data.is_empty() || tensor.data_location == Some(DataLocation::EXTERNAL) {
        return Err(broken(
            "its numbers must be in this file (torch.onnx.export: external_data=False)".to_owned(),
        ));
    }
    let data_type = tensor.data_type;
    let raw = tensor.raw_data.as_ref().map(|raw| raw.borrow());
    let raw = raw.as_ref().map(|raw| raw.as_slice());
    let data = match data_type {
        Some(DataType::FLOAT) => {
            numbers(raw, &tensor.float_data, |b| f64::from(f32::from_le_bytes(b)), f64::from)
        }
        Some(DataType::DOUBLE) => numbers(raw, &tensor.double_data, f64::from_le_bytes, |number| number),
        Some(DataType::INT64) => {
            numbers(raw, &tensor.int64_data, |b| i64::from_le_bytes(b) as f64, |number| number as f64)
        }
        Some(DataType::INT32) => {
            numbers(raw, &tensor.int32_data, |b| f64::from(i32::from_le_bytes(b)), f64::from)
        }
        Some(DataType::BOOL) => numbers(raw, &tensor.int32_data, |b: [u8; 1]| f64::from(b[0]), f64::from),
        other => {
            let name = other.map_or_else(|| "none".to_owned(), |other| other.to_string());
            return Err(broken(format!("must be of type FLOAT, DOUBLE, INT64, INT32 or BOOL, not {name}")));
        }
    };
    let data = data.ok_or_else(|| broken("truncated: its bytes end within a number".to_owned()))?;
    let kind = data_type.and_then(Kind::of).unwrap_or(Kind::Float);
    let dims: Option<Vec<usize>> = tensor.dims.iter().map(|dim| usize::try_from(*dim).ok()).collect();
    let size = |dims: &[usize]| dims.iter().try_fold(1usize, |size, dim| size.checked_mul(*dim));
    match dims {
        // A list of no integers is a shape, too: that of a single number.
        Some(dims) if size(&dims) == Some(data.len()) && (kind == Kind::Integer || !data.is_empty()) => {
            // Integers in double precision are finite anyway.
            if data.iter().all(|number| number.is_finite()) {
                Ok(Value { kind, dims, content: Content::Constant(data) })
            } else {
                Err(broken("must hold finite numbers".to_owned()))
            }
        }
        _ => {
            Err(broken(format!("truncated: {} numbers do not fill its shape {:?}", data.len(), tensor.dims)))
        }
    }
}

/// Convert the raw bytes of a tensor or, without them, its list; `None` if the bytes end within a number.
fn numbers<const N: usize, T: Copy>(
    raw: Option<&[u8]>,
    list: &[T],
    of_bytes: impl Fn([u8; N]) -> f64,
    of_item: impl Fn(T) -> f64,
) -> Option<Vec<f64>> {
    let Some(raw) = raw else { return Some(list.iter().map(|item| of_item(*item)).collect()) };
    raw.chunks(N).map(|bytes| bytes.try_into().ok().map(&of_bytes)).collect()
}
