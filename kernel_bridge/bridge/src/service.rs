//! Serve one scheme's flows: end their intervals, report, and command.
//!
//! This module uses neither clock nor kernel: time is an argument, and the slots may be any memory.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use leo_control::{AgentState, Decision, MAX_ACTION_DIM, MAX_OBSERVATION_DIM, Observation, Policy, Report};

use crate::ack_driven::AckDriven;
use crate::ack_record::AckRecord;
use crate::interval;
use crate::punctuality::Punctuality;
use crate::slot::{Command, Flow, Mode, SLOTS, Slots};

/// Number of intervals without a command after which a flow falls back, unless 2 sRTT is longer.
pub const PATIENCE_INTERVALS: u64 = 4;

/// Period of reading the ACKs of flows with a scheme of `core/cc`, in µs.
pub const LISTEN_US: u64 = 1_000;

/// Shortest delay of these schemes' timers, in µs.
const SOONEST_US: u64 = 100;

/// Shortest interval that an observation may set, in µs.
const MIN_INTERVAL_US: u64 = 1_000;

/// Deadline of a slot without a flow.
const NEVER: u64 = u64::MAX;

/// The decider for the flows of a scheme.
#[derive(Clone, Debug)]
pub enum Controller {
    /// An exported policy, in this process.
    Policy(Arc<Policy>),
    /// A client that subscribes on the socket.
    Offered,
    /// A scheme of `core/cc`, in this process: its name, one of
    /// [`ack_driven::NAMES`](crate::ack_driven::NAMES), and the seed of its first flow.
    AckDriven(String, u64),
    /// The eBPF program itself (SaTCP).
    Program,
}

/// An event for subscribers.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A flow opened in that slot.
    Opened(usize, Box<Flow>),
    /// The flow of that slot and generation closed.
    Closed(usize, u32),
    /// An interval of the flow of that slot and generation ended that many µs ago.
    Report(usize, u32, Report, u64),
}

#[derive(Debug)]
struct Tracked {
    generation: u32,
    origin_us: u64,
    begin_us: u64,
    /// Interval length that the observation's definition set, instead of the service's.
    own_interval_us: Option<u64>,
    before: Flow,
    max_throughput: u64,
    agent: Option<AgentState>,
    driven: Option<Box<AckDriven>>,
    /// A recurrent policy's memory.
    memory: Vec<f32>,
    /// The current command: window, pacing, and the interval's end that it answers.
    standing: Option<Standing>,
}

#[derive(Clone, Copy, Debug)]
struct Standing {
    cwnd: u32,
    pacing_rate: u64,
    sequence: u64,
    interval_end_us: u64,
}

/// A closed flow that its policy had given to the fallback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fallen {
    /// The flow's remote address and port.
    pub remote: SocketAddr,
    /// How often.
    pub fallbacks: u64,
}

/// A scheme with its flows.
#[derive(Debug)]
pub struct Service {
    controller: Controller,
    interval_us: u64,
    over_cubic: bool,
    /// The observation whose definition may set a flow's interval length.
    observation: Option<Observation>,
    subscribed: bool,
    flows: Vec<Option<Tracked>>,
    /// When each slot's interval ends; a separate array, because every wake-up reads all of them.
    deadlines_us: Box<[u64; SLOTS]>,
    /// When to read ACKs next.
    listen_us: u64,
    opened: u64,
    punctuality: Punctuality,
    fallen: VecDeque<Fallen>,
}

impl Service {
    /// Create a scheme without flows and with intervals of `interval_us`.
    pub fn new(controller: Controller, interval_us: u64) -> Self {
        let flows = (0..SLOTS).map(|_| None).collect();
        let observation = match &controller {
            Controller::Policy(policy) => Some(policy.spec().observation),
            _ => None,
        };
        Self {
            controller,
            observation,
            interval_us,
            over_cubic: false,
            subscribed: false,
            flows,
            deadlines_us: Box::new([NEVER; SLOTS]),
            listen_us: NEVER,
            opened: 0,
            punctuality: Punctuality::default(),
            fallen: VecDeque::new(),
        }
    }

    /// Set whether Cubic moves the windows of the flows and continues from the commanded values.
    #[must_use]
    pub const fn over_cubic(mut self, over_cubic: bool) -> Self {
        self.over_cubic = over_cubic;
        self
    }

    /// Use the interval lengths that the observation's definition sets.
    #[must_use]
    pub const fn observed_as(mut self, observation: Observation) -> Self {
        self.observation = Some(observation);
        self
    }

    /// The decider for the flows.
    pub const fn controller(&self) -> &Controller {
        &self.controller
    }

    /// Length of a monitor interval, in µs.
    pub const fn interval_us(&self) -> u64 {
        self.interval_us
    }

    /// Set the length of intervals that begin from now on.
    pub fn set_interval_us(&mut self, interval_us: u64) {
        self.interval_us = interval_us;
    }

    /// Set whether a client subscribed to an offered scheme. If none did, new flows wait for no command.
    pub fn set_subscribed(&mut self, slots: &mut Slots, subscribed: bool) {
        self.subscribed = subscribed;
        self.say_how_long_to_wait(slots);
    }

    /// Tell the program how long new flows wait for their first command.
    pub fn say_how_long_to_wait(&self, slots: &mut Slots) {
        let is_served = self.subscribed || !matches!(self.controller, Controller::Offered);
        slots.set_first_patience_us(if is_served { PATIENCE_INTERVALS * self.interval_us } else { 0 });
    }

    /// Punctuality so far.
    pub const fn punctuality(&self) -> &Punctuality {
        &self.punctuality
    }

    /// Flows that their policy gave to the fallback: the latest closed ones.
    pub fn fallen(&self) -> impl Iterator<Item = Fallen> {
        self.fallen.iter().copied()
    }

    /// Slots of the open flows.
    pub fn open_slots(&self) -> impl Iterator<Item = usize> {
        self.flows.iter().enumerate().filter_map(|(slot, flow)| flow.as_ref().map(|_| slot))
    }

    /// Notice flows that opened or closed.
    pub fn scan(&mut self, slots: &Slots, now_us: u64, events: &mut Vec<Event>) {
        for slot in 0..SLOTS {
            let Some(flow) = slots.flow(slot) else { continue };
            let generation = self.flows[slot].as_ref().map(|tracked| tracked.generation);
            if generation.is_some_and(|generation| generation != flow.generation) {
                self.close(slot, &flow, events);
            }
            if flow.is_open() && self.flows[slot].is_none() {
                self.open(slot, &flow, now_us, events);
            }
        }
    }

    fn open(&mut self, slot: usize, flow: &Flow, now_us: u64, events: &mut Vec<Event>) {
        let (agent, memory) = match &self.controller {
            Controller::Policy(policy) => (Some(policy.new_state()), vec![0.0; policy.memory_dim()]),
            _ => (None, Vec::new()),
        };
        let driven = match &self.controller {
            Controller::AckDriven(name, seed) => {
                self.listen_us = now_us;
                Some(Box::new(AckDriven::new(name, seed.wrapping_add(self.opened), flow)))
            }
            _ => None,
        };
        self.opened += 1;
        // A new flow's counters are 0 except for `delivered`, which counts the SYN.
        let before = Flow { delivered: flow.delivered.min(1), ..Flow::default() };
        let begin_us = flow.opened_us.min(now_us);
        self.flows[slot] = Some(Tracked {
            generation: flow.generation,
            origin_us: begin_us,
            begin_us,
            own_interval_us: None,
            before,
            max_throughput: 0,
            agent,
            driven,
            memory,
            standing: None,
        });
        self.deadlines_us[slot] = begin_us + self.interval_us;
        events.push(Event::Opened(slot, Box::new(*flow)));
    }

    fn close(&mut self, slot: usize, flow: &Flow, events: &mut Vec<Event>) {
        if let Some(tracked) = self.flows[slot].take() {
            self.deadlines_us[slot] = NEVER;
            let asked = tracked.agent.as_ref().and_then(AgentState::fallbacks).unwrap_or(0);
            if asked > 0 {
                if self.fallen.len() == SLOTS {
                    self.fallen.pop_front();
                }
                self.fallen.push_back(Fallen { remote: flow.remote(), fallbacks: asked });
            }
            self.punctuality.fallbacks += u64::from(flow.fallbacks).saturating_sub(asked);
            events.push(Event::Closed(slot, tracked.generation));
        }
    }

    /// When to call [`serve`](Self::serve) or [`hear`](Self::hear) next, `CLOCK_MONOTONIC` in µs.
    pub fn next_deadline_us(&self) -> Option<u64> {
        self.deadlines_us.iter().copied().min().map(|us| us.min(self.listen_us)).filter(|us| *us != NEVER)
    }

    /// Pass ACK records to the flows' schemes of `core/cc` and command their desired windows.
    pub fn hear(&mut self, slots: &mut Slots, records: &[AckRecord], clock: &mut impl FnMut() -> u64) {
        let now_us = clock();
        let due = self.listen_us <= now_us;
        if due {
            self.punctuality.commanded.record(now_us - self.listen_us);
        } else if records.is_empty() {
            return;
        }
        for record in records {
            let tracked = self.flows.get_mut(usize::from(record.slot)).and_then(Option::as_mut);
            let Some(tracked) = tracked.filter(|tracked| tracked.generation == record.generation) else {
                continue;
            };
            if let Some(driven) = &mut tracked.driven {
                driven.hear(record);
            }
        }
        self.listen_us = NEVER;
        for slot in 0..SLOTS {
            let Some(tracked) = self.flows[slot].as_mut() else { continue };
            let Some(driven) = &mut tracked.driven else { continue };
            driven.on_time(now_us);
            let timer_us = driven.next_timer_us().max(now_us + SOONEST_US);
            self.listen_us = self.listen_us.min(timer_us).min(now_us + LISTEN_US);
            let wanted = driven.wanted();
            if tracked.standing.is_none_or(|standing| (standing.cwnd, standing.pacing_rate) != wanted) {
                self.steer(slots, slot, wanted, now_us);
            }
        }
    }

    /// Command the desired window of a scheme of `core/cc`.
    fn steer(&mut self, slots: &mut Slots, slot: usize, (cwnd, pacing_rate): (u32, u64), now_us: u64) {
        let Some(tracked) = &mut self.flows[slot] else { return };
        let command = Command {
            time_us: now_us,
            patience_us: PATIENCE_INTERVALS * self.interval_us,
            pacing_rate,
            cwnd,
            generation: tracked.generation,
            ..Command::default()
        };
        let sequence = slots.command(slot, command);
        tracked.standing = Some(Standing { cwnd, pacing_rate, sequence, interval_end_us: now_us });
    }

    /// Serve every interval that has ended; read `clock` again after each command to measure how late it is.
    pub fn serve(&mut self, slots: &mut Slots, clock: &mut impl FnMut() -> u64, events: &mut Vec<Event>) {
        let now_us = clock();
        for slot in 0..SLOTS {
            if self.deadlines_us[slot] > now_us {
                continue;
            }
            let Some(flow) = slots.flow(slot) else { continue };
            if self.flows[slot].as_ref().is_some_and(|tracked| tracked.generation != flow.generation) {
                self.close(slot, &flow, events);
                continue;
            }
            self.end_interval(slot, &flow, slots, clock, events);
        }
    }

    fn end_interval(
        &mut self,
        slot: usize,
        flow: &Flow,
        slots: &mut Slots,
        clock: &mut impl FnMut() -> u64,
        events: &mut Vec<Event>,
    ) {
        let Some(tracked) = &mut self.flows[slot] else { return };
        let now_us = clock();
        let end_us = self.deadlines_us[slot];
        let late_us = now_us.saturating_sub(end_us);
        self.punctuality.intervals += 1;
        let interval_us = tracked.own_interval_us.unwrap_or(self.interval_us);
        self.punctuality.missed += late_us / interval_us;
        // Count from this end, so that lateness does not add up; but skip ends in the past.
        self.deadlines_us[slot] += interval_us * (1 + late_us / interval_us);
        let hold = Command {
            time_us: now_us,
            patience_us: PATIENCE_INTERVALS * interval_us,
            generation: flow.generation,
            ..Command::default()
        };
        if let Some(driven) = tracked.driven.as_deref().filter(|_| flow.sent == 0) {
            let wanted = driven.wanted();
            tracked.begin_us = now_us;
            self.steer(slots, slot, wanted, now_us);
            return;
        }
        if flow.sent == 0 {
            // A connection's receiving end, or one that has sent nothing yet, keeps its initial window.
            if self.subscribed || matches!(self.controller, Controller::Policy(_)) {
                slots.command(slot, hold);
            }
            tracked.begin_us = now_us;
            return;
        }
        let mut report = interval::report(
            &tracked.before,
            flow,
            (tracked.begin_us, now_us),
            tracked.origin_us,
            &mut tracked.max_throughput,
        );
        tracked.begin_us = now_us;
        tracked.before = *flow;
        if let Some(standing) = tracked.standing {
            if tracked.driven.is_some() {
                // These commands answer ACKs, not intervals.
            } else if flow.applied_command == standing.sequence {
                let applied_us = (flow.applied_ns / 1_000).saturating_sub(standing.interval_end_us);
                self.punctuality.applied.record(applied_us);
            } else if standing.sequence != u64::MAX {
                self.punctuality.unapplied += 1;
            }
            // In an outage the command waits for the connection's next step; report it nevertheless.
            let is_cubics = self.over_cubic && flow.applied_command == slots.commanded(slot).sequence;
            if flow.mode() != Mode::FallenBack && !is_cubics && standing.cwnd > 0 {
                report.cwnd = standing.cwnd;
                report.pacing_rate = standing.pacing_rate;
            }
        }
        if let Some(next_ns) = self.observation.and_then(|observation| observation.next_interval_ns(&report))
        {
            let next_us = (next_ns / 1_000).max(MIN_INTERVAL_US);
            tracked.own_interval_us = Some(next_us);
            self.deadlines_us[slot] = (end_us + next_us).max(now_us);
        }
        match (&self.controller, &mut tracked.agent) {
            (Controller::Policy(policy), Some(agent)) => {
                agent.observe(&report);
                let mut observation = [0.0; MAX_OBSERVATION_DIM];
                let observation = &mut observation[..policy.spec().observation_dim()];
                agent.write_observation(observation);
                let mut action = [0.0; MAX_ACTION_DIM];
                let action = &mut action[..policy.spec().action_dim()];
                if agent.is_due() {
                    policy.act(observation, &mut tracked.memory, action);
                }
                let is_due = agent.is_due();
                match agent.decide(action, &report) {
                    Decision::Steer(answer) => {
                        // An agent over Cubic that is not due leaves the window to Cubic.
                        let cwnd = if self.over_cubic && !is_due { 0 } else { answer.cwnd_packets };
                        let pacing_rate = answer.pacing_bytes_per_s;
                        let sequence = slots.command(slot, Command { cwnd, pacing_rate, ..hold });
                        tracked.standing =
                            Some(Standing { cwnd, pacing_rate, sequence, interval_end_us: end_us });
                    }
                    Decision::FallBack => {
                        // Without patience the program falls back at the connection's next step.
                        slots.command(slot, Command { patience_us: 0, ..hold });
                        tracked.standing = None;
                    }
                }
                self.punctuality.commanded.record(clock().saturating_sub(end_us));
            }
            (Controller::AckDriven(..), _) => {
                // Repeat the command, so that the flow does not fall back.
                if let Some(wanted) = tracked.driven.as_deref().map(AckDriven::wanted) {
                    self.steer(slots, slot, wanted, now_us);
                }
            }
            _ => {
                tracked.standing =
                    tracked.standing.map(|standing| Standing { sequence: u64::MAX, ..standing })
            }
        }
        events.push(Event::Report(slot, flow.generation, report, late_us));
    }

    /// Return why late decisions make a run with this scheme's flows invalid, if they do.
    pub fn too_late(&self) -> Option<String> {
        match self.controller {
            Controller::Program => None,
            _ => self.punctuality.too_late(self.interval_us),
        }
    }

    /// Set window and pacing rate (0: unpaced) of an open flow; fail if its scheme is not offered.
    pub fn command(
        &mut self,
        slots: &mut Slots,
        (slot, generation): (usize, u32),
        cwnd: u32,
        pacing_rate: u64,
        now_us: u64,
    ) -> Result<(), String> {
        if !matches!(self.controller, Controller::Offered) {
            return Err("flow: its scheme is not offered: the bridge itself decides".to_owned());
        }
        let tracked = self.tracked(slot, generation)?;
        let interval_end_us = tracked.begin_us;
        let command = Command {
            time_us: now_us,
            patience_us: PATIENCE_INTERVALS * tracked.own_interval_us.unwrap_or(self.interval_us),
            pacing_rate,
            cwnd,
            generation,
            ..Command::default()
        };
        let sequence = slots.command(slot, command);
        if let Some(tracked) = &mut self.flows[slot] {
            tracked.standing = Some(Standing { cwnd, pacing_rate, sequence, interval_end_us });
        }
        self.punctuality.commanded.record(now_us.saturating_sub(interval_end_us));
        Ok(())
    }

    /// Have SaTCP attribute an open flow's losses until `until_us` to an announced handover.
    pub fn freeze(
        &mut self,
        slots: &mut Slots,
        (slot, generation): (usize, u32),
        until_us: u64,
    ) -> Result<(), String> {
        if !matches!(self.controller, Controller::Program) {
            return Err("flow: its scheme is not SaTCP: it has no freeze".to_owned());
        }
        self.tracked(slot, generation)?;
        slots.command(slot, Command { frozen_until_us: until_us, generation, ..Command::default() });
        Ok(())
    }

    fn tracked(&self, slot: usize, generation: u32) -> Result<&Tracked, String> {
        self.flows
            .get(slot)
            .and_then(Option::as_ref)
            .filter(|tracked| tracked.generation == generation)
            .ok_or_else(|| "flow: no such open flow".to_owned())
    }
}

#[cfg(test)]
#[path = "service_tests.rs"]
mod tests;
