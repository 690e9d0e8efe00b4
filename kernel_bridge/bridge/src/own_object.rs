//! Load a congestion control of the user's own: a `tcp_congestion_ops` in a compiled BPF object.
//!
//! The program decides alone, so the daemon only keeps it registered.

use std::fmt;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;

use libbpf_rs::btf::types::{DataSec, MemberAttr, Struct, Var};
use libbpf_rs::btf::{Btf, BtfType, TypeId};
use libbpf_rs::{ErrorKind, Link, MapCore, Object, ObjectBuilder, ReferencesType};

use crate::ebpf::{MAX_NAME, Tie};
use crate::libbpf_log;

/// `BPF_F_LINK` of include/uapi/linux/bpf.h: a link registers the map.
const LINKED: u32 = 1 << 13;

/// Machine number of BPF in an ELF header.
const EM_BPF: u16 = 247;

/// The reason why an object cannot be loaded, and libbpf's messages with the verifier's log.
#[derive(Debug)]
pub struct Refusal {
    /// One line.
    pub why: String,
    /// All messages.
    pub log: String,
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self { why, log: String::new() }
    }
}

/// An object in the kernel, with its scheme not yet registered.
pub struct Loaded {
    /// The scheme's name for `TCP_CONGESTION`.
    pub name: String,
    variable: String,
    object: Object,
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A registered scheme. It ends with this value, and with the process at the latest (see [`Tie`]).
pub struct Registered {
    _link: Link,
    _object: Object,
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Registered")
    }
}

/// The object's variable of type `tcp_congestion_ops`.
struct Scheme {
    variable: String,
    /// Offset of the member `name` in the object's declaration of the type, which need not be the kernel's.
    name_offset: usize,
}

/// Load the object in `file`, with its scheme named `name`, or as the object says.
pub fn load(file: &Path, name: Option<&str>, tie: Tie) -> Result<Loaded, Refusal> {
    let place = file.display();
    let bytes = fs::read(file).map_err(|error| format!("{place}: cannot be read: {error}"))?;
    if !is_bpf(&bytes) {
        return Err(format!("{place}: not a BPF object: compile it with clang -target bpf -g -O2 -c").into());
    }
    let log = libbpf_log::listen();
    let refused = |step: &str, error: libbpf_rs::Error| {
        let text = log.text();
        Refusal {
            why: format!("{place}: {}", reason(&text).unwrap_or_else(|| format!("{step}: {error:#}"))),
            log: text,
        }
    };
    let scheme = find_scheme(file)?;
    let mut open =
        ObjectBuilder::default().open_file(file).map_err(|error| refused("cannot be opened", error))?;
    let mut scheme_name = None;
    for mut map in open.maps_mut() {
        if map.name().to_string_lossy() != scheme.variable {
            continue;
        }
        let flags = if tie == Tie::Link { LINKED } else { 0 };
        map.set_map_flags(flags).map_err(|error| refused("flags", error))?;
        let field = map
            .initial_value_mut()
            .and_then(|value| value.get_mut(scheme.name_offset..=scheme.name_offset + MAX_NAME));
        let Some(field) = field else { continue };
        if let Some(name) = name {
            field.fill(0);
            field[..name.len()].copy_from_slice(name.as_bytes());
        }
        let text: String = field.iter().take_while(|&&byte| byte != 0).map(|&byte| byte as char).collect();
        scheme_name = Some(text);
    }
    let scheme_name = scheme_name
        .filter(|name| !name.is_empty())
        .ok_or_else(|| format!("{place}: {}: the tcp_congestion_ops has no name", scheme.variable))?;
    let object = open.load().map_err(|error| refused("the kernel refuses it", error))?;
    Ok(Loaded { name: scheme_name, variable: scheme.variable, object })
}

impl Loaded {
    /// Return the scheme's map; a process that has it can remove the scheme.
    pub fn scheme_fd(&self) -> Option<BorrowedFd<'_>> {
        // SAFETY: the object owns the descriptor and lives as long as the borrow.
        self.object
            .maps()
            .find(|map| map.name().to_string_lossy() == self.variable)
            .map(|map| unsafe { BorrowedFd::borrow_raw(map.as_fd().as_raw_fd()) })
    }

    /// Register the scheme, so that connections can choose it.
    pub fn register(mut self) -> Result<Registered, Refusal> {
        let log = libbpf_log::listen();
        let map = self.object.maps_mut().find(|map| map.name().to_string_lossy() == self.variable);
        let mut map = map.ok_or_else(|| format!("{}: the object has lost its map", self.name))?;
        let link = map.attach_struct_ops().map_err(|error| Refusal {
            why: if error.kind() == ErrorKind::AlreadyExists {
                format!("{}: a congestion control of that name exists already", self.name)
            } else {
                format!("{}: the kernel does not register it: {error:#}", self.name)
            },
            log: log.text(),
        })?;
        Ok(Registered { _link: link, _object: self.object })
    }
}

/// Return whether a file is an ELF file for BPF.
fn is_bpf(file: &[u8]) -> bool {
    file.starts_with(b"\x7fELF")
        && file
            .get(18..20)
            .is_some_and(|machine| machine == EM_BPF.to_le_bytes() || machine == EM_BPF.to_be_bytes())
}

/// Find the scheme in the object's type information.
fn find_scheme(file: &Path) -> Result<Scheme, String> {
    let place = file.display();
    let btf =
        Btf::from_path(file).map_err(|_| format!("{place}: has no type information: compile it with -g"))?;
    let mut schemes = Vec::new();
    for section in btf.type_by_kind::<DataSec<'_>>() {
        let is_struct_ops =
            section.name().is_some_and(|name| name == ".struct_ops" || name == ".struct_ops.link");
        if !is_struct_ops {
            continue;
        }
        for entry in section.iter() {
            schemes.extend(scheme_of(&btf, entry.ty));
        }
    }
    let number = schemes.len();
    match schemes.pop() {
        Some(scheme) if number == 1 => Ok(scheme),
        Some(_) => Err(format!("{place}: has {number} struct tcp_congestion_ops, not one")),
        None => Err(format!("{place}: has no struct tcp_congestion_ops in a section .struct_ops")),
    }
}

/// Return the scheme that a variable is; `None` if it has another type.
fn scheme_of(btf: &Btf<'_>, variable: TypeId) -> Option<Scheme> {
    let variable = btf.type_by_id::<Var<'_>>(variable)?;
    let ops: BtfType<'_> = variable.referenced_type().skip_mods_and_typedefs();
    if ops.name()? != "tcp_congestion_ops" {
        return None;
    }
    let ops = Struct::try_from(ops).ok()?;
    let name = ops.iter().find(|member| member.name.is_some_and(|name| name == "name"))?;
    let MemberAttr::Normal { offset } = name.attr else { return None };
    Some(Scheme {
        variable: variable.name()?.to_string_lossy().into_owned(),
        name_offset: offset as usize / 8,
    })
}

/// Find the cause in libbpf's messages, of which the first may only say that loading failed.
fn reason(messages: &str) -> Option<String> {
    if let Some((before, log)) = messages.split_once("-- BEGIN PROG LOAD LOG --\n") {
        let program = before.rsplit("prog '").next()?.split('\'').next()?;
        let verdict = log.split("-- END PROG LOAD LOG --").next()?.lines().rfind(|line| {
            let is_statistics = ["processed ", "verification time ", "stack depth ", "libbpf: "]
                .iter()
                .any(|start| line.starts_with(start));
            !is_statistics && !line.trim().is_empty()
        })?;
        return Some(format!("the verifier refuses {program}: {}", verdict.trim()));
    }
    if messages.contains("failed to open system Kconfig") {
        let why = "it has an extern CONFIG_…, and there is neither /boot/config-RELEASE nor /proc/config.gz";
        return Some(why.to_owned());
    }
    if let Some((before, _)) = messages.split_once("': not found in kernel") {
        let symbol = before.rsplit('\'').next()?;
        return Some(format!("this kernel has no {symbol} for BPF programs"));
    }
    let first = messages.lines().find(|line| !line.trim().is_empty())?;
    Some(first.trim_start_matches("libbpf: ").trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_the_verifiers_verdict_or_the_missing_symbol_or_the_first_message() {
        for (messages, cause) in [
            (
                "libbpf: prog 'my_init': BPF program load failed: Permission denied\n\
                 libbpf: prog 'my_init': -- BEGIN PROG LOAD LOG --\n\
                 0: (bf) r6 = r1\nR1 invalid mem access 'scalar'\n\
                 processed 2 insns (limit 1000000)\n-- END PROG LOAD LOG --\nlibbpf: failed to load object\n",
                "the verifier refuses my_init: R1 invalid mem access 'scalar'",
            ),
            (
                "libbpf: extern (func ksym) 'tcp_no_such': not found in kernel or module BTFs\n",
                "this kernel has no tcp_no_such for BPF programs",
            ),
            (
                "libbpf: failed to open system Kconfig\n",
                "it has an extern CONFIG_…, and there is neither /boot/config-RELEASE nor /proc/config.gz",
            ),
            ("libbpf: failed to find valid kernel BTF\n", "failed to find valid kernel BTF"),
        ] {
            assert_eq!(reason(messages).as_deref(), Some(cause));
        }
    }

    #[test]
    fn a_file_of_another_kind_is_no_bpf_object() {
        let mut header = *b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x01\0\xf7\0";
        assert!(is_bpf(&header));
        header[18] = 62; // x86-64
        assert!(!is_bpf(&header));
        assert!(!is_bpf(b"int main;"));
    }
}
