//! `leo-bridge check`: report what this machine lacks.

use std::fmt;
use std::fs;

/// The oldest kernel that the programs are tested on.
const OLDEST: (u32, u32) = (6, 1);

/// The first kernel measured that sends bursts with a program's `min_tso_segs`.
const BURSTS_FROM: (u32, u32) = (6, 18);

const BTF: &str = "/sys/kernel/btf/vmlinux";

/// A requirement of the bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The requirement in a few words.
    pub name: &'static str,
    /// The missing part and its fix; `None` if the requirement is met.
    pub lack: Option<String>,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.lack {
            None => write!(f, "yes  {}", self.name),
            Some(lack) => write!(f, "NO   {}: {lack}", self.name),
        }
    }
}

/// Check all requirements, in the order in which to fix them.
pub fn needs() -> Vec<Need> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let btf = fs::read(BTF).unwrap_or_default();
    vec![
        loader(cfg!(feature = "ebpf")),
        kernel(&read("/proc/sys/kernel/osrelease")),
        type_information(&btf),
        struct_ops(&btf),
        end(&btf),
        compiler(&read("/proc/sys/net/core/bpf_jit_enable")),
        cubic(&read("/proc/sys/net/ipv4/tcp_available_congestion_control")),
        capabilities(&read("/proc/self/status")),
    ]
}

fn need(name: &'static str, holds: bool, lack: impl FnOnce() -> String) -> Need {
    Need { name, lack: (!holds).then(lack) }
}

fn loader(built_in: bool) -> Need {
    need("a build with the eBPF programs", built_in, || {
        "this one has none: `make kernel` as root installs clang, libelf and zlib and builds it".to_owned()
    })
}

fn kernel(release: &str) -> Need {
    need("Linux 6.1 or later", version(release) >= OLDEST, || format!("this is {}", release.trim()))
}

/// Return the first two numbers of a kernel's release.
fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// Return whether the kernel takes the result of a program's `min_tso_segs`.
///
/// About once a second, Linux 6.18 does not run the program and takes another number: it sends 46 to 90 packets at
/// once, even if the program is only `return 2` (studies/transfer).
pub fn heeds_min_tso_segs() -> bool {
    heeds_min_tso_segs_in(&fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default())
}

fn heeds_min_tso_segs_in(release: &str) -> bool {
    version(release) < BURSTS_FROM
}

/// Return whether the kernel can remove a scheme with its process, through a link (`BPF_F_LINK`, since 6.4).
pub fn has_links() -> bool {
    fs::read(BTF).is_ok_and(|btf| has_name(&btf, "bpf_struct_ops_link"))
}

fn end(btf: &[u8]) -> Need {
    let name = if has_name(btf, "bpf_struct_ops_link") {
        "removal of schemes with their process: by the kernel"
    } else {
        "removal of schemes with their process: by a second process (by the kernel from Linux 6.4 on)"
    };
    need(name, true, String::new)
}

/// Return whether the kernel's type information has a type or member `name`.
fn has_name(btf: &[u8], name: &str) -> bool {
    // BTF terminates names with a 0 byte.
    let bytes: Vec<u8> = [b"\0", name.as_bytes(), b"\0"].concat();
    btf.windows(bytes.len()).any(|window| window == bytes)
}

fn type_information(btf: &[u8]) -> Need {
    need("the kernel's type information (BTF)", !btf.is_empty(), || {
        "/sys/kernel/btf/vmlinux cannot be read: the kernel must be built with CONFIG_DEBUG_INFO_BTF=y"
            .to_owned()
    })
}

fn struct_ops(btf: &[u8]) -> Need {
    let has = has_name(btf, "bpf_struct_ops_tcp_congestion_ops");
    need("TCP congestion control in eBPF (struct_ops)", has, || {
        "the kernel has no bpf_struct_ops_tcp_congestion_ops: it must be built with CONFIG_BPF_JIT=y and CONFIG_BPF_SYSCALL=y"
            .to_owned()
    })
}

fn compiler(enabled: &str) -> Need {
    need("the eBPF compiler", matches!(enabled.trim(), "1" | "2"), || {
        "net.core.bpf_jit_enable is not 1: `sysctl net.core.bpf_jit_enable=1`".to_owned()
    })
}

fn cubic(available: &str) -> Need {
    need(
        "the kernel's Cubic, to fall back on",
        available.split_whitespace().any(|name| name == "cubic"),
        || "net.ipv4.tcp_available_congestion_control does not list it: `modprobe tcp_cubic`".to_owned(),
    )
}

fn capabilities(status: &str) -> Need {
    const NET_ADMIN: u64 = 1 << 12;
    const SYS_ADMIN: u64 = 1 << 21;
    const BPF: u64 = 1 << 39;
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0);
    let may = effective & SYS_ADMIN != 0 || effective & (BPF | NET_ADMIN) == BPF | NET_ADMIN;
    need("the right to load it", may, || {
        "it needs root, or CAP_BPF and CAP_NET_ADMIN: run it with sudo (it drops them after loading)"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_6_18_on_the_program_does_not_set_the_smallest_burst() {
        for (release, heeds) in
            [("6.1.0-37-amd64", true), ("6.12.43\n", true), ("6.18.44-fc\n", false), ("7.1.0", false)]
        {
            assert_eq!(heeds_min_tso_segs_in(release), heeds, "{release}");
        }
    }

    #[test]
    fn kernels_before_6_1_are_too_old() {
        for (release, fine) in [
            ("6.18.44-fc\n", true),
            ("6.1.0-37-amd64", true),
            ("7.0-rc1", true),
            ("5.15.0-91-generic", false),
            ("", false),
        ] {
            assert_eq!(kernel(release).lack.is_none(), fine, "{release}");
        }
        assert_eq!(kernel("6.0.0\n").to_string(), "NO   Linux 6.1 or later: this is 6.0.0");
    }

    #[test]
    fn either_root_or_the_two_capabilities_do() {
        for (mask, fine) in [
            ("000001fffeffffff", true),
            ("0000008000001000", true),
            ("0000008000000000", false),
            ("0000000000000000", false),
        ] {
            let status = format!("Name:\tx\nCapInh:\t0\nCapEff:\t{mask}\n");
            assert_eq!(capabilities(&status).lack.is_none(), fine, "{mask}");
        }
    }

    #[test]
    fn a_name_counts_only_whole() {
        assert!(struct_ops(b"\0x\0bpf_struct_ops_tcp_congestion_ops\0y\0").lack.is_none());
        assert!(struct_ops(b"\0x\0bpf_struct_ops_tcp_congestion_ops2\0y\0").lack.is_some());
        assert!(end(b"\0bpf_struct_ops_link\0").name.ends_with("by the kernel"));
        assert!(end(b"\0bpf_struct_ops_links\0").name.contains("by a second process"));
        assert!(cubic("reno bbr cubic\n").lack.is_none());
        assert!(cubic("reno cubical").lack.is_some());
    }
}
