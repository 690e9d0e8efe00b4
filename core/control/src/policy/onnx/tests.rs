//! The reader on the models of `fixtures/make.py`; `policy_folders.rs` compares the outputs.

use rten_onnx::onnx::{DataLocation, DataType, TensorProto};

use super::*;

const OPERATORS_MODEL: &[u8] = include_bytes!("../../../tests/fixtures/operators/policy.onnx");
const RECURRENT_MODEL: &[u8] = include_bytes!("../../../tests/fixtures/recurrent/policy.onnx");
const PERCEPTRON_MODEL: &[u8] = include_bytes!("../../../tests/fixtures/perceptron/policy.onnx");

/// Replace every `from` in the model by `to`, which has the same length.
fn edit(model: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len(), "lengths are part of the encoding");
    let mut edited = model.to_vec();
    let places: Vec<usize> =
        (0..=model.len() - from.len()).filter(|at| model[*at..].starts_with(from.as_bytes())).collect();
    assert!(!places.is_empty(), "{from} is in the model");
    for at in places {
        edited[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    edited
}

fn error(model: &[u8]) -> String {
    let Broken { field, rule } = read(model, 50).expect_err("must not load");
    format!("{field}: {rule}")
}

#[test]
fn every_prefix_of_a_model_is_truncated() {
    for end in 0..OPERATORS_MODEL.len() {
        assert_eq!(error(&OPERATORS_MODEL[..end]), "file: truncated or not an ONNX model", "{end} bytes");
    }
    assert!(read(OPERATORS_MODEL, 50).is_ok());
}

#[test]
fn no_damaged_byte_panics() {
    // Every damage to every byte of the larger recurrent model would take a minute.
    for (model, step) in [(OPERATORS_MODEL, 1), (RECURRENT_MODEL, 7)] {
        let mut refused = 0;
        for (number, at) in (0..model.len()).flat_map(|at| [at; 3]).enumerate().step_by(step) {
            let mut damaged = model.to_vec();
            damaged[at] ^= [0x01, 0x80, 0xff][number % 3];
            match read(&damaged, 50) {
                Ok(network) => network.run(
                    &[0.5; 50],
                    &mut vec![0.0; network.memory_dim()],
                    &mut vec![0.0; network.output_dim()],
                ),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > 400, "{refused} damages refused");
    }
}

#[test]
fn a_state_must_have_its_next_and_its_size() {
    assert_eq!(read(RECURRENT_MODEL, 50).unwrap().memory_dim(), 14);
    let renamed = |from, to| error(&edit(RECURRENT_MODEL, from, to));
    assert_eq!(renamed("next_cell", "late_cell"), "output: must have \"next_cell\", (batch, 4)");
    assert_eq!(renamed("next_state", "next_steak"), "output: must have \"next_state\", (batch, 6)");
}

#[test]
fn a_cell_that_does_not_begin_with_a_state_is_refused() {
    // The name's last occurrence is the output of the node that computes it.
    let mut model = RECURRENT_MODEL.to_vec();
    let at = model.windows(12).rposition(|name| name == b"state_before").expect("named");
    model[at..at + 12].copy_from_slice(b"other_before");
    let error = error(&model);
    assert!(
        error.starts_with("node gru (GRU): must have an initial state: no earlier node computes"),
        "{error}"
    );
}

#[test]
fn input_and_output_must_have_their_names_and_shape() {
    let renamed = |from, to| error(&edit(RECURRENT_MODEL, from, to));
    // With several inputs, only the name tells the observation from a state.
    let without = edit(RECURRENT_MODEL, "observation", "0bservation");
    assert_eq!(error(&without), "input: one must be named \"observation\"");
    assert_eq!(renamed("action", "acti0n"), "output: one must be named \"action\"");
    let Broken { field, rule } = read(PERCEPTRON_MODEL, 30).unwrap_err();
    assert_eq!((field.as_str(), rule.as_str()), ("input", "\"observation\" must have the shape (batch, 30)"));
}

#[test]
fn the_only_input_and_the_first_output_may_have_any_name() {
    for (from, to) in [("observation", "0bservation"), ("action", "acti0n")] {
        assert!(read(&edit(PERCEPTRON_MODEL, from, to), 50).is_ok());
    }
}

#[test]
fn a_free_dimension_of_a_state_is_the_batch() {
    assert_eq!(state_shape(&[None, Some(6)]), Some(vec![1, 6]));
    assert_eq!(state_shape(&[Some(2), None, Some(6)]), Some(vec![2, 1, 6]));
    assert_eq!(state_shape(&[None, Some(2), Some(6)]), Some(vec![1, 2, 6]));
    for wrong in [&[Some(6)][..], &[None, None], &[None, Some(0)], &[None, Some(1 << 20)]] {
        assert_eq!(state_shape(wrong), None);
    }
}

#[test]
fn an_operator_that_is_not_read_is_named_with_those_that_are() {
    let error = error(&edit(PERCEPTRON_MODEL, "Tanh", "Sinh"));
    assert!(
        error.starts_with("node action (Sinh): not a supported operator (there are: Abs, Add, "),
        "{error}"
    );
}

#[test]
fn weights_that_are_not_there_are_named() {
    // The first occurrence is the node's input, before the tensors.
    let mut model = PERCEPTRON_MODEL.to_vec();
    let at = model.windows(2).position(|name| name == b"w2").expect("named");
    model[at..at + 2].copy_from_slice(b"w9");
    assert_eq!(error(&model), "node d2 (Gemm): no earlier node computes its input \"w9\"");
}

#[test]
fn numbers_that_are_not_finite_are_named_with_their_tensor() {
    // The tensor's name, then the length of its bytes (8 floats), then the bytes.
    let mut model = PERCEPTRON_MODEL.to_vec();
    let at = model.windows(4).position(|bytes| bytes == b"b1J\x20").expect("raw data of 32 bytes") + 4;
    model[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    assert_eq!(error(&model), "tensor b1: must hold finite numbers");
}

#[test]
fn weights_of_another_shape_are_refused() {
    // transB = 1: the attribute's name, then its field 3 (0x18) with the number.
    let mut model = PERCEPTRON_MODEL.to_vec();
    let at = model.windows(8).position(|bytes| bytes == b"transB\x18\x01").expect("an attribute") + 7;
    model[at] = 0;
    assert_eq!(error(&model), "node d1 (Gemm): the weights take 8 numbers, the input has 50");
}

#[test]
fn weights_in_another_file_are_refused() {
    let tensor = TensorProto {
        dims: vec![1],
        data_type: Some(DataType::FLOAT),
        float_data: vec![1.0],
        data_location: Some(DataLocation::EXTERNAL),
        ..TensorProto::default()
    };
    let Broken { field, rule } = value::read(&tensor, "w1").unwrap_err();
    assert_eq!(field, "tensor w1");
    assert!(rule.starts_with("its numbers must be in this file"), "{rule}");
    assert!(value::read(&TensorProto { data_location: None, ..tensor }, "w1").is_ok());
}
