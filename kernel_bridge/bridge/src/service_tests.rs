use std::path::Path;
use std::ptr::NonNull;

use super::*;

const INTERVAL_US: u64 = 30_000;
const OPENED_US: u64 = 1_000_000;

/// Stands in for the eBPF program: it writes flows.
struct Kernel {
    flows: NonNull<Flow>,
}

impl Kernel {
    fn new() -> (Self, Slots) {
        let flows =
            NonNull::new(Box::into_raw(vec![Flow::default(); SLOTS].into_boxed_slice()).cast()).unwrap();
        let commands =
            NonNull::new(Box::into_raw(vec![Command::default(); SLOTS + 1].into_boxed_slice()).cast())
                .unwrap();
        // SAFETY: both arrays have that many elements and are never freed.
        (Self { flows }, unsafe { Slots::new(flows, commands, Box::new(())) })
    }

    fn write(&self, slot: usize, flow: Flow) {
        assert!(slot < SLOTS);
        // SAFETY: in bounds, and the test has one thread.
        unsafe { self.flows.add(slot).write(flow) };
    }
}

fn opened() -> Flow {
    let cwnd = 10;
    Flow {
        generation: 1,
        opened_us: OPENED_US,
        mss: 1_448,
        cwnd,
        delivered: 1,
        pacing_rate: u64::MAX,
        ..Flow::default()
    }
}

/// A flow after an interval with an RTT of 40 ms and 20 delivered packets.
fn busy() -> Flow {
    Flow {
        sent: 30,
        delivered: 21,
        rtt_samples: 10,
        rtt_sum_us: 400_000,
        srtt_us_8: 8 * 40_000,
        min_rtt_us: 40_000,
        rate_samples: 10,
        rate_sum: 10_000_000,
        packets_out: 10,
        ..opened()
    }
}

fn fixture(name: &str) -> Arc<Policy> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../core/control/tests/fixtures");
    Arc::new(Policy::load(&fixtures.join(name)).unwrap())
}

fn policy() -> Controller {
    Controller::Policy(fixture("perceptron"))
}

fn serve(service: &mut Service, slots: &mut Slots, now_us: u64) -> Vec<Event> {
    let mut events = Vec::new();
    service.serve(slots, &mut || now_us, &mut events);
    events
}

fn scan(service: &mut Service, slots: &Slots, now_us: u64) -> Vec<Event> {
    let mut events = Vec::new();
    service.scan(slots, now_us, &mut events);
    events
}

/// A service whose flow 0 opened, as the kernel wrote it.
fn serving(controller: Controller, flow: Flow) -> (Kernel, Slots, Service) {
    let (kernel, slots) = Kernel::new();
    let mut service = Service::new(controller, INTERVAL_US);
    kernel.write(0, flow);
    scan(&mut service, &slots, OPENED_US);
    (kernel, slots, service)
}

/// The report of flow 0 on the interval that ends now.
fn report_in_time(service: &mut Service, slots: &mut Slots, now_us: u64) -> Report {
    let events = serve(service, slots, now_us);
    let [Event::Report(0, 1, report, 0)] = events[..] else { panic!("{events:?}") };
    report
}

#[test]
fn a_policy_answers_each_interval_with_a_window_and_a_pacing_rate() {
    let (kernel, mut slots) = Kernel::new();
    let mut service = Service::new(policy(), INTERVAL_US);
    kernel.write(5, opened());
    assert!(matches!(scan(&mut service, &slots, OPENED_US + 9)[..], [Event::Opened(5, _)]));
    let end_us = OPENED_US + INTERVAL_US;
    assert_eq!(service.next_deadline_us(), Some(end_us));
    assert!(serve(&mut service, &mut slots, end_us - 1).is_empty());
    kernel.write(5, busy());
    let events = serve(&mut service, &mut slots, end_us + 7);
    let [Event::Report(5, 1, report, 7)] = events[..] else { panic!("{events:?}") };
    assert_eq!((report.delivered_bytes, report.avg_rtt_us, report.cwnd), (20 * 1_448, 40_000, 10));
    let command = slots.commanded(5);
    assert!((9..=11).contains(&command.cwnd), "one action moves 10 packets by at most one: {command:?}");
    let expected = leo_control::pacing_rate_bytes_per_s(1_448, command.cwnd, 10, 40_000);
    assert_eq!((command.pacing_rate, command.generation, command.time_us), (expected, 1, end_us + 7));
    assert_eq!(command.patience_us, 4 * INTERVAL_US);
    assert_eq!(service.next_deadline_us(), Some(end_us + INTERVAL_US));
}

#[test]
fn the_intervals_of_a_policy_whose_observation_says_so_are_half_the_rtt() {
    let policy = Controller::Policy(fixture("aurora"));
    let (kernel, mut slots, mut service) = serving(policy, busy());
    let end_us = OPENED_US + INTERVAL_US;
    serve(&mut service, &mut slots, end_us);
    assert_eq!(service.next_deadline_us(), Some(end_us + 20_000));
    // Ten more samples of 60 ms each.
    let slower = Flow { rtt_samples: 20, rtt_sum_us: 1_000_000, delivered: 41, sent: 60, ..busy() };
    kernel.write(0, slower);
    let report = report_in_time(&mut service, &mut slots, end_us + 20_000);
    assert_eq!((report.interval_ns, report.avg_rtt_us), (20_000_000, 60_000));
    assert_eq!(slots.commanded(0).patience_us, 4 * 20_000);
    assert_eq!(service.next_deadline_us(), Some(end_us + 20_000 + 30_000));
    // Without an RTT sample the next interval is as long.
    serve(&mut service, &mut slots, end_us + 50_000);
    assert_eq!(service.next_deadline_us(), Some(end_us + 80_000));
}

#[test]
fn an_offered_flow_that_an_agent_observes_has_the_intervals_of_its_observation() {
    let (kernel, mut slots) = Kernel::new();
    let mut service =
        Service::new(Controller::Offered, INTERVAL_US).observed_as(fixture("aurora").spec().observation);
    kernel.write(0, busy());
    scan(&mut service, &slots, OPENED_US);
    let end_us = OPENED_US + INTERVAL_US;
    serve(&mut service, &mut slots, end_us);
    // Half of 40 ms; the patience is four such intervals.
    assert_eq!(service.next_deadline_us(), Some(end_us + 20_000));
    service.command(&mut slots, (0, 1), 12, 0, end_us + 100).unwrap();
    assert_eq!(slots.commanded(0).patience_us, 4 * 20_000);
    // The next report covers the interval of an end that was missed.
    let slower = Flow { rtt_samples: 20, rtt_sum_us: 1_000_000, delivered: 41, sent: 60, ..busy() };
    kernel.write(0, slower);
    let events = serve(&mut service, &mut slots, end_us + 70_000);
    let [Event::Report(0, 1, report, 50_000)] = events[..] else { panic!("{events:?}") };
    assert_eq!((report.interval_ns, report.avg_rtt_us), (70_000_000, 60_000));
    assert_eq!(service.next_deadline_us(), Some(end_us + 70_000));
}

#[test]
fn a_policys_command_is_what_its_agent_does_with_the_action_for_the_same_reports() {
    commands_are_those_of_the_agent(&fixture("perceptron"));
}

#[test]
fn a_recurrent_policy_remembers_each_flow() {
    let policy = fixture("recurrent");
    assert!(policy.memory_dim() > 0);
    commands_are_those_of_the_agent(&policy);
}

fn commands_are_those_of_the_agent(policy: &Arc<Policy>) {
    let (kernel, mut slots, mut service) = serving(Controller::Policy(policy.clone()), busy());
    let mut memory = vec![0.0; policy.memory_dim()];
    let mut agent = AgentState::new(policy.spec());
    for step in 1..=8 {
        let more = 10 * step as u32;
        let sums = u64::from(more);
        kernel.write(
            0,
            Flow {
                delivered: 21 + more,
                sent: 30 + more,
                rtt_samples: 10 + sums,
                rtt_sum_us: 400_000 + 45_000 * sums,
                rate_samples: 10 + sums,
                rate_sum: 10_000_000 + 1_100_000 * sums,
                ..busy()
            },
        );
        let report = report_in_time(&mut service, &mut slots, OPENED_US + step * INTERVAL_US);
        agent.observe(&report);
        let mut observation = vec![0.0; policy.spec().observation_dim()];
        agent.write_observation(&mut observation);
        let mut action = [0.0];
        policy.act(&observation, &mut memory, &mut action);
        let expected = agent.act(&action, &report);
        let command = slots.commanded(0);
        assert_eq!((command.cwnd, command.pacing_rate), (expected.cwnd_packets, expected.pacing_bytes_per_s));
    }
}

#[test]
fn a_window_that_waits_for_an_ack_is_the_one_that_the_next_action_scales() {
    let (kernel, mut slots, mut service) = serving(policy(), busy());
    serve(&mut service, &mut slots, OPENED_US + INTERVAL_US);
    let first = slots.commanded(0).cwnd;
    assert_ne!(first, 10);
    // In an outage the connection takes no step, so its window is still the old one.
    let report = report_in_time(&mut service, &mut slots, OPENED_US + 2 * INTERVAL_US);
    assert_eq!(report.cwnd, first);
    assert_eq!(service.punctuality().unapplied, 1);
    // After a fallback, Cubic sets the window.
    kernel.write(0, Flow { mode: 2, cwnd: 77, ..busy() });
    let report = report_in_time(&mut service, &mut slots, OPENED_US + 3 * INTERVAL_US);
    assert_eq!(report.cwnd, 77);
}

#[test]
fn a_flow_that_has_sent_nothing_keeps_its_initial_window_and_is_kept_from_falling_back() {
    let (_, mut slots, mut service) = serving(policy(), opened());
    let now_us = OPENED_US + INTERVAL_US;
    assert!(serve(&mut service, &mut slots, now_us).is_empty());
    let command = slots.commanded(0);
    assert_eq!((command.cwnd, command.time_us, command.generation), (0, now_us, 1));
}

#[test]
fn ends_that_were_missed_are_counted_and_not_made_up_for() {
    let (_, mut slots, mut service) = serving(policy(), busy());
    let late_us = 3 * INTERVAL_US + 10;
    let events = serve(&mut service, &mut slots, OPENED_US + INTERVAL_US + late_us);
    let [Event::Report(0, 1, report, late)] = events[..] else { panic!("{events:?}") };
    assert_eq!((report.interval_ns, late), (1_000 * (INTERVAL_US + late_us), late_us));
    assert_eq!((service.punctuality().intervals, service.punctuality().missed), (1, 3));
    assert_eq!(service.next_deadline_us(), Some(OPENED_US + 5 * INTERVAL_US));
    assert_eq!(service.punctuality().commanded.max(), late_us);
}

#[test]
fn the_time_until_a_command_took_effect_is_the_kernels_own() {
    let (kernel, mut slots, mut service) = serving(policy(), busy());
    let end_us = OPENED_US + INTERVAL_US;
    serve(&mut service, &mut slots, end_us);
    let applied_command = slots.commanded(0).sequence;
    kernel.write(0, Flow { applied_command, applied_ns: (end_us + 240) * 1_000, ..busy() });
    serve(&mut service, &mut slots, end_us + INTERVAL_US);
    assert_eq!((service.punctuality().applied.count(), service.punctuality().applied.max()), (1, 240));
}

#[test]
fn an_offered_flow_takes_commands_and_only_while_it_is_open() {
    let (kernel, mut slots) = Kernel::new();
    let mut service = Service::new(Controller::Offered, INTERVAL_US);
    kernel.write(3, opened());
    scan(&mut service, &slots, OPENED_US);
    assert_eq!(service.command(&mut slots, (3, 1), 20, 5_000, OPENED_US + 1), Ok(()));
    let command = slots.commanded(3);
    assert_eq!((command.cwnd, command.pacing_rate, command.generation), (20, 5_000, 1));
    let stale = service.command(&mut slots, (3, 3), 50, 0, OPENED_US + 2);
    assert_eq!(stale, Err("flow: no such open flow".to_owned()));
    assert_eq!(service.command(&mut slots, (SLOTS, 1), 50, 0, 0), Err("flow: no such open flow".to_owned()));
    kernel.write(3, Flow { generation: 2, fallbacks: 4, ..opened() });
    assert_eq!(scan(&mut service, &slots, OPENED_US + 3), [Event::Closed(3, 1)]);
    assert_eq!(service.punctuality().fallbacks, 4);
    assert!(service.command(&mut slots, (3, 1), 50, 0, OPENED_US + 4).is_err());
    assert_eq!(slots.commanded(3).cwnd, 20);
    assert_eq!(service.next_deadline_us(), None);
}

#[test]
fn a_policys_flows_take_no_commands_from_others() {
    let (_, mut slots, mut service) = serving(policy(), opened());
    let refused = service.command(&mut slots, (0, 1), 20, 0, OPENED_US);
    assert_eq!(refused, Err("flow: its scheme is not offered: the bridge itself decides".to_owned()));
}

#[test]
fn a_slot_that_changed_hands_between_scans_is_one_flow_closed_and_one_opened() {
    let (kernel, mut slots, mut service) = serving(Controller::Offered, busy());
    kernel.write(0, Flow { generation: 3, ..opened() });
    let events = scan(&mut service, &slots, OPENED_US + 50);
    assert!(matches!(events[..], [Event::Closed(0, 1), Event::Opened(0, _)]), "{events:?}");
    // The first flow's command does not apply to the second.
    assert!(serve(&mut service, &mut slots, OPENED_US + INTERVAL_US).is_empty());
}

#[test]
fn a_flow_caught_in_the_middle_of_being_written_is_not_read() {
    let (kernel, slots) = Kernel::new();
    kernel.write(0, Flow { sequence: 7, ..opened() });
    assert_eq!(slots.flow(0), None);
    kernel.write(0, Flow { sequence: 8, ..opened() });
    assert_eq!(slots.flow(0), Some(Flow { sequence: 8, ..opened() }));
}

#[test]
fn only_satcp_is_told_of_handovers() {
    let (_, mut slots, mut service) = serving(Controller::Program, Flow { mode: 3, ..opened() });
    assert_eq!(service.freeze(&mut slots, (0, 1), OPENED_US + 1_500_000), Ok(()));
    let command = slots.commanded(0);
    assert_eq!((command.frozen_until_us, command.generation), (OPENED_US + 1_500_000, 1));
    assert!(service.command(&mut slots, (0, 1), 20, 0, OPENED_US).is_err());
    let mut offered = Service::new(Controller::Offered, INTERVAL_US);
    scan(&mut offered, &slots, OPENED_US);
    let refused = offered.freeze(&mut slots, (0, 1), OPENED_US + 1);
    assert_eq!(refused, Err("flow: its scheme is not SaTCP: it has no freeze".to_owned()));
}

#[test]
fn vivace_is_steered_from_its_first_moment_and_told_again_each_interval() {
    let (kernel, mut slots) = Kernel::new();
    let mut service = Service::new(Controller::AckDriven("vivace".to_owned(), 1), INTERVAL_US);
    kernel.write(4, opened());
    scan(&mut service, &slots, OPENED_US);
    assert_eq!(service.next_deadline_us(), Some(OPENED_US));
    service.hear(&mut slots, &[], &mut || OPENED_US + 20);
    let first = slots.commanded(4);
    assert!(first.cwnd >= 4 && first.pacing_rate > 0, "{first:?}");
    assert_eq!(first.time_us, OPENED_US + 20);
    // An unchanged command is repeated only once an interval, to keep the flow from falling back.
    service.hear(&mut slots, &[], &mut || OPENED_US + 20 + LISTEN_US);
    assert_eq!(slots.commanded(4).sequence, first.sequence);
    serve(&mut service, &mut slots, OPENED_US + INTERVAL_US);
    let again = slots.commanded(4);
    assert_eq!((again.cwnd, again.pacing_rate), (first.cwnd, first.pacing_rate));
    assert_eq!(again.time_us, OPENED_US + INTERVAL_US);
    assert_eq!(service.punctuality().commanded.max(), 20);
}

#[test]
fn acks_of_a_flow_that_closed_are_not_the_next_ones() {
    let (kernel, mut slots) = Kernel::new();
    let mut service = Service::new(Controller::AckDriven("copa".to_owned(), 1), INTERVAL_US);
    kernel.write(4, Flow { generation: 3, ..opened() });
    scan(&mut service, &slots, OPENED_US);
    let ack = |generation| AckRecord {
        slot: 4,
        generation,
        time_us: OPENED_US + 40_000,
        rtt_us: 40_000,
        srtt_us_8: 8 * 40_000,
        min_rtt_us: 40_000,
        delivered: 11,
        mss: 1_448,
        ..AckRecord::default()
    };
    service.hear(&mut slots, &[ack(1)], &mut || OPENED_US + 40_001);
    // Copa paces from its first RTT sample on.
    assert_eq!(slots.commanded(4).pacing_rate, 0);
    service.hear(&mut slots, &[ack(3)], &mut || OPENED_US + 40_002);
    assert_ne!(slots.commanded(4).pacing_rate, 0);
}

#[test]
fn decisions_that_came_too_late_make_a_run_invalid_and_a_few_do_not() {
    let mut punctuality = Punctuality { intervals: 1_000, missed: 9, ..Punctuality::default() };
    (0..1_000).for_each(|_| punctuality.commanded.record(100));
    assert_eq!(punctuality.too_late(INTERVAL_US), None);
    punctuality.missed = 11;
    let why = punctuality.too_late(INTERVAL_US).unwrap();
    assert!(why.starts_with("11 of 1011 intervals were missed"), "{why}");
    punctuality.missed = 0;
    (0..20).for_each(|_| punctuality.commanded.record(INTERVAL_US / 2));
    let why = punctuality.too_late(INTERVAL_US).unwrap();
    assert!(why.starts_with("1 % of the decisions came 15"), "{why}");
}

#[test]
fn over_cubic_a_report_has_cubics_window_once_the_command_is_carried_out() {
    let (kernel, mut slots) = Kernel::new();
    let mut service = Service::new(Controller::Offered, INTERVAL_US).over_cubic(true);
    kernel.write(0, busy());
    scan(&mut service, &slots, OPENED_US);
    let end_us = |interval: u64| OPENED_US + interval * INTERVAL_US;
    report_in_time(&mut service, &mut slots, end_us(1));
    assert_eq!(service.command(&mut slots, (0, 1), 20, 0, end_us(1) + 1), Ok(()));
    // The report has the commanded window even before the command takes effect.
    assert_eq!(report_in_time(&mut service, &mut slots, end_us(2)).cwnd, 20);
    let applied_command = slots.commanded(0).sequence;
    kernel.write(0, Flow { mode: 1, cwnd: 26, pacing_rate: 7_000, applied_command, ..busy() });
    let after = report_in_time(&mut service, &mut slots, end_us(3));
    assert_eq!((after.cwnd, after.pacing_rate), (26, 7_000));
}

#[test]
fn new_flows_wait_for_a_command_only_where_somebody_may_give_one() {
    let (_, mut slots) = Kernel::new();
    let policy = Service::new(Controller::Policy(fixture("perceptron")), INTERVAL_US);
    policy.say_how_long_to_wait(&mut slots);
    assert_eq!(slots.first_patience_us(), PATIENCE_INTERVALS * INTERVAL_US);

    let mut offered = Service::new(Controller::Offered, INTERVAL_US);
    offered.say_how_long_to_wait(&mut slots);
    assert_eq!(slots.first_patience_us(), 0);
    offered.set_interval_us(20_000);
    offered.set_subscribed(&mut slots, true);
    assert_eq!(slots.first_patience_us(), PATIENCE_INTERVALS * 20_000);
    offered.set_subscribed(&mut slots, false);
    assert_eq!(slots.first_patience_us(), 0);
}

/// A policy of the fixture's networks with known ranges, in a folder of its own.
fn knowing(ranges: &str) -> Controller {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../core/control/tests/fixtures/perceptron");
    let folder = std::env::temp_dir().join(format!("leo-bridge-knowing-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(fixtures.join("policy.onnx"), folder.join("policy.onnx")).unwrap();
    let text = std::fs::read_to_string(fixtures.join("policy.json")).unwrap();
    let text = text.replacen('{', &format!("{{\"known_ranges\": {ranges},"), 1);
    std::fs::write(folder.join("policy.json"), text).unwrap();
    let policy = Arc::new(Policy::load(&folder).unwrap());
    std::fs::remove_dir_all(&folder).unwrap();
    Controller::Policy(policy)
}

#[test]
fn beyond_its_known_ranges_a_policy_gives_the_flow_to_cubic_and_that_is_no_fault_of_the_bridge() {
    // The flow's 20 packets of 30 ms are 8 Mbit/s.
    let mut flow = busy();
    let (kernel, mut slots, mut service) = serving(knowing(r#"{"rate_mbps": [50, 100]}"#), flow);
    let mut patience_us = Vec::new();
    for interval in 1..=150 {
        flow = Flow {
            delivered: flow.delivered + 20,
            sent: flow.sent + 20,
            rtt_samples: flow.rtt_samples + 10,
            rtt_sum_us: flow.rtt_sum_us + 400_000,
            ..flow
        };
        kernel.write(0, flow);
        serve(&mut service, &mut slots, OPENED_US + interval * INTERVAL_US);
        patience_us.push(slots.commanded(0).patience_us);
    }
    // Three seconds pass first.
    assert!(patience_us[..99].iter().all(|us| *us == 4 * INTERVAL_US));
    assert!(patience_us[105..].iter().all(|us| *us == 0));
    assert_eq!(service.too_late(), None);
    // One of the two was for lack of commands.
    kernel.write(0, Flow { generation: 2, fallbacks: 2, ..flow });
    scan(&mut service, &slots, OPENED_US + 200 * INTERVAL_US);
    assert_eq!(service.punctuality().fallbacks, 1);
    let fallbacks: Vec<_> = service.fallen().map(|fallen| (fallen.remote, fallen.fallbacks)).collect();
    assert_eq!(fallbacks, [(flow.remote(), 1)]);
}
