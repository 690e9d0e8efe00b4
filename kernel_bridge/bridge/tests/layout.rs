//! The structures that the eBPF programs and the daemon share have the same fields, types and order on both sides.

use std::fs;

/// Name and type of each field between the braces that follow `opening` in a file, as `parse` reads a line.
fn fields(file: &str, opening: &str, parse: fn(&str) -> Option<(String, String)>) -> Vec<(String, String)> {
    let path = format!("{}/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(&path).unwrap();
    let (_, after_opening) = text.split_once(opening).unwrap_or_else(|| panic!("{path}: has no {opening:?}"));
    let (body, _) = after_opening.split_once("\n}").unwrap();
    body.lines().filter_map(parse).collect()
}

/// `u16 unused[3]; /* … */`
fn c_field(line: &str) -> Option<(String, String)> {
    let (declaration, _) = line.split_once(';')?;
    let (kind, name) = declaration.trim().split_once(' ')?;
    let kind = kind.replace('s', "i");
    Some(match name.split_once('[') {
        Some((name, size)) => (name.to_owned(), format!("[{kind}; {}]", size.trim_end_matches(']'))),
        None => (name.to_owned(), kind),
    })
}

/// `pub(crate) unused: [u16; 3],`
fn rust_field(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let declaration = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub "))?;
    let (name, kind) = declaration.trim_end_matches(',').split_once(": ")?;
    Some((name.to_owned(), kind.to_owned()))
}

#[test]
fn shared_structures_have_the_same_fields_on_both_sides() {
    for (header, c, source, rust) in [
        ("bpf/flow.h", "struct flow {", "src/slot.rs", "pub struct Flow {"),
        ("bpf/flow.h", "struct command {", "src/slot.rs", "pub struct Command {"),
        ("bpf/ack.h", "struct ack_record {", "src/ack_record.rs", "pub struct AckRecord {"),
    ] {
        let rust_fields = fields(source, rust, rust_field);
        assert!(rust_fields.len() > 5, "{source}: {rust}");
        assert_eq!(fields(header, c, c_field), rust_fields, "{c}");
    }
}
