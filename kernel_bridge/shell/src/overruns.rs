//! Packets that the kernel dropped before the shell could read them; only the devices' counters show them.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::interface::Tun;

/// proc_pid_net(5): eight columns for received packets, then for sent ones: bytes, packets, errors, drops.
const SEND_DROPS: usize = 11;
/// Enough bytes for a namespace with hundreds of interfaces.
const ROOM: usize = 1 << 16;

/// The drop counter of one device.
#[derive(Debug)]
pub struct Overruns {
    /// Shows the network namespace in which it was opened, even after this process leaves it.
    table: File,
    device: String,
}

impl Overruns {
    /// Open the counter of `device` in the current network namespace.
    pub fn of(device: &Tun) -> io::Result<Self> {
        Ok(Self { table: File::open("/proc/thread-self/net/dev")?, device: device.name().to_owned() })
    }

    /// Return the packets dropped since the device was created. Fails if the device is gone.
    pub fn count(&self) -> io::Result<u64> {
        let mut text = vec![0; ROOM];
        let mut length = 0;
        while let read @ 1.. = self.table.read_at(&mut text[length..], length as u64)? {
            length += read;
        }
        let text = String::from_utf8_lossy(&text[..length]);
        send_drops(&text, &self.device).ok_or_else(|| io::Error::other("not in /proc/net/dev"))
    }
}

fn send_drops(table: &str, device: &str) -> Option<u64> {
    let columns = table.lines().find_map(|line| line.trim_start().strip_prefix(device)?.strip_prefix(':'))?;
    columns.split_whitespace().nth(SEND_DROPS)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_those_of_the_device_of_that_name_and_of_what_it_was_to_send() {
        let table = "Inter-|   Receive                |  Transmit\n \
             face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo\n\
             \x20 leo1: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
             \x20leo10: 1 2 3 4 5 6 7 8 9 10 11 99 13 14 15 16\n";
        assert_eq!(send_drops(table, "leo10"), Some(99));
        assert_eq!(send_drops(table, "leo1"), Some(12));
        assert_eq!(send_drops(table, "leo"), None);
    }

    #[test]
    fn every_machine_has_a_loopback_device_with_a_count() {
        let table = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
        assert!(send_drops(&table, "lo").is_some());
    }
}
