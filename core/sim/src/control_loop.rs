//! The control loop at the end of each monitor interval: report, observation, action, window.

use leo_cc::CongestionControl;
use leo_control::{
    Command, Decision, MAX_ACTION_DIM, MAX_CWND_PACKETS, MAX_OBSERVATION_DIM, MIN_CWND_PACKETS,
    window_rate_bytes_per_s,
};
use leo_link::Nanos;

use crate::flow::{Flow, Phase, Steering};
use crate::simulation::{MIN_INTERVAL, Simulation};

/// Attach an agent to every flow that a policy steers, and return their indices, to avoid later searches.
pub fn attach_policies(flows: &mut [Flow]) -> Box<[usize]> {
    let mut steered = Vec::new();
    for (index, flow) in flows.iter_mut().enumerate() {
        if let Steering::Policy(policy) = &flow.steering {
            steered.push(index);
            let (spec, known_ranges, memory) = (policy.spec(), policy.known_ranges(), policy.memory_dim());
            flow.attach(spec, known_ranges);
            if let Some(agent) = &mut flow.agent {
                agent.memory = vec![0.0; memory];
            }
        }
    }
    steered.into()
}

/// Return the end of the earliest interval among running policies with their own intervals.
pub fn next_own_interval(flows: &[Flow], steered: &[usize]) -> Option<Nanos> {
    let running = steered.iter().map(|&index| &flows[index]).filter(|flow| flow.phase == Phase::Running);
    running.filter_map(|flow| flow.agent.as_ref()?.pace.map(|(_, end)| end)).min()
}

/// Pass reports to every policy whose interval ends now and apply its action.
pub fn steer_by_policies(simulation: &mut Simulation) {
    let now = simulation.now();
    for place in 0..simulation.steered().len() {
        let index = simulation.steered()[place];
        let flow = simulation.flow_mut(index);
        let Steering::Policy(policy) = &flow.steering else { continue };
        let policy = policy.clone();
        let pace = flow.agent.as_ref().and_then(|agent| agent.pace);
        if flow.phase == Phase::Running && pace.is_some_and(|(_, end)| end > now) {
            continue;
        }
        let Some(report) = flow.report(now).filter(|_| flow.phase == Phase::Running) else { continue };
        let Some(agent) = &mut flow.agent else { continue };
        // After an interval without an RTT sample, keep the length.
        let length = policy.spec().observation.next_interval_ns(&report).or(pace.map(|(length, _)| length));
        agent.pace = length.map(|length| (length, now + length.max(MIN_INTERVAL)));
        if !agent.state.is_due() {
            continue;
        }
        let mut observation = [0.0; MAX_OBSERVATION_DIM];
        let observation = &mut observation[..policy.spec().observation_dim()];
        agent.state.write_observation(observation);
        let mut action = [0.0; MAX_ACTION_DIM];
        let action = &mut action[..policy.spec().action_dim()];
        policy.act(observation, &mut agent.memory, action);
        act(simulation, index, action);
    }
}

/// Apply an action to a steered flow and send the packets that the new window allows.
pub fn act(simulation: &mut Simulation, index: usize, action: &[f32]) {
    let flow = simulation.flow_mut(index);
    let Some(agent) = &mut flow.agent else { return };
    // Actions are relative to the current window.
    let mut report = agent.history.report;
    report.cwnd = flow.sender.scheme().window();
    match agent.state.decide(action, &report) {
        Decision::Steer(steered) => return command(simulation, index, steered),
        Decision::FallBack => {
            let srtt = u64::from(report.srtt_us) * 1_000;
            flow.sender.scheme_mut().change_external(|external| external.fall_back(report.time_ns, srtt));
        }
    }
    simulation.pump(index);
}

/// Give a steered flow its window and rate and send what they allow.
pub fn command(simulation: &mut Simulation, index: usize, command: Command) {
    let scheme = simulation.flow_mut(index).sender.scheme_mut();
    scheme.change_external(|external| external.command(command.cwnd_packets, command.pacing_bytes_per_s));
    simulation.pump(index);
}

/// Apply the desired window of a watched flow's scheme, at the times and within the limits of an agent.
pub fn follow(simulation: &mut Simulation, index: usize) {
    let flow = simulation.flow_mut(index);
    let Some(agent) = flow.agent.as_ref().filter(|agent| agent.state.is_due()) else { return };
    let report = agent.history.report;
    let Some(held) = flow.sender.scheme().as_held() else { return };
    // An action multiplies the window by 1/4 to 4.
    let wanted = held.wanted().clamp(report.cwnd.div_ceil(4), report.cwnd.saturating_mul(4));
    let window = wanted.clamp(MIN_CWND_PACKETS, MAX_CWND_PACKETS);
    let rate = window_rate_bytes_per_s(report.mss, window, report.packets_out, report.srtt_us);
    flow.sender.scheme_mut().change_held(|held| held.command(window, rate));
    simulation.pump(index);
}
