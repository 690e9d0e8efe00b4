//! A node of the graph: its inputs and attributes, and the operators.

use std::collections::BTreeMap;

use rten_onnx::onnx::{AttributeProto, NodeProto};

use super::super::functions::{Activation, Combination, Reduction};
use super::super::neural_network::{Network, Slot};
use super::elementwise;
use super::value::{Content, Kind, Value};

/// Append a node to the network and return the values of its outputs. The error states the broken rule.
pub(super) type Read = fn(&Node<'_>, &mut Network) -> Result<Vec<Value>, String>;

/// Every operator that exporters write for policies, as defined since operator set 9 or earlier.
pub(super) const OPERATORS: &[(&str, Read)] = &[
    ("Abs", |node, network| node.activation(network, Activation::Abs)),
    ("Add", |node, network| node.combination(network, Combination::Add)),
    ("And", |node, network| node.combination(network, Combination::Min)),
    ("ArgMax", |node, network| node.arg_max(network)),
    ("BatchNormalization", |node, network| node.batch_normalization(network)),
    ("Cast", |node, network| node.cast(network)),
    ("CastLike", |node, network| node.cast(network)),
    ("Ceil", |node, network| node.activation(network, Activation::Ceil)),
    ("Celu", |node, network| node.celu(network)),
    ("Clip", |node, network| node.clip(network)),
    ("Concat", |node, network| node.concat(network)),
    ("Constant", |node, _| node.constant_of_attribute()),
    ("ConstantOfShape", |node, _| node.constant_of_shape()),
    ("Div", |node, network| node.combination(network, Combination::Div)),
    ("Dropout", |node, _| node.identity()),
    ("Elu", |node, network| node.activation(network, Activation::Elu { alpha: node.float("alpha", 1.0) })),
    ("Equal", |node, network| node.combination(network, Combination::Equal)),
    ("Erf", |node, network| node.activation(network, Activation::Erf)),
    ("Exp", |node, network| node.activation(network, Activation::Exp)),
    ("Expand", |node, network| node.expand(network)),
    ("Flatten", |node, _| node.flatten()),
    ("Floor", |node, network| node.activation(network, Activation::Floor)),
    ("GRU", |node, network| node.gru(network)),
    ("Gather", |node, network| node.gather(network)),
    ("GatherND", |node, network| node.gather_nd(network)),
    ("Gelu", |node, network| node.gelu(network)),
    ("Gemm", |node, network| node.gemm(network)),
    ("Greater", |node, network| node.combination(network, Combination::Greater)),
    ("GreaterOrEqual", |node, network| node.combination(network, Combination::GreaterOrEqual)),
    ("HardSigmoid", |node, network| node.hard_sigmoid(network)),
    ("HardSwish", |node, network| node.hard_swish(network)),
    ("Identity", |node, _| node.identity()),
    ("LSTM", |node, network| node.lstm(network)),
    ("LayerNormalization", |node, network| node.layer_normalization(network)),
    ("LeakyRelu", |node, network| {
        node.activation(network, Activation::LeakyRelu { slope: node.float("alpha", 0.01) })
    }),
    ("Less", |node, network| node.combination(network, Combination::Less)),
    ("LessOrEqual", |node, network| node.combination(network, Combination::LessOrEqual)),
    ("Log", |node, network| node.activation(network, Activation::Log)),
    ("LogSoftmax", |node, network| node.log_softmax(network)),
    ("MatMul", |node, network| node.mat_mul(network)),
    ("Max", |node, network| node.combination(network, Combination::Max)),
    ("Min", |node, network| node.combination(network, Combination::Min)),
    ("Mish", |node, network| node.mish(network)),
    ("Mul", |node, network| node.combination(network, Combination::Mul)),
    ("Neg", |node, network| node.negative(network)),
    ("Not", |node, network| node.not(network)),
    ("Or", |node, network| node.combination(network, Combination::Max)),
    ("PRelu", |node, network| node.p_relu(network)),
    ("Pow", |node, network| node.power(network)),
    ("Range", |node, _| node.range()),
    ("Reciprocal", |node, network| node.reciprocal(network)),
    ("ReduceL2", |node, network| node.reduce(network, Reduction::Norm)),
    ("ReduceLogSumExp", |node, network| node.reduce(network, Reduction::LogSumExp)),
    ("ReduceMax", |node, network| node.reduce(network, Reduction::Max)),
    ("ReduceMean", |node, network| node.reduce(network, Reduction::Mean)),
    ("ReduceMin", |node, network| node.reduce(network, Reduction::Min)),
    ("ReduceProd", |node, network| node.reduce(network, Reduction::Product)),
    ("ReduceSum", |node, network| node.reduce(network, Reduction::Sum)),
    ("ReduceSumSquare", |node, network| node.reduce(network, Reduction::SumOfSquares)),
    ("Relu", |node, network| node.activation(network, Activation::Relu)),
    ("Reshape", |node, _| node.reshape()),
    ("Selu", |node, network| node.selu(network)),
    ("Shape", |node, _| node.shape()),
    ("Sigmoid", |node, network| node.activation(network, Activation::Sigmoid)),
    ("Sign", |node, network| node.activation(network, Activation::Sign)),
    ("Size", |node, _| node.size()),
    ("Slice", |node, network| node.slice(network)),
    ("Softmax", |node, network| node.softmax(network)),
    ("Softplus", |node, network| node.activation(network, Activation::Softplus)),
    ("Softsign", |node, network| node.softsign(network)),
    ("Split", |node, network| node.split(network)),
    ("Sqrt", |node, network| node.activation(network, Activation::Sqrt)),
    ("Squeeze", |node, _| node.squeeze()),
    ("Sub", |node, network| node.combination(network, Combination::Sub)),
    ("Sum", |node, network| node.combination(network, Combination::Add)),
    ("Swish", |node, network| node.swish(network)),
    ("Tanh", |node, network| node.activation(network, Activation::Tanh)),
    ("Tile", |node, network| node.tile(network)),
    ("Transpose", |node, network| node.transpose(network)),
    ("Unsqueeze", |node, _| node.unsqueeze()),
    ("Where", |node, network| node.choice(network)),
];

/// A node and the values of earlier nodes. Its errors state the broken rule.
pub(super) struct Node<'a> {
    pub(super) node: &'a NodeProto,
    pub(super) values: &'a BTreeMap<String, Value>,
}

impl Node<'_> {
    /// Append the node to the network and return the values of its outputs.
    pub(super) fn outputs(&self, network: &mut Network) -> Result<Vec<Value>, String> {
        let operator = self.node.op_type.as_deref().unwrap_or_default();
        let standard = self.node.domain.as_deref().is_none_or(|domain| matches!(domain, "" | "ai.onnx"));
        match OPERATORS.binary_search_by_key(&operator, |(name, _)| name) {
            Ok(index) if standard => OPERATORS[index].1(self, network),
            _ => {
                let supported: Vec<&str> = OPERATORS.iter().map(|(name, _)| *name).collect();
                Err(format!("not a supported operator (there are: {})", supported.join(", ")))
            }
        }
    }

    pub(super) fn has(&self, index: usize) -> bool {
        self.node.input.get(index).is_some_and(|name| !name.is_empty())
    }

    pub(super) fn value(&self, index: usize) -> Result<&Value, String> {
        let name = self.node.input.get(index).ok_or_else(|| format!("input {index} is missing"))?;
        self.values.get(name).ok_or_else(|| format!("no earlier node computes its input {name:?}"))
    }

    /// The slot of an input that depends on the observation.
    pub(super) fn row(&self, index: usize) -> Result<Slot, String> {
        match &self.value(index)?.content {
            Content::Row(slot) => Ok(slot.clone()),
            Content::Constant(_) => Err(format!("input {index} must depend on the observation")),
        }
    }

    /// Shape and numbers of a constant input.
    pub(super) fn constant(&self, index: usize) -> Result<(&[usize], &[f64]), String> {
        match self.value(index)? {
            Value { content: Content::Constant(data), dims, .. } => Ok((dims, data)),
            _ => Err(format!("input {index} must be constant numbers")),
        }
    }

    /// An optional constant input of one number.
    pub(super) fn scalar(&self, index: usize, default: f32) -> Result<f32, String> {
        if !self.has(index) {
            return Ok(default);
        }
        match self.constant(index)?.1 {
            [number] => Ok(*number as f32),
            _ => Err(format!("input {index} must be one number")),
        }
    }

    /// Integers that are an input or, in earlier operator sets, an attribute; `None` if they are neither.
    pub(super) fn integers(&self, index: usize, attribute: &str) -> Result<Option<Vec<i64>>, String> {
        if !self.has(index) {
            return Ok(self.attribute(attribute).map(|attribute| attribute.ints.clone()));
        }
        match self.value(index)? {
            Value { content: Content::Constant(data), kind: Kind::Integer, .. } => {
                Ok(Some(data.iter().map(|number| *number as i64).collect()))
            }
            _ => Err(format!("its {attribute} must be constant integers")),
        }
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&AttributeProto> {
        self.node.attribute.iter().find(|attribute| attribute.name.as_deref() == Some(name))
    }

    pub(super) fn float(&self, name: &str, default: f32) -> f32 {
        self.attribute(name).and_then(|attribute| attribute.f).unwrap_or(default)
    }

    pub(super) fn integer(&self, name: &str, default: i64) -> i64 {
        self.attribute(name).and_then(|attribute| attribute.i).unwrap_or(default)
    }

    fn activation(&self, network: &mut Network, activation: Activation) -> Result<Vec<Value>, String> {
        Ok(vec![elementwise::activated(network, activation, self.value(0)?)])
    }

    fn combination(&self, network: &mut Network, combination: Combination) -> Result<Vec<Value>, String> {
        let mut result = self.value(0)?.clone();
        for index in 1..self.node.input.len().max(1) {
            result = elementwise::combined(network, combination, &result, self.value(index)?)?;
        }
        Ok(vec![result])
    }

    fn identity(&self) -> Result<Vec<Value>, String> {
        Ok(vec![self.value(0)?.clone()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_in_order_so_that_each_is_found() {
        assert!(OPERATORS.is_sorted_by_key(|(name, _)| *name));
    }
}
