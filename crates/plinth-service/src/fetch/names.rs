//! Resolution of host names.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use plinth_spec::limits;

/// Time after which a name counts as unknown.
const LIMIT: Duration = Duration::from_secs(limits::INGEST_NAME_SECS);

/// A function that returns all addresses of a host name.
type LookUp = dyn Fn(&str) -> Vec<IpAddr> + Send + Sync;

/// Source of host addresses.
#[derive(Clone, Default)]
pub enum Names {
    /// The operating system's resolver.
    #[default]
    System,
    /// A function. Used by tests in which the address of a name changes.
    Given(Arc<LookUp>),
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::System => "System",
            Self::Given(_) => "Given",
        })
    }
}

impl Names {
    /// Returns all addresses of a name. The list is empty for an unknown name, and if no name server answers in time.
    pub(super) async fn look_up(&self, name: &str) -> Vec<IpAddr> {
        match self {
            // Names below `invalid` never exist (RFC 6761, section 6.4), so no name server needs to be asked.
            Self::System if is_below(name, "invalid") => Vec::new(),
            // `lookup_host` needs a port, which has no effect on the lookup.
            Self::System => found(tokio::net::lookup_host((name, 0)), LIMIT).await,
            Self::Given(answer) => answer(name),
        }
    }
}

/// Returns the addresses that a lookup finds within a time limit.
async fn found<A: Iterator<Item = SocketAddr>>(
    lookup: impl Future<Output = io::Result<A>>,
    limit: Duration,
) -> Vec<IpAddr> {
    let addresses = tokio::time::timeout(limit, lookup).await.ok().and_then(Result::ok);
    addresses.into_iter().flatten().map(|address| address.ip()).collect()
}

/// Returns whether a name is a domain or lies below it.
pub(super) fn is_below(name: &str, domain: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn a_silent_name_server_counts_as_an_unknown_name() {
        let lookup = pending::<io::Result<std::vec::IntoIter<SocketAddr>>>();
        assert!(found(lookup, Duration::from_millis(1)).await.is_empty());
        let answered = vec![SocketAddr::from(([8, 8, 8, 8], 0))];
        let lookup = ready(Ok(answered.into_iter()));
        assert_eq!(found(lookup, Duration::from_mins(1)).await, [IpAddr::from([8, 8, 8, 8])]);
    }

    #[test]
    fn a_domain_contains_itself_and_the_names_that_end_with_it() {
        for name in ["invalid", "a.invalid", "A.B.Invalid."] {
            assert!(is_below(name, "invalid"), "{name}");
        }
        for name in ["", "notinvalid", "invalid.example", "a.invalid.example"] {
            assert!(!is_below(name, "invalid"), "{name}");
        }
    }
}
