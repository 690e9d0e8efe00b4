//! Parser tests: each rule of the format broken once, and round trips.

use proptest::prelude::*;

use super::*;

const METADATA: &str = r#"# {"format": "leogym-path-trace", "version": 1, "name": "two-rows"}"#;
const HEADER: &str = "time_s,delay_ms,uplink_mbps,downlink_mbps,loss,connected,path_id,event";
const METADATA_2: &str = r#"# {"format": "leogym-path-trace", "version": 2, "name": "two-ways"}"#;
const HEADER_2: &str = "time_s,up_delay_ms,down_delay_ms,uplink_mbps,downlink_mbps,up_loss,down_loss,\
                        up_connected,down_connected,path_id,event";

fn trace(rows: &[&str]) -> String {
    let mut text = format!("{METADATA}\n# a remark\n{HEADER}\n");
    for row in rows {
        text += row;
        text += "\n";
    }
    text
}

/// A trace of version 2.
fn two_ways(rows: &[&str]) -> String {
    let rows: String = rows.iter().map(|row| format!("{row}\n")).collect();
    format!("{METADATA_2}\n{HEADER_2}\n{rows}")
}

fn error(text: &str) -> String {
    PathTrace::parse(text, "x.csv").expect_err("must not parse").to_string()
}

/// The error of a trace whose second row is `row`: line 5 of the file.
fn error_of_row(row: &str) -> String {
    error(&trace(&["0,5,100,100,0,1,0,", row, "9,5,100,100,0,1,0,"]))
}

#[test]
fn a_soft_handover_may_name_the_stretch_that_it_dismantles() {
    let event = |text: &str| {
        let text = format!("{METADATA}\n{HEADER}\n0,20,1,1,0,1,0,{text}\n1,20,1,1,0,1,0,\n");
        PathTrace::parse(&text, "x.csv").map(|trace| trace.rows[0].event).map_err(|error| error.to_string())
    };
    let stretch = Stretch { from_us: 1_250, to_us: 4_500 };
    assert_eq!(event("soft_handover(1.25..4.5)"), Ok(Event::SoftHandover(stretch)));
    assert_eq!(Event::SoftHandover(stretch).to_string(), "soft_handover(1.25..4.5)");
    assert_eq!(event("soft_handover"), Ok(Event::SoftHandover(Stretch::default())));
    for wrong in
        ["soft_handover()", "soft_handover(4..1)", "soft_handover(1..1)", "soft_handover(-1..2)", "soft"]
    {
        let error = event(wrong).expect_err("the event is wrong");
        assert!(error.starts_with("x.csv:3: event: must be empty or one of"), "{error}");
    }
}

#[test]
fn a_row_holds_every_value_in_integer_units() {
    let text = trace(&[
        "0,30.5,100,250.5,0.01,1,3,",
        "14.9,30.25,100,250.5,0,0,4,hard_handover",
        "15.0183,31,100,250.5,0,1,4,",
        "20,31,100,250.5,0,1,4,",
    ]);
    let trace = PathTrace::parse(&text, "x.csv").expect("parses");
    assert_eq!(trace.metadata, METADATA[2..]);
    assert_eq!(trace.period_ns, 20_000_000_000);
    assert_eq!(trace.rows.len(), 3);
    let up = OneWay { delay_ns: 30_500_000, rate_bps: 100_000_000, loss: 0.01, connected: true };
    let down = OneWay { rate_bps: 250_500_000, ..up };
    assert_eq!(trace.version, Version::One);
    assert_eq!(trace.rows[0], Row { time_ns: 0, up, down, path_id: 3, event: Event::None });
    let outage = trace.rows[1];
    assert_eq!((outage.time_ns, outage.event), (14_900_000_000, Event::HardHandover));
    assert!(!outage.up.connected && !outage.down.connected);
    assert_eq!(trace.rows[2].time_ns, 15_018_300_000);
}

#[test]
fn in_version_2_each_direction_has_values_of_its_own() {
    let text = two_ways(&[
        "0,30.5,20.25,100,250.5,0.01,0.002,1,1,3,",
        "14.9,30,20,100,250.5,0,0,0,1,4,hard_handover",
        "15.1,30,20,100,250.5,0,0,1,0,4,",
        "20,31,20,100,250.5,0,0,1,1,4,",
    ]);
    let trace = PathTrace::parse(&text, "x.csv").expect("parses");
    assert_eq!((trace.version, trace.period_ns, trace.rows.len()), (Version::Two, 20_000_000_000, 3));
    let up = OneWay { delay_ns: 30_500_000, rate_bps: 100_000_000, loss: 0.01, connected: true };
    let down = OneWay { delay_ns: 20_250_000, rate_bps: 250_500_000, loss: 0.002, connected: true };
    assert_eq!(trace.rows[0], Row { time_ns: 0, up, down, path_id: 3, event: Event::None });
    let connected = |row: &Row| (row.up.connected, row.down.connected);
    assert_eq!(trace.rows[1..].iter().map(connected).collect::<Vec<_>>(), [(false, true), (true, false)]);
    assert_eq!(trace.rows[1].event, Event::HardHandover);
}

#[test]
fn version_1_is_version_2_with_the_same_values_in_both_directions() {
    let first = PathTrace::parse(
        &trace(&["0,30.5,100,250.5,0.01,1,3,", "15,31,100,250.5,0,0,4,unreachable", "20,31,1,1,0,1,4,"]),
        "x.csv",
    );
    let second = PathTrace::parse(
        &two_ways(&[
            "0,30.5,30.5,100,250.5,0.01,0.01,1,1,3,",
            "15,31,31,100,250.5,0,0,0,0,4,unreachable",
            "20,31,31,1,1,0,0,1,1,4,",
        ]),
        "x.csv",
    );
    let (first, second) = (first.expect("parses"), second.expect("parses"));
    assert_eq!((first.rows, first.period_ns), (second.rows, second.period_ns));
}

#[test]
fn line_breaks_of_other_systems_are_taken() {
    let text = trace(&["0,5,1,1,0,1,0,unreachable", "1,5,1,1,0,1,0,"]);
    let trace = PathTrace::parse(&text.replace('\n', "\r\n"), "x.csv").expect("parses");
    assert_eq!(trace, PathTrace::parse(&text, "x.csv").expect("parses"));
}

#[test]
fn the_metadata_must_name_the_format_and_its_version() {
    let rows = format!("\n{HEADER}\n0,5,1,1,0,1,0,\n1,5,1,1,0,1,0,\n");
    let with = |line: &str| error(&format!("{line}{rows}"));
    assert_eq!(with("time_s"), "x.csv:1: metadata: the first line must be '# ' and a JSON object");
    assert!(with("# {\"format\":").starts_with("x.csv:1: metadata: not JSON: "));
    assert_eq!(with("# [1]"), "x.csv:1: metadata: must be a JSON object");
    assert_eq!(with("# {}"), "x.csv:1: format: must be \"leogym-path-trace\", not null");
    let other = r#"# {"format": "leogym-path-trace", "version": 3}"#;
    assert_eq!(with(other), "x.csv:1: version: must be 1 or 2, not 3");
}

#[test]
fn the_header_must_have_exactly_the_columns() {
    let with = |header: &str| error(&format!("{METADATA}\n{header}\n0,5,1,1,0,1,0,\n"));
    assert_eq!(with("time_s,uplink_mbps"), "x.csv:2: header: column delay_ms is missing");
    assert_eq!(with(&format!("{HEADER},jitter")), "x.csv:2: header: unknown column \"jitter\"");
    assert_eq!(with(&format!("event,{HEADER}")), format!("x.csv:2: header: must be {HEADER}"));
    let mixed = |metadata, header| error(&format!("{metadata}\n{header}\n"));
    assert_eq!(mixed(METADATA, HEADER_2), "x.csv:2: header: column delay_ms is missing");
    assert_eq!(mixed(METADATA_2, HEADER), "x.csv:2: header: column up_delay_ms is missing");
}

#[test]
fn a_trace_that_a_spreadsheet_saved_is_read_as_the_one_that_it_opened() {
    let rows = [
        "0,30.5,20.25,100,250.5,0.01,0.002,1,1,3,",
        "1.5,31,21,80,0,0,0,1,0,3,unreachable",
        "2,31,21,80,0,0,0,1,0,3,",
    ];
    let metadata = METADATA_2[2..].replace(": \"two-ways\"", ": \"two, ways\"");
    let text = format!("# {metadata}\n{HEADER_2}\n{}\n", rows.join("\n"));
    let expected = PathTrace::parse(&text, "x.csv").expect("parses");
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let quoted = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
    for (separator, decimal, end) in [(",", ".", "\n"), (";", ",", "\r\n"), ("\t", ",", "\r\n")] {
        // All lines are filled up to the widest one; text is in quotes, numbers have the decimal mark.
        let mut saved = "\u{feff}".to_owned();
        for line in text.lines() {
            let mut values = cells(line);
            let width = values.len();
            values.resize(width.max(13), String::new());
            let values: Vec<_> = values
                .iter()
                .map(|cell| match cell.parse::<f64>() {
                    Ok(_) => cell.replace('.', decimal),
                    Err(_) if cell.is_empty() => cell.clone(),
                    Err(_) => quoted(cell),
                })
                .collect();
            saved += &(values.join(separator) + end);
        }
        assert_eq!(PathTrace::parse(&saved, "x.csv").as_ref(), Ok(&expected), "{saved}");
    }
    // Opened with another separator, each line is one cell.
    let whole: String = text.lines().map(|line| quoted(&line.to_owned()) + "\r\n").collect();
    assert_eq!(PathTrace::parse(&whole, "x.csv").map_err(|error| error.to_string()), Ok(expected.clone()));
    let marked = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(PathTrace::parse(&marked, "x.csv").as_ref(), Ok(&expected));
    let (first, rows) = text.split_once('\n').expect("has lines");
    let long = format!("{first}\n{}", rows.replace("1.5,", "1.5,9,").replace(',', ";"));
    assert_eq!(
        PathTrace::parse(&long, "x.csv").map_err(|error| error.to_string()),
        Err("x.csv:4: row: must have 11 columns".to_owned()),
    );
}

#[test]
fn a_truncated_file_is_named_with_its_last_line() {
    let text = trace(&["0,5,1,1,0,1,0,", "1,5,1,1,0,1,0,"]);
    assert_eq!(error(&text[..text.len() - 1]), "x.csv:5: file: truncated: the last line has no line break");
    assert_eq!(error(""), "x.csv:1: file: truncated: the last line has no line break");
    assert_eq!(error(&format!("{METADATA}\n")), "x.csv:1: file: truncated: there is no header");
    let two = "truncated: at least two rows are needed, the last one ends the period";
    assert_eq!(error(&trace(&[])), format!("x.csv:3: file: {two}"));
    assert_eq!(error(&trace(&["0,5,1,1,0,1,0,"])), format!("x.csv:4: file: {two}"));
}

#[test]
fn a_row_that_breaks_a_rule_is_named_with_its_line_and_column() {
    let cases = [
        ("1,5,100,100,0,1,0", "event: truncated row: the column is missing"),
        ("", "delay_ms: truncated row: the column is missing"),
        ("1,5,100,100,0,1,0,,", "row: must have 8 columns"),
        ("0,5,100,100,0,1,0,", "time_s: time stands still: must be after the row before"),
        ("nan,5,100,100,0,1,0,", "time_s: must be finite, not nan"),
        ("1,nan,100,100,0,1,0,", "delay_ms: must be finite, not nan"),
        ("1,-5,100,100,0,1,0,", "delay_ms: must not be negative, not -5"),
        ("1,0,100,100,0,1,0,", "delay_ms: must be above 0 and below 10000, not 0"),
        ("1,10000,100,100,0,1,0,", "delay_ms: must be above 0 and below 10000, not 10000"),
        ("1,5,inf,100,0,1,0,", "uplink_mbps: must be finite, not inf"),
        ("1,5,100,-1,0,1,0,", "downlink_mbps: must not be negative, not -1"),
        ("1,5,100,100,1.5,1,0,", "loss: must be within 0 and 1, not 1.5"),
        ("1,5,100,100,0,2,0,", "connected: must be 0 or 1, not \"2\""),
        ("1,5,100,100,0,1,-1,", "path_id: must be a non-negative integer, not \"-1\""),
        (
            "1,5,100,100,0,1,0,reboot",
            "event: must be empty or one of hard_handover, soft_handover, soft_handover(FROM_MS..TO_MS), unreachable, not \"reboot\"",
        ),
    ];
    for (row, rule) in cases {
        assert_eq!(error_of_row(row), format!("x.csv:5: {rule}"), "for {row:?}");
    }
}

#[test]
fn a_row_of_version_2_that_breaks_a_rule_is_named_with_its_line_and_column() {
    let cases = [
        ("1,5,5,100,100,0,0,1,1,0", "event: truncated row: the column is missing"),
        ("1,5,100,100,0,1,0,", "down_connected: truncated row: the column is missing"),
        ("1,5,5,100,100,0,0,1,1,0,,", "row: must have 11 columns"),
        ("1,0,5,100,100,0,0,1,1,0,", "up_delay_ms: must be above 0 and below 10000, not 0"),
        ("1,5,10000,100,100,0,0,1,1,0,", "down_delay_ms: must be above 0 and below 10000, not 10000"),
        ("1,5,-5,100,100,0,0,1,1,0,", "down_delay_ms: must not be negative, not -5"),
        ("1,5,5,x,100,0,0,1,1,0,", "uplink_mbps: must be a number, not \"x\""),
        ("1,5,5,100,nan,0,0,1,1,0,", "downlink_mbps: must be finite, not nan"),
        ("1,5,5,100,100,2,0,1,1,0,", "up_loss: must be within 0 and 1, not 2"),
        ("1,5,5,100,100,0,-1,1,1,0,", "down_loss: must be within 0 and 1, not -1"),
        ("1,5,5,100,100,0,0,yes,1,0,", "up_connected: must be 0 or 1, not \"yes\""),
        ("1,5,5,100,100,0,0,1,,0,", "down_connected: must be 0 or 1, not \"\""),
        ("1,5,5,100,100,0,0,1,1,x,", "path_id: must be a non-negative integer, not \"x\""),
    ];
    for (row, rule) in cases {
        let text = two_ways(&["0,5,5,1,1,0,0,1,1,0,", row, "9,5,5,1,1,0,0,1,1,0,"]);
        assert_eq!(error(&text), format!("x.csv:4: {rule}"), "for {row:?}");
    }
}

#[test]
fn time_starts_at_zero_and_never_runs_backwards() {
    let late = trace(&["0.1,5,1,1,0,1,0,", "1,5,1,1,0,1,0,"]);
    assert_eq!(error(&late), "x.csv:4: time_s: the first row must start at 0");
    let back = trace(&["0,5,1,1,0,1,0,", "2,5,1,1,0,1,0,", "1,5,1,1,0,1,0,"]);
    assert_eq!(error(&back), "x.csv:6: time_s: time runs backwards: must be after the row before");
}

/// Write a trace as somebody else would: with all digits.
fn write(trace: &PathTrace) -> String {
    let (metadata, header) = match trace.version {
        Version::One => (METADATA, HEADER),
        Version::Two => (METADATA_2, HEADER_2),
    };
    let mut text = format!("{metadata}\n{header}\n");
    let end = Row { time_ns: trace.period_ns, ..trace.rows[trace.rows.len() - 1] };
    let decimal =
        |value: u64, scale: u64, digits: usize| format!("{}.{:0digits$}", value / scale, value % scale);
    for Row { time_ns, up, down, path_id, event } in trace.rows.iter().chain([&end]) {
        let both = |of: &dyn Fn(&OneWay) -> String| match trace.version {
            Version::One => of(up),
            Version::Two => format!("{},{}", of(up), of(down)),
        };
        let cells = [
            decimal(*time_ns, NS_PER_S, 9),
            both(&|way| decimal(way.delay_ns, NS_PER_MS, 6)),
            decimal(up.rate_bps, BPS_PER_MBPS, 6),
            decimal(down.rate_bps, BPS_PER_MBPS, 6),
            both(&|way| way.loss.to_string()),
            both(&|way| u8::from(way.connected).to_string()),
            path_id.to_string(),
            event.to_string(),
        ];
        text += &format!("{}\n", cells.join(","));
    }
    text
}

fn events() -> impl Strategy<Value = Event> {
    let stretch = (0..u32::MAX / 2, 1..u32::MAX / 2)
        .prop_map(|(from_us, length)| Stretch { from_us, to_us: from_us + length });
    prop_oneof![
        Just(Event::None),
        Just(Event::HardHandover),
        Just(Event::SoftHandover(Stretch::default())),
        stretch.prop_map(Event::SoftHandover),
        Just(Event::Unreachable),
    ]
}

fn ways() -> impl Strategy<Value = OneWay> {
    (1..DELAY_LIMIT_NS, 0..1u64 << 40, 0.0..=1.0, any::<bool>())
        .prop_map(|(delay_ns, rate_bps, loss, connected)| OneWay { delay_ns, rate_bps, loss, connected })
}

/// A trace of either version.
fn traces() -> impl Strategy<Value = PathTrace> {
    let row = (ways(), ways(), any::<u32>(), events()).prop_map(|(up, down, path_id, event)| Row {
        time_ns: 0,
        up,
        down,
        path_id,
        event,
    });
    let rows = prop::collection::vec((1..1u64 << 40, row), 1..20);
    (rows, any::<bool>()).prop_map(|(rows, both)| {
        let (metadata, version) = if both { (METADATA_2, Version::Two) } else { (METADATA, Version::One) };
        let metadata = metadata[2..].to_owned();
        let mut trace = PathTrace { metadata, version, rows: Vec::new(), period_ns: 0 };
        for (duration_ns, row) in rows {
            let down = if both { row.down } else { OneWay { rate_bps: row.down.rate_bps, ..row.up } };
            trace.rows.push(Row { time_ns: trace.period_ns, down, ..row });
            trace.period_ns += duration_ns;
        }
        trace
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_bit_for_bit(trace in traces()) {
        prop_assert_eq!(PathTrace::parse(&write(&trace), "x.csv"), Ok(trace));
    }

    #[test]
    fn a_trace_is_read_from_its_own_text(trace in traces()) {
        prop_assert_eq!(PathTrace::parse(&trace.to_string(), "x.csv"), Ok(trace));
    }

    #[test]
    fn no_text_panics(text in "\\PC*") {
        prop_assert!(PathTrace::parse(&text, "x.csv").is_err());
    }

    #[test]
    fn no_damage_panics_and_every_error_is_one_line(
        both in any::<bool>(),
        at in 0usize..300,
        replacement in "[\\PC\n]{0,3}",
    ) {
        let mut text = if both {
            two_ways(&["0,5,6,1,1,0,0,1,1,0,", "1,5.25,6,1,1,0.5,0,0,1,1,unreachable", "2,5,6,1,1,0,0,1,1,0,"])
        } else {
            trace(&["0,5,1,1,0,1,0,", "1,5.25,1,1,0.5,0,1,unreachable", "2,5,1,1,0,1,0,"])
        };
        let at = at.min(text.len() - 1);
        text.replace_range(at..=at, &replacement);
        if let Err(error) = PathTrace::parse(&text, "x.csv") {
            let error = error.to_string();
            prop_assert!(error.starts_with("x.csv:") && !error.contains('\n'), "{}", error);
        }
    }
}
