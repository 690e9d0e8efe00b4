//! Load an eBPF program, register its scheme with the kernel and map the memory that they share.

use std::any::Any;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, num::NonZeroUsize};

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{FuncProto, Ptr, Struct};
use libbpf_rs::{
    Link, MapCore, MapFlags, MapMut, Object, ObjectBuilder, OpenObject, ReferencesType, RingBuffer,
};
use nix::sys::mman::{MapFlags as MmapFlags, ProtFlags, mmap, munmap};

use crate::ack_record::AckRecord;
use crate::slot::{Command, Flow, SLOTS, Slots};
use crate::{check, libbpf_log};

/// Longest name of a congestion control: the kernel has 16 bytes, the last one 0.
pub const MAX_NAME: usize = 15;

/// Size of a pointer to a function in `struct tcp_congestion_ops` of `kernel.h`.
const POINTER: usize = 8;

/// Offset of `name` in that structure: after nine pointers.
const NAME_OFFSET: usize = 9 * POINTER;

/// Offset of `cwnd_event` in that structure; `cwnd_event_tx_start` follows.
const CWND_EVENT_OFFSET: usize = 3 * POINTER;

/// Offset of `min_tso_segs` in that structure.
const MIN_TSO_SEGS_OFFSET: usize = 6 * POINTER;

/// The program's variable for the scheme, and so the name of its map, by which `clean` finds leftovers.
pub const SCHEME_MAP: &str = "leo_scheme";

/// The mechanism that removes a scheme when the process that registered it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// The kernel, through a link that the process owns (from Linux 6.4 on).
    Link,
    /// A second process ([`crate::guardian`]).
    Guardian,
}

/// One of the programs in this binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Obeys commands; runs Cubic when none come.
    Agent,
    /// Cubic that attributes losses around an announced handover to the handover.
    SaTcp,
}

/// Behaviour of a scheme's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The program records every ACK.
    pub tells_acks: bool,
    /// Packets are paced one by one, as senders in user space do, if the kernel heeds the program's `min_tso_segs`.
    pub by_one: bool,
    /// Cubic always moves the window; a command sets the value from which it continues.
    pub over_cubic: bool,
}

impl Settings {
    /// Encode as `struct settings` of flow.h.
    fn bytes(&self, cong_control_arguments: u32) -> [u8; 16] {
        // 2: net.ipv4.tcp_min_tso_segs.
        let least_burst = if self.by_one { 1 } else { 2 };
        let words = [cong_control_arguments, self.tells_acks.into(), least_burst, self.over_cubic.into()];
        let mut bytes = [0; 16];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
}

impl Program {
    fn bytes(self) -> &'static [u8] {
        // The ELF parser needs aligned input.
        #[repr(align(16))]
        struct Aligned<T: ?Sized>(T);
        static AGENT: &Aligned<[u8]> =
            &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/leo_agent.bpf.o")));
        static SATCP: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/satcp.bpf.o")));
        match self {
            Self::Agent => &AGENT.0,
            Self::SaTcp => &SATCP.0,
        }
    }
}

/// A program that the kernel has loaded, with its scheme not yet registered.
pub struct Loaded {
    name: String,
    slots: Slots,
    changes: RingBuffer<'static>,
    acks: Option<(RingBuffer<'static>, Arc<Mutex<Vec<AckRecord>>>)>,
    object: Object,
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A registered scheme. It ends with this value, and with the process at the latest (see [`Tie`]). Flows that
/// use the scheme keep its program loaded until they close.
pub struct Registered {
    slots: Slots,
    changes: RingBuffer<'static>,
    acks: Option<(RingBuffer<'static>, Arc<Mutex<Vec<AckRecord>>>)>,
    _link: Link,
    _object: Object,
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered").field("slots", &self.slots).finish_non_exhaustive()
    }
}

/// Load `program` for the congestion control `name`. An error has libbpf's message.
pub fn load(program: Program, name: &str, settings: &Settings, tie: Tie) -> Result<Loaded, String> {
    if name.is_empty() || name.len() > MAX_NAME {
        return Err(format!("{name}: a congestion control's name has 1 to {MAX_NAME} bytes"));
    }
    let log = libbpf_log::listen();
    let failed = |step: &str, error: libbpf_rs::Error| {
        let detail = log.first().map(|line| format!(" ({line})")).unwrap_or_default();
        format!("{name}: {step}: {error:#}{detail}")
    };
    let mut open =
        ObjectBuilder::default().open_memory(program.bytes()).map_err(|error| failed("not opened", error))?;
    prepare(&mut open, name, settings, tie)?;
    let mut object = open.load().map_err(|error| failed("the kernel refused the program", error))?;
    fill_vacant(&find(&mut object, "vacant")?).map_err(|error| failed("vacant slots", error))?;
    let slots = map_slots(&mut object)?;
    let changes = {
        let ring = find(&mut object, "changes")?;
        let mut builder = libbpf_rs::RingBufferBuilder::new();
        builder.add(&ring, |_| 0).map_err(|error| failed("ring buffer", error))?;
        builder.build().map_err(|error| failed("ring buffer", error))?
    };
    let acks = if settings.tells_acks {
        let ring = find(&mut object, "acks")?;
        let records = Arc::new(Mutex::new(Vec::with_capacity(4096)));
        let mut builder = libbpf_rs::RingBufferBuilder::new();
        let sink = Arc::clone(&records);
        let receive = move |bytes: &[u8]| {
            sink.lock().unwrap_or_else(PoisonError::into_inner).extend(AckRecord::from_bytes(bytes));
            0
        };
        builder.add(&ring, receive).map_err(|error| failed("ring buffer", error))?;
        Some((builder.build().map_err(|error| failed("ring buffer", error))?, records))
    } else {
        None
    };
    Ok(Loaded { name: name.to_owned(), slots, changes, acks, object })
}

impl Loaded {
    /// Return the scheme's map; a process that has it can remove the scheme.
    pub fn scheme_fd(&self) -> Option<BorrowedFd<'_>> {
        // SAFETY: the object owns the descriptor and lives as long as the borrow.
        self.object
            .maps()
            .find(|map| map.name() == SCHEME_MAP)
            .map(|map| unsafe { BorrowedFd::borrow_raw(map.as_fd().as_raw_fd()) })
    }

    /// Register the scheme, so that connections can choose it. Fails if the name is taken.
    pub fn register(mut self) -> Result<Registered, String> {
        let log = libbpf_log::listen();
        let link = find(&mut self.object, SCHEME_MAP)?.attach_struct_ops().map_err(|error| {
            let detail = log.first().map(|line| format!(" ({line})")).unwrap_or_default();
            format!("{}: the kernel did not register the scheme: {error:#}{detail}", self.name)
        })?;
        let Self { slots, changes, acks, object, .. } = self;
        Ok(Registered { slots, changes, acks, _link: link, _object: object })
    }
}

impl Registered {
    /// The shared memory.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// The shared memory.
    pub fn slots_mut(&mut self) -> &mut Slots {
        &mut self.slots
    }

    /// Return a descriptor that is readable when flows have opened or closed.
    pub fn changes_fd(&self) -> RawFd {
        self.changes.epoll_fd()
    }

    /// Replace `records` by the ACKs since the last call; `false` if the program does not record ACKs.
    pub fn take_acks(&self, records: &mut Vec<AckRecord>) -> bool {
        records.clear();
        let Some((ring, heard)) = &self.acks else { return false };
        // Fails only if a callback fails; ours cannot.
        let _ = ring.consume_raw();
        std::mem::swap(records, &mut heard.lock().unwrap_or_else(PoisonError::into_inner));
        true
    }

    /// Discard the changes so far.
    pub fn clear_changes(&self) {
        // Fails only if a callback fails; ours cannot.
        let _ = self.changes.consume_raw();
    }
}

/// Write settings and name into the program before it is loaded.
fn prepare(open: &mut OpenObject, name: &str, settings: &Settings, tie: Tie) -> Result<(), String> {
    let kernel = KernelOps::read()?;
    let settings_bytes = settings.bytes(kernel.cong_control_arguments);
    let misfit = CWND_EVENT_OFFSET + if kernel.has_tx_start { 0 } else { POINTER };
    for mut map in open.maps_mut() {
        let map_name = map.name().to_string_lossy().into_owned();
        if map_name == "acks" && !settings.tells_acks {
            let least = 4096; // a page
            map.set_max_entries(least).map_err(|error| format!("{name}: acks: {error}"))?;
        }
        if map_name == SCHEME_MAP && tie == Tie::Guardian {
            map.set_map_flags(0).map_err(|error| format!("{name}: {SCHEME_MAP}: {error}"))?;
        }
        let Some(value) = map.initial_value_mut() else { continue };
        if map_name.ends_with(".rodata") {
            value[..settings_bytes.len()].copy_from_slice(&settings_bytes);
        } else if map_name == SCHEME_MAP {
            value[NAME_OFFSET..NAME_OFFSET + MAX_NAME + 1].fill(0);
            value[NAME_OFFSET..NAME_OFFSET + name.len()].copy_from_slice(name.as_bytes());
            value[misfit..misfit + POINTER].fill(0);
            if !check::heeds_min_tso_segs() {
                value[MIN_TSO_SEGS_OFFSET..MIN_TSO_SEGS_OFFSET + POINTER].fill(0);
            }
        }
    }
    Ok(())
}

/// The parts of this kernel's `tcp_congestion_ops` that differ between versions.
struct KernelOps {
    /// Four since Linux 6.10, two before.
    cong_control_arguments: u32,
    /// Whether there is `cwnd_event_tx_start`, as since Linux 7.1.
    has_tx_start: bool,
}

impl KernelOps {
    /// Read the kernel's type information, because distributions backport such changes.
    fn read() -> Result<Self, String> {
        let place = "/sys/kernel/btf/vmlinux";
        let btf = Btf::from_vmlinux().map_err(|error| format!("{place}: cannot be read: {error}"))?;
        let ops = btf
            .type_by_name::<Struct<'_>>("tcp_congestion_ops")
            .ok_or_else(|| format!("{place}: no struct tcp_congestion_ops"))?;
        let member = |name: &str| ops.iter().find(|member| member.name.is_some_and(|text| text == name));
        let function = member("cong_control")
            .and_then(|member| btf.type_by_id::<Ptr<'_>>(member.ty))
            .map(|pointer| pointer.referenced_type().type_id())
            .and_then(|id| btf.type_by_id::<FuncProto<'_>>(id))
            .ok_or_else(|| format!("{place}: tcp_congestion_ops has no function cong_control"))?;
        let cong_control_arguments = match function.iter().count() {
            2 => 2,
            4 => 4,
            n => return Err(format!("{place}: cong_control takes {n} arguments, not 2 or 4")),
        };
        Ok(Self { cong_control_arguments, has_tx_start: member("cwnd_event_tx_start").is_some() })
    }
}

fn find<'o>(object: &'o mut Object, name: &str) -> Result<MapMut<'o>, String> {
    object.maps_mut().find(|map| map.name() == name).ok_or_else(|| format!("the program has no map {name:?}"))
}

fn fill_vacant(vacant: &MapMut<'_>) -> libbpf_rs::Result<()> {
    (0..SLOTS as u32).try_for_each(|slot| vacant.update(&[], &slot.to_ne_bytes(), MapFlags::ANY))
}

fn map_slots(object: &mut Object) -> Result<Slots, String> {
    let flows = Mapping::new::<Flow>(find(object, "flows")?.as_fd(), SLOTS, ProtFlags::PROT_READ)?;
    let commands = Mapping::new::<Command>(
        find(object, "commands")?.as_fd(),
        SLOTS + 1,
        ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
    )?;
    let (flows_at, commands_at) = (flows.at.cast(), commands.at.cast());
    let memory: Box<dyn Any> = Box::new((flows, commands));
    // SAFETY: the mappings are that long and live in `memory`; the program writes while the sequence is odd.
    Ok(unsafe { Slots::new(flows_at, commands_at, memory) })
}

/// An array map that is mapped into our memory.
struct Mapping {
    at: NonNull<std::ffi::c_void>,
    bytes: NonZeroUsize,
}

impl Mapping {
    fn new<T>(map: BorrowedFd<'_>, elements: usize, protection: ProtFlags) -> Result<Self, String> {
        let bytes = NonZeroUsize::new(elements * size_of::<T>()).ok_or("an empty map")?;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let at = unsafe { mmap(None, bytes, protection, MmapFlags::MAP_SHARED, map, 0) }
            .map_err(|error| format!("map {}: cannot be mapped: {error}", map.as_raw_fd()))?;
        Ok(Self { at, bytes })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: our own mapping, of that length, and nothing refers to it now.
        let _ = unsafe { munmap(self.at, self.bytes.get()) };
    }
}
