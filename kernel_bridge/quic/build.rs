//! Gives the programs the versions of their stacks, from the lock file.

fn main() {
    println!("cargo::rerun-if-changed=Cargo.lock");
    let lock = std::fs::read_to_string("Cargo.lock").expect("Cargo.lock");
    let version = |name: &str| {
        let entry = format!("name = \"{name}\"\nversion = \"");
        let (_, rest) = lock.split_once(&entry).expect("a package of the lock file");
        rest.split('"').next().expect("a version").to_owned()
    };
    println!("cargo::rustc-env=S2N_QUIC={}", version("s2n-quic"));
    println!("cargo::rustc-env=QUINN={} (quinn-proto {})", version("quinn"), version("quinn-proto"));
}
