//! Inspects finished MP4 and MOV files (ISO/IEC 14496-12): reads their structure, and checks whether they are complete.

mod boxes;
mod fragment;
mod movie;

pub(crate) use fragment::{Fragment, fragments};
pub(crate) use movie::{AvcConfig, Movie, avc_config, movie, order, pictures};
