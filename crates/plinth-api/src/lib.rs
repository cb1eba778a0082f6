//! The HTTP interface: requests in, use cases called, envelopes out.
