//! A second process that takes schemes away when the daemon has ended, however that ended.
//!
//! Before Linux 6.4 a congestion control in eBPF is registered by writing to its map, and stays until the map's element is
//! deleted: a daemon that is killed would leave it behind. The guardian has nothing but the maps and the end of a pipe
//! whose other end the daemon has: reading comes to its end when the daemon does.

use std::io::{PipeWriter, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use nix::libc;
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Gid, Pid, Uid, fork};

use crate::privileges;

/// What `ps` shows, at most 15 bytes.
const NAME: &std::ffi::CStr = c"leo-guardian";

/// The guardian of this process's schemes, which comes to its end with this value.
#[derive(Debug)]
pub struct Guardian {
    /// Closed by whatever ends this process.
    alive: Option<OwnedFd>,
    process: Pid,
}

/// Start a guardian of the schemes that `maps` stand for, as that user, and wait until it is at its post. This process
/// must have one thread.
///
/// # Errors
/// The kernel refuses: one line.
pub fn start(maps: &[BorrowedFd<'_>], user: (Uid, Gid)) -> Result<Guardian, String> {
    let failed = |error: nix::errno::Errno| format!("guardian: {error}");
    let no_pipe = |error: std::io::Error| format!("guardian: {error}");
    let (watched, alive) = std::io::pipe().map_err(no_pipe)?;
    let (mut told, ready) = std::io::pipe().map_err(no_pipe)?;
    let maps: Vec<RawFd> = maps.iter().map(AsRawFd::as_raw_fd).collect();
    // SAFETY: there is one thread, so nothing is half done in the child.
    match unsafe { fork() }.map_err(failed)? {
        ForkResult::Parent { child } => {
            drop(ready);
            told.read_exact(&mut [0]).map_err(no_pipe)?;
            Ok(Guardian { alive: Some(alive.into()), process: child })
        }
        ForkResult::Child => {
            guard(watched.as_raw_fd(), ready, &maps, user);
            // SAFETY: ends this process, without what the parent's values do when they are dropped.
            unsafe { libc::_exit(0) }
        }
    }
}

/// Wait for the daemon's end, then take the schemes away.
fn guard(watched: RawFd, mut ready: PipeWriter, maps: &[RawFd], user: (Uid, Gid)) {
    // What ends the daemon must not end this process before it; a terminal's signals go to the daemon's session.
    let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&SigSet::all()), None);
    let _ = nix::unistd::setsid();
    let _ = nix::sys::prctl::set_name(NAME);
    let _ = ready.write_all(&[0]);
    drop(ready);
    keep_only(&[&[watched], maps].concat());
    // Deleting asks for the map alone (bpf(2) checks for capabilities where maps and programs are made).
    let _ = privileges::drop_to(user);
    let mut byte = 0_u8;
    // SAFETY: one byte of our own.
    while unsafe { libc::read(watched, (&raw mut byte).cast(), 1) } > 0 {}
    for &map in maps {
        let key = 0_u32;
        // SAFETY: the key is what the map wants, and lives until the call returns. ENOENT: the daemon did it.
        let _ = unsafe { libbpf_sys::bpf_map_delete_elem(map, (&raw const key).cast()) };
    }
}

/// Close every other descriptor: sockets and pipes would seem to be the daemon's.
fn keep_only(kept: &[RawFd]) {
    let mut kept = kept.to_vec();
    kept.sort_unstable();
    let mut first = 0;
    for fd in kept.into_iter().chain([RawFd::MAX]) {
        if first < fd {
            // SAFETY: no value of this process uses them from here on.
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
