//! The service contract as data and pure functions: settings, prices, limits, error codes.
