//! Which hosts may be fetched from: public ones, by the address that is really connected to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use url::{Host, Url};

/// A host, at one port or all, that is exempt from the refusal of private addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRule {
    host: String,
    port: Option<u16>,
}

impl HostRule {
    /// Reads `host` or `host:port`; an IPv6 address stands in brackets.
    pub fn parse(text: &str) -> Option<Self> {
        // The URL reader brings every spelling of an address into one form, as it will for the URLs themselves.
        let url = Url::parse(&format!("http://{}/", text.trim())).ok()?;
        let is_plain = url.path() == "/" && url.query().is_none() && url.username().is_empty();
        // The reader drops port 80, which is the scheme's own.
        let has_80 = text.trim().ends_with(":80");
        let port = url.port().or(has_80.then_some(80));
        is_plain.then(|| Some(Self { host: url.host_str()?.to_ascii_lowercase(), port }))?
    }

    fn matches(&self, url: &Url) -> bool {
        url.host_str().is_some_and(|host| host.trim_end_matches('.').eq_ignore_ascii_case(&self.host))
            && self.port.is_none_or(|port| url.port_or_known_default() == Some(port))
    }
}

/// Why a host is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// It is not public.
    Blocked,
    /// It has no address.
    Unknown,
}

/// The addresses a URL's host may be connected at: all of them, or a refusal. A name with one private address among
/// public ones is refused as a whole.
pub(super) async fn addresses(url: &Url, allowed: &[HostRule]) -> Result<Vec<SocketAddr>, Refused> {
    let is_exempt = allowed.iter().any(|rule| rule.matches(url));
    let port = url.port_or_known_default().ok_or(Refused::Unknown)?;
    let found: Vec<SocketAddr> = match url.host().ok_or(Refused::Unknown)? {
        Host::Ipv4(address) => vec![(IpAddr::V4(address), port).into()],
        Host::Ipv6(address) => vec![(IpAddr::V6(address), port).into()],
        Host::Domain(name) => {
            if !is_exempt && is_local_name(name) {
                return Err(Refused::Blocked);
            }
            tokio::net::lookup_host((name, port)).await.map_err(|_unknown| Refused::Unknown)?.collect()
        }
    };
    if found.is_empty() {
        return Err(Refused::Unknown);
    }
    if is_exempt || found.iter().all(|address| is_public(address.ip())) { Ok(found) } else { Err(Refused::Blocked) }
}

/// Names that mean this machine or its network whatever a name server says.
fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let ends = |end: &str| name == end || name.ends_with(&format!(".{end}"));
    ends("localhost") || ends("local") || ends("internal") || ends("home.arpa") || !name.contains('.')
}

/// Whether an address is reachable from everywhere.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

// IANA IPv4 Special-Purpose Address Registry, and multicast.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !matches!(
        (a, b, c),
        (0 | 10 | 127 | 224..=255, _, _)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (192, 168, _)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    )
}

// IANA IPv6 Special-Purpose Address Registry: nothing outside 2000::/3, and inside it neither documentation nor what
// carries an IPv4 address or a tunnel.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let is_unicast = (0x2000..=0x3fff).contains(&first);
    let is_special =
        matches!((first, second), (0x2001, 0x0000..=0x01ff | 0x0db8) | (0x2002, _) | (0x3fff, 0x0000..=0x0fff));
    is_unicast && !is_special
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(url: &str, allowed: &[HostRule]) -> Result<Vec<SocketAddr>, Refused> {
        addresses(&Url::parse(url).unwrap(), allowed).await
    }

    #[tokio::test]
    async fn private_ipv4_addresses_are_blocked_in_every_notation() {
        let hosts = [
            "127.0.0.1",
            "127.1",
            "0",
            "0.0.0.0",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "169.254.169.254",
            "192.0.0.1",
            "192.0.2.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "192.88.99.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "１２７.0.0.1",
            "127%2e0%2e0%2e1",
            "127.0.0.1.",
        ];
        for host in hosts {
            assert_eq!(ask(&format!("http://{host}/x.glb"), &[]).await, Err(Refused::Blocked), "{host}");
        }
    }

    #[tokio::test]
    async fn private_mapped_and_translated_ipv6_addresses_are_blocked() {
        let hosts = [
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:7f00:1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "100::1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:8.8.8.8",
        ];
        for host in hosts {
            assert_eq!(ask(&format!("http://[{host}]/x.glb"), &[]).await, Err(Refused::Blocked), "{host}");
        }
    }

    #[tokio::test]
    async fn names_of_this_machine_and_its_network_are_blocked() {
        for host in ["localhost", "LOCALHOST.", "x.localhost", "metadata.google.internal", "printer.local", "intranet"]
        {
            assert_eq!(ask(&format!("http://{host}/"), &[]).await, Err(Refused::Blocked), "{host}");
        }
        assert_eq!(ask("http://user@127.0.0.1/", &[]).await, Err(Refused::Blocked));
        assert_eq!(ask("http://nothing.invalid/", &[]).await, Err(Refused::Unknown));
    }

    #[tokio::test]
    async fn public_addresses_pass() {
        for host in
            ["8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "198.17.0.1", "[2606:4700::1111]", "[2a00::1]"]
        {
            assert!(ask(&format!("https://{host}/"), &[]).await.is_ok(), "{host}");
        }
    }

    #[tokio::test]
    async fn an_exempt_host_passes_at_its_port_only() {
        let rule = HostRule::parse("127.0.0.1:9000").unwrap();
        assert!(ask("http://127.0.0.1:9000/", std::slice::from_ref(&rule)).await.is_ok());
        assert!(ask("http://127.1:9000/", std::slice::from_ref(&rule)).await.is_ok(), "the same address");
        assert_eq!(ask("http://127.0.0.1:9001/", std::slice::from_ref(&rule)).await, Err(Refused::Blocked));
        assert_eq!(ask("http://127.0.0.2:9000/", &[rule]).await, Err(Refused::Blocked));
        let any_port = HostRule::parse("[::1]").unwrap();
        assert!(ask("http://[::1]:1234/", &[any_port]).await.is_ok());
        assert_eq!(HostRule::parse("a/b"), None);
        assert!(ask("http://127.0.0.1/", &[HostRule::parse("127.0.0.1:80").unwrap()]).await.is_ok());
        assert!(ask("https://127.0.0.1/", &[HostRule::parse("127.0.0.1:80").unwrap()]).await.is_err());
    }
}
