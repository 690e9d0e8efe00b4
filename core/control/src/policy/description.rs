//! `policy.json`: a policy's training conditions and provenance.

use serde::Deserialize;

use crate::{AgentSpec, ControlError, KnownRanges};

const FORMAT: &str = "leogym-policy";
const VERSION: u32 = 1;

/// The fields of `policy.json`, version 1. `docs/policies.md` describes them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    #[serde(default)]
    format: Option<String>,
    #[serde(default)]
    version: Option<u32>,
    agent: String,
    #[serde(default)]
    spec_version: Option<u32>,
    observation_dim: usize,
    action_dim: usize,
    interval_ms: f64,
    /// The ranges of the training.
    #[serde(default)]
    known_ranges: Option<Ranges>,
    /// The scheme that takes over beyond them.
    #[serde(default)]
    fallback: Option<String>,
    /// Command, seed, commit and so on: an object for human readers.
    #[serde(default)]
    provenance: serde_json::Map<String, serde_json::Value>,
}

/// Least and most value of each quantity.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ranges {
    #[serde(default)]
    rate_mbps: Option<(f64, f64)>,
    #[serde(default)]
    rtt_ms: Option<(f64, f64)>,
    #[serde(default)]
    loss: Option<(f64, f64)>,
}

impl Ranges {
    /// Return the first range that is none, with its rule.
    fn fault(&self) -> Option<(&'static str, &'static str)> {
        let positive = |range: &(f64, f64)| range.0 > 0.0 && range.0 <= range.1;
        let share = |range: &(f64, f64)| range.0 >= 0.0 && range.0 <= range.1 && range.1 <= 1.0;
        let is_bad = |range: &Option<(f64, f64)>, is_valid: &dyn Fn(&(f64, f64)) -> bool| {
            range.as_ref().is_some_and(|range| !is_valid(range))
        };
        if is_bad(&self.rate_mbps, &positive) {
            return Some(("known_ranges.rate_mbps", "must be [least, most], above 0"));
        }
        if is_bad(&self.rtt_ms, &positive) {
            return Some(("known_ranges.rtt_ms", "must be [least, most], above 0"));
        }
        is_bad(&self.loss, &share).then_some(("known_ranges.loss", "must be [least, most], within 0 and 1"))
    }
}

/// Schemes that leo-bridge's eBPF program and the simulator run beneath every policy.
const FALLBACKS: [&str; 1] = ["cubic"];

type IsValid = fn(&serde_json::Value) -> bool;

/// The type of each field and its name in words.
const TYPES: [(&str, IsValid, &str); 8] = [
    ("agent", serde_json::Value::is_string, "the name of a specification"),
    ("spec_version", serde_json::Value::is_u64, "an integer"),
    ("observation_dim", serde_json::Value::is_u64, "an integer"),
    ("action_dim", serde_json::Value::is_u64, "an integer"),
    ("interval_ms", serde_json::Value::is_number, "a number"),
    ("known_ranges", serde_json::Value::is_object, "an object"),
    ("fallback", serde_json::Value::is_string, "the name of a scheme"),
    ("provenance", serde_json::Value::is_object, "an object"),
];

/// A policy's training conditions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Description {
    pub(super) spec: AgentSpec,
    pub(super) interval_ns: u64,
    /// The ranges in which the policy steers; anywhere if `None`.
    pub(super) known_ranges: Option<KnownRanges>,
    /// Provenance as a JSON object.
    pub(super) provenance: String,
}

impl Description {
    /// Parse and check the text of `policy.json`. Errors name `source`.
    pub(super) fn parse(text: &str, source: &str) -> Result<Self, ControlError> {
        let fail = |field: &str, rule: String| Err(ControlError::new(source, field, rule));
        let value: serde_json::Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => return fail("file", format!("truncated or not JSON: {error}")),
        };
        // Check this first: a newer file is refused for its version, not for a field that the version adds.
        match (value.get("format"), value.get("version")) {
            (Some(format), _) if *format != FORMAT => {
                return fail("format", format!("must be {FORMAT:?}, not {format}"));
            }
            (_, Some(version)) if *version != VERSION => {
                return fail("version", format!("must be {VERSION}, not {version}"));
            }
            _ => {}
        }
        // One field at a time, so that an error names it.
        for (field, is_valid, rule) in TYPES {
            if let Some(got) = value.get(field).filter(|got| !is_valid(got)) {
                return fail(field, format!("must be {rule}, not {got}"));
            }
        }
        let fields: Fields = match serde_json::from_value(value) {
            Ok(fields) => fields,
            Err(error) => return fail("fields", error.to_string()),
        };
        // A JSON value holds the last of equal keys; only the text shows that there are two.
        if let Err(error) = serde_json::from_str::<Fields>(text) {
            return fail("fields", error.to_string());
        }
        debug_assert!(fields.format.is_none_or(|format| format == FORMAT));
        debug_assert!(fields.version.is_none_or(|version| version == VERSION));
        let spec = AgentSpec::by_name(&fields.agent)
            .map_err(|error| ControlError::new(source, "agent", error.rule))?;
        if let Some(version) = fields.spec_version.filter(|version| *version != spec.version()) {
            let rule = format!(
                "trained with version {version} of the specification {}, this build runs version {}",
                spec.name(),
                spec.version()
            );
            return fail("spec_version", rule);
        }
        for (field, got, must) in [
            ("observation_dim", fields.observation_dim, spec.observation_dim()),
            ("action_dim", fields.action_dim, spec.action_dim()),
        ] {
            if got != must {
                return fail(field, format!("must be {must} for {}, not {got}", spec.name()));
            }
        }
        if !(0.1..=10_000.0).contains(&fields.interval_ms) {
            return fail("interval_ms", format!("must be within 0.1 and 10000, not {}", fields.interval_ms));
        }
        let ranges = fields.known_ranges;
        if let Some((field, rule)) = ranges.as_ref().and_then(Ranges::fault) {
            return fail(field, rule.to_owned());
        }
        if let Some(fallback) = fields.fallback.as_deref().filter(|name| !FALLBACKS.contains(name)) {
            return fail("fallback", format!("must be {}, not {fallback:?}", FALLBACKS.join(", ")));
        }
        // A policy with a fallback and no ranges has no bounds, and falls back only where it is broken.
        let guards = ranges.is_some() || fields.fallback.is_some();
        let Ranges { rate_mbps, rtt_ms, loss } = ranges.unwrap_or_default();
        Ok(Self {
            spec,
            known_ranges: guards.then_some(KnownRanges { rate_mbps, rtt_ms, loss }),
            interval_ns: (fields.interval_ms * 1e6).round() as u64,
            provenance: serde_json::Value::Object(fields.provenance).to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"format": "leogym-policy", "version": 1, "agent": "astraea", "spec_version": 1,
        "observation_dim": 50, "action_dim": 1, "interval_ms": 30.0, "provenance": {"seed": 7}}"#;

    fn error(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from));
        Description::parse(&GOOD.replace(from, to), "policy.json").unwrap_err().to_string()
    }

    #[test]
    fn a_good_description_says_what_the_policy_is_for() {
        let description = Description::parse(GOOD, "policy.json").unwrap();
        assert_eq!(description.spec, AgentSpec::ASTRAEA);
        assert_eq!(description.interval_ns, 30_000_000);
        assert_eq!(description.provenance, r#"{"seed":7}"#);
    }

    #[test]
    fn another_version_of_the_specification_is_refused_by_name() {
        assert_eq!(
            error("\"spec_version\": 1", "\"spec_version\": 2"),
            "policy.json: spec_version: trained with version 2 of the specification astraea, this build runs version 1"
        );
    }

    #[test]
    fn specification_dimensions_and_interval_are_all_that_is_needed() {
        let least = r#"{"agent": "astraea", "observation_dim": 50, "action_dim": 1, "interval_ms": 30}"#;
        let description = Description::parse(least, "policy.json").unwrap();
        assert_eq!((description.spec, description.interval_ns), (AgentSpec::ASTRAEA, 30_000_000));
        assert_eq!(description.provenance, "{}");
        for field in ["agent", "observation_dim", "action_dim", "interval_ms"] {
            let mut without: serde_json::Map<_, _> = serde_json::from_str(least).unwrap();
            without.remove(field);
            let text = serde_json::Value::Object(without).to_string();
            let error = Description::parse(&text, "policy.json").unwrap_err().to_string();
            assert_eq!(error, format!("policy.json: fields: missing field `{field}`"));
        }
    }

    #[test]
    fn known_ranges_or_a_fallback_guard_the_policy_and_neither_is_needed() {
        let with = |fields: &str| {
            let text = GOOD.replace("\"interval_ms\"", &format!("{fields}\"interval_ms\""));
            Description::parse(&text, "policy.json").map(|description| description.known_ranges)
        };
        assert_eq!(with(""), Ok(None));
        assert_eq!(with(r#""fallback": "cubic", "#), Ok(Some(KnownRanges::default())));
        let ranges =
            with(r#""known_ranges": {"rate_mbps": [10, 500], "loss": [0, 0.01]}, "#).unwrap().unwrap();
        assert_eq!(
            (ranges.rate_mbps, ranges.rtt_ms, ranges.loss),
            (Some((10.0, 500.0)), None, Some((0.0, 0.01)))
        );
        for (fields, rule) in [
            (r#""fallback": "astraea", "#, "fallback: must be cubic, not \"astraea\""),
            (r#""known_ranges": 7, "#, "known_ranges: must be an object, not 7"),
            (
                r#""known_ranges": {"rtt_ms": [9, 5]}, "#,
                "known_ranges.rtt_ms: must be [least, most], above 0",
            ),
            (
                r#""known_ranges": {"rate_mbps": [0, 5]}, "#,
                "known_ranges.rate_mbps: must be [least, most], above 0",
            ),
            (
                r#""known_ranges": {"loss": [0, 2]}, "#,
                "known_ranges.loss: must be [least, most], within 0 and 1",
            ),
            (r#""known_ranges": {"rtt": [1, 2]}, "#, "fields: unknown field `rtt`"),
        ] {
            let error = with(fields).unwrap_err().to_string();
            assert!(error.starts_with(&format!("policy.json: {rule}")), "{error}");
        }
    }

    #[test]
    fn each_broken_field_is_named_with_its_rule() {
        let cases = [
            ("leogym-policy", "zip", "format: must be \"leogym-policy\", not \"zip\""),
            ("\"version\": 1, \"agent\"", "\"version\": 2, \"agent\"", "version: must be 1, not 2"),
            (
                "astraea",
                "vivace",
                "agent: no agent specification is named \"vivace\" (there are: astraea, orca,",
            ),
            (
                "\"observation_dim\": 50",
                "\"observation_dim\": 30",
                "observation_dim: must be 50 for astraea, not 30",
            ),
            ("\"action_dim\": 1", "\"action_dim\": 2", "action_dim: must be 1 for astraea, not 2"),
            ("30.0", "-30.0", "interval_ms: must be within 0.1 and 10000, not -30"),
            (
                "\"provenance\": {\"seed\": 7}",
                "\"provenance\": {}, \"colour\": 1",
                "fields: unknown field `colour`",
            ),
            ("\"action_dim\": 1, ", "", "fields: missing field `action_dim`"),
            (
                "\"action_dim\": 1, ",
                "\"action_dim\": 2, \"action_dim\": 1, ",
                "fields: duplicate field `action_dim`",
            ),
            ("30.0", "\"30 ms\"", "interval_ms: must be a number, not \"30 ms\""),
            ("\"agent\": \"astraea\"", "\"agent\": 3", "agent: must be the name of a specification, not 3"),
            ("{\"seed\": 7}", "\"mine\"", "provenance: must be an object, not \"mine\""),
        ];
        for (from, to, rule) in cases {
            let error = error(from, to);
            assert!(error.starts_with(&format!("policy.json: {rule}")), "{error}");
        }
    }

    #[test]
    fn every_truncation_is_an_error_of_one_line() {
        for end in 0..GOOD.len() {
            let error = Description::parse(&GOOD[..end], "policy.json").unwrap_err().to_string();
            assert!(
                error.starts_with("policy.json: file: truncated or not JSON: ") && !error.contains('\n'),
                "{error}"
            );
        }
    }
}
