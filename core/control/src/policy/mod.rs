//! An exported policy: the network of `policy.onnx` and its description in `policy.json`.

mod dense;
mod description;
mod framing;
mod network;
mod onnx;
mod recurrent;

use std::path::Path;

use description::Description;
use network::Network;

use crate::{AgentSpec, ControlError};

/// A policy that a trainer exported. It is immutable: share it between threads by reference or `Arc`.
#[derive(Clone, Debug)]
pub struct Policy {
    description: Description,
    network: Network,
}

impl Policy {
    /// Load `folder/policy.json` and `folder/policy.onnx`.
    ///
    /// The network maps the input `observation`, (batch, observation_dim), to the output `action`,
    /// (batch, action_dim), and keeps its weights in the file. A recurrent one has an input `state`, (batch, n), which
    /// begins as zeros, and an output `next_state`.
    ///
    /// # Errors
    /// A file is missing, truncated or malformed, or the policy is for another version of its agent specification:
    /// one line with file, field and rule.
    pub fn load(folder: &Path) -> Result<Self, ControlError> {
        let read = |name: &str| {
            let path = folder.join(name);
            let source = path.display().to_string();
            match std::fs::read(&path) {
                Ok(bytes) => Ok((bytes, source)),
                Err(error) => Err(ControlError::new(source, "file", format!("cannot be read: {error}"))),
            }
        };
        let (description, source) = read("policy.json")?;
        let description = Description::parse(&String::from_utf8_lossy(&description), &source)?;
        let (bytes, source) = read("policy.onnx")?;
        let spec = description.spec;
        let network = onnx::read(&bytes, spec.observation_dim())
            .map_err(|broken| ControlError::new(&source, broken.field, broken.rule))?;
        if network.output_dim() != spec.action_dim() {
            let rule = format!("must have {} numbers, not {}", spec.action_dim(), network.output_dim());
            return Err(ControlError::new(source, "action", rule));
        }
        Ok(Self { description, network })
    }

    /// The agent specification that it was trained for.
    pub const fn spec(&self) -> AgentSpec {
        self.description.spec
    }

    /// The monitor interval that it was trained at, in ns.
    pub const fn interval_ns(&self) -> u64 {
        self.description.interval_ns
    }

    /// How it came about: the `provenance` of `policy.json`, a JSON object.
    pub fn provenance(&self) -> &str {
        &self.description.provenance
    }

    /// Numbers that it remembers of a flow between two actions; 0 unless it is recurrent. They begin as zeros.
    pub fn memory_dim(&self) -> usize {
        self.network.memory_dim()
    }

    /// Map `observations`, n × `observation_dim`, to `actions`, n × `action_dim`, and `memories`, n × `memory_dim`, to
    /// the next ones.
    ///
    /// A row's action has the same bits whatever the other rows, the thread and the machine.
    ///
    /// # Panics
    /// When the lengths are not those of the same number of rows.
    pub fn act(&self, observations: &[f32], memories: &mut [f32], actions: &mut [f32]) {
        let (observation_dim, action_dim) = (self.spec().observation_dim(), self.spec().action_dim());
        let rows = observations.len() / observation_dim;
        assert_eq!(observations.len() % observation_dim, 0, "observations are not whole rows");
        assert_eq!(rows * action_dim, actions.len(), "rows of observations and actions");
        assert_eq!(rows * self.memory_dim(), memories.len(), "rows of observations and memories");
        self.network.run(observations, memories, actions);
    }
}
