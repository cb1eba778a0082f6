//! HLS streaming of renders.

use plinth_spec::ErrorCode;
use plinth_spec::state::HlsStatus;
use plinth_spec::wire::HlsView;
use plinth_store::ObjectKey;

use super::file::Delivery;
use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::service::Service;

/// Name of the master playlist.
pub(crate) const MASTER: &str = "master.m3u8";
/// Name of the thumbnail track.
const THUMBNAILS: &str = "thumbnails.vtt";
/// Extensions of the files that packaging creates.
const EXTENSIONS: [&str; 5] = ["m3u8", "mp4", "m4s", "vtt", "jpg"];

impl Service {
    /// Returns the state of a render's packaging and its stream URLs. A stream URL consists of `base`, the identifier of the
    /// render, `hls` and the name of a file.
    pub async fn hls(&self, caller: &Caller, id: &str, base: &str) -> Result<HlsView> {
        let render = self.render_row(caller, id).await?;
        let is_ready = render.hls_status == HlsStatus::Ready;
        let url = |name: &str| is_ready.then(|| format!("{}/{}/hls/{name}", base.trim_end_matches('/'), render.id));
        Ok(HlsView {
            status: render.hls_status,
            master_url: url(MASTER),
            thumbnails_vtt_url: url(THUMBNAILS),
            id: render.id.clone(),
        })
    }

    /// Finds a file of a render's HLS stream, such as a playlist or a segment.
    pub async fn hls_file(&self, caller: &Caller, id: &str, name: &str) -> Result<Delivery> {
        let missing = || ServiceError::new(ErrorCode::NotFound, "this render has no such file, or it is not ready yet");
        let render = self.render_row(caller, id).await?;
        let attempt = render.files_attempt.filter(|_| render.hls_status == HlsStatus::Ready && is_hls_name(name));
        let attempt = attempt.ok_or_else(missing)?;
        let key = ObjectKey::Hls(&render.id, attempt, render.hls_attempt, name);
        self.deliver(&key, None).await?.ok_or_else(missing)
    }
}

/// Returns whether a packaged file can have this name: at most one folder, plain characters and a known extension.
/// Other names are rejected without a request to the store.
fn is_hls_name(name: &str) -> bool {
    let is_plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    };
    let parts: Vec<&str> = name.split('/').collect();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    parts.len() <= 2 && parts.iter().all(|part| is_plain(part)) && EXTENSIONS.contains(&extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_packaged_files_are_accepted() {
        for good in ["master.m3u8", "540p/index.m3u8", "540p/init.mp4", "540p/0.m4s", "thumbnails.vtt", "sprite-0.jpg"]
        {
            assert!(is_hls_name(good), "{good}");
        }
        let bad = [
            "",
            "..",
            "../video.mp4",
            "a/../b.mp4",
            "/etc/x.mp4",
            "a//b.mp4",
            "a/b/c.mp4",
            "%2e%2e/b.mp4",
            "a\\b.mp4",
            "a\0.mp4",
            ".mp4",
            "a/.mp4",
            "video.mov",
            "x",
            "x.m3u8/",
            "é.mp4",
        ];
        for bad in bad {
            assert!(!is_hls_name(bad), "{bad}");
        }
    }
}
