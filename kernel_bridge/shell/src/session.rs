//! The namespaces in which the command runs, and the two processes in them.
//!
//! The first process of a new PID namespace waits for the command and takes every other process along when it ends;
//! the kernel ends it when the shell ends, however that happens. With the processes go the network namespace and the
//! inner TUN device, with the shell's own descriptors the outer one and its rule: there is nothing to clean up.

use std::convert::Infallible;
use std::ffi::{CString, OsString};
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigHandler, SigSet, Signal, signal};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, Uid, execvpe, fork, getuid, pipe2, read, seteuid, setresuid};

/// Of whoever started the shell, where it is a setuid program; otherwise this changes nothing.
#[derive(Clone, Copy, Debug)]
pub struct User(Uid);

impl User {
    /// Who started this process.
    pub fn current() -> Self {
        Self(getuid())
    }

    /// Call `task` with the rights of this user, for what the user's words name.
    ///
    /// # Errors
    /// What `task` says, or that the kernel refuses.
    pub fn does<T>(self, task: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        let effective = nix::unistd::geteuid();
        seteuid(self.0).map_err(|error| error.to_string())?;
        let result = task();
        seteuid(effective).map_err(|error| error.to_string())?;
        result
    }

    /// Be this user from now on, without a way back.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn for_good(self) -> io::Result<()> {
        Ok(setresuid(self.0, self.0, self.0)?)
    }
}

/// A command that waits for its start, in namespaces of its own.
#[derive(Debug)]
pub struct Session {
    first: Pid,
    start: OwnedFd,
}

/// What the command finds in its environment.
pub struct Surroundings {
    /// The outermost shell's address outside, unless the environment has one.
    pub base: Ipv4Addr,
    /// What the prompt tells of this shell, as in `[leo sd-ny-bp.csv] `.
    pub prompt: OsString,
}

impl Session {
    /// Prepare `command` in this network namespace; `user` runs it.
    ///
    /// # Errors
    /// The kernel refuses, or a word of the command has a zero byte.
    pub fn prepare(command: &[OsString], surroundings: &Surroundings, user: User) -> io::Result<Self> {
        let words: Vec<CString> =
            command.iter().map(|word| CString::new(word.as_bytes())).collect::<Result<_, _>>()?;
        let environment = environment(surroundings)?;
        let (wait, start) = pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
        match clone_into_namespaces()? {
            ForkResult::Parent { child } => Ok(Self { first: child, start }),
            ForkResult::Child => {
                drop(start);
                let status = first_process(&wait, &words, &environment, user);
                // SAFETY: ends this process, without running what the shell registered for its own end.
                unsafe { libc::_exit(status) }
            }
        }
    }

    /// Let the command start.
    ///
    /// # Errors
    /// It has ended already.
    pub fn start(self) -> io::Result<Pid> {
        std::fs::File::from(self.start).write_all(b"!")?;
        Ok(self.first)
    }
}

/// As fork(2), but the child is the first of a PID namespace, with mounts of its own.
fn clone_into_namespaces() -> io::Result<ForkResult> {
    let flags = libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::SIGCHLD;
    // SAFETY: without a stack of its own and shared memory, the child goes on with a copy of everything; this process
    // has one thread, so that no lock can be held by another.
    match unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } {
        0 => Ok(ForkResult::Child),
        child if child > 0 => Ok(ForkResult::Parent { child: Pid::from_raw(child as libc::pid_t) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns the command's exit status, as a shell's `$?`.
fn first_process(wait: &OwnedFd, command: &[CString], environment: &[CString], user: User) -> i32 {
    if set_pdeathsig(Signal::SIGKILL).is_err() {
        return 1;
    }
    // Nothing that is mounted inside shows outside. Where /proc cannot be replaced it goes on telling of all processes.
    let nothing = None::<&str>;
    if mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing).is_ok() {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        let _ = mount(Some("proc"), "/proc", Some("proc"), flags, nothing);
    }
    // The shell ended before it said so when nothing comes.
    if read(wait, &mut [0]) != Ok(1) {
        return 1;
    }
    // SAFETY: this process has one thread.
    match unsafe { fork() } {
        Ok(ForkResult::Parent { child }) => status_of(child),
        Ok(ForkResult::Child) => {
            let Err(error) = become_command(command, environment, user);
            eprintln!("mm-leo: {}: {}", command[0].to_string_lossy(), error.desc());
            if error == Errno::ENOENT { 127 } else { 126 }
        }
        Err(_) => 1,
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

/// Wait for `command`, and meanwhile for whatever lost its parent.
fn status_of(command: Pid) -> i32 {
    loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, status)) if pid == command => return status,
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == command => return 128 + signal as i32,
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return 1,
        }
    }
}

/// This process's environment and mahimahi's names, by which its shells and this one nest in one another.
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
    // bash runs this before its first prompt, after its own files have set PS1.
    let command = format!("PS1=\"${PREFIX}$PS1\"; unset PROMPT_COMMAND");
    variables.push(("PROMPT_COMMAND".into(), command.into()));
    let line = |(name, value): (OsString, OsString)| {
        let line = [name.into_vec(), b"=".to_vec(), value.into_vec()].concat();
        CString::new(line).map_err(io::Error::from)
    };
    variables.into_iter().map(line).collect()
}
