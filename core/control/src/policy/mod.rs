//! An exported policy: the network in `policy.onnx` and its description in `policy.json`.

mod dense;
mod description;
mod digests;
mod framing;
mod functions;
mod neural_network;
mod onnx;
mod recurrent;

use std::path::{Path, PathBuf};

use description::Description;
use digests::Digests;
use neural_network::Network;

use crate::{AgentSpec, AgentState, ControlError, KnownRanges};

const DESCRIPTION: &str = "policy.json";
const NETWORK: &str = "policy.onnx";

/// A policy from a trainer. It is immutable: share it between threads by reference or `Arc`.
#[derive(Clone, Debug)]
pub struct Policy {
    description: Description,
    network: Network,
}

/// The files of an exported policy.
#[derive(Clone, Debug)]
pub struct PolicyFiles {
    /// Their folder, for messages.
    pub folder: PathBuf,
    /// The bytes of `policy.json`.
    pub description: Vec<u8>,
    /// The bytes of `policy.onnx`.
    pub network: Vec<u8>,
}

impl PolicyFiles {
    /// Read the files in `folder`. Fails if one is missing. Where `folder/SHA256SUMS` exists, also fails if a
    /// file has other bytes than its digest there says.
    pub fn read(folder: &Path) -> Result<Self, ControlError> {
        let digests = Digests::read(folder)?;
        let read = |name: &str| {
            let path = folder.join(name);
            let source = path.display().to_string();
            let bytes = std::fs::read(&path)
                .map_err(|error| ControlError::new(&source, "file", format!("cannot be read: {error}")))?;
            if let Some(digests) = &digests {
                digests.check(name, &source, &bytes)?;
            }
            Ok(bytes)
        };
        let (description, network) = (read(DESCRIPTION)?, read(NETWORK)?);
        Ok(Self { folder: folder.to_owned(), description, network })
    }
}

impl Policy {
    /// Load `folder/policy.json` and `folder/policy.onnx`, a network from `observation`, (batch,
    /// observation_dim), to `action`, (batch, action_dim), with its weights in the file. A recurrent one also
    /// has an input `state`, (batch, n), initially zeros, and an output `next_state`. Fails if a file is
    /// missing, truncated or malformed, or if the policy is for another version of its specification. Where
    /// `folder/SHA256SUMS` exists, also fails if a file has other bytes than its digest there says.
    pub fn load(folder: &Path) -> Result<Self, ControlError> {
        Self::parse(&PolicyFiles::read(folder)?)
    }

    /// Return the policy in `files`; fails as `load` does.
    pub fn parse(files: &PolicyFiles) -> Result<Self, ControlError> {
        let source = |name: &str| files.folder.join(name).display().to_string();
        let description =
            Description::parse(&String::from_utf8_lossy(&files.description), &source(DESCRIPTION))?;
        let (source, spec) = (source(NETWORK), description.spec);
        let network = onnx::read(&files.network, spec.observation_dim())
            .map_err(|broken| ControlError::new(&source, broken.field, broken.rule))?;
        if network.output_dim() != spec.action_dim() {
            let rule = format!("must have {} numbers, not {}", spec.action_dim(), network.output_dim());
            return Err(ControlError::new(source, "action", rule));
        }
        Ok(Self { description, network })
    }

    /// The agent specification of the training.
    pub const fn spec(&self) -> AgentSpec {
        self.description.spec
    }

    /// The monitor interval of the training, in ns.
    pub const fn interval_ns(&self) -> u64 {
        self.description.interval_ns
    }

    /// The ranges beyond which the policy's flows fall back to CUBIC; `None`: the policy always steers.
    pub const fn known_ranges(&self) -> Option<KnownRanges> {
        self.description.known_ranges
    }

    /// The state of a new flow under the policy.
    pub fn new_state(&self) -> AgentState {
        AgentState::new(self.spec()).guarded(self.known_ranges())
    }

    /// The `provenance` of `policy.json`, a JSON object.
    pub fn provenance(&self) -> &str {
        &self.description.provenance
    }

    /// Numbers of memory per flow between two actions, initially zeros; 0 unless the policy is recurrent.
    pub fn memory_dim(&self) -> usize {
        self.network.memory_dim()
    }

    /// Map rows of `observations` to rows of `actions`, and update the rows of `memories`. A row's action has
    /// the same bits with any other rows, on any thread and machine. Panics if the numbers of rows differ.
    pub fn act(&self, observations: &[f32], memories: &mut [f32], actions: &mut [f32]) {
        let (observation_dim, action_dim) = (self.spec().observation_dim(), self.spec().action_dim());
        let rows = observations.len() / observation_dim;
        assert_eq!(observations.len() % observation_dim, 0, "observations are not whole rows");
        assert_eq!(rows * action_dim, actions.len(), "rows of observations and actions");
        assert_eq!(rows * self.memory_dim(), memories.len(), "rows of observations and memories");
        self.network.run(observations, memories, actions);
        if self.known_ranges().is_none() {
            return;
        }
        // A memory that is not a number would stay so, and the flow could not come back from its fallback.
        for (action, memory) in
            actions.chunks_exact(action_dim).zip(memories.chunks_exact_mut(self.memory_dim().max(1)))
        {
            if action.iter().any(|value| value.is_nan()) {
                memory.fill(0.0);
            }
        }
    }
}
