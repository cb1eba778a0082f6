//! Opens the TCP listeners of servers and workers.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::TcpListener;

use crate::system;

/// Listens at an address. `[::]` means all addresses of IPv6 and IPv4; on a system without IPv6, it means all addresses of IPv4.
/// Errors: the system does not allow listening there, for example because another process does.
pub(crate) async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    bind_with(address, TcpListener::bind::<SocketAddr>).await
}

/// Calls `bind_once` with the address, and if that is `[::]` and there is no IPv6, with `0.0.0.0` and the same port.
async fn bind_with<B, F, L>(address: SocketAddr, bind_once: B) -> io::Result<L>
where
    B: Fn(SocketAddr) -> F,
    F: Future<Output = io::Result<L>>,
{
    let bound = bind_once(address).await;
    let has_no_ipv6 = bound.as_ref().is_err_and(system::is_unsupported_address_family);
    if !has_no_ipv6 || address.ip() != Ipv6Addr::UNSPECIFIED {
        return bound;
    }
    let instead = SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port()));
    tracing::warn!(%address, %instead, "this system has no IPv6, so another address is used");
    bind_once(instead).await
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Returns the addresses that are tried if each attempt fails with this error, and the last error.
    async fn tried(address: &str, error: i32) -> (Vec<String>, Option<i32>) {
        let tried = RefCell::new(Vec::new());
        let bound: io::Result<()> = bind_with(address.parse().unwrap(), |address| {
            tried.borrow_mut().push(address.to_string());
            std::future::ready(Err(io::Error::from_raw_os_error(error)))
        })
        .await;
        (tried.into_inner(), bound.unwrap_err().raw_os_error())
    }

    #[tokio::test]
    async fn all_addresses_are_those_of_ipv4_on_a_system_without_ipv6() {
        let bound = bind_with("[::]:8080".parse().unwrap(), |address| {
            let unsupported = io::Error::from_raw_os_error(libc::EAFNOSUPPORT);
            std::future::ready(if address.is_ipv6() { Err(unsupported) } else { Ok(address) })
        });
        assert_eq!(bound.await.unwrap().to_string(), "0.0.0.0:8080");
    }

    #[tokio::test]
    async fn no_other_address_and_no_other_error_leads_to_ipv4() {
        for address in ["[::1]:8080", "[2001:db8::1]:8080", "0.0.0.0:8080", "127.0.0.1:8080"] {
            let once = (vec![address.to_owned()], Some(libc::EAFNOSUPPORT));
            assert_eq!(tried(address, libc::EAFNOSUPPORT).await, once);
        }
        for error in [libc::EADDRINUSE, libc::EACCES, libc::EADDRNOTAVAIL] {
            assert_eq!(tried("[::]:8080", error).await, (vec!["[::]:8080".to_owned()], Some(error)));
        }
        let both = vec!["[::]:8080".to_owned(), "0.0.0.0:8080".to_owned()];
        assert_eq!(tried("[::]:8080", libc::EAFNOSUPPORT).await, (both, Some(libc::EAFNOSUPPORT)));
    }
}
