//! Helpers for tests: temporary databases, object stores and web servers, an HTTP client, small models, and a video
//! reader that calls ffprobe. If a program is missing, the test fails with installation instructions.

// Tests run on Linux only, so this crate is empty on other systems.
#![cfg(target_os = "linux")]
#![expect(clippy::panic, clippy::expect_used, reason = "a test that cannot be set up fails")]

mod client;
mod clusters;
mod faulty_proxy;
mod form;
mod glb;
mod hardware;
mod hash;
mod hosts;
mod image;
mod network;
mod postgres;
mod s3;
mod tools;
mod video;
mod web;

pub use client::{Answer, Client, header};
pub use faulty_proxy::{FaultyProxy, ProxyFault};
pub use form::Form;
pub use glb::{glb_too_large_to_draw, glb_with_names, glb_with_sphere, glb_with_triangle, glb_without_meshes};
pub use hardware::hardware_ffmpeg;
pub use hash::sha256_hex;
pub use hosts::HOSTS_INSIDE;
pub use image::png;
pub use network::{Host, Network};
pub use postgres::{Postgres, TestDatabase};
pub use s3::S3Server;
pub use tools::{aws, ffmpeg, ffmpeg_in_scripts, ffprobe, postgres, python};
pub use video::{assert_h264, probe};
pub use web::{Reply, Visit, Web};

/// Declares each test twice, for SQLite and for PostgreSQL. The PostgreSQL database already has the tables of
/// plinth-db. A test is an async function whose argument is the database URL.
#[macro_export]
macro_rules! on_both_databases {
    ($($(#[$attribute:meta])* $name:ident)*) => {$(
        mod $name {
            $(#[$attribute])*
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                let database = $crate::TestDatabase::sqlite();
                super::super::$name(database.address()).await;
            }

            $(#[$attribute])*
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                let database = $crate::TestDatabase::postgres_with_tables(async |address| {
                    plinth_db::Db::open(address, plinth_db::DbOptions::default()).await.unwrap().close().await;
                })
                .await;
                super::super::$name(database.address()).await;
            }
        }
    )*};
}
