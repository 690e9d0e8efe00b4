//! The log of arrivals, departures, drops and losses.
//!
//! The packet loop only takes notes; another thread writes them, so a slow disk hardly delays packets.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use leo_link::{Direction, Nanos};

/// Notes in one batch.
const BATCH: usize = 4_096;
/// Batches on their way to the file; if all are in use, the disk holds up the link, which shows as lateness.
const BATCHES: usize = 64;
/// A killed shell loses at most this much of its log's end.
const FLUSH: Nanos = 250_000_000;

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A packet of this many bytes arrived.
    Came(u16),
    /// A packet left.
    Left {
        bytes: u16,
        /// Time since it arrived.
        after: Nanos,
        /// Time since it was due.
        late: Nanos,
    },
    /// The queue dropped this many packets.
    Dropped(u64),
    /// This many packets were lost at random or in an outage.
    Lost(u64),
}

/// One event.
#[derive(Clone, Copy, Debug)]
pub struct Note {
    /// Time since the link started.
    pub at: Nanos,
    pub direction: Direction,
    pub event: Event,
}

/// Collects notes and writes them in batches.
#[derive(Debug)]
pub struct Journal {
    batch: Vec<Note>,
    full: SyncSender<Vec<Note>>,
    empty: Receiver<Vec<Note>>,
    writer: JoinHandle<io::Result<File>>,
}

impl Journal {
    /// Start the log with `header`, a line of JSON.
    pub fn begin(file: File, header: String) -> Self {
        let (full, to_write) = sync_channel::<Vec<Note>>(BATCHES);
        let (written, empty) = sync_channel(BATCHES + 2);
        for _ in 0..BATCHES {
            // The channel is new, so there is room.
            let _ = written.try_send(Vec::with_capacity(BATCH));
        }
        let writer = thread::spawn(move || {
            let mut out = BufWriter::new(file);
            writeln!(out, "# {header}")?;
            // Other programs read the link's start time from the header.
            out.flush()?;
            for mut batch in to_write {
                for note in &batch {
                    write_line(&mut out, note)?;
                }
                out.flush()?;
                batch.clear();
                let _ = written.try_send(batch);
            }
            out.into_inner().map_err(io::IntoInnerError::into_error)
        });
        Self { batch: Vec::with_capacity(BATCH), full, empty, writer }
    }

    #[inline]
    pub fn note(&mut self, at: Nanos, direction: Direction, event: Event) {
        self.batch.push(Note { at, direction, event });
        if self.batch.len() == BATCH {
            self.pass_on();
        }
    }

    /// Pass on notes that have waited for long at `now`.
    #[inline]
    pub fn keep_up(&mut self, now: Nanos) {
        if self.batch.first().is_some_and(|note| now.saturating_sub(note.at) > FLUSH) {
            self.pass_on();
        }
    }

    fn pass_on(&mut self) {
        let next = self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(BATCH));
        // If the writer has ended, `end` returns its error.
        let _ = self.full.send(std::mem::replace(&mut self.batch, next));
    }

    /// Write the remaining notes and `footer`'s lines. Fails if this or an earlier write failed.
    pub fn end(mut self, footer: &[String]) -> io::Result<()> {
        self.pass_on();
        drop(self.full);
        let written = self.writer.join().unwrap_or_else(|_| Err(io::Error::other("the writer ended")));
        let mut file = written?;
        for line in footer {
            writeln!(file, "# {line}")?;
        }
        Ok(())
    }
}

fn write_line(out: &mut impl Write, note: &Note) -> io::Result<()> {
    let way = match note.direction {
        Direction::Uplink => 'u',
        Direction::Downlink => 'd',
    };
    let at = Millis(note.at);
    match note.event {
        Event::Came(bytes) => writeln!(out, "{at} {way} + {bytes}"),
        Event::Left { bytes, after, late } => {
            writeln!(out, "{at} {way} - {bytes} {} {}", Millis(after), Millis(late))
        }
        Event::Dropped(packets) => writeln!(out, "{at} {way} d {packets}"),
        Event::Lost(packets) => writeln!(out, "{at} {way} l {packets}"),
    }
}

/// Displays nanoseconds as milliseconds with all digits.
struct Millis(Nanos);

impl std::fmt::Display for Millis {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_has_its_header_a_line_an_event_and_its_footer() {
        let path = std::env::temp_dir().join(format!("mm-leo-journal-{}", std::process::id()));
        let mut journal = Journal::begin(File::create(&path).unwrap(), "{}".to_owned());
        journal.note(1, Direction::Uplink, Event::Came(1500));
        let departure = Event::Left { bytes: 1500, after: 25_000_000, late: 1_234 };
        journal.note(25_000_001, Direction::Uplink, departure);
        journal.note(30_000_000, Direction::Downlink, Event::Dropped(2));
        journal.keep_up(30_000_001 + FLUSH);
        journal.note(31_000_000, Direction::Downlink, Event::Lost(1));
        journal.end(&["valid: yes".to_owned()]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let lines = [
            "# {}",
            "0.000001 u + 1500",
            "25.000001 u - 1500 25.000000 0.001234",
            "30.000000 d d 2",
            "31.000000 d l 1",
            "# valid: yes",
            "",
        ];
        assert_eq!(text, lines.join("\n"));
    }

    #[test]
    fn a_full_disk_is_told_at_the_end() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let error = Journal::begin(full, "{}".to_owned()).end(&[]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
