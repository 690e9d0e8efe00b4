//! Addresses of a shell's two ends, from 100.64.0.0/10 (RFC 6598, shared address space) like mahimahi's.
//!
//! A shell takes the first two that neither this network namespace nor the outermost shell uses. It reserves
//! an address before it checks its use, so shells that start at the same time never collide.

use std::io::{self, ErrorKind};
use std::net::Ipv4Addr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use nix::ifaddrs::getifaddrs;

/// The range to try: enough for a thousand shells in one namespace.
const FIRST: u32 = u32::from_be_bytes([100, 64, 0, 1]);
const LAST: u32 = u32::from_be_bytes([100, 64, 7, 254]);

/// An address that no other shell of this network namespace takes while this lives.
#[derive(Debug)]
pub struct Reserved {
    pub address: Ipv4Addr,
    /// The kernel keeps the reserving name until this socket closes, at the latest when the process ends.
    _name: UnixDatagram,
}

/// Reserve two addresses in this network namespace. `base` belongs to the outermost shell.
pub fn reserve_two(base: Option<Ipv4Addr>) -> io::Result<[Reserved; 2]> {
    let mut candidates = (FIRST..=LAST).map(Ipv4Addr::from);
    let first = reserve(&mut candidates, base)?;
    let second = reserve(&mut candidates, base)?;
    Ok([first, second])
}

fn reserve(candidates: &mut impl Iterator<Item = Ipv4Addr>, base: Option<Ipv4Addr>) -> io::Result<Reserved> {
    for address in candidates {
        if Some(address) == base {
            continue;
        }
        // unix(7): abstract names are per network namespace and vanish with the last socket that has them.
        let name = SocketAddr::from_abstract_name(format!("mm-leo {address}"))?;
        match UnixDatagram::bind_addr(&name) {
            Ok(_) if in_use()?.any(|used| used == address) => {}
            Ok(socket) => return Ok(Reserved { address, _name: socket }),
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("all addresses from 100.64.0.1 to 100.64.7.254 are in use"))
}

/// Return both addresses of every interface in this namespace.
fn in_use() -> io::Result<impl Iterator<Item = Ipv4Addr>> {
    let ends = getifaddrs()?.flat_map(|interface| [interface.address, interface.destination]);
    Ok(ends.flatten().filter_map(|end| end.as_sockaddr_in().map(nix::sys::socket::SockaddrIn::ip)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_shells_that_start_at_once_have_four_addresses_and_none_is_the_outermost_shells() {
        let base = Ipv4Addr::from(FIRST);
        let shells = [reserve_two(Some(base)).unwrap(), reserve_two(Some(base)).unwrap()];
        let mut addresses: Vec<_> = shells.iter().flatten().map(|reserved| reserved.address).collect();
        assert!(!addresses.contains(&base));
        addresses.dedup();
        assert_eq!(addresses.len(), 4);
        // When the first shell ends, its addresses are free again.
        let freed = shells[0][0].address;
        drop(shells);
        assert_eq!(reserve_two(Some(base)).unwrap()[0].address, freed);
    }
}
