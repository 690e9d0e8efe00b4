//! The command and its supervisor.
//!
//! The supervisor adopts all orphans inside (prctl(2), PR_SET_CHILD_SUBREAPER). When the command or the shell
//! ends, for any reason, it kills all other processes inside. The kernel then removes the network namespace
//! and the inner TUN device, and with the shell's descriptors the outer device and its rule.

use std::convert::Infallible;
use std::ffi::{CString, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{SigHandler, SigSet, Signal, kill, signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, Uid, execvpe, fork, getuid, pipe2, read, seteuid, setresuid};

/// The user who started the shell, which matters only if it is a setuid program.
#[derive(Clone, Copy, Debug)]
pub struct User(Uid);

impl User {
    pub fn current() -> Self {
        Self(getuid())
    }

    /// Call `task` with this user's rights, for the files that the user names.
    pub fn does<T>(self, task: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        let effective = nix::unistd::geteuid();
        seteuid(self.0).map_err(|error| error.to_string())?;
        let result = task();
        seteuid(effective).map_err(|error| error.to_string())?;
        result
    }

    /// Become this user irrevocably.
    pub fn for_good(self) -> io::Result<()> {
        Ok(setresuid(self.0, self.0, self.0)?)
    }
}

/// A command that waits for its start.
#[derive(Debug)]
pub struct Session {
    supervisor: Pid,
    /// The supervisor notices when this closes, at the latest when this process ends.
    line: File,
}

/// This shell's additions to the command's environment.
pub struct Surroundings {
    /// This shell's outside address; ignored if an outer shell has set one.
    pub base: Ipv4Addr,
    /// This shell's part of the prompt, such as `[leo sd-ny-bp.csv] `.
    pub prompt: OsString,
}

impl Session {
    /// Prepare `command` in the current network namespace; `user` runs it. Its words must have no zero byte.
    pub fn prepare(command: &[OsString], surroundings: &Surroundings, user: User) -> io::Result<Self> {
        let words: Vec<CString> =
            command.iter().map(|word| CString::new(word.as_bytes())).collect::<Result<_, _>>()?;
        let environment = environment(surroundings)?;
        let (wait, line) = pipe2(OFlag::O_CLOEXEC)?;
        // SAFETY: this process has one thread, so no other thread can hold a lock.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => Ok(Self { supervisor: child, line: line.into() }),
            ForkResult::Child => {
                drop(line);
                let status = supervise(&wait, &words, &environment, user).unwrap_or(1);
                // SAFETY: ends this process without running the shell's own exit handlers.
                unsafe { libc::_exit(status) }
            }
        }
    }

    /// Let the command start. Fails if the supervisor has already ended.
    pub fn start(&mut self) -> io::Result<()> {
        self.line.write_all(b"!")
    }

    /// Return the exit status, like a shell's `$?`, once everything inside has ended.
    pub fn ended(&self) -> Option<u8> {
        match waitpid(self.supervisor, Some(WaitPidFlag::WNOHANG)) {
            Ok(status) => status_of(status),
            Err(_) => Some(1),
        }
    }

    /// End everything inside, and wait until it has.
    pub fn end(self) {
        drop(self.line);
        // The supervisor exists until it is waited for.
        let _ = waitpid(self.supervisor, None);
    }
}

/// Start the command when told to; return its exit status when everything inside has ended.
fn supervise(wait: &OwnedFd, command: &[CString], environment: &[CString], user: User) -> nix::Result<i32> {
    set_child_subreaper(true)?;
    // At end of file, the shell ended before it started the command.
    if read(wait, &mut [0])? != 1 {
        return Ok(1);
    }
    let children = SigSet::from(Signal::SIGCHLD);
    children.thread_block()?;
    let deaths = SignalFd::with_flags(&children, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
    // SAFETY: this process has one thread.
    let child = match unsafe { fork() }? {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            let Err(error) = become_command(command, environment, user);
            eprintln!("mm-leo: {}: {}", command[0].to_string_lossy(), error.desc());
            return Ok(if error == Errno::ENOENT { 127 } else { 126 });
        }
    };
    let mut status = None;
    while status.is_none() {
        let mut sources = [
            PollFd::new(deaths.as_fd(), PollFlags::POLLIN),
            // The shell writes nothing more, so this becomes readable only when the shell ends.
            PollFd::new(wait.as_fd(), PollFlags::POLLIN),
        ];
        let ready = poll(&mut sources, PollTimeout::NONE);
        if ready.is_ok() && sources[1].any() != Some(false) {
            break;
        }
        while deaths.read_signal()?.is_some() {}
        status = collect(child);
    }
    end_all()?;
    Ok(status.map_or(1, i32::from))
}

/// Wait for every child that has ended; return the status of `command` if it is among them.
fn collect(command: Pid) -> Option<u8> {
    let mut exit_status = None;
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(status) if status.pid() == Some(command) => exit_status = exit_status.or(status_of(status)),
            Ok(WaitStatus::StillAlive) | Err(_) => return exit_status,
            Ok(_) => {}
        }
    }
}

/// Kill all children. Their orphans become children of this process and are killed, too.
fn end_all() -> nix::Result<()> {
    loop {
        // proc_pid_children(5)
        let children = fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
        for child in children.split_whitespace().filter_map(|pid| pid.parse().ok()) {
            kill(Pid::from_raw(child), Signal::SIGKILL)?;
        }
        match waitpid(None, None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(Errno::ECHILD) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

fn status_of(status: WaitStatus) -> Option<u8> {
    match status {
        WaitStatus::Exited(_, status) => Some(status as u8),
        WaitStatus::Signaled(_, signal, _) => Some(128 + signal as u8),
        _ => None,
    }
}

fn become_command(command: &[CString], environment: &[CString], user: User) -> Result<Infallible, Errno> {
    SigSet::all().thread_unblock()?;
    for kind in [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGPIPE] {
        // SAFETY: the default action runs no code of this process.
        unsafe { signal(kind, SigHandler::SigDfl) }?;
    }
    setresuid(user.0, user.0, user.0)?;
    execvpe(&command[0], command, environment)
}

/// Return this process's environment with mahimahi's variables, which let both kinds of shells nest.
fn environment(surroundings: &Surroundings) -> io::Result<Vec<CString>> {
    const BASE: &str = "MAHIMAHI_BASE";
    const PREFIX: &str = "MAHIMAHI_SHELL_PREFIX";
    let mut prompt = std::env::var_os(PREFIX).unwrap_or_default();
    prompt.push(&surroundings.prompt);
    let mut variables: Vec<(OsString, OsString)> =
        std::env::vars_os().filter(|(name, _)| name != PREFIX && name != "PROMPT_COMMAND").collect();
    if !variables.iter().any(|(name, _)| name == BASE) {
        variables.push((BASE.into(), surroundings.base.to_string().into()));
    }
    variables.push((PREFIX.into(), prompt));
    // bash runs this before its first prompt, after its startup files have set PS1.
    let command = format!("PS1=\"${PREFIX}$PS1\"; unset PROMPT_COMMAND");
    variables.push(("PROMPT_COMMAND".into(), command.into()));
    let line = |(name, value): (OsString, OsString)| {
        let line = [name.into_vec(), b"=".to_vec(), value.into_vec()].concat();
        CString::new(line).map_err(io::Error::from)
    };
    variables.into_iter().map(line).collect()
}
