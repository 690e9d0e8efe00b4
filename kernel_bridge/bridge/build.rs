//! Compile the eBPF programs that the binary embeds.

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

const PROGRAMS: [&str; 2] = ["leo_agent", "satcp"];

fn main() {
    println!("cargo:rerun-if-changed=bpf");
    if env::var_os("CARGO_FEATURE_EBPF").is_none() {
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    // The headers of the same libbpf version that loads the programs.
    let headers = env::var("DEP_BPF_INCLUDE").expect("libbpf-sys says where its headers are");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    for name in PROGRAMS {
        let source = format!("bpf/{name}.bpf.c");
        let object = out.join(format!("{name}.bpf.o"));
        let status = Command::new(&clang)
            .args([
                "-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall", "-Werror", "-I", &headers, "-c", &source,
                "-o",
            ])
            .arg(&object)
            .status();
        match status {
            Ok(status) if status.success() => {}
            Ok(_) => panic!("{source}: {clang} could not compile it"),
            Err(error) => panic!("{clang}: cannot be run: {error}: install clang, or set CLANG to it"),
        }
        assert!(fs::metadata(&object).is_ok_and(|file| file.len() > 0), "{}: is empty", object.display());
    }
}
