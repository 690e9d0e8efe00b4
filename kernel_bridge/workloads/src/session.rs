//! The program's input.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use leo_workload::{Nanos, WorkloadSpec};
use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};
use serde::Deserialize;

/// One end of the flow.
#[derive(Debug, Deserialize)]
pub struct End {
    /// File of its network namespace.
    pub network: PathBuf,
    /// Its address.
    pub address: Ipv4Addr,
    /// The kernel's name of its scheme.
    pub scheme: String,
    /// Its log of each connection.
    pub logs: Vec<PathBuf>,
}

/// A flow with a workload.
#[derive(Debug, Deserialize)]
pub struct Session {
    /// The workload.
    pub workload: WorkloadSpec,
    /// The server's port, and that of the client's first connection; the others follow.
    pub port: u16,
    /// When the flow starts.
    pub start_ns: Nanos,
    /// When it stops.
    pub stop_ns: Nanos,
    /// The user whose program this becomes.
    pub uid: u32,
    /// That user's group.
    pub gid: u32,
    /// The end that sends the data: the server, or the camera's side of a call.
    pub send: End,
    /// The end that receives the data.
    pub receive: End,
}

impl Session {
    pub fn give_up_root(&self) -> nix::Result<()> {
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        setgroups(&[])?;
        setresgid(gid, gid, gid)?;
        setresuid(uid, uid, uid)
    }
}
