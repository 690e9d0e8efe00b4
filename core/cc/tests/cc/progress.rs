//! What a scheme does with a whole ACK, it does with its progress alone.

use leo_cc::{Ack, Congestion, CongestionControl, Context, External, NAMES, Nanos, Progress, Scheme};

const MS: Nanos = 1_000_000;
const RTT: Nanos = 50 * MS;

/// Return the ACKs that a scheme took by their progress, while it made the decisions of a twin that took whole ones.
fn progressed_beside_its_twin(name: &str, scheme: Scheme) -> u32 {
    let (mut brief, mut whole) = (scheme.clone(), scheme);
    brief.on_start(0, RTT);
    whole.on_start(0, RTT);
    let (mut una, mut progressed) = (0, 0);
    for number in 0_u32..4_000 {
        let now = Nanos::from(number) * 3 * MS;
        if number % 700 == 699 {
            let kind = if number % 1_400 == 699 { Congestion::Loss } else { Congestion::Timeout };
            for scheme in [&mut brief, &mut whole] {
                scheme.on_congestion(kind, now);
                scheme.on_recovered(now);
            }
        }
        let delivered = 1 + number % 5;
        una += u64::from(delivered);
        let (min_rtt, window_limited) = (RTT, number % 11 > 0);
        let ack = Ack {
            now,
            acked: delivered,
            delivered,
            una,
            next: una + 50,
            rtt: Some(RTT),
            min_rtt,
            srtt: RTT,
            total_delivered: una,
            window_limited,
            may_grow: true,
            ..Ack::default()
        };
        whole.on_ack(&ack);
        if brief.needs_only_progress() {
            progressed += 1;
            brief.on_progress(&Progress { now, delivered, min_rtt, window_limited });
        } else {
            brief.on_ack(&ack);
        }
        assert_eq!(brief.decisions(), whole.decisions(), "{name}, ACK {number}");
    }
    progressed
}

#[test]
fn progress_leads_to_the_decisions_of_whole_acks() {
    let scheme = |name: &str| Scheme::by_name(name, &Context::default()).expect("it is a scheme");
    let progressed = |name: &&&str| progressed_beside_its_twin(name, scheme(name)) > 1_000;
    let schemes: Vec<_> = NAMES.iter().filter(progressed).collect();
    assert!(["cubic", "cubic-hystartpp", "reno"].iter().all(|name| schemes.contains(&name)), "{schemes:?}");
    assert_eq!(progressed_beside_its_twin("external", Scheme::external(External::new())), 4_000);
}
