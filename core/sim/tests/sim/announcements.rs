//! Announcements in path traces.

use std::sync::Arc;

use crate::support::{MS, SECOND};
use leo_sim::{Announcement, Scenario, TraceSet, missing_announcements};
use serde_json::{Value, json};

fn missing(metadata: &Value, schemes: &[&str]) -> Vec<(usize, Announcement)> {
    let mut path = Arc::unwrap_or_clone(crate::support::trace(&[(20 * SECOND, 10 * MS, 10, true)]));
    path.metadata = metadata.to_string();
    let flows: Vec<Value> = schemes.iter().map(|scheme| json!({"scheme": scheme, "route": ["b"]})).collect();
    let scenario = json!({
        "duration_s": 5.0, "seed": 1, "links": {"b": {"trace": "path"}}, "flows": flows,
    });
    let traces = TraceSet::from([("path".to_owned(), Arc::new(path))]);
    missing_announcements(&Scenario::from_json(&scenario.to_string()).unwrap(), &traces)
}

#[test]
fn a_path_that_announces_nothing_lacks_what_each_scheme_asks_for() {
    let schemes = ["satcp", "cubic", "leocc", "starquic", "leotcp"];
    let expected = vec![
        (0, Announcement::Handovers),
        (2, Announcement::Reconfigurations),
        (3, Announcement::Reconfigurations),
    ];
    assert_eq!(missing(&json!({}), &schemes), expected);
}

#[test]
fn what_is_announced_is_there_even_if_none_of_it_falls_into_the_run() {
    let about = json!({"handovers": [{"predicted_s": 15.0}], "reattach_s": 15.0});
    assert_eq!(missing(&about, &["satcp", "leocc", "starquic-bbr3"]), vec![]);
}
