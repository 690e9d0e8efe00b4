//! Checks that an ONNX file is complete by the framing of its messages.
//!
//! An ONNX file is a Protocol Buffers message without a total length or checksum, so a tolerant decoder
//! cannot detect a file cut between two fields. But every field states its length, and every model lists its
//! operator sets (field 8), which serialisers write after the graph (field 7). The check covers every message
//! that the decoder enters, because the decoder reserves memory for any stated length before it reads.

const OPERATOR_SETS: u64 = 8;
/// Limit on nested graphs and sequences: more than any policy has, and safe for the stack.
const DEPTH_MAX: u32 = 32;

/// A message of the ONNX specification, by the messages nested in it.
#[derive(Clone, Copy)]
enum Message {
    Model,
    Graph,
    Node,
    Attribute,
    Tensor,
    ValueInfo,
    Type,
    TensorType,
    SequenceType,
    Shape,
    /// A message without nested messages.
    Leaf,
}

impl Message {
    /// Return the message in field number `field`.
    const fn nested(self, field: u64) -> Option<Self> {
        Some(match (self, field) {
            (Self::Model, 7) | (Self::Attribute, 6) => Self::Graph,
            (Self::Graph, 1) => Self::Node,
            (Self::Node, 5) => Self::Attribute,
            (Self::Graph | Self::Attribute, 5) => Self::Tensor,
            (Self::Graph, 11..=13) => Self::ValueInfo,
            (Self::ValueInfo, 2) | (Self::SequenceType, 1) => Self::Type,
            (Self::Type, 1) => Self::TensorType,
            (Self::Type, 4) => Self::SequenceType,
            (Self::TensorType, 2) => Self::Shape,
            (Self::Shape, 1) | (Self::Tensor, 13) | (Self::Model, OPERATOR_SETS | 14) => Self::Leaf,
            _ => return None,
        })
    }
}

/// Return whether `bytes` consist of complete fields, also in nested messages, and include the operator sets.
/// Source: the Protocol Buffers encoding guide; `ModelProto` in the ONNX specification.
pub(super) fn is_whole(bytes: &[u8]) -> bool {
    let mut operator_sets = false;
    has_whole_fields(Message::Model, bytes, DEPTH_MAX, &mut |field| operator_sets |= field == OPERATOR_SETS)
        && operator_sets
}

/// Return whether a message consists of complete fields; `on_field` gets the number of each top-level field.
fn has_whole_fields(message: Message, mut bytes: &[u8], depth: u32, on_field: &mut dyn FnMut(u64)) -> bool {
    while !bytes.is_empty() {
        let Some((field, remaining)) = split_field(bytes) else { return false };
        on_field(field.number);
        if let (Some(nested), Some(content)) = (message.nested(field.number), field.content) {
            if depth == 0 || !has_whole_fields(nested, content, depth - 1, &mut |_| ()) {
                return false;
            }
        }
        bytes = remaining;
    }
    true
}

struct Field<'a> {
    number: u64,
    /// The bytes of a length-delimited field.
    content: Option<&'a [u8]>,
}

/// Split off the first field, or return `None` if it is incomplete.
fn split_field(bytes: &[u8]) -> Option<(Field<'_>, &[u8])> {
    let (key, remaining) = split_varint(bytes)?;
    let (content, remaining) = match key & 7 {
        0 => (None, split_varint(remaining)?.1),
        1 => (None, remaining.get(8..)?),
        2 => {
            let (length, remaining) = split_varint(remaining)?;
            let (content, remaining) = remaining.split_at_checked(usize::try_from(length).ok()?)?;
            (Some(content), remaining)
        }
        5 => (None, remaining.get(4..)?),
        _ => return None,
    };
    Some((Field { number: key >> 3, content }, remaining))
}

/// Split off a varint: seven bits per byte, lowest first.
fn split_varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (index, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[index + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_fields_of_every_wire_type_are_told_from_cut_ones() {
        let file = [
            &[0x08, 0x96, 0x01][..],         // 1: varint 150
            &[0x11, 1, 2, 3, 4, 5, 6, 7, 8], // 2: eight bytes
            &[0x1d, 1, 2, 3, 4],             // 3: four bytes
            &[0x42, 0x02, 0x10, 0x11],       // 8: a message, a varint
        ]
        .concat();
        assert!(is_whole(&file));
        assert!((0..file.len()).all(|end| !is_whole(&file[..end])));
        assert!(!is_whole(&[0x42, 0x00, 0x0b]), "groups are not used");
        assert!(!is_whole(&[0xff; 20]), "a varint has at most ten bytes");
    }

    #[test]
    fn a_nested_length_beyond_its_message_is_not_whole() {
        // A graph (7) whose tensor (5) states a byte too many, and one whose tensor does not.
        assert!(!is_whole(&[0x3a, 0x04, 0x2a, 0x03, 0x4a, 0x00, 0x42, 0x00]));
        assert!(!is_whole(&[0x3a, 0x05, 0x2a, 0x03, 0x4a, 0x02, 0x00, 0x42, 0x00]));
        assert!(is_whole(&[0x3a, 0x05, 0x2a, 0x03, 0x4a, 0x01, 0x00, 0x42, 0x00]));
    }

    #[test]
    fn messages_nested_without_end_are_refused() {
        // A sequence (4) whose elements (1) are sequences whose elements …
        let nested = |levels: u8| {
            let mut nested = Vec::new();
            for level in 0..levels {
                nested.splice(0..0, [if level % 2 == 0 { 0x0a } else { 0x22 }, level * 2]);
            }
            let value = [&[0x12, nested.len() as u8][..], &nested].concat();
            let graph = [&[0x5a, value.len() as u8][..], &value].concat();
            [&[0x3a, graph.len() as u8][..], &graph, &[0x42, 0x00]].concat()
        };
        assert!(is_whole(&nested(20)));
        assert!(!is_whole(&nested(40)));
    }
}
