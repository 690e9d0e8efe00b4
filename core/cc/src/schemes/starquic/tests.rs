use super::*;
use crate::SECOND;
use crate::schemes::bbr3::Bbr3;
use crate::schemes::reno::Reno;
use crate::testing::{Windowed, ack_of_one};

const MS: Nanos = 1_000_000;

/// Starlink reconfigures 12 s into each quarter of a minute.
fn context() -> Context {
    Context { reconfiguration: Some((12 * SECOND, 15 * SECOND)), ..Context::default() }
}

fn starquic() -> StarQuic<Windowed<Reno>> {
    StarQuic::new(Windowed::new(Reno), &context())
}

fn sent(at: Nanos) -> AtSending {
    AtSending { sent_at: at, ..AtSending::default() }
}

/// Lose the packet sent at `at` and return the window.
fn window_after_loss_of(at: Nanos) -> u32 {
    let mut starquic = starquic();
    starquic.on_ack(&Ack { newest: Some(sent(at - MS)), ..ack_of_one(at + 20 * MS) });
    let before = starquic.window();
    starquic.on_packet_lost(at + 50 * MS, &sent(at));
    starquic.on_congestion(Congestion::Loss, at + 50 * MS);
    // Recovery steers towards the threshold, so it must fall if and only if the window does.
    assert_eq!(starquic.slow_start_threshold() < before, starquic.window() < before);
    starquic.window()
}

#[test]
fn only_losses_of_what_was_sent_within_a_tenth_of_a_second_of_a_reconfiguration_are_excused() {
    for boundary in [12, 27, 42, 57, 72] {
        let boundary = boundary * SECOND;
        for at in [boundary - 100 * MS, boundary, boundary + 100 * MS] {
            assert_eq!(window_after_loss_of(at), 11, "{at}");
        }
        for at in [boundary - 101 * MS, boundary + 101 * MS, boundary + 7 * SECOND] {
            assert_eq!(window_after_loss_of(at), 5, "{at}");
        }
    }
}

#[test]
fn a_loss_that_is_not_excused_counts_though_excused_ones_came_first() {
    let mut starquic = starquic();
    starquic.on_ack(&Ack { newest: Some(sent(11_940 * MS)), ..ack_of_one(11_980 * MS) });
    starquic.on_packet_lost(12_050 * MS, &sent(11_990 * MS));
    starquic.on_congestion(Congestion::Loss, 12_050 * MS);
    assert_eq!(starquic.window(), 11);
    starquic.on_packet_lost(12_150 * MS, &sent(12_110 * MS));
    assert_eq!(starquic.window(), 5);
    starquic.on_packet_lost(12_160 * MS, &sent(12_112 * MS));
    assert_eq!(starquic.window(), 5);
}

#[test]
fn a_timeout_is_excused_if_what_timed_out_may_have_been_sent_at_a_reconfiguration() {
    let window = |delivered: Nanos, now: Nanos| {
        let mut starquic = starquic();
        starquic.on_ack(&Ack { newest: Some(sent(delivered)), ..ack_of_one(delivered + 40 * MS) });
        starquic.on_congestion(Congestion::Timeout, now);
        starquic.on_packet_lost(now, &sent(now - 10 * MS));
        starquic.window()
    };
    assert_eq!(window(11_800 * MS, 12_200 * MS), 11);
    // The timer expires at the reconfiguration, but the packet was sent at least 200 ms (the least timeout) before.
    assert_eq!(window(11_600 * MS, 12_000 * MS), 1);
    assert_eq!(window(12_120 * MS, 12_400 * MS), 1);
}

#[test]
fn undoing_what_was_excused_does_not_bring_back_an_older_window() {
    let mut starquic = starquic();
    starquic.scheme.on_congestion(Congestion::Loss, 0);
    assert_eq!(starquic.window(), 5);
    starquic.on_ack(&Ack { newest: Some(sent(11_990 * MS)), ..ack_of_one(12_010 * MS) });
    let before = starquic.window();
    starquic.on_packet_lost(12_050 * MS, &sent(11_991 * MS));
    starquic.on_congestion(Congestion::Loss, 12_050 * MS);
    starquic.on_undo(12_060 * MS);
    assert_eq!(starquic.window(), before);
}

#[test]
fn a_model_of_the_path_does_not_see_a_reconfiguration() {
    let rtt_after = |at: Nanos| {
        let mut starquic = StarQuic::around_model(Bbr3::new(&context()), &context());
        starquic.on_start(0, 0);
        let before = starquic.pacing_rate();
        starquic.on_ack(&Ack {
            srtt: 5 * MS,
            rtt: Some(5 * MS),
            newest: Some(sent(at)),
            ..ack_of_one(at + 5 * MS)
        });
        starquic.pacing_rate() == before
    };
    assert!(rtt_after(12_090 * MS));
    assert!(!rtt_after(12_190 * MS));
}

#[test]
fn a_path_that_announces_nothing_excuses_nothing() {
    let mut starquic = StarQuic::new(Windowed::new(Reno), &Context::default());
    starquic.on_packet_lost(12 * SECOND, &sent(12 * SECOND));
    starquic.on_congestion(Congestion::Loss, 12 * SECOND);
    assert_eq!(starquic.window(), 5);
}
