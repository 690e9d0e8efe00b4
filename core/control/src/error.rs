//! The error type of this crate: one line about a bad policy folder or name.

use std::fmt;

/// Bad input: a policy's files, an agent's or a reward's name. Displays as one line, `source: field: rule`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{source_name}: {field}: {rule}")]
pub struct ControlError {
    /// The file or other origin of the input.
    pub source_name: String,
    /// The field, node or part that breaks the rule.
    pub field: String,
    /// The rule and the value that breaks it.
    pub rule: String,
}

impl ControlError {
    /// Create an error. Line breaks in the parts become spaces.
    pub fn new(source: impl fmt::Display, field: impl fmt::Display, rule: impl fmt::Display) -> Self {
        let line =
            |part: &dyn fmt::Display| part.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        Self { source_name: line(&source), field: line(&field), rule: line(&rule) }
    }
}
