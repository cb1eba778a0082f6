//! Every table on both databases.

mod accounts;
mod assets;
mod leases;
mod lists;
mod make;
mod traffic;
mod tx;
