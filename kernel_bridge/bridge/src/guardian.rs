//! A second process that removes the schemes when the daemon ends, even when the daemon is killed.
//!
//! Before Linux 6.4, writing to its map registers an eBPF congestion control. It stays until a process deletes the map's
//! element, so a killed daemon would leave it behind. The guardian holds only the maps and one end of a socket pair.
//! The daemon holds the other end, so the guardian reads end-of-file when the daemon ends.

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use nix::libc;
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Gid, Pid, Uid, fork};

use crate::privileges;

/// The name that `ps` shows; at most 15 bytes.
const NAME: &std::ffi::CStr = c"leo-guardian";

/// The guardian of this process's schemes; dropping it ends the guardian.
#[derive(Debug)]
pub struct Guardian {
    /// The daemon's end of the socket pair, which the kernel closes when this process ends.
    alive: Option<OwnedFd>,
    process: Pid,
}

/// Start a guardian of the schemes behind `maps`, run it as `user`, and wait until it is ready. This process
/// must have one thread.
pub fn start(maps: &[BorrowedFd<'_>], user: (Uid, Gid)) -> Result<Guardian, String> {
    let failed = |error: nix::errno::Errno| format!("guardian: {error}");
    let no_pair = |error: std::io::Error| format!("guardian: {error}");
    let (watched, alive) = UnixStream::pair().map_err(no_pair)?;
    let (mut begun, ready) = UnixStream::pair().map_err(no_pair)?;
    let maps: Vec<RawFd> = maps.iter().map(AsRawFd::as_raw_fd).collect();
    // SAFETY: there is one thread, so the child inherits no lock or half-done work of another.
    match unsafe { fork() }.map_err(failed)? {
        ForkResult::Parent { child } => {
            drop(ready);
            begun.read_exact(&mut [0]).map_err(no_pair)?;
            Ok(Guardian { alive: Some(alive.into()), process: child })
        }
        ForkResult::Child => {
            guard(watched.as_raw_fd(), ready, &maps, user);
            // SAFETY: ends the child without running destructors of the parent's values.
            unsafe { libc::_exit(0) }
        }
    }
}

/// Wait for the daemon's end, then remove the schemes.
fn guard(watched: RawFd, mut ready: UnixStream, maps: &[RawFd], user: (Uid, Gid)) {
    // A signal to the daemon must not end the guardian first; setsid() keeps a terminal's signals away.
    let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&SigSet::all()), None);
    let _ = nix::unistd::setsid();
    let _ = nix::sys::prctl::set_name(NAME);
    let _ = ready.write_all(&[0]);
    drop(ready);
    keep_only(&[&[watched], maps].concat());
    // Deleting needs only the map: bpf(2) checks capabilities when maps and programs are created.
    let _ = privileges::drop_to(user);
    let mut byte = 0_u8;
    // SAFETY: `byte` is a local of that length.
    while unsafe { libc::read(watched, (&raw mut byte).cast(), 1) } > 0 {}
    for &map in maps {
        let key = 0_u32;
        // SAFETY: the key has the map's key type and outlives the call. ENOENT: the daemon deleted it.
        let _ = unsafe { libbpf_sys::bpf_map_delete_elem(map, (&raw const key).cast()) };
    }
}

/// Close every other descriptor, so that the guardian keeps none of the daemon's sockets open.
fn keep_only(descriptors: &[RawFd]) {
    let mut descriptors = descriptors.to_vec();
    descriptors.sort_unstable();
    let mut first = 0;
    for fd in descriptors.into_iter().chain([RawFd::MAX]) {
        if first < fd {
            // SAFETY: no value of this process uses them from now on.
            let _ = unsafe { libc::close_range(first as libc::c_uint, (fd - 1) as libc::c_uint, 0) };
        }
        first = fd.saturating_add(1);
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        drop(self.alive.take());
        let _ = waitpid(self.process, None);
    }
}
