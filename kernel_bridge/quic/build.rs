//! Gives the programs the versions of their stacks, from the lock file of their package.

const PACKAGES: [&str; 5] = ["boring", "quiche", "quinn", "quinn-proto", "s2n-quic"];

fn main() {
    println!("cargo::rerun-if-changed=Cargo.lock");
    let lock = std::fs::read_to_string("Cargo.lock").expect("Cargo.lock");
    for name in PACKAGES {
        if let Some((_, rest)) = lock.split_once(&format!("name = \"{name}\"\nversion = \"")) {
            let version = rest.split('"').next().expect("a version");
            println!("cargo::rustc-env={}={version}", name.to_uppercase().replace('-', "_"));
        }
    }
}
