//! The network of a view: its own loopback and nothing else.

use std::fs;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};

use crate::Refusal;
use crate::os::{again, refused};

const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST_ACK: u16 = 1 | 4;
const IFF_UP: u32 = 1;
/// The loopback is the first interface of every network namespace.
const LOOPBACK: i32 = 1;

/// Activates the loopback interface.
pub(super) fn loopback_up() -> Result<(), Refusal> {
    let failed = |error: rustix::io::Errno| refused("sendto", "netlink, loopback up", error);
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)
        .map_err(|error| refused("socket", "netlink", error))?;
    let mut message = Vec::with_capacity(32);
    // The message's header: length, type, flags, sequence, port.
    message.extend(32_u32.to_ne_bytes());
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend(NLM_F_REQUEST_ACK.to_ne_bytes());
    message.extend(1_u32.to_ne_bytes());
    message.extend(0_u32.to_ne_bytes());
    // The link's header: family and padding, type, index, flags, and which flags are meant.
    message.extend([0; 4]);
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend(IFF_UP.to_ne_bytes());
    message.extend(IFF_UP.to_ne_bytes());
    again(|| sendto(&socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))).map_err(failed)?;
    let mut answer = [0_u8; 256];
    let (_, got) = again(|| recv(&socket, &mut answer, RecvFlags::empty())).map_err(failed)?;
    // Behind the header of sixteen bytes comes a negative error number, or 0.
    let code = answer.get(16..20).filter(|_| 20 <= got).and_then(|bytes| bytes.try_into().ok());
    match code.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(code) => Err(refused("netlink", "loopback up", std::io::Error::from_raw_os_error(-code))),
        None => Err(refused("netlink", "loopback up", std::io::Error::other("a short answer"))),
    }
}

/// The number of packets in this network namespace that had no route so far.
pub(super) fn without_route() -> u64 {
    let four = fs::read_to_string("/proc/net/snmp").unwrap_or_default();
    let six = fs::read_to_string("/proc/net/snmp6").unwrap_or_default();
    let ip: Vec<Vec<&str>> = four
        .lines()
        .filter_map(|line| line.strip_prefix("Ip: "))
        .map(|line| line.split_whitespace().collect())
        .collect();
    let four = match ip.as_slice() {
        [names, values] => {
            names.iter().position(|name| *name == "OutNoRoutes").and_then(|at| values.get(at)?.parse().ok())
        }
        _ => None,
    };
    let six = six.lines().find_map(|line| line.strip_prefix("Ip6OutNoRoutes")?.trim().parse::<u64>().ok());
    four.unwrap_or(0_u64) + six.unwrap_or(0)
}
