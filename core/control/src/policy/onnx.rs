//! Reads an ONNX graph into a [`Network`]: a row `observation` in, a row `action` out, constant weights.
//!
//! A recurrent policy has further inputs of any name, such as `state`, (batch, n), initially zeros, each with
//! an output `next_state`. The operators are those of exporters, as defined since operator set 9 or earlier.

use std::collections::BTreeMap;

use rten_onnx::onnx::{
    AttributeProto, DataLocation, DataType, GraphProto, ModelProto, NodeProto, TensorProto,
};

use super::dense::Dense;
use super::framing;
use super::neural_network::{Activation, Combination, Network, Op, Slot};

mod cells;

const INPUT: &str = "observation";
const OUTPUT: &str = "action";
const NEXT: &str = "next_";
const OPERATORS: &str = "Add, BatchNormalization, Clip, Constant, Div, Elu, Flatten, GRU, Gemm, Identity, LSTM, \
                         LayerNormalization, LeakyRelu, Log, MatMul, Mul, Relu, Sigmoid, Softmax, Squeeze, Sub, Tanh, \
                         Unsqueeze";

/// Most numbers that a recurrent policy may remember per flow.
const LARGEST_STATE: usize = 1 << 16;

/// A defect of a model: the part and the rule that it breaks.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) field: String,
    pub(super) rule: String,
}

impl Broken {
    fn new(field: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { field: field.into(), rule: rule.into() }
    }
}

/// A constant: weights or a parameter of a node.
#[derive(Clone, Debug)]
struct Tensor {
    dims: Vec<usize>,
    data: Vec<f32>,
}

#[derive(Clone, Debug)]
enum Value {
    Row(Slot),
    Constant(Tensor),
    /// Integers that describe shapes.
    Integers(Vec<i64>),
}

/// Read the model in `bytes`, whose input has `observation_dim` numbers.
pub(super) fn read(bytes: &[u8], observation_dim: usize) -> Result<Network, Broken> {
    let truncated = || Broken::new("file", "truncated or not an ONNX model");
    if !framing::is_whole(bytes) {
        return Err(truncated());
    }
    let model =
        ModelProto::parse_buf(bytes).map_err(|error| Broken::new("file", format!("damaged: {error}")))?;
    let graph = model.graph.ok_or_else(truncated)?;
    let mut values = BTreeMap::new();
    for tensor in &graph.initializer {
        let name = tensor.name.as_deref().unwrap_or_default();
        values.insert(name.to_owned(), value_of(tensor, name)?);
    }
    let states = check_inputs(&graph, &values, observation_dim)?;
    let mut network = Network::new(observation_dim, states.iter().map(|(_, dim)| dim).sum());
    values.insert(INPUT.to_owned(), Value::Row(network.input()));
    let mut next = network.memory().start;
    for (name, dim) in &states {
        values.insert(name.clone(), Value::Row(next..next + dim));
        next += dim;
    }
    for (index, node) in graph.node.iter().enumerate() {
        let name = node.name.as_deref().filter(|name| !name.is_empty());
        let operator = node.op_type.as_deref().unwrap_or_default();
        let field = name
            .map_or_else(|| format!("node {index} ({operator})"), |name| format!("node {name} ({operator})"));
        let outputs =
            Node { node, values: &values }.outputs(&mut network).map_err(|rule| Broken::new(field, rule))?;
        for (output, value) in node.output.iter().zip(outputs) {
            values.insert(output.clone(), value);
        }
    }
    if !graph.output.iter().any(|output| output.name.as_deref() == Some(OUTPUT)) {
        return Err(Broken::new("output", format!("one must be named {OUTPUT:?}")));
    }
    if !states.is_empty() {
        network.set_next_memory(next_states(&graph, &values, &states)?);
    }
    match values.remove(OUTPUT) {
        Some(Value::Row(slot)) => network.set_output(slot),
        _ => return Err(Broken::new("output", format!("no node computes {OUTPUT:?} from {INPUT:?}"))),
    }
    Ok(network)
}

/// Check the input, (batch, `observation_dim`), and return name and size of each other input, the states.
/// Skips weights, which old files list as inputs.
fn check_inputs(
    graph: &GraphProto,
    weights: &BTreeMap<String, Value>,
    observation_dim: usize,
) -> Result<Vec<(String, usize)>, Broken> {
    let mut found = false;
    let mut states = Vec::new();
    for input in &graph.input {
        let name = input.name.as_deref().unwrap_or_default();
        if weights.contains_key(name) {
            continue;
        }
        let tensor = input.r#type.as_ref().and_then(|of| of.tensor_type.as_ref());
        let shape = tensor.and_then(|tensor| tensor.shape.as_ref());
        let dims: Option<Vec<Option<i64>>> =
            shape.map(|shape| shape.dim.iter().map(|dim| dim.dim_value).collect());
        if name == INPUT {
            found = true;
            match dims.as_deref() {
                None | Some([_, None]) => {}
                Some([_, Some(dim)]) if usize::try_from(*dim) == Ok(observation_dim) => {}
                Some(_) => {
                    let rule = format!("{INPUT:?} must have the shape (batch, {observation_dim})");
                    return Err(Broken::new("input", rule));
                }
            }
        } else if let Some([_, Some(dim)]) = dims.as_deref()
            && let Some(dim) = usize::try_from(*dim).ok().filter(|dim| (1..=LARGEST_STATE).contains(dim))
        {
            states.push((name.to_owned(), dim));
        } else {
            let rule = format!("{name:?} is a state and must have the shape (batch, 1 to {LARGEST_STATE})");
            return Err(Broken::new("input", rule));
        }
    }
    if !found {
        return Err(Broken::new("input", format!("one must be named {INPUT:?}")));
    }
    Ok(states)
}

/// Return the slots of the outputs `next_…` in the order of the states.
fn next_states(
    graph: &GraphProto,
    values: &BTreeMap<String, Value>,
    states: &[(String, usize)],
) -> Result<Vec<Slot>, Broken> {
    let next = |(name, dim): &(String, usize)| {
        let output = format!("{NEXT}{name}");
        let listed = graph.output.iter().any(|listed| listed.name.as_deref() == Some(&output));
        match values.get(&output) {
            Some(Value::Row(slot)) if listed && slot.len() == *dim => Ok(slot.clone()),
            _ => Err(Broken::new("output", format!("must have {output:?}, (batch, {dim})"))),
        }
    };
    states.iter().map(next).collect()
}

/// Read a constant: numbers, or integers that describe shapes.
fn value_of(tensor: &TensorProto, name: &str) -> Result<Value, Broken> {
    if tensor.data_type != Some(DataType::INT64) {
        return constant(tensor, name).map(Value::Constant);
    }
    Ok(Value::Integers(match &tensor.raw_data {
        Some(raw) => {
            let raw = raw.borrow();
            let (numbers, rest) = raw.as_chunks();
            if !rest.is_empty() {
                return Err(Broken::new(
                    format!("tensor {name}"),
                    "truncated: its bytes end within a number",
                ));
            }
            numbers.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect()
        }
        None => tensor.int64_data.clone(),
    }))
}

/// Read the numbers of a tensor.
fn constant(tensor: &TensorProto, name: &str) -> Result<Tensor, Broken> {
    let broken = |rule: String| Broken::new(format!("tensor {name}"), rule);
    if !tensor.external_data.is_empty() || tensor.data_location == Some(DataLocation::EXTERNAL) {
        return Err(broken(
            "its numbers must be in this file (torch.onnx.export: external_data=False)".to_owned(),
        ));
    }
    if tensor.data_type != Some(DataType::FLOAT) {
        let data_type = tensor.data_type.map_or_else(|| "none".to_owned(), |data_type| data_type.to_string());
        return Err(broken(format!("must be of type FLOAT, not {data_type}")));
    }
    let data: Vec<f32> = match &tensor.raw_data {
        Some(raw) => {
            let raw = raw.borrow();
            if raw.len() % 4 != 0 {
                return Err(broken("truncated: its bytes end within a number".to_owned()));
            }
            raw.chunks_exact(4)
                .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
                .collect()
        }
        None => tensor.float_data.clone(),
    };
    let dims: Option<Vec<usize>> = tensor.dims.iter().map(|dim| usize::try_from(*dim).ok()).collect();
    let size = |dims: &[usize]| dims.iter().try_fold(1usize, |size, dim| size.checked_mul(*dim));
    match dims {
        Some(dims) if size(&dims) == Some(data.len()) && !data.is_empty() => {
            if data.iter().all(|number| number.is_finite()) {
                Ok(Tensor { dims, data })
            } else {
                Err(broken("must hold finite numbers".to_owned()))
            }
        }
        _ => {
            Err(broken(format!("truncated: {} numbers do not fill its shape {:?}", data.len(), tensor.dims)))
        }
    }
}

/// A node and the values of earlier nodes. Its errors state the broken rule.
struct Node<'a> {
    node: &'a NodeProto,
    values: &'a BTreeMap<String, Value>,
}

impl Node<'_> {
    /// Append the node to the network and return the values of its outputs.
    fn outputs(&self, network: &mut Network) -> Result<Vec<Value>, String> {
        match self.node.op_type.as_deref().unwrap_or_default() {
            "GRU" => self.gru(network),
            "LSTM" => self.lstm(network),
            _ => self.add_to(network).map(|value| vec![value]),
        }
    }

    /// Append a node with one output to the network and return its value.
    fn add_to(&self, network: &mut Network) -> Result<Value, String> {
        let activation = |network: &mut Network, activation| {
            let x = self.row(0)?;
            let n = x.len();
            Ok(Value::Row(network.push(Op::Activation(activation), x, n)))
        };
        match self.node.op_type.as_deref().unwrap_or_default() {
            "Constant" => {
                let tensor = self.attribute("value").and_then(|value| value.t.as_ref());
                let tensor = tensor.ok_or("must have a tensor as its value")?;
                value_of(tensor, "value").map_err(|Broken { field, rule }| format!("{field}: {rule}"))
            }
            "Identity" => Ok(self.value(0)?.clone()),
            "Flatten" if self.integer("axis", 1) == 1 => Ok(Value::Row(self.row(0)?)),
            "Gemm" => self.gemm(network),
            "MatMul" => self.dense(network, false, 1.0, None),
            "BatchNormalization" => self.batch_normalization(network),
            "LayerNormalization" => self.layer_normalization(network),
            "Softmax" => {
                if !matches!(self.integer("axis", -1), -1 | 1) {
                    return Err("axis must be the row's".to_owned());
                }
                let x = self.row(0)?;
                Ok(Value::Row(network.map(Op::Softmax, x)))
            }
            "Squeeze" | "Unsqueeze" => self.leading_axes(),
            "Add" => self.elementwise(network, Combination::Add),
            "Sub" => self.elementwise(network, Combination::Sub),
            "Mul" => self.elementwise(network, Combination::Mul),
            "Div" => self.elementwise(network, Combination::Div),
            "Relu" => activation(network, Activation::Relu),
            "LeakyRelu" => activation(network, Activation::LeakyRelu { slope: self.float("alpha", 0.01) }),
            "Log" => activation(network, Activation::Log),
            "Elu" => activation(network, Activation::Elu { alpha: self.float("alpha", 1.0) }),
            "Tanh" => activation(network, Activation::Tanh),
            "Sigmoid" => activation(network, Activation::Sigmoid),
            "Clip" => {
                // Bounds are attributes before operator set 11, inputs since then.
                let min = self.scalar(1, self.float("min", f32::MIN))?;
                let max = self.scalar(2, self.float("max", f32::MAX))?;
                activation(network, Activation::Clip { min, max })
            }
            _ => Err(format!("not a supported operator (there are: {OPERATORS})")),
        }
    }

    fn gemm(&self, network: &mut Network) -> Result<Value, String> {
        if self.integer("transA", 0) != 0 {
            return Err("transA must be 0".to_owned());
        }
        let beta = self.float("beta", 1.0);
        let bias = match self.node.input.get(2).is_some_and(|name| !name.is_empty()) {
            true => Some((self.constant(2)?, beta)),
            false => None,
        };
        self.dense(network, self.integer("transB", 0) != 0, self.float("alpha", 1.0), bias)
    }

    /// `alpha · x W + beta · bias` for constant W and bias.
    fn dense(
        &self,
        network: &mut Network,
        transposed: bool,
        alpha: f32,
        bias: Option<(&Tensor, f32)>,
    ) -> Result<Value, String> {
        let x = self.row(0)?;
        let weights = self.constant(1)?;
        let [first, second] = weights.dims[..] else {
            return Err("the weights must have two dimensions".to_owned());
        };
        let (inputs, outputs) = if transposed { (second, first) } else { (first, second) };
        if inputs != x.len() {
            return Err(format!("the weights take {inputs} numbers, the input has {}", x.len()));
        }
        let bias = match bias {
            Some((bias, beta)) => along(bias, outputs)?.map(|number| beta * number).collect(),
            None => vec![0.0; outputs],
        };
        let dense = Dense::new(inputs, bias, |input, output| {
            let index = if transposed { output * inputs + input } else { input * outputs + output };
            alpha * weights.data[index]
        });
        Ok(Value::Row(network.push(Op::Dense(dense), x, outputs)))
    }

    /// `(x - mean) / sqrt(variance + epsilon) · scale + shift`, folded into one factor and one term.
    fn batch_normalization(&self, network: &mut Network) -> Result<Value, String> {
        if self.integer("training_mode", 0) != 0 {
            return Err("training_mode must be 0".to_owned());
        }
        let x = self.row(0)?;
        let n = x.len();
        let epsilon = f64::from(self.float("epsilon", 1e-5));
        let parameter = |index| along(self.constant(index)?, n);
        let (mut scale, mut shift) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for (((gamma, beta), mean), variance) in
            parameter(1)?.zip(parameter(2)?).zip(parameter(3)?).zip(parameter(4)?)
        {
            let factor = f64::from(gamma) / (f64::from(variance) + epsilon).sqrt();
            scale.push(factor as f32);
            shift.push((f64::from(beta) - f64::from(mean) * factor) as f32);
        }
        if scale.iter().chain(&shift).any(|number| !number.is_finite()) {
            return Err("variance + epsilon must be above 0".to_owned());
        }
        Ok(Value::Row(network.push(Op::Affine { scale, shift }, x, n)))
    }

    fn layer_normalization(&self, network: &mut Network) -> Result<Value, String> {
        if !matches!(self.integer("axis", -1), -1 | 1) {
            return Err("axis must be the row's".to_owned());
        }
        let x = self.row(0)?;
        let n = x.len();
        let scale = along(self.constant(1)?, n)?.collect();
        let shift = match self.node.input.get(2).is_some_and(|name| !name.is_empty()) {
            true => along(self.constant(2)?, n)?.collect(),
            false => vec![0.0; n],
        };
        let epsilon = self.float("epsilon", 1e-5);
        if epsilon <= 0.0 {
            return Err("epsilon must be above 0".to_owned());
        }
        Ok(Value::Row(network.map(Op::LayerNorm { epsilon, scale, shift }, x)))
    }

    /// Exporters add and remove axes of length 1 before the batch around recurrent cells. Rows stay the same.
    fn leading_axes(&self) -> Result<Value, String> {
        let axes = match self.node.input.get(1).map(|name| self.values.get(name)) {
            Some(Some(Value::Integers(axes))) => axes.clone(),
            Some(_) => return Err("its axes must be constant".to_owned()),
            // An attribute before operator set 13, an input since then.
            None => self.attribute("axes").map(|axes| axes.ints.clone()).unwrap_or_default(),
        };
        if !matches!(axes[..], [0] | [0, 1]) {
            return Err(format!("its axes must be [0] or [0, 1], not {axes:?}"));
        }
        self.row(0).map(Value::Row)
    }

    fn elementwise(&self, network: &mut Network, combination: Combination) -> Result<Value, String> {
        let (x, constant, constant_first) = match (self.value(0)?, self.value(1)?) {
            (Value::Row(a), Value::Row(b)) if a.len() == b.len() => {
                let op = Op::Combination(combination, b.clone());
                return Ok(Value::Row(network.push(op, a.clone(), a.len())));
            }
            (Value::Row(a), Value::Row(b)) => {
                return Err(format!("its inputs have {} and {} numbers", a.len(), b.len()));
            }
            (Value::Row(x), Value::Constant(constant)) => (x.clone(), constant, false),
            (Value::Constant(constant), Value::Row(x)) => (x.clone(), constant, true),
            _ => return Err("one of its inputs must depend on the observation".to_owned()),
        };
        let n = x.len();
        let numbers = along(constant, n)?;
        let (scale, shift): (Vec<f32>, Vec<f32>) = match (combination, constant_first) {
            (Combination::Add, _) => numbers.map(|number| (1.0, number)).unzip(),
            (Combination::Sub, false) => numbers.map(|number| (1.0, -number)).unzip(),
            (Combination::Sub, true) => numbers.map(|number| (-1.0, number)).unzip(),
            (Combination::Mul, _) => numbers.map(|number| (number, 0.0)).unzip(),
            (Combination::Div, false) => numbers.map(|number| (number.recip(), 0.0)).unzip(),
            (Combination::Div, true) => {
                return Err("its first input must depend on the observation".to_owned());
            }
        };
        if scale.iter().any(|number| !number.is_finite()) {
            return Err("must not divide by 0".to_owned());
        }
        Ok(Value::Row(network.push(Op::Affine { scale, shift }, x, n)))
    }

    fn value(&self, index: usize) -> Result<&Value, String> {
        let name = self.node.input.get(index).ok_or_else(|| format!("input {index} is missing"))?;
        self.values.get(name).ok_or_else(|| format!("no earlier node computes its input {name:?}"))
    }

    fn row(&self, index: usize) -> Result<Slot, String> {
        match self.value(index)? {
            Value::Row(slot) => Ok(slot.clone()),
            _ => Err(format!("input {index} must depend on the observation")),
        }
    }

    fn constant(&self, index: usize) -> Result<&Tensor, String> {
        match self.value(index)? {
            Value::Constant(tensor) => Ok(tensor),
            _ => Err(format!("input {index} must be constant numbers")),
        }
    }

    /// Return an optional constant input of one number.
    fn scalar(&self, index: usize, default: f32) -> Result<f32, String> {
        match self.node.input.get(index) {
            Some(name) if !name.is_empty() => match self.constant(index)?.data[..] {
                [number] => Ok(number),
                _ => Err(format!("input {index} must be one number")),
            },
            _ => Ok(default),
        }
    }

    fn attribute(&self, name: &str) -> Option<&AttributeProto> {
        self.node.attribute.iter().find(|attribute| attribute.name.as_deref() == Some(name))
    }

    fn float(&self, name: &str, default: f32) -> f32 {
        self.attribute(name).and_then(|attribute| attribute.f).unwrap_or(default)
    }

    fn integer(&self, name: &str, default: i64) -> i64 {
        self.attribute(name).and_then(|attribute| attribute.i).unwrap_or(default)
    }
}

/// Broadcast a constant along a row of `n`: one number for all, or one each.
fn along(tensor: &Tensor, n: usize) -> Result<impl Iterator<Item = f32>, String> {
    let leading = tensor.dims.len().saturating_sub(1);
    let single = tensor.data.len() == 1;
    if !single && (tensor.data.len() != n || tensor.dims[..leading].iter().any(|dim| *dim != 1)) {
        return Err(format!("a constant of shape {:?} does not fit a row of {n}", tensor.dims));
    }
    Ok(tensor.data.iter().copied().cycle().take(n))
}

#[cfg(test)]
mod tests;
