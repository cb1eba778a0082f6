//! Ingest: creates a model from a file that the service downloads from a URL.

use plinth_spec::ErrorCode;
use plinth_spec::wire::IngestModel;
use url::Url;

use super::check::Format;
use super::create_from_file::ReceivedModel;
use super::upload::Uploaded;
use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::fetch::{self, Download};
use crate::renders::parse_settings;
use crate::service::Service;

/// Name of a model whose URL contains no file name.
const UNNAMED: &str = "model.glb";

impl Service {
    /// Downloads a GLB and creates a model and a render from it.
    pub async fn ingest_model(&self, caller: &Caller, request: IngestModel) -> Result<Uploaded> {
        let missing = || ServiceError::new(ErrorCode::UrlRequired, "send the URL of a GLB in the field 'url'");
        let url = request.url.filter(|url| !url.trim().is_empty()).ok_or_else(missing)?;
        let url = fetch::parse_url(&url)?;
        let settings = request.render_settings.filter(|value| !value.is_null());
        let settings = settings.map(|value| parse_settings(caller, Some(&value))).transpose()?;
        if let Some(settings) = &settings {
            self.check_funds_early(caller, settings).await?;
        }
        let mut file = self.incoming_model(caller, None).await?;
        let download = Download::begin(&self.options.fetch, &url).await?;
        if let Some(size) = download.size() {
            self.check_size_early(caller, size..=size).await?;
            file.limit_to(size);
        }
        download.receive(&self.options.fetch, &mut file).await?;
        let received = ReceivedModel {
            file: file.finish().await?,
            name: name_of(&url),
            format: Format::Glb,
            settings,
            code: ErrorCode::IngestFailed,
            staged: None,
        };
        self.create_from_file(caller, received).await
    }
}

/// Returns the last segment of the URL's path if it is the name of a GLB file. Otherwise returns a default name.
fn name_of(url: &Url) -> String {
    let last = url.path_segments().and_then(|mut parts| parts.next_back()).unwrap_or_default();
    let name = percent_decoded(last);
    let name = super::upload::file_name(&name).ok();
    let is_glb = |name: &String| name.to_ascii_lowercase().ends_with(".glb");
    name.filter(is_glb).unwrap_or_else(|| UNNAMED.to_owned())
}

fn percent_decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_named_after_the_last_segment_of_its_url() {
        let name = |url: &str| name_of(&Url::parse(url).unwrap());
        assert_eq!(name("https://example.org/a/red%20chair.GLB?x=1"), "red chair.GLB");
        for url in
            ["https://example.org", "https://example.org/a/", "https://example.org/download", "https://e.org/..%2f"]
        {
            assert_eq!(name(url), UNNAMED, "{url}");
        }
    }
}
