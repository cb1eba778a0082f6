//! A look into finished MP4 and MOV files (ISO/IEC 14496-12): what ffmpeg wrote, where, and whether it is all there.

mod boxes;
mod fragment;
mod movie;

pub(crate) use fragment::{Fragment, fragments};
pub(crate) use movie::{AvcConfig, Movie, avc_config, movie, order, pictures};
