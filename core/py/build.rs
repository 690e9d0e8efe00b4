//! Digest what determines the numbers of this build, as `leosim.BUILD`.
//!
//! The same sources, locked dependencies, compiler, target and flags give the same digest on every machine.
//! The bytes of two such builds differ: they have their folders in them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const SETTINGS: [&str; 4] = ["TARGET", "PROFILE", "OPT_LEVEL", "CARGO_ENCODED_RUSTFLAGS"];

fn main() {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("Cargo.toml"), root.join("Cargo.lock")];
    for folder in entries(&root.join("core")).into_iter().filter(|path| path.is_dir()) {
        files.extend(
            [folder.join("Cargo.toml"), folder.join("build.rs")].into_iter().filter(|file| file.exists()),
        );
        add_sources(&folder.join("src"), &mut files);
    }
    let mut digest = Digest::new();
    for file in files {
        println!("cargo:rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&root).expect("below the root").to_string_lossy().into_owned();
        digest.add(name.as_bytes());
        digest.add(&fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())));
    }
    let compiler = Command::new(variable("RUSTC")).arg("--version").output().expect("cargo sets RUSTC");
    digest.add(&compiler.stdout);
    for name in SETTINGS {
        digest.add(env::var(name).unwrap_or_default().as_bytes());
    }
    println!("cargo:rustc-env=LEOSIM_BUILD={:032x}", digest.0);
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

/// The entries of a folder, by name.
fn entries(folder: &Path) -> Vec<PathBuf> {
    println!("cargo:rerun-if-changed={}", folder.display());
    let read = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = read.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    paths
}

/// Add the Rust files below a folder.
fn add_sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in entries(folder) {
        if path.is_dir() {
            add_sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// FNV-1a of 128 bits, over parts with their lengths: the standard library has no hash that stays the same.
struct Digest(u128);

impl Digest {
    fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn add(&mut self, part: &[u8]) {
        for byte in (part.len() as u64).to_le_bytes().iter().chain(part) {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
}
