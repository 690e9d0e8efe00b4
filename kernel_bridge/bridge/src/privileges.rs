//! Drop root after loading, and request real-time priority before.

use nix::errno::Errno;
use nix::libc;
use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::sys::signal::Signal;
use nix::unistd::{Gid, Pid, Uid, User, geteuid, getppid, setgroups, setresgid, setresuid};

/// Above link shells (mm-leo has 10): a decision takes some 50 µs, their packets far longer in total.
const REALTIME_PRIORITY: i32 = 20;

/// The unprivileged user of most systems.
const NOBODY: u32 = 65_534;

/// Return the user to become: the requested user, else the caller of sudo, else `nobody`.
pub fn user(requested: Option<&str>, sudo_uid: Option<&str>) -> Result<(Uid, Gid), String> {
    let Some(requested) = requested.or(sudo_uid) else {
        return Ok((Uid::from_raw(NOBODY), Gid::from_raw(NOBODY)));
    };
    // With a C library other than the one that it was linked with, a static program cannot ask other databases.
    let local = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    if let Some(user) = local.lines().find_map(|line| of_line(line, requested)) {
        return Ok(user);
    }
    let user_entry = match requested.parse() {
        Ok(uid) => User::from_uid(Uid::from_raw(uid)),
        Err(_) => User::from_name(requested),
    };
    match (user_entry, requested.parse()) {
        (Ok(Some(user)), _) => Ok((user.uid, user.gid)),
        (Ok(None), Ok(uid)) => Ok((Uid::from_raw(uid), Gid::from_raw(uid))),
        _ => Err(format!("--user {requested}: no such user")),
    }
}

/// Return user and group of a line of /etc/passwd if it is about the user of this name or number.
fn of_line(line: &str, asked: &str) -> Option<(Uid, Gid)> {
    let mut fields = line.split(':');
    let (name, uid, gid) = (fields.next()?, fields.nth(1)?, fields.next()?);
    if asked != name && asked != uid {
        return None;
    }
    Some((Uid::from_raw(uid.parse().ok()?), Gid::from_raw(gid.parse().ok()?)))
}

/// Become that user for good: without a way back to root, capabilities, or privileges from executed files.
pub fn drop_to((uid, gid): (Uid, Gid)) -> Result<(), String> {
    let failed = |error: Errno| format!("user {uid}: privileges cannot be dropped: {error}");
    if geteuid().is_root() {
        setgroups(&[]).map_err(failed)?;
        setresgid(gid, gid, gid).map_err(failed)?;
        // On a change from root to another user, the kernel also clears all capabilities (capabilities(7)).
        setresuid(uid, uid, uid).map_err(failed)?;
    }
    nix::sys::prctl::set_no_new_privs().map_err(failed)?;
    if !uid.is_root() && setresuid(Uid::from_raw(0), Uid::from_raw(0), Uid::from_raw(0)).is_ok() {
        return Err(format!("user {uid}: privileges came back after they were dropped"));
    }
    Ok(())
}

/// Have the kernel send SIGTERM when `parent` ends; fail if it has ended already. Call it after [`drop_to`],
/// because a change of user clears the setting.
pub fn end_with(parent: Pid) -> Result<(), String> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGTERM).map_err(|error| format!("--with-parent: {error}"))?;
    if getppid() == parent { Ok(()) } else { Err("--with-parent: the parent has ended".to_owned()) }
}

/// Take real-time priority and lock our memory, so that decisions do not wait for the processes whose traffic
/// we steer. `false` if the system does not allow it.
pub fn be_prompt() -> bool {
    let wish = libc::sched_param { sched_priority: REALTIME_PRIORITY };
    // SAFETY: acts on our own process, with a parameter that outlives the call.
    let scheduled =
        unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const wish) }
            == 0;
    // Not MCL_FUTURE: without root, the limit on locked memory would make allocations fail.
    let resident = mlockall(MlockAllFlags::MCL_CURRENT).is_ok();
    scheduled && resident
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_name_it_is_whoever_called_sudo_or_nobody() {
        assert_eq!(user(None, None), Ok((Uid::from_raw(65_534), Gid::from_raw(65_534))));
        assert_eq!(user(None, Some("4242")), Ok((Uid::from_raw(4242), Gid::from_raw(4242))));
        assert_eq!(user(Some("root"), Some("4242")).map(|(uid, _)| uid), Ok(Uid::from_raw(0)));
    }

    #[test]
    fn a_line_of_passwd_is_about_a_name_or_a_number() {
        let line = "ada:x:1000:100:Ada:/home/ada:/bin/sh";
        let ada = Some((Uid::from_raw(1000), Gid::from_raw(100)));
        assert_eq!(of_line(line, "ada"), ada);
        assert_eq!(of_line(line, "1000"), ada);
        assert_eq!(of_line(line, "100"), None);
        assert_eq!(of_line("ada:x", "ada"), None);
    }

    #[test]
    fn a_user_that_does_not_exist_is_named() {
        assert_eq!(user(Some("no-such-user"), None), Err("--user no-such-user: no such user".to_owned()));
    }
}
