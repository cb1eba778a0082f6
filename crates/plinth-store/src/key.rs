//! Object keys. A key determines the path and the content type of a stored object.

use plinth_spec::id::{EnvId, ModelId, OverlayId, RenderId, StagedId, TextureId};
use plinth_spec::quality::Codec;
use plinth_spec::{EnvPart, OutputFile};

/// Identifies a stored object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectKey<'a> {
    /// A model's GLB.
    Model(&'a ModelId),
    /// A file that a client uploaded through a signed link.
    Staged(&'a StagedId),
    Overlay(&'a OverlayId),
    Texture(&'a TextureId),
    /// A part of an environment.
    Env(&'a EnvId, EnvPart),
    /// A file of a render. The fields are the render, the attempt, the file, and the codec of the render's quality.
    /// Each attempt has its own files. Therefore a worker that lost its lease cannot overwrite the files of the next
    /// worker.
    Render(&'a RenderId, i64, OutputFile, Codec),
    /// A file of a render's HLS packaging. The fields are the render, the attempt of the render, the attempt of the
    /// packaging, and the file name.
    Hls(&'a RenderId, i64, i64, &'a str),
    /// The identity of the store, a random text that the database contains, too.
    StoreId,
}

impl ObjectKey<'_> {
    /// Returns the object's path in the store.
    pub fn path(&self) -> String {
        match self {
            Self::Model(id) => format!("models/{id}.glb"),
            Self::Staged(id) => format!("staged/{id}.glb"),
            Self::Overlay(id) => format!("overlays/{id}"),
            Self::Texture(id) => format!("textures/{id}"),
            Self::Env(id, part) => format!("{}{}", env_prefix(id), part.file_name()),
            Self::Render(id, attempt, file, codec) => {
                format!("{}{}", attempt_prefix(id, *attempt), file.file_name(*codec))
            }
            Self::Hls(id, attempt, hls_attempt, name) => {
                format!("{}{name}", hls_prefix(id, *attempt, *hls_attempt))
            }
            Self::StoreId => "plinth-store-id".to_owned(),
        }
    }

    /// Returns the object's content type. For overlays and textures, it is a generic type; the exact type is stored in
    /// the database row of the image.
    pub fn content_type(&self) -> &'static str {
        match self {
            Self::Model(_) | Self::Staged(_) => "model/gltf-binary",
            Self::Overlay(_) | Self::Texture(_) => "application/octet-stream",
            Self::Env(_, part) if part.is_json() => "application/json",
            Self::Env(..) => "image/webp",
            Self::Render(_, _, file, codec) => file.format(*codec).content_type(),
            Self::Hls(_, _, _, name) => hls_content_type(name),
            Self::StoreId => "text/plain",
        }
    }
}

/// Returns the path prefix of all files of one HLS packaging of a render attempt.
pub fn hls_prefix(id: &RenderId, attempt: i64, hls_attempt: i64) -> String {
    format!("{}{hls_attempt}/", all_hls_prefix(id, attempt))
}

/// Returns the path prefix of the HLS streams that all packagings of a render attempt have created.
pub fn all_hls_prefix(id: &RenderId, attempt: i64) -> String {
    format!("{}hls/", attempt_prefix(id, attempt))
}

/// Returns the path prefix of all files of a render.
pub fn render_prefix(id: &RenderId) -> String {
    format!("renders/{id}/")
}

/// Returns the path prefix of all files of one render attempt.
pub fn attempt_prefix(id: &RenderId, attempt: i64) -> String {
    format!("{}{attempt}/", render_prefix(id))
}

/// Returns the path prefix of all parts of an environment.
pub fn env_prefix(id: &EnvId) -> String {
    format!("envs/{id}/")
}

fn hls_content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "m3u8" => "application/vnd.apple.mpegurl",
        "mp4" => "video/mp4",
        "m4s" => "video/iso.segment",
        "vtt" => "text/vtt",
        "jpg" => "image/jpeg",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_never_share_a_file() {
        let id = RenderId::parse("r00000000001").unwrap();
        let video = |attempt| ObjectKey::Render(&id, attempt, OutputFile::Video, Codec::H264).path();
        assert_eq!(video(1), "renders/r00000000001/1/video.mp4");
        assert_ne!(video(1), video(2));
        let hls = |attempt| ObjectKey::Hls(&id, 1, attempt, "master.m3u8").path();
        assert_eq!(hls(3), "renders/r00000000001/1/hls/3/master.m3u8");
        assert!(video(1).starts_with(&render_prefix(&id)) && hls(1).starts_with(&render_prefix(&id)));
    }

    #[test]
    fn hls_files_have_the_content_types_that_players_expect() {
        let id = RenderId::parse("r00000000001").unwrap();
        let kind = |name| ObjectKey::Hls(&id, 1, 1, name).content_type();
        assert_eq!(kind("master.m3u8"), "application/vnd.apple.mpegurl");
        assert_eq!(kind("540p/0.m4s"), "video/iso.segment");
        assert_eq!(kind("thumbs.vtt"), "text/vtt");
    }
}
