//! The logs of a flow's end.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use nix::time::{ClockId, clock_gettime};

/// Records within this time become one.
const RECORD_NS: i64 = 1_000_000;

/// A file that several owners write to, and that one of them completes.
#[derive(Clone)]
pub struct SharedFile(Arc<Mutex<BufWriter<File>>>);

impl SharedFile {
    /// Creates the file.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self(Arc::new(Mutex::new(BufWriter::new(File::create(path)?)))))
    }
}

impl Write for SharedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no writer panics").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().expect("no writer panics").flush()
    }
}

/// The file `progress`.
pub struct Progress {
    file: BufWriter<File>,
    at_ns: i64,
    bytes: u64,
    written_ns: i64,
}

impl Progress {
    /// Creates the file.
    pub fn create(folder: &Path) -> io::Result<Self> {
        let file = BufWriter::new(File::create(folder.join("progress"))?);
        Ok(Self { file, at_ns: 0, bytes: 0, written_ns: i64::MIN })
    }

    /// Adds bytes that count from now on.
    pub fn add(&mut self, bytes: u64) -> io::Result<()> {
        let now_ns = monotonic_ns()?;
        if self.bytes > 0 && now_ns >= self.written_ns.saturating_add(RECORD_NS) {
            self.write()?;
            self.written_ns = now_ns;
        }
        self.at_ns = now_ns;
        self.bytes += bytes;
        Ok(())
    }

    /// Writes the last record.
    pub fn complete(&mut self) -> io::Result<()> {
        if self.bytes > 0 {
            self.write()?;
        }
        self.file.flush()
    }

    fn write(&mut self) -> io::Result<()> {
        writeln!(self.file, "{} {}", self.at_ns, self.bytes)
    }
}

/// Reads the monotonic clock.
pub fn monotonic_ns() -> io::Result<i64> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
    Ok(now.tv_sec() * 1_000_000_000 + now.tv_nsec())
}
