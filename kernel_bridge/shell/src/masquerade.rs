//! Source address translation for packets that leave the outer network namespace.
//!
//! A netlink socket owns the nf_tables table: the kernel removes the table when the socket closes, even if
//! the process is killed. The table in nft(8)'s syntax:
//!
//! ```text
//! table ip mm-leo-leo0 { flags owner;
//!     chain postrouting { type nat hook postrouting priority 100;
//!         ip saddr 100.64.0.2 masquerade } }
//! ```
//!
//! Messages and attributes follow <linux/netfilter/nf_tables.h>, their order <linux/netfilter/nfnetlink.h>.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, sendto, socket,
};

const NFPROTO_IPV4: u8 = 2;
const NFNL_MSG_BATCH_BEGIN: u16 = 0x10;
const NFNL_MSG_BATCH_END: u16 = 0x11;
const NFNL_SUBSYS_NFTABLES: u16 = 10;
const NFT_MSG_NEWTABLE: u16 = 0;
const NFT_MSG_NEWCHAIN: u16 = 3;
const NFT_MSG_NEWRULE: u16 = 6;
const NFT_TABLE_F_OWNER: u32 = 2;
const NF_INET_POST_ROUTING: u32 = 4;
/// Hook priority of source translation in <linux/netfilter_ipv4.h>.
const NF_IP_PRI_NAT_SRC: u32 = 100;
const NFT_PAYLOAD_NETWORK_HEADER: u32 = 1;
const NFT_REG_1: u32 = 1;
const NFT_CMP_EQ: u32 = 0;
const SOURCE_ADDRESS_OFFSET: u32 = 12;
const NLA_F_NESTED: u16 = 1 << 15;
const CHAIN: &[u8] = b"postrouting\0";
/// Size of a netlink header and an nf_tables header.
const HEADERS: usize = 16 + 4;

/// A masquerading rule that exists while this lives.
#[derive(Debug)]
pub struct Masquerade {
    _socket: OwnedFd,
}

/// Return whether packets can leave this network namespace: whether an interface is up other than loopback
/// and other shells' ends, whose names start with `shells`.
pub fn leads_on(shells: &str) -> io::Result<bool> {
    Ok(getifaddrs()?.any(|interface| {
        let up = interface.flags.contains(InterfaceFlags::IFF_UP);
        up && !interface.flags.contains(InterfaceFlags::IFF_LOOPBACK)
            && !interface.interface_name.starts_with(shells)
    }))
}

impl Masquerade {
    /// Let packets from `source` leave this network namespace with the address of their outgoing interface.
    /// Fails if the kernel lacks nf_tables.
    pub fn install(table: &str, source: Ipv4Addr) -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkNetFilter)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        let batch = batch(table, source);
        sendto(socket.as_raw_fd(), &batch, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        // The kernel answers each message of the batch except its begin and end.
        for _ in 0..3 {
            acknowledged(&socket)?;
        }
        Ok(Self { _socket: socket })
    }
}

/// Read one answer: an error number, zero on success.
fn acknowledged(socket: &OwnedFd) -> io::Result<()> {
    let mut answer = [0; 4096];
    let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    let number = answer.get(16..20).filter(|_| length >= 20);
    match number.map(|bytes| i32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])) {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(-error)),
        None => Err(io::Error::other("nf_tables: an answer that is too short")),
    }
}

/// Build one transaction that creates the table, the chain and the rule.
fn batch(table: &str, source: Ipv4Addr) -> Vec<u8> {
    let table = [table.as_bytes(), b"\0"].concat();
    let owned = attribute(2, &NFT_TABLE_F_OWNER.to_be_bytes());
    let hook =
        [attribute(1, &NF_INET_POST_ROUTING.to_be_bytes()), attribute(2, &NF_IP_PRI_NAT_SRC.to_be_bytes())];
    let chain =
        [attribute(1, &table), attribute(3, CHAIN), nested(4, &hook.concat()), attribute(7, b"nat\0")];
    let rule = [attribute(1, &table), attribute(2, CHAIN), nested(4, &expressions(source))];
    [
        message(NFNL_MSG_BATCH_BEGIN, 0, 0, NFNL_SUBSYS_NFTABLES, &[]),
        create(NFT_MSG_NEWTABLE, 1, &[attribute(1, &table), owned].concat()),
        create(NFT_MSG_NEWCHAIN, 2, &chain.concat()),
        create(NFT_MSG_NEWRULE, 3, &rule.concat()),
        message(NFNL_MSG_BATCH_END, 0, 4, NFNL_SUBSYS_NFTABLES, &[]),
    ]
    .concat()
}

/// Load the source address, compare it with `source`, masquerade.
fn expressions(source: Ipv4Addr) -> Vec<u8> {
    let load = [
        attribute(1, &NFT_REG_1.to_be_bytes()),
        attribute(2, &NFT_PAYLOAD_NETWORK_HEADER.to_be_bytes()),
        attribute(3, &SOURCE_ADDRESS_OFFSET.to_be_bytes()),
        attribute(4, &4_u32.to_be_bytes()),
    ];
    let compare = [
        attribute(1, &NFT_REG_1.to_be_bytes()),
        attribute(2, &NFT_CMP_EQ.to_be_bytes()),
        nested(3, &attribute(1, &source.octets())),
    ];
    [
        expression(b"payload\0", &load.concat()),
        expression(b"cmp\0", &compare.concat()),
        expression(b"masq\0", &[]),
    ]
    .concat()
}

fn expression(name: &[u8], data: &[u8]) -> Vec<u8> {
    nested(1, &[attribute(1, name), nested(2, data)].concat())
}

fn create(kind: u16, sequence: u32, attributes: &[u8]) -> Vec<u8> {
    let flags = (libc::NLM_F_CREATE | libc::NLM_F_ACK) as u16;
    message(NFNL_SUBSYS_NFTABLES << 8 | kind, flags, sequence, 0, attributes)
}

/// Build a netlink header, then family, version and resource, then attributes; lengths are multiples of four.
fn message(kind: u16, flags: u16, sequence: u32, resource: u16, attributes: &[u8]) -> Vec<u8> {
    let length = (HEADERS + attributes.len()) as u32;
    let flags = flags | libc::NLM_F_REQUEST as u16;
    let family = if kind < NLMSG_MIN_TYPE_OF_SUBSYSTEMS { 0 } else { NFPROTO_IPV4 };
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend(sequence.to_ne_bytes());
    message.extend(0_u32.to_ne_bytes());
    message.extend([family, 0]);
    message.extend(resource.to_be_bytes());
    message.extend(attributes);
    message
}

/// Smaller kinds are a batch's begin and end.
const NLMSG_MIN_TYPE_OF_SUBSYSTEMS: u16 = 1 << 8;

/// Encode length, kind and value, padded with zeros to a multiple of four.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = 4 + value.len();
    let mut attribute = (length as u16).to_ne_bytes().to_vec();
    attribute.extend(kind.to_ne_bytes());
    attribute.extend(value);
    attribute.resize(length.next_multiple_of(4), 0);
    attribute
}

fn nested(kind: u16, attributes: &[u8]) -> Vec<u8> {
    attribute(kind | NLA_F_NESTED, attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_five_messages_that_end_where_they_say() {
        let batch = batch("mm-leo-leo0", Ipv4Addr::new(100, 64, 0, 2));
        let mut at = 0;
        let mut kinds = Vec::new();
        while at < batch.len() {
            let length = u32::from_ne_bytes(batch[at..at + 4].try_into().unwrap()) as usize;
            assert_eq!(length % 4, 0);
            kinds.push(u16::from_ne_bytes(batch[at + 4..at + 6].try_into().unwrap()));
            at += length;
        }
        assert_eq!(at, batch.len());
        assert_eq!(kinds, [0x10, 0xa00, 0xa03, 0xa06, 0x11]);
    }
}
