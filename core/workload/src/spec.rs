//! A workload as data, for programs that run it outside the simulator.

use serde::{Deserialize, Serialize};

use crate::{CallSpec, PageSpec, VideoSpec};

/// A workload.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkloadSpec {
    /// Adaptive video.
    Video(VideoSpec),
    /// A page load.
    Page(PageSpec),
    /// A video call.
    Call(CallSpec),
}

impl WorkloadSpec {
    /// The most connections that it uses.
    pub const fn connections(&self) -> u32 {
        match self {
            Self::Page(page) => page.connections,
            Self::Video(_) | Self::Call(_) => 1,
        }
    }
}
