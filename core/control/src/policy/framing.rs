//! Whether an ONNX file is whole, told by the framing of its outermost message.
//!
//! An ONNX file is a Protocol Buffers message without a length or checksum, and a decoder that takes what it finds
//! cannot tell a file that was cut between two fields. Every field of the outermost message states its length, though,
//! and every model lists its operator sets (field 8), which serialisers write behind the graph (field 7).

const OPERATOR_SETS: u64 = 8;

/// Whether `bytes` are a sequence of whole fields with the operator sets among them.
///
/// Source: the Protocol Buffers encoding guide; `ModelProto` of the ONNX specification.
pub(super) fn is_whole(mut bytes: &[u8]) -> bool {
    let mut operator_sets = false;
    while !bytes.is_empty() {
        let Some((field, rest)) = split_field(bytes) else { return false };
        operator_sets |= field == OPERATOR_SETS;
        bytes = rest;
    }
    operator_sets
}

/// Number of the first field and what follows it, or `None` when it is not whole.
fn split_field(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (key, rest) = split_varint(bytes)?;
    let (length, rest) = match key & 7 {
        0 => (0, split_varint(rest)?.1),
        1 => (8, rest),
        2 => split_varint(rest)?,
        5 => (4, rest),
        _ => return None,
    };
    Some((key >> 3, rest.get(usize::try_from(length).ok()?..)?))
}

/// A number of seven bits a byte, lowest first, and what follows it.
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
        let whole = [
            &[0x08, 0x96, 0x01][..],         // 1: varint 150
            &[0x11, 1, 2, 3, 4, 5, 6, 7, 8], // 2: eight bytes
            &[0x1d, 1, 2, 3, 4],             // 3: four bytes
            &[0x42, 0x02, 0x10, 0x11],       // 8: two bytes
        ]
        .concat();
        assert!(is_whole(&whole));
        assert!((0..whole.len()).all(|end| !is_whole(&whole[..end])));
        assert!(!is_whole(&[0x42, 0x00, 0x0b]), "groups are not used");
        assert!(!is_whole(&[0xff; 20]), "a varint has at most ten bytes");
    }
}
