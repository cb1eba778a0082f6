//! One suite for both stores, and links followed over HTTP.

mod both;
