//! Sage's observation against a slow reference that keeps all reports and follows the server's columns.

use proptest::prelude::*;

use super::*;

/// One report with a delivery, including the silence before it.
#[derive(Clone, Copy, Default)]
struct Row {
    report: Report,
    us: f64,
    sent: f64,
    delivered: f64,
    lost: f64,
}

/// Compute the 77 columns like the released server, over all reports so far.
fn columns(rows: &[Row]) -> [f64; 77] {
    let mut columns = [0.0; 77];
    let Some(last) = rows.last() else { return columns };
    let report = &last.report;
    let mbps = |end: usize, bytes: fn(&Row) -> f64| {
        let window = &rows[end.saturating_sub(100)..end];
        let us: f64 = window.iter().map(|row| row.us).sum();
        8.0 * window.iter().map(bytes).sum::<f64>() / us
    };
    let delivered_mbps = |end: usize| mbps(end, |row| row.delivered);
    let max_mbps = |end: usize| (end.saturating_sub(200) + 1..=end).map(delivered_mbps).fold(0.0, f64::max);
    let rate = |row: &Row| row.report.avg_throughput as f64 / 125_000.0 / 100.0;
    let signals: [&dyn Fn(&Row) -> f64; 6] = [
        &|row| f64::from(row.report.srtt_us) / 100_000.0,
        &rate,
        &|row| f64::from(row.report.min_rtt_us) / f64::from(row.report.srtt_us),
        &|row| f64::from(row.report.rttvar_us) / 1_000.0,
        &|row| f64::from(row.report.packets_out) / 1_000.0,
        &|row| (row.lost / f64::from(row.report.mss)).floor() / 100.0,
    ];
    let n = rows.len();
    columns[2] = signals[0](last);
    columns[3] = signals[3](last);
    columns[7] = rate(last);
    columns[9] = if report.retrans_out > 0 || last.lost > 0.0 { 3.0 } else { 0.0 };
    let mut at = 10;
    for signal in signals {
        for window in [10, 200, 1_000] {
            let last: Vec<f64> = rows[n.saturating_sub(window)..].iter().map(signal).collect();
            columns[at] = last.iter().sum::<f64>() / last.len() as f64;
            columns[at + 1] = last.iter().copied().fold(f64::INFINITY, f64::min);
            columns[at + 2] = last.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            at += 3;
        }
    }
    columns[65] = last.us / f64::from(report.min_rtt_us);
    columns[66] = signals[2](last);
    columns[67] = mbps(n, |row| row.lost) / 100.0;
    let max_sending = rows.iter().rev().take(5_000).map(|row| row.sent / row.us).fold(0.0, f64::max);
    columns[68] = last.delivered / last.us / max_sending;
    let before = if n > 1 { (delivered_mbps(n - 1), max_mbps(n - 1)) } else { (0.0, 1.0) };
    columns[69] = if before.0 > 0.0 { delivered_mbps(n) / before.0 } else { delivered_mbps(n) };
    let window_bits = f64::from(report.cwnd * report.mss * 8);
    columns[70] = max_mbps(n) * f64::from(report.min_rtt_us) / window_bits;
    columns[71] = delivered_mbps(n) / 100.0;
    let hundred = &rows[n.saturating_sub(100)..];
    let out: f64 = hundred.iter().map(|row| f64::from(row.report.packets_out * row.report.mss)).sum();
    let mean = (out / hundred.len() as f64).floor();
    columns[72] = mean / hundred.iter().map(|row| row.sent).sum::<f64>();
    columns[73] = max_mbps(n) / before.1;
    columns[74] = max_mbps(n) / 100.0;
    if n > 1 {
        let ratio = f64::from(report.cwnd) / f64::from(rows[n - 2].report.cwnd);
        columns[76] = (ratio.log2() * 1_000.0).round() / 1_000.0;
    }
    columns
}

/// `obs_cols` of the released configuration.
fn selected_columns() -> Vec<usize> {
    let mut selected_columns = vec![2, 3, 7, 9];
    selected_columns.extend(10..=63);
    selected_columns.extend(65..=74);
    selected_columns.push(76);
    selected_columns
}

fn report() -> impl Strategy<Value = Report> {
    (1u64..200, 1u64..300, 0u64..5, (1_000u32..400_000, 0u32..90_000), (4u32..2_000, 0u32..2_000), 0u32..2)
        .prop_map(|(sent, delivered, lost, (srtt_us, rttvar_us), (cwnd, packets_out), retrans_out)| Report {
            interval_ns: 10_000_000,
            sent_bytes: sent * 1_448,
            // Some intervals are silent.
            delivered_bytes: if delivered % 4 == 0 { 0 } else { delivered * 1_448 },
            lost_bytes: lost.saturating_sub(3) * 1_448,
            avg_throughput: delivered * 144_800,
            min_rtt_us: 1_000 + srtt_us / 3,
            srtt_us,
            rttvar_us,
            cwnd,
            packets_out,
            retrans_out,
            mss: 1_448,
            ..Report::default()
        })
}

fn rows(reports: &[Report]) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut row = Row::default();
    for report in reports {
        row.us += report.interval_ns as f64 / 1e3;
        row.sent += report.sent_bytes as f64;
        row.lost += report.lost_bytes as f64;
        if report.delivered_bytes > 0 {
            rows.push(Row { report: *report, delivered: report.delivered_bytes as f64, ..row });
            row = Row::default();
        }
    }
    rows
}

fn check(reports: &[Report], from: usize) -> Result<(), TestCaseError> {
    let mut observation = Observation::default();
    for end in 1..=reports.len() {
        observation.push(&reports[end - 1]);
        if end < from {
            continue;
        }
        let columns = columns(&rows(&reports[..end]));
        for (index, column) in selected_columns().into_iter().enumerate() {
            let (got, want) = (f64::from(observation.values()[index]), columns[column]);
            let tolerance = 1e-5 * want.abs().max(1e-3);
            prop_assert!(
                (got - want).abs() <= tolerance,
                "entry {index}, column {column}: {got} is not {want}"
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn every_entry_is_its_column_of_the_released_server(reports in proptest::collection::vec(report(), 1..40)) {
        check(&reports, 1)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2))]

    #[test]
    fn every_entry_is_its_column_once_the_windows_are_full(
        reports in proptest::collection::vec(report(), 1_500..1_501),
    ) {
        check(&reports, 1_499)?;
    }

    #[test]
    fn every_report_gives_finite_entries_within_the_bounds(
        bytes in any::<[u64; 4]>(),
        numbers in any::<[u32; 8]>(),
        interval_ns in any::<u64>(),
    ) {
        let absurd = Report {
            interval_ns,
            sent_bytes: bytes[0],
            delivered_bytes: bytes[1],
            lost_bytes: bytes[2],
            avg_throughput: bytes[3],
            min_rtt_us: numbers[0],
            srtt_us: numbers[1],
            rttvar_us: numbers[2],
            cwnd: numbers[3],
            packets_out: numbers[4],
            retrans_out: numbers[5],
            mss: numbers[6],
            ..Report::default()
        };
        let mut observation = Observation::default();
        for report in [absurd, Report { delivered_bytes: 1, ..Report::default() }, absurd] {
            observation.push(&report);
            prop_assert!(observation.values().iter().all(|value| value.abs() <= BOUND));
        }
    }
}

/// 100 Mbit/s for 10 ms: easy to check by hand.
fn steady() -> Report {
    Report {
        interval_ns: 10_000_000,
        sent_bytes: 125_000,
        delivered_bytes: 62_500,
        avg_throughput: 6_250_000,
        min_rtt_us: 40_000,
        srtt_us: 50_000,
        rttvar_us: 2_000,
        cwnd: 100,
        packets_out: 80,
        mss: 1_250,
        ..Report::default()
    }
}

#[test]
fn the_first_observation_is_what_one_interval_says() {
    let mut observation = Observation::default();
    observation.push(&steady());
    let values = observation.values();
    assert_eq!(values[..4], [0.5, 2.0, 0.5, 0.0]);
    let first = [[0.5; 9], [0.5; 9], [0.8; 9], [2.0; 9], [0.08; 9], [0.0; 9]];
    assert_eq!(values[4..58], *first.as_flattened());
    // 10 of 40 ms; half of the bytes sent delivered; 50 Mbit/s, from 0; a BDP of 2 Mbit, twice the window.
    assert_eq!(values[58..64], [0.25, 0.8, 0.0, 0.5, 50.0, 2.0]);
    // 100,000 of 125,000 B; the largest rate starts at 1 Mbit/s.
    assert_eq!(values[64..], [0.5, 0.8, 50.0, 0.5, 0.0]);
}

#[test]
fn the_last_entry_is_the_action_or_else_what_the_window_did() {
    let mut observation = Observation::default();
    let mut last = |cwnd: u32, action: Option<f64>| {
        if let Some(action) = action {
            observation.acted(action);
        }
        observation.push(&Report { cwnd, ..steady() });
        observation.values()[68]
    };
    assert_eq!(last(100, None), 0.0);
    assert_eq!(last(200, None), 1.0);
    assert_eq!(last(100, None), -1.0);
    // The window is in whole packets, the action is not.
    assert_eq!(last(101, Some(0.012_345)), 0.012);
    assert_eq!(last(404, None), 2.0);
}

#[test]
fn losses_and_retransmissions_are_recovery() {
    let state = |report: Report| {
        let mut observation = Observation::default();
        observation.push(&report);
        (observation.values()[3], observation.values()[56])
    };
    assert_eq!(state(steady()), (0.0, 0.0));
    assert_eq!(state(Report { retrans_out: 1, ..steady() }), (3.0, 0.0));
    assert_eq!(state(Report { lost_bytes: 2_500, ..steady() }), (3.0, 0.02));
}

#[test]
fn a_silent_interval_leaves_the_observation_as_it_is_and_asks_nobody() {
    let mut observation = Observation::default();
    assert!(!observation.is_due());
    observation.push(&steady());
    assert!(observation.is_due());
    let before = *observation.values();
    observation.push(&Report { delivered_bytes: 0, srtt_us: 90_000, ..steady() });
    assert!(!observation.is_due());
    assert_eq!(*observation.values(), before);
    observation.push(&steady());
    // 20 ms since the previous one.
    assert_eq!(observation.values()[58], 0.5);
}
