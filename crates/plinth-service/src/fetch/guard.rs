//! Protection against server-side request forgery: the service downloads only from public addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use url::{Host, Url};

use super::FetchOptions;
use super::names::is_below;

/// A host that is allowed although its address is private. The rule is for one port or for all ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRule {
    host: String,
    port: Option<u16>,
}

impl HostRule {
    /// Parses `host` or `host:port`; an IPv6 address needs brackets.
    pub fn parse(text: &str) -> Option<Self> {
        // The URL parser normalizes every notation of an address, here and in the URLs that clients send, so that the
        // rule and the URL can be compared.
        let url = Url::parse(&format!("http://{}/", text.trim())).ok()?;
        let is_plain = url.path() == "/" && url.query().is_none() && url.username().is_empty();
        // The URL parser drops port 80, which is the default of the scheme.
        let has_80 = text.trim().ends_with(":80");
        let port = url.port().or(has_80.then_some(80));
        is_plain.then(|| Some(Self { host: url.host_str()?.to_ascii_lowercase(), port }))?
    }

    fn matches(&self, url: &Url) -> bool {
        url.host_str().is_some_and(|host| host.trim_end_matches('.').eq_ignore_ascii_case(&self.host))
            && self.port.is_none_or(|port| url.port_or_known_default() == Some(port))
    }
}

/// The reason why a host is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rejected {
    /// The host has an address that is not public.
    Blocked,
    /// The host has no address.
    Unknown,
}

/// Resolves a URL's host and returns all its addresses.
/// Errors: the host is unknown, or at least one of its addresses is not public.
pub(super) async fn addresses(url: &Url, options: &FetchOptions) -> Result<Vec<SocketAddr>, Rejected> {
    let is_exempt = options.allowed_hosts.iter().any(|rule| rule.matches(url));
    let port = url.port_or_known_default().ok_or(Rejected::Unknown)?;
    let found = match url.host().ok_or(Rejected::Unknown)? {
        Host::Ipv4(address) => vec![IpAddr::V4(address)],
        Host::Ipv6(address) => vec![IpAddr::V6(address)],
        Host::Domain(name) => {
            if !is_exempt && is_local_name(name) {
                return Err(Rejected::Blocked);
            }
            options.names.look_up(name).await
        }
    };
    if found.is_empty() {
        return Err(Rejected::Unknown);
    }
    if !is_exempt && !found.iter().all(|address| is_public(*address)) {
        return Err(Rejected::Blocked);
    }
    Ok(found.into_iter().map(|address| (address, port).into()).collect())
}

/// Returns whether a name refers to this machine or its local network, regardless of its DNS records.
fn is_local_name(name: &str) -> bool {
    let domains = ["localhost", "local", "internal", "home.arpa"];
    domains.iter().any(|domain| is_below(name, domain)) || !name.trim_end_matches('.').contains('.')
}

/// Returns whether an address is globally reachable.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

// Rejects the ranges of the IANA IPv4 Special-Purpose Address Registry, and multicast addresses.
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

// Follows the IANA IPv6 Special-Purpose Address Registry. Accepts only 2000::/3, except its ranges for documentation,
// tunnels and embedded IPv4 addresses.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let is_unicast = (0x2000..=0x3fff).contains(&first);
    let is_special =
        matches!((first, second), (0x2001, 0x0000..=0x01ff | 0x0db8) | (0x2002, _) | (0x3fff, 0x0000..=0x0fff));
    is_unicast && !is_special
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plinth_testkit::HOSTS_INSIDE;

    use super::*;
    use crate::fetch::Names;

    async fn ask(url: &str, allowed: &[HostRule]) -> Result<Vec<SocketAddr>, Rejected> {
        let options = FetchOptions { allowed_hosts: allowed.to_vec(), ..FetchOptions::default() };
        addresses(&Url::parse(url).unwrap(), &options).await
    }

    #[tokio::test]
    async fn private_hosts_are_blocked_in_every_notation() {
        for host in HOSTS_INSIDE {
            assert_eq!(ask(&format!("http://{host}/x.glb"), &[]).await, Err(Rejected::Blocked), "{host}");
        }
        assert_eq!(ask("http://nothing.invalid/", &[]).await, Err(Rejected::Unknown));
    }

    #[tokio::test]
    async fn public_addresses_are_allowed() {
        for host in
            ["8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "198.17.0.1", "[2606:4700::1111]", "[2a00::1]"]
        {
            assert!(ask(&format!("https://{host}/"), &[]).await.is_ok(), "{host}");
        }
    }

    #[tokio::test]
    async fn a_name_with_one_private_address_is_blocked() {
        for (addresses_of_name, expected) in [
            (vec!["8.8.8.8", "2606:4700::1111"], Ok(2)),
            (vec!["8.8.8.8", "127.0.0.1"], Err(Rejected::Blocked)),
            (vec!["10.0.0.1"], Err(Rejected::Blocked)),
            (vec!["2606:4700::1111", "::ffff:10.0.0.1"], Err(Rejected::Blocked)),
            (vec![], Err(Rejected::Unknown)),
        ] {
            let found: Vec<IpAddr> = addresses_of_name.iter().map(|text| text.parse().unwrap()).collect();
            let names = Names::Given(Arc::new(move |_name| found.clone()));
            let options = FetchOptions { names, ..FetchOptions::default() };
            let found = addresses(&Url::parse("http://name.example:81/").unwrap(), &options).await;
            assert_eq!(found.as_ref().map(Vec::len).map_err(|rejected| *rejected), expected, "{addresses_of_name:?}");
            assert!(found.into_iter().flatten().all(|address| address.port() == 81));
        }
    }

    #[tokio::test]
    async fn an_exempt_host_is_allowed_at_its_port_only() {
        let rule = HostRule::parse("127.0.0.1:9000").unwrap();
        assert!(ask("http://127.0.0.1:9000/", std::slice::from_ref(&rule)).await.is_ok());
        assert!(
            ask("http://127.1:9000/", std::slice::from_ref(&rule)).await.is_ok(),
            "127.1 is another notation of the exempt address"
        );
        assert_eq!(ask("http://127.0.0.1:9001/", std::slice::from_ref(&rule)).await, Err(Rejected::Blocked));
        assert_eq!(ask("http://127.0.0.2:9000/", &[rule]).await, Err(Rejected::Blocked));
        let any_port = HostRule::parse("[::1]").unwrap();
        assert!(ask("http://[::1]:1234/", &[any_port]).await.is_ok());
        assert_eq!(HostRule::parse("a/b"), None);
        assert!(ask("http://127.0.0.1/", &[HostRule::parse("127.0.0.1:80").unwrap()]).await.is_ok());
        assert!(ask("https://127.0.0.1/", &[HostRule::parse("127.0.0.1:80").unwrap()]).await.is_err());
    }
}
