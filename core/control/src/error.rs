//! The one error of this crate: what is wrong with a policy folder or a name, in one line.

use std::fmt;

/// Bad input from outside: a policy's files or the name of an agent or a reward.
///
/// Displays as one line, `source: field: rule`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlError {
    /// The file, or what else the input came from.
    pub source: String,
    /// The field, node or part of it that breaks the rule.
    pub field: String,
    /// The rule, with what was found instead.
    pub rule: String,
}

impl ControlError {
    /// An error from its three parts. Line breaks in them become spaces.
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
