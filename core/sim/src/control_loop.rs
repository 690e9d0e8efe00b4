//! The control loop at the end of each monitor interval: report, observation, action, window.

use leo_cc::CongestionControl;
use leo_control::MAX_OBSERVATION_DIM;

use crate::flow::{Flow, Phase, Steering};
use crate::simulation::Simulation;

/// Give every flow that a policy steers its agent.
pub fn attach_policies(flows: &mut [Flow]) {
    for flow in flows {
        if let Steering::Policy(policy) = &flow.steering {
            let (spec, memory) = (policy.spec(), policy.memory_dim());
            flow.attach(spec);
            if let Some(agent) = &mut flow.agent {
                agent.memory = vec![0.0; memory];
            }
        }
    }
}

/// Let every policy see its flows' reports and act.
pub fn steer_by_policies(simulation: &mut Simulation) {
    let now = simulation.now();
    for index in 0..simulation.flows().len() {
        let flow = simulation.flow_mut(index);
        let Steering::Policy(policy) = &flow.steering else { continue };
        let policy = policy.clone();
        if flow.report(now).is_none() || flow.phase != Phase::Running {
            continue;
        }
        let Some(agent) = &mut flow.agent else { continue };
        let mut observation = [0.0; MAX_OBSERVATION_DIM];
        let observation = &mut observation[..policy.spec().observation_dim()];
        agent.state.write_observation(observation);
        let mut action = [0.0; 8];
        let action = &mut action[..policy.spec().action_dim()];
        policy.act(observation, &mut agent.memory, action);
        act(simulation, index, action);
    }
}

/// Apply an action to a steered flow and send at once what it allows.
pub fn act(simulation: &mut Simulation, index: usize, action: &[f32]) {
    let flow = simulation.flow_mut(index);
    let Some(agent) = &flow.agent else { return };
    // The window is the one that holds now: an action is relative to it.
    let mut report = agent.history.report;
    report.cwnd = flow.sender.scheme().window();
    let command = agent.state.act(action, &report);
    if let Some(external) = flow.sender.scheme_mut().external_mut() {
        external.command(command.cwnd_packets, command.pacing_bytes_per_s);
    }
    simulation.pump(index);
}
