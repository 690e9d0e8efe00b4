//! `leo-bridge clean`: remove schemes that no process serves.
//!
//! Links prevent such schemes. Before Linux 6.4, killing daemon and guardian together leaves one.

use std::collections::BTreeSet;
use std::fs;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{MemberAttr, Struct};
use libbpf_rs::query::MapInfoIter;
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};

use crate::ebpf::SCHEME_MAP;

/// Start of the names under which runs register schemes (`kernel_bridge/host/schemes.py`).
const OF_RUNS: &str = "leogym";

const KEY: [u8; 4] = [0; 4];

/// Remove the schemes and return their names.
pub fn clean() -> Result<Vec<String>, String> {
    // List the schemes before the descriptors, so that a bridge that starts in between keeps its own.
    let schemes: Vec<(u32, bool)> = MapInfoIter::default()
        .filter(|map| map.ty == MapType::StructOps)
        .map(|map| (map.id, map.name == SCHEME_MAP))
        .collect();
    let served = maps_with_descriptors()?;
    let mut taken_away = Vec::new();
    for (id, is_ours) in schemes.into_iter().filter(|(id, _)| !served.contains(id)) {
        // The map may be gone by now.
        let Ok(map) = MapHandle::from_map_id(id) else { continue };
        let name = name_of(&map).unwrap_or_else(|| format!("map {id}"));
        // A user's object names its map as it likes.
        if !is_ours && !name.starts_with(OF_RUNS) {
            continue;
        }
        // Deleting fails for a scheme that is not registered but still in use by flows.
        if map.delete(&KEY).is_ok() {
            taken_away.push(name);
        }
    }
    Ok(taken_away)
}

/// Return the ids of the maps to which a process holds a descriptor.
fn maps_with_descriptors() -> Result<BTreeSet<u32>, String> {
    let failed = |error: std::io::Error| format!("/proc: cannot be read: {error}");
    let mut map_ids = BTreeSet::new();
    for process in fs::read_dir("/proc").map_err(failed)? {
        let folder = process.map_err(failed)?.path().join("fdinfo");
        // Not a process, or a process that has just ended.
        let Ok(descriptors) = fs::read_dir(folder) else { continue };
        for descriptor in descriptors.flatten() {
            let Ok(text) = fs::read_to_string(descriptor.path()) else { continue };
            let ids = text.lines().filter_map(|line| line.strip_prefix("map_id:")?.trim().parse().ok());
            map_ids.extend::<Vec<u32>>(ids.collect());
        }
    }
    Ok(map_ids)
}

/// Return the scheme's name (`TCP_CONGESTION`).
fn name_of(map: &MapHandle) -> Option<String> {
    let btf = Btf::from_vmlinux().ok()?;
    let begin = offset(&btf, "bpf_struct_ops_tcp_congestion_ops", "data")?
        + offset(&btf, "tcp_congestion_ops", "name")?;
    let value = map.lookup(&KEY, MapFlags::ANY).ok()??;
    let bytes = value.get(begin..)?.iter().take_while(|&&byte| byte != 0).take(16);
    let name: String = bytes.map(|&byte| byte as char).collect();
    (!name.is_empty()).then_some(name)
}

/// Return the byte offset of a member in a kernel type.
fn offset(btf: &Btf<'_>, name: &str, member: &str) -> Option<usize> {
    let kernel_type = btf.type_by_name::<Struct<'_>>(name)?;
    let member = kernel_type.iter().find(|field| field.name.is_some_and(|name| name == member))?;
    match member.attr {
        MemberAttr::Normal { offset } | MemberAttr::BitField { offset, .. } => Some(offset as usize / 8),
    }
}
