//! What is common to the parts of a scenario, whose fields are in `fields.rs`.

use serde::de::DeserializeOwned;

use super::ScenarioError;

/// A broken rule, with the path of its field within the part that reports it.
#[derive(Debug, PartialEq, Eq)]
pub struct Broken {
    /// Keys and indices, joined by dots; empty for the part itself.
    pub field: String,
    /// What is wrong, or what would be right.
    pub rule: String,
}

impl Broken {
    pub(super) fn new(field: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { field: field.into(), rule: rule.into() }
    }

    pub(super) fn of(self, scenario: &str) -> ScenarioError {
        let field = if self.field.is_empty() { "(whole scenario)".to_owned() } else { self.field };
        ScenarioError::new(scenario, field, self.rule)
    }
}

/// A part of a scenario.
pub trait Part {
    /// Check ranges, the parts within it, and then the rules between its fields.
    ///
    /// # Errors
    /// The first broken rule.
    fn validate(&self) -> Result<(), Broken>;
}

/// Return the rule of a field as an error unless it holds.
pub fn check(field: &str, holds: bool, rule: &str) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken::new(field, rule)) }
}

/// Put the name of a field before the path of a broken rule.
pub fn within(field: &str, checked: Result<(), Broken>) -> Result<(), Broken> {
    checked.map_err(|broken| {
        let dot = if broken.field.is_empty() { "" } else { "." };
        Broken { field: format!("{field}{dot}{}", broken.field), ..broken }
    })
}

/// Parse JSON; the error names its place in the text.
pub fn parse<T: DeserializeOwned>(json: &str) -> Result<T, Broken> {
    serde_json::from_str(json).map_err(|error| {
        let message = error.to_string();
        let rule = message.split(" at line ").next().unwrap_or_default();
        Broken::new(format!("line {} column {}", error.line(), error.column()), rule)
    })
}

/// Parse and check JSON.
pub fn read<T: Part + DeserializeOwned>(json: &str) -> Result<(), Broken> {
    parse::<T>(json)?.validate()
}
