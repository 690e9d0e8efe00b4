use super::*;
use crate::SECOND;
use crate::testing::{Path, RTT};

/// A path of 1,000 packets/s and 100 ms, a BDP of 100 packets; `announced` announces reconfigurations at 2 s, 17 s, 32 s…
fn started(announced: bool) -> (Path, LeoCc) {
    let reconfiguration = announced.then_some((2 * SECOND, 15 * SECOND));
    let mut leocc = LeoCc::new(&Context { reconfiguration, ..Context::default() });
    leocc.on_start(0, RTT);
    (Path::new(1_000.0), leocc)
}

/// Run until `until`; return the modes and when each began.
fn modes(path: &mut Path, leocc: &mut LeoCc, until: Nanos) -> Vec<(Mode, Nanos)> {
    let mut modes = vec![(leocc.bbr.mode, path.now)];
    while path.now < until {
        path.run(leocc, path.now + MILLISECOND);
        if leocc.bbr.mode != modes[modes.len() - 1].0 {
            modes.push((leocc.bbr.mode, path.now));
        }
    }
    modes
}

#[test]
fn the_pipe_is_half_empty_when_a_reconfiguration_comes_and_is_learnt_anew_afterwards() {
    let (mut path, mut leocc) = started(true);
    let mode_changes = modes(&mut path, &mut leocc, 40 * SECOND);
    let order: Vec<Mode> = mode_changes.iter().map(|&(mode, _)| mode).collect();
    let learn = [Mode::Startup, Mode::Drain, Mode::ProbeBw];
    let once = [&[Mode::ProbeRtt], &learn[..]].concat();
    assert_eq!(order, [&learn[..], &once, &once, &once].concat());
    for (window, boundary) in mode_changes[3..].chunks(4).zip([2, 17, 32]) {
        let boundary = boundary * SECOND;
        assert!((boundary - AHEAD..boundary).contains(&window[0].1), "{window:?}");
        // ProbeRTT lasts 200 ms, and until the round trip ends.
        assert!(
            (boundary + 100 * MILLISECOND..boundary + 400 * MILLISECOND).contains(&window[1].1),
            "{window:?}"
        );
    }
    let (mut path, mut leocc) = started(true);
    path.run(&mut leocc, 2 * SECOND + 50 * MILLISECOND);
    assert_eq!(leocc.bbr.mode, Mode::ProbeRtt);
    assert!((45..=55).contains(&leocc.window()), "{}", leocc.window());
}

#[test]
fn after_a_reconfiguration_the_min_rtt_is_that_of_the_new_path_though_it_is_longer() {
    for rtt in [60, 160] {
        let (mut path, mut leocc) = started(true);
        path.run(&mut leocc, 2 * SECOND);
        path.rtt = rtt * MILLISECOND;
        path.run(&mut leocc, 5 * SECOND);
        assert_eq!(leocc.bbr.mode, Mode::ProbeBw);
        assert!(
            leocc.bbr.min_rtt.abs_diff(path.rtt) < path.rtt / 10,
            "{} of {}",
            leocc.bbr.min_rtt,
            path.rtt
        );
    }
}

#[test]
fn what_a_shorter_path_carries_while_the_min_rtt_is_probed_for_begins_the_search() {
    for (rtt, is_new_path) in [(50 * MILLISECOND, true), (60 * MILLISECOND, false)] {
        let (mut path, mut leocc) = started(true);
        path.run(&mut leocc, 2 * SECOND);
        path.rtt = rtt;
        while leocc.bbr.mode == Mode::ProbeRtt {
            path.run(&mut leocc, path.now + MILLISECOND / 10);
        }
        assert_eq!(leocc.bbr.mode, Mode::Startup);
        assert_eq!(leocc.new_bandwidth > 0.0, is_new_path, "{rtt}");
    }
}

#[test]
fn a_queue_shows_that_bandwidth_has_gone_long_before_the_maximum_forgets_it() {
    let (mut path, mut leocc) = started(false);
    path.run(&mut leocc, 5 * SECOND);
    path.rate = 600.0;
    path.run(&mut leocc, path.now + 11 * RTT);
    assert!(leocc.bbr.bandwidth() > 990.0, "{}", leocc.bbr.bandwidth());
    assert!((leocc.bandwidth.estimate / 600.0 - 1.0).abs() < 0.1, "{}", leocc.bandwidth.estimate);
    let bytes = f64::from(crate::SEGMENT_BYTES);
    let rate = leocc.pacing_rate().map_or(0.0, |rate| rate as f64 / bytes);
    assert!(rate < 600.0 * QUEUED_PROBE_GAIN * 1.05, "{rate}");
    // Without a queue, LeoCC probes like BBR.
    let (mut path, mut leocc) = started(false);
    path.run(&mut leocc, 5 * SECOND);
    assert_eq!(leocc.probe_gain.to_bits(), PROBE_GAIN.to_bits());
}

#[test]
fn a_path_that_announces_nothing_is_probed_for_its_min_rtt_after_twenty_seconds() {
    let (mut path, mut leocc) = started(false);
    let mode_changes = modes(&mut path, &mut leocc, 70 * SECOND);
    let probes: Vec<Nanos> =
        mode_changes.iter().filter(|(mode, _)| *mode == Mode::ProbeRtt).map(|&(_, at)| at).collect();
    assert!((2..=3).contains(&probes.len()), "{probes:?}");
    assert!(probes.windows(2).all(|pair| pair[1] - pair[0] >= MIN_RTT_LIFE), "{probes:?}");
    assert_eq!(mode_changes.iter().filter(|(mode, _)| *mode == Mode::Startup).count(), 1);
}
