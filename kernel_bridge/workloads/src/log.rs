//! Logs of the flow's ends, in the formats of `kernel_bridge/inside/traffic.c`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use leo_workload::Nanos;

/// Senders are sampled this often.
pub const SAMPLE_INTERVAL: Nanos = 10_000_000;
/// Counts are logged at most this often.
const COUNT_INTERVAL: Nanos = 1_000_000;
const INFO_BYTES: usize = 280;
const CC_BYTES: usize = 24;
/// `TCP_CC_INFO` of <linux/tcp.h>.
const TCP_CC_INFO: libc::c_int = 26;

/// A running count.
#[derive(Debug)]
pub struct Counts {
    file: BufWriter<File>,
    time: Nanos,
    count: u64,
}

impl Counts {
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(File::create(path)?), time: 0, count: 0 })
    }

    /// Add `amount`; first log the count so far if the last event was in another millisecond.
    pub fn add(&mut self, now: Nanos, amount: u64) -> io::Result<()> {
        if self.count > 0 && now / COUNT_INTERVAL != self.time / COUNT_INTERVAL {
            self.write()?;
        }
        self.time = now;
        self.count += amount;
        Ok(())
    }

    pub fn finish(mut self) -> io::Result<()> {
        if self.count > 0 {
            self.write()?;
        }
        self.file.flush()
    }

    fn write(&mut self) -> io::Result<()> {
        self.file.write_all(&self.time.to_ne_bytes())?;
        self.file.write_all(&self.count.to_ne_bytes())
    }
}

/// Samples of a socket's `tcp_info`.
#[derive(Debug)]
pub struct Samples(BufWriter<File>);

impl Samples {
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self(BufWriter::new(File::create(path)?)))
    }

    pub fn take(&mut self, now: Nanos, socket: &impl AsFd) -> io::Result<()> {
        let (mut info, mut cc) = ([0_u8; INFO_BYTES], [0_u8; CC_BYTES]);
        let info_bytes = option(socket, libc::TCP_INFO, &mut info)?;
        // Some schemes have no information of their own.
        let cc_bytes = option(socket, TCP_CC_INFO, &mut cc).unwrap_or(0);
        self.0.write_all(&now.to_ne_bytes())?;
        self.0.write_all(&info_bytes.to_ne_bytes())?;
        self.0.write_all(&cc_bytes.to_ne_bytes())?;
        self.0.write_all(&info)?;
        self.0.write_all(&cc)
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Read an option of TCP into `value`; return its size.
fn option(socket: &impl AsFd, name: libc::c_int, value: &mut [u8]) -> io::Result<u32> {
    let mut size = value.len() as libc::socklen_t;
    // SAFETY: the call writes at most `size` bytes to `value`, and then their number to `size`.
    let status = unsafe {
        let place = value.as_mut_ptr().cast();
        libc::getsockopt(socket.as_fd().as_raw_fd(), libc::IPPROTO_TCP, name, place, &raw mut size)
    };
    if status == 0 { Ok(size) } else { Err(io::Error::last_os_error()) }
}
