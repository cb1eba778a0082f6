//! Determines the IP address of a client, which may be behind reverse proxies.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use axum::http::{HeaderMap, HeaderName, header};
use ipnet::IpNet;
use plinth_service::access::ClientAddress;

static FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// A reverse proxy, or a network of reverse proxies, whose `X-Forwarded-For` header is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrustedProxy(IpNet);

impl FromStr for TrustedProxy {
    type Err = ipnet::AddrParseError;

    /// Parses an address such as `10.0.0.1`, or a network such as `10.0.0.0/8`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<IpAddr>().map_or_else(|_no_address| text.parse(), |address| Ok(IpNet::from(address))).map(Self)
    }
}

/// Returns the address of the client that sent a request. `peer` is the address at the other end of the connection. If
/// the peer is a trusted proxy, the client is the last address in `X-Forwarded-For` that is not a trusted proxy. Each
/// proxy appends the address of its own peer to this header, so a client may have forged the entries before that
/// address.
pub(crate) fn client_address(peer: IpAddr, headers: &HeaderMap, trusted: &[TrustedProxy]) -> ClientAddress {
    let peer = peer.to_canonical();
    if !is_trusted(peer, trusted) {
        let is_forwarded = headers.contains_key(&FORWARDED_FOR) || headers.contains_key(header::FORWARDED);
        return ClientAddress { address: peer, is_shared: is_forwarded || is_local(peer) };
    }
    let values = headers.get_all(&FORWARDED_FOR).iter().rev();
    let entries = values.flat_map(|value| value.to_str().unwrap_or_default().rsplit(','));
    // A malformed entry ends the search, because a client may have forged the entries before it.
    let mut addresses = entries.map_while(|entry| parse(entry.trim()));
    addresses
        .find(|address| !is_trusted(*address, trusted))
        .map_or(ClientAddress { address: peer, is_shared: true }, |address| ClientAddress { address, is_shared: false })
}

/// Returns the network whose connections are counted together with those of `peer`, the address at the other end of a
/// connection. Returns `None` if the peer is a trusted proxy.
pub(crate) fn counted_network(peer: IpAddr, trusted: &[TrustedProxy]) -> Option<String> {
    let peer = peer.to_canonical();
    let client = ClientAddress { address: peer, is_shared: is_local(peer) };
    (!is_trusted(peer, trusted)).then(|| client.network())
}

fn is_trusted(address: IpAddr, trusted: &[TrustedProxy]) -> bool {
    trusted.iter().any(|TrustedProxy(network)| network.contains(&address))
}

/// Parses an address with or without a port.
fn parse(entry: &str) -> Option<IpAddr> {
    let address = entry.parse().or_else(|_port| entry.parse::<SocketAddr>().map(|socket| socket.ip()));
    address.ok().map(|address: IpAddr| address.to_canonical())
}

/// Returns whether an address belongs to this machine or to a private network. Reverse proxies usually have such an
/// address.
fn is_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_loopback() || address.is_private() || address.is_link_local(),
        IpAddr::V6(address) => address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(peer: &str, forwarded: &[&'static str], trusted: &[&str]) -> (String, bool) {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(&FORWARDED_FOR, value.parse().unwrap());
        }
        let trusted: Vec<TrustedProxy> = trusted.iter().map(|text| text.parse().unwrap()).collect();
        let client = client_address(peer.parse().unwrap(), &headers, &trusted);
        (client.address.to_string(), client.is_shared)
    }

    #[test]
    fn a_header_is_ignored_unless_the_peer_is_trusted() {
        let alone = |address: &str| (address.to_owned(), false);
        assert_eq!(found("192.0.2.1", &[], &[]), alone("192.0.2.1"));
        assert_eq!(found("192.0.2.1", &["198.51.100.7"], &[]), ("192.0.2.1".to_owned(), true));
        assert_eq!(found("192.0.2.1", &["198.51.100.7"], &["10.0.0.0/8"]), ("192.0.2.1".to_owned(), true));
        assert_eq!(found("192.0.2.1", &["198.51.100.7"], &["192.0.2.1"]), alone("198.51.100.7"));
        assert_eq!(found("::ffff:10.1.2.3", &["198.51.100.7"], &["10.0.0.0/8"]), alone("198.51.100.7"));
    }

    #[test]
    fn the_last_address_that_is_not_a_proxy_is_the_client() {
        let trusted = &["10.0.0.0/8", "fd00::/8"];
        let client = |forwarded: &[&'static str]| found("10.0.0.1", forwarded, trusted);
        assert_eq!(client(&["203.0.113.9, 198.51.100.7, 10.0.0.2"]), ("198.51.100.7".to_owned(), false));
        assert_eq!(client(&["203.0.113.9", "198.51.100.7", "10.0.0.2"]), ("198.51.100.7".to_owned(), false));
        assert_eq!(client(&["198.51.100.7:4711,fd00::1"]), ("198.51.100.7".to_owned(), false));
        assert_eq!(client(&["[2001:db8::7]:80"]), ("2001:db8::7".to_owned(), false));
        assert_eq!(client(&["203.0.113.9, nonsense, 10.0.0.2"]), ("10.0.0.1".to_owned(), true));
        assert_eq!(client(&[""]), ("10.0.0.1".to_owned(), true));
        assert_eq!(client(&[]), ("10.0.0.1".to_owned(), true));
    }

    #[test]
    fn a_peer_in_a_private_network_may_be_a_proxy() {
        for (peer, is_shared) in
            [("127.0.0.1", true), ("10.9.8.7", true), ("fd00::1", true), ("::1", true), ("2001:db8::1", false)]
        {
            assert_eq!(found(peer, &[], &[]).1, is_shared, "{peer}");
        }
    }
}
