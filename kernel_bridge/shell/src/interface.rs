//! TUN devices as the two ends of a link, with their addresses, routes and state.
//!
//! netdevice(7) and the kernel's Documentation/networking/tuntap.rst describe the requests. Devices are not
//! persistent: the kernel removes one when its descriptor closes, even if the process is killed.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// Packets that the kernel queues for this process before it drops.
const BACKLOG_PACKETS: i32 = 8_192;

/// `TUNSETIFF`, `TUNSETOFFLOAD` and `TUN_F_CSUM` of <linux/if_tun.h>.
const TUNSETIFF: libc::Ioctl = 0x4004_54ca;
const TUNSETOFFLOAD: libc::Ioctl = 0x4004_54d0;
const TUN_F_CSUM: libc::c_ulong = 1;

/// A TUN device. Each call reads or writes one packet after its device header (`struct virtio_net_hdr`).
///
/// The device leaves checksums to others, as network cards do. Senders need this for UDP segmentation offload
/// (`UDP_SEGMENT`). The kernel still splits segments, so each packet has at most [`MTU`](crate::datagram::MTU) bytes.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
}

impl Tun {
    /// Create a device in this network namespace; `%d` in `name` becomes the first free number.
    pub fn create(name: &str) -> io::Result<Self> {
        let file = File::options()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open("/dev/net/tun")?;
        let mut request = named(name);
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
        // SAFETY: TUNSETIFF reads and writes one ifreq, which lives until the call returns.
        check(unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF, &raw mut request) })?;
        // SAFETY: TUNSETOFFLOAD takes its argument by value.
        check(unsafe { libc::ioctl(file.as_raw_fd(), TUNSETOFFLOAD, TUN_F_CSUM) })?;
        let name =
            request.ifr_name.iter().take_while(|&&letter| letter != 0).map(|&letter| letter as u8 as char);
        Ok(Self { name: name.collect(), file })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Set both ends' addresses and turn the device on. This process must be in the device's namespace.
    pub fn connect(&self, local: Ipv4Addr, peer: Ipv4Addr) -> io::Result<()> {
        let socket = Control::open()?;
        let mut request = named(&self.name);
        request.ifr_ifru.ifru_addr = address(local);
        socket.set(libc::SIOCSIFADDR, &mut request)?;
        request.ifr_ifru.ifru_dstaddr = address(peer);
        socket.set(libc::SIOCSIFDSTADDR, &mut request)?;
        request.ifr_ifru.ifru_metric = BACKLOG_PACKETS;
        // In a user namespace the kernel refuses this and keeps its 500 packets; overruns would show.
        let _ = socket.set(libc::SIOCSIFTXQLEN, &mut request);
        socket.turn_on(&self.name)
    }

    /// Read the next packet; fails with `WouldBlock` if none waits.
    pub fn read(&self, room: &mut [u8]) -> io::Result<usize> {
        (&self.file).read(room)
    }

    /// Hand a packet to the kernel; fails if the device is down.
    pub fn write(&self, packet: &[u8]) -> io::Result<()> {
        (&self.file).write(packet).map(|_| ())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Turn on the loopback interface of this network namespace.
pub fn turn_on_loopback() -> io::Result<()> {
    Control::open()?.turn_on("lo")
}

pub fn default_route(gateway: Ipv4Addr) -> io::Result<()> {
    // SAFETY: a rtentry is plain data, for which zeros mean "any" and "none".
    let mut route: libc::rtentry = unsafe { std::mem::zeroed() };
    route.rt_dst = address(Ipv4Addr::UNSPECIFIED);
    route.rt_genmask = address(Ipv4Addr::UNSPECIFIED);
    route.rt_gateway = address(gateway);
    route.rt_flags = libc::RTF_UP | libc::RTF_GATEWAY;
    let socket = Control::open()?;
    // SAFETY: SIOCADDRT reads one rtentry, which lives until the call returns.
    check(unsafe { libc::ioctl(socket.0.as_raw_fd(), libc::SIOCADDRT, &raw const route) })
}

/// A socket for netdevice(7)'s requests; any socket will do.
struct Control(OwnedFd);

impl Control {
    fn open() -> io::Result<Self> {
        Ok(Self(socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?))
    }

    fn set(&self, operation: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
        // SAFETY: all requests used here read or write one ifreq, which lives until the call returns.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), operation, request) })
    }

    fn turn_on(&self, name: &str) -> io::Result<()> {
        let mut request = named(name);
        self.set(libc::SIOCGIFFLAGS, &mut request)?;
        // SAFETY: SIOCGIFFLAGS has just written this field.
        let flags = unsafe { request.ifr_ifru.ifru_flags };
        request.ifr_ifru.ifru_flags = flags | libc::IFF_UP as libc::c_short;
        self.set(libc::SIOCSIFFLAGS, &mut request)
    }
}

fn named(name: &str) -> libc::ifreq {
    // SAFETY: an ifreq is plain data, for which zeros are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero and terminates the name.
    let room = request.ifr_name.len() - 1;
    for (place, letter) in request.ifr_name[..room].iter_mut().zip(name.bytes()) {
        *place = letter as libc::c_char;
    }
    request
}

fn address(address: Ipv4Addr) -> libc::sockaddr {
    let mut data = [0; 14];
    for (place, byte) in data[2..6].iter_mut().zip(address.octets()) {
        *place = byte as libc::c_char;
    }
    libc::sockaddr { sa_family: libc::AF_INET as libc::sa_family_t, sa_data: data }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
