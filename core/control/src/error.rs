//! The error type of this crate: one line about a bad policy folder or name.

use std::fmt;

/// Bad input: a policy's files, an agent's or a reward's name. Displays as one line, `source: field: rule`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlError {
    /// The file or other origin of the input.
    pub source: String,
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
        Self { source: line(&source), field: line(&field), rule: line(&rule) }
    }
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.source, self.field, self.rule)
    }
}

impl std::error::Error for ControlError {}
