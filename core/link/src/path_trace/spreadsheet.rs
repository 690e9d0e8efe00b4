//! The text of path traces that a spreadsheet or an editor saved.

use std::borrow::Cow;

use crate::interrupt::{Interrupted, Stop, Watch};

/// The byte-order mark that editors on Windows write first.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Return `text` with commas between columns, points in decimals and without quotes, line by line.
///
/// Spreadsheets put cells in quotes, separate columns by semicolons or tabs where decimals have commas, and
/// fill up lines with empty cells. Other text is returned unchanged, without a byte-order mark.
///
/// # Errors
/// The caller stops the conversion.
pub(super) fn plain<'a>(stop: Stop<'_>, text: &'a str) -> Result<Cow<'a, str>, Interrupted> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let header = text.lines().find(|line| !is_comment(line)).unwrap_or_default();
    let separator = [';', '\t'].into_iter().find(|separator| header.contains(*separator)).unwrap_or(',');
    if !text.starts_with('"') && separator == ',' && !header.contains('"') && !header.ends_with(',') {
        return Ok(Cow::Borrowed(text));
    }
    let columns = filled(&cells(header, separator)).len();
    let mut saved = String::with_capacity(text.len());
    let mut watch = Watch::new(stop);
    for line in text.split_inclusive('\n') {
        watch.unit()?;
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.starts_with('#') {
            saved += line;
        } else {
            let values = cells(line, separator);
            if is_comment(line) {
                // Its own commas separated these cells.
                saved += &filled(&values).join(",");
            } else {
                let used = columns.max(filled(&values).len()).min(values.len());
                let values = values[..used].join("\0");
                // Between commas, a comma in a cell may also be one of thousands, or of a whole line in quotes.
                let values = if separator == ',' { values } else { values.replace(',', ".") };
                saved += &values.replace('\0', ",");
            }
        }
        saved += end;
    }
    Ok(Cow::Owned(saved))
}

/// Return whether a line is a comment, also in quotes.
fn is_comment(line: &str) -> bool {
    line.strip_prefix('"').unwrap_or(line).starts_with('#')
}

/// Return the cells without the empty ones at the end.
fn filled(values: &[String]) -> &[String] {
    let last = values.iter().rposition(|value| !value.is_empty());
    &values[..last.map_or(0, |last| last + 1)]
}

/// Return a line's cells; two quotes within quotes are one.
fn cells(line: &str, separator: char) -> Vec<String> {
    let mut values = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let value = values.last_mut().expect("there is always a cell");
        if character == '"' && quoted && characters.peek() == Some(&'"') {
            characters.next();
            value.push('"');
        } else if character == '"' && (quoted || value.is_empty()) {
            quoted = !quoted;
        } else if character == separator && !quoted {
            values.push(String::new());
        } else {
            value.push(character);
        }
    }
    values
}
