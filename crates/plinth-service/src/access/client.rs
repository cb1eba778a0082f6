//! The address of a client that is not authenticated yet.

use std::net::IpAddr;

/// The address from which a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientAddress {
    /// Address of the client. If a reverse proxy did not send its client's address, this is the address of the proxy.
    pub address: IpAddr,
    /// Whether several clients may share this address, because it is the address of a reverse proxy.
    pub is_shared: bool,
}

impl ClientAddress {
    /// Returns the network whose addresses count as one client. For IPv4 this is the address itself. For IPv6 it is the
    /// first 64 bits, which are usually assigned to one customer.
    pub fn network(&self) -> String {
        match self.address.to_canonical() {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_ipv6_network_count_as_one_client() {
        let network = |text: &str| ClientAddress { address: text.parse().unwrap(), is_shared: false }.network();
        assert_eq!(network("2001:db8:1:2::1"), network("2001:db8:1:2:ffff::9"));
        assert_ne!(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
    }
}
