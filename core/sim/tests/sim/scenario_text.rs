//! Any text yields a scenario or one line of error, never a panic.

use leo_sim::{RUN_ON, Scenario, Simulation, TraceSet};
use proptest::prelude::*;

const VALID: &str = r#"{"name": "two", "duration_s": 1.5, "seed": 7, "host_jitter_us": 20.0, "handshake": true,
 "links": {"a": {"rate_mbps": 10, "delay_ms": 5, "loss": 0.01, "queue": {"kind": "droptail", "bdp": 1.0}},
           "b": {"rate_mbps": 20.5, "trace": "path", "offset_s": 3, "queue": {"packets": 40},
                 "reverse": {"rate_mbps": 3, "loss": 0.1, "queue": {"kind": "sfq", "bdp": 2}}}},
 "flows": [{"scheme": "cubic", "route": ["a", "b"], "start_s": 0.5, "stop_s": 1.0, "extra_delay_ms": 2, "count": 2},
           {"scheme": "reno", "route": ["b"], "transfer_bytes": 100000},
           {"scheme": "reno", "route": ["b"], "direction": "backward"}]}"#;

/// Text fragments that break rules.
const PIECES: [&str; 22] = [
    "-1",
    "0",
    "1e308",
    "1e999",
    "-0.0",
    "0.5",
    "18446744073709551616",
    "4294967296",
    "null",
    "true",
    "\"x\"",
    "\"\\n\"",
    "[]",
    "{}",
    "[[[[",
    "{\"a\": 1}",
    ",",
    ":",
    "\"",
    "\\",
    "\u{7f}",
    "",
];

/// Parse the text, build the simulation and run its start.
fn take(text: &str) {
    let scenario = match Scenario::from_json(text) {
        Ok(scenario) => scenario,
        Err(error) => {
            let error = error.to_string();
            assert!(!error.contains(char::is_control) && error.contains(": "), "{error:?}");
            return;
        }
    };
    if scenario.flows.iter().map(|flow| flow.count).max() > Some(1_000) {
        return;
    }
    let simulation = Simulation::new(
        &scenario,
        &TraceSet::new(),
        &crate::support::policies(),
        crate::support::INTERVAL,
        crate::support::SECOND,
        RUN_ON,
    );
    match simulation {
        Ok(mut simulation) => {
            for _ in 0..3 {
                if !simulation.is_finished() {
                    simulation.run_interval(RUN_ON).expect("nobody stops it");
                }
            }
            crate::support::assert_conserved(&simulation.run_log());
        }
        Err(error) => assert!(!error.to_string().contains(char::is_control), "{error}"),
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        take(&text);
    }

    #[test]
    fn no_damage_to_a_scenario_panics(
        trace in any::<bool>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..12, prop::sample::select(PIECES.to_vec())), 1..4),
    ) {
        let mut text = VALID.to_owned();
        if !trace {
            text = text.replace(r#""trace": "path", "offset_s": 3"#, r#""delay_ms": 3"#);
        }
        for (at, length, piece) in damage {
            let from = at.index(text.len());
            text.replace_range(from..(from + length).min(text.len()), piece);
        }
        take(&text);
    }

    #[test]
    fn no_value_in_place_of_another_panics(
        at in any::<prop::sample::Index>(),
        piece in prop::sample::select(PIECES.to_vec()),
    ) {
        // Replace every number and string token in turn.
        let text = VALID.replace(r#""trace": "path", "offset_s": 3"#, r#""delay_ms": 3"#);
        let is_value = |token: &&str| token.starts_with(|first: char| first.is_ascii_digit() || first == '"');
        let tokens: Vec<&str> = text.split_inclusive([' ', '{', '[']).collect();
        let values: Vec<usize> = (0..tokens.len()).filter(|&token| is_value(&tokens[token])).collect();
        let chosen = values[at.index(values.len())];
        let value = tokens[chosen].trim_end_matches([' ', ',', '}', ']', '\n', ':']);
        let changed = tokens[chosen].replacen(value, piece, 1);
        let mut tokens: Vec<&str> = tokens.clone();
        tokens[chosen] = &changed;
        take(&tokens.concat());
    }
}

#[test]
fn the_scenario_that_is_damaged_here_is_valid() {
    assert_eq!(Scenario::from_json(VALID).expect("it is valid").flows.len(), 3);
}

// `configs/test_reference.py` and `configs/test_scenario.py` have each range and each rule between fields.
#[test]
fn errors_of_syntax_types_ranges_and_rules_are_named_with_their_field() {
    for (from, to, expected) in [
        (
            r#""duration_s": 1.5"#,
            r#""duration_s": "long""#,
            "scenario: line 1 column 36: invalid type: string \"long\", expected f64",
        ),
        (
            r#""seed": 7"#,
            r#""seed": -7"#,
            "scenario: line 1 column 45: invalid value: integer `-7`, expected u64",
        ),
        (
            r#""name": "two""#,
            r#""name": "t\nwo", "bad\nkey": 1"#,
            "scenario: line 1 column 28: unknown field `bad key`, expected one of `name`, `duration_s`, `seed`, `host_jitter_us`, `handshake`, `telemetry_header_bytes`, `telemetry_hop_bytes`, `links`, `flows`, `events`",
        ),
        (r#""loss": 0.01"#, r#""loss": 1.5"#, "two: links.a.loss: must be a number from 0 to 1"),
        (r#""route": ["b"]"#, r#""route": []"#, "two: flows.1.route: its length must be from 1 to 200"),
        (r#""stop_s": 1.0"#, r#""stop_s": 0.5"#, "two: flows.0.stop_s: must be after start_s"),
    ] {
        assert!(VALID.contains(from));
        let error = Scenario::from_json(&VALID.replacen(from, to, 1)).expect_err("a rule is broken");
        assert_eq!(error.to_string(), expected, "for {to}");
    }
}

#[test]
fn what_only_the_simulator_can_refuse_is_named_too() {
    let build = |text: &str| {
        let scenario = Scenario::from_json(text).expect("the text is valid");
        let simulation = Simulation::new(
            &scenario,
            &TraceSet::new(),
            &crate::support::policies(),
            crate::support::INTERVAL,
            0,
            RUN_ON,
        );
        simulation.map(|_| ()).expect_err("it cannot be built").to_string()
    };
    assert_eq!(build(VALID), r#"two: links.b.trace: no path trace "path" was given"#);
    let static_links = VALID.replace(r#""trace": "path", "offset_s": 3"#, r#""delay_ms": 3"#);
    let stacks: Vec<_> = leo_sim::STACK_SCHEMES.iter().map(|(name, _)| *name).collect();
    let expected = format!(
        r#"two: flows.1.scheme: the simulator does not run the scheme "tahoe" (it runs: {}, and policies that are given)"#,
        [leo_sim::SCHEMES, &stacks[..]].concat().join(", ")
    );
    assert_eq!(build(&static_links.replace("reno", "tahoe")), expected);
}
