//! The rewards and the global state at the end of an interval, for simulated and for real flows.

use crate::{FlowState, Reward, World, write_global_state};

/// The rewards of an interval.
#[derive(Clone, Copy, Debug)]
pub struct Judgement {
    reward: Reward,
    world: World,
    shared: f32,
}

impl Judgement {
    /// Judge `flows`, whose interval ends now; `global_state` receives a central critic's input.
    ///
    /// # Panics
    /// When `global_state` has another length than [`crate::GLOBAL_DIM`].
    pub fn new<'a>(
        reward: Reward,
        world: World,
        flows: impl Iterator<Item = &'a FlowState> + Clone,
        global_state: &mut [f32],
    ) -> Self {
        write_global_state(&world, flows.clone(), global_state);
        Self { reward, world, shared: reward.evaluate(&world, flows) }
    }

    /// The reward of one flow: its own where the reward is one of single flows, else the one that all share.
    pub fn of(&self, flow: Option<&FlowState>) -> f32 {
        if self.reward.is_of_flow() {
            self.reward.evaluate(&self.world, flow.into_iter())
        } else {
            self.shared
        }
    }
}
