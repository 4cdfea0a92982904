use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use async_trait::async_trait;
use url::{Host, Url};

/// The longest address, in bytes.
const MAX_BYTES: usize = 8 * 1024;

/// Looks up the addresses of a host name.
#[async_trait]
pub(crate) trait Resolver: Send + Sync {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The system's own resolver.
pub(crate) struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let found = tokio::net::lookup_host((host, 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }
}

/// Parses an address and checks its text; with `http`, it need not be encrypted.
pub(super) fn parse_address(text: &str, http: bool) -> Result<Url, String> {
    if MAX_BYTES < text.len() {
        return Err(format!("the address has more than {MAX_BYTES} bytes"));
    }
    let url = Url::parse(text.trim()).map_err(|error| format!("it is no whole address: {error}"))?;
    check_address(url, http)
}

/// As [`parsed`], for an address that a page named.
pub(super) fn check_address(url: Url, http: bool) -> Result<Url, String> {
    match url.scheme() {
        "https" => {}
        "http" if http => {}
        "http" => {
            let how = "it is not encrypted, and only https is fetched; `http = true` in [web] of your own file allows it";
            return Err(how.to_owned());
        }
        other => return Err(format!("{other} is not fetched, only https")),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it holds a name or a password, and such an address is not fetched".to_owned());
    }
    if url.host().is_none() {
        return Err("it names no host".to_owned());
    }
    Ok(url)
}

/// The addresses of a host, all of which must satisfy `is_open`.
pub(crate) async fn permitted_addresses(
    url: &Url,
    resolver: &dyn Resolver,
    is_open: fn(&IpAddr) -> bool,
) -> Result<Vec<IpAddr>, String> {
    let found = match (literal_address(url), url.domain()) {
        (Some(address), _) => vec![address],
        (None, Some(name)) => {
            let found = resolver.resolve(name).await;
            found.map_err(|_| format!("there is no host {name}, or its name cannot be looked up now"))?
        }
        (None, None) => Vec::new(),
    };
    if found.is_empty() {
        return Err("its host has no address".to_owned());
    }
    // A name with both public and closed addresses was made to deceive.
    found.iter().try_for_each(|address| check_open(address, is_open))?;
    Ok(found)
}

/// The address of a host that is written as one, for which no name has to be looked up.
pub(super) fn literal_address(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
        Host::Domain(_) => None,
    }
}

/// Refuses an address that does not satisfy `is_open`.
pub(super) fn check_open(address: &IpAddr, is_open: fn(&IpAddr) -> bool) -> Result<(), String> {
    if is_open(address) {
        return Ok(());
    }
    Err(format!(
        "its host is at {address}, which is this machine, a private network or none of the web's; that is not fetched"
    ))
}

/// Whether an address belongs to the public network.
pub(crate) fn is_public(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(*address),
        IpAddr::V6(address) => is_public_v6(*address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = match (a, b, c) {
        // This network, private networks, this machine, link-local, carriers' own, protocol assignments,
        // documentation, benchmarks, multicast, reserved.
        (0 | 10 | 127 | 224..=255, ..)
        | (100, 64..=127, _)
        | (169, 254, _)
        | (172, 16..=31, _)
        | (192, 168, _)
        | (192, 0, 0 | 2)
        | (192, 88, 99)
        | (198, 18 | 19, _)
        | (198, 51, 100)
        | (203, 0, 113) => true,
        _ => false,
    };
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = address.to_ipv4_mapped() {
        return is_public_v4(inner);
    }
    let parts = address.segments();
    // A NAT64 gateway translates this to the IPv4 address in the last four bytes.
    if parts[..6] == [0x64, 0xff9b, 0, 0, 0, 0] {
        let [.., a, b, c, d] = address.octets();
        return is_public_v4(Ipv4Addr::new(a, b, c, d));
    }
    match parts {
        // Tunnels and protocol assignments, documentation, and IPv4 in another form.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x2002, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // Only this range has public addresses of single machines.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}
