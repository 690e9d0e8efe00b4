use super::*;
use crate::testing::{Path, RTT};

/// A path of 1,000 packets/s and 100 ms, a BDP of 100 packets.
fn started() -> (Path, Bbr) {
    let mut bbr = Bbr::new(&Context::default());
    bbr.on_start(0, RTT);
    (Path::new(1_000.0), bbr)
}

#[test]
fn startup_doubles_the_rate_each_round_until_the_pipe_is_full() {
    // draft §4.3.2: log2(BDP) rounds, and three to detect the plateau.
    let (mut path, mut bbr) = started();
    path.run(&mut bbr, 4 * RTT);
    assert_eq!(bbr.mode, Mode::Startup);
    path.run(&mut bbr, 20 * RTT);
    assert!(bbr.full);
    assert_eq!(bbr.mode, Mode::ProbeBw);
    assert!((bbr.bandwidth() / 1_000.0 - 1.0).abs() < 0.02, "{}", bbr.bandwidth());
    assert!(bbr.min_rtt.abs_diff(RTT) < RTT / 20, "{}", bbr.min_rtt);
}

#[test]
fn a_cycle_of_probe_bw_has_eight_phases_of_a_min_rtt() {
    // draft §4.3.4.1
    let (mut path, mut bbr) = started();
    path.run(&mut bbr, 30 * RTT);
    let mut gains = vec![bbr.pacing_gain];
    let begin = path.now;
    while gains.len() < 17 {
        path.run(&mut bbr, path.now + RTT / 50);
        if bbr.pacing_gain.to_bits() != gains[gains.len() - 1].to_bits() {
            gains.push(bbr.pacing_gain);
        }
    }
    let ups = gains.iter().filter(|&&gain| gain == 1.25).count();
    assert!((5..=6).contains(&ups), "{gains:?}");
    assert!(gains.windows(2).all(|pair| pair[0] != 1.25 || pair[1] == 0.75), "{gains:?}");
    let rounds = (path.now - begin) / RTT;
    assert!((34..=52).contains(&rounds), "{rounds} round trips in about five cycles");
}

#[test]
fn bursts_are_what_a_millisecond_carries_and_single_packets_at_the_lowest_rates() {
    // Linux: pacing_rate >> 10, between bbr_min_tso_segs and 65,215 bytes.
    let mut bbr = Bbr::new(&Context::default());
    for (rate, burst) in [(149_000.0, 1), (151_000.0, 2), (12_500_000.0, 8), (1e10, 45)] {
        bbr.pacing_rate = rate;
        assert_eq!((bbr.burst(), bbr.paces_single_packets()), (burst, burst == 1), "{rate}");
    }
}

#[test]
fn the_handshake_gives_the_min_rtt_until_something_shorter_comes() {
    // Linux's bbr_init takes tcp_min_rtt. A flow that starts in a standing queue sees no RTT as short for ten seconds.
    let mut bbr = Bbr::new(&Context::default());
    bbr.on_start(0, 30 * MILLISECOND);
    let ack = |rtt| Ack { now: SECOND, rtt: Some(rtt), delivered: 1, ..Ack::default() };
    bbr.on_ack(&ack(110 * MILLISECOND));
    assert_eq!(bbr.min_rtt, 30 * MILLISECOND);
    bbr.on_ack(&ack(29 * MILLISECOND));
    assert_eq!(bbr.min_rtt, 29 * MILLISECOND);
}

#[test]
fn what_is_delivered_while_pacing_waits_is_not_in_flight_when_it_sends() {
    // Linux's bbr_packets_in_net_at_edt: 1,000 packets/s deliver ten in 10 ms; the burst of two counts if the gain exceeds 1.
    let mut bbr = Bbr::new(&Context::default());
    bbr.bandwidth = WindowedMax::above(1_000.0);
    bbr.pacing_rate = 1e6;
    let at = |paced_until| Ack { now: SECOND, paced_until, ..Ack::default() };
    for (gain, burst) in [(0.75, 0), (1.25, 2)] {
        bbr.pacing_gain = gain;
        assert_eq!(bbr.in_flight_when_sent(&at(SECOND + 10 * MILLISECOND), 50), 40 + burst);
        assert_eq!(bbr.in_flight_when_sent(&at(SECOND / 2), 50), 50 + burst);
        assert_eq!(bbr.in_flight_when_sent(&at(2 * SECOND), 50), 0);
    }
}

#[test]
fn the_min_rtt_is_probed_for_every_ten_seconds_with_four_packets() {
    // draft §4.3.5
    let (mut path, mut bbr) = started();
    path.run(&mut bbr, 5 * SECOND);
    let mut probes = Vec::new();
    let mut inside = false;
    while path.now < 35 * SECOND {
        path.run(&mut bbr, path.now + 5 * MILLISECOND);
        if (bbr.mode == Mode::ProbeRtt) != inside {
            inside = !inside;
            probes.push(path.now);
        }
        assert!(!inside || bbr.window() <= WINDOW_MIN);
    }
    assert_eq!(probes.len() % 2, 0);
    assert!((2..=3).contains(&(probes.len() / 2)), "{probes:?}");
    for probe in probes.chunks(2) {
        let length = probe[1] - probe[0];
        assert!((PROBE_RTT_TIME..PROBE_RTT_TIME + 4 * RTT).contains(&length), "{length}");
    }
}

#[test]
fn a_timeout_costs_the_window_and_its_end_gives_it_back() {
    let (mut path, mut bbr) = started();
    path.run(&mut bbr, 30 * RTT);
    let before = bbr.window();
    bbr.on_congestion(Congestion::Timeout, path.now);
    bbr.on_timeout(7);
    assert_eq!(bbr.window(), 8, "draft §4.2.3.4: those in flight and one");
    path.run(&mut bbr, path.now + 2 * RTT);
    assert!(bbr.window() >= before - 3, "{} of {before}", bbr.window());
}
