//! The error codes that each operation may return. They are part of the OpenAPI document.

use plinth_spec::ErrorCode as E;

/// Error codes of every operation that needs an API key.
const COMMON: &[E] =
    &[E::Unauthorized, E::TokenExpired, E::Forbidden, E::InsufficientScope, E::RateLimited, E::Internal];
/// Error codes of every operation that creates a model.
const UPLOAD: &[E] = &[
    E::BadRequest,
    E::InvalidFormat,
    E::FileTooLarge,
    E::InvalidSettings,
    E::InvalidLength,
    E::NoCredits,
    E::UploadLimit,
    E::LimitReached,
];
/// Error codes of operations that download a model from a URL.
const FETCH: &[E] = &[
    E::UrlRequired,
    E::InvalidUrl,
    E::InvalidUrlScheme,
    E::BlockedHost,
    E::DnsError,
    E::UrlError,
    E::DownloadFailed,
    E::DownloadTimeout,
    E::InvalidContentType,
    E::Timeout,
    E::IngestFailed,
];
/// Error codes of operations that create renders.
const CREATE: &[E] =
    &[E::BadRequest, E::ModelIdRequired, E::ModelNotFound, E::InvalidSettings, E::InvalidLength, E::NoCredits];
/// Error codes of operations that store an asset.
const ASSET: &[E] = &[E::BadRequest, E::NoFile, E::FileTooLarge, E::LimitReached];

/// Error codes of operations that return a stored file.
const FILE: &[E] = &[E::NotFound, E::PreconditionFailed, E::RangeNotSatisfiable];

/// Error codes of operations that need a frame of a model.
const PREVIEW: &[E] = &[E::BadRequest, E::NotFound, E::InvalidSettings, E::InvalidLength];

/// Additional error codes of each operation, by operation name. An operation that is not in this list returns only the
/// codes in [`COMMON`].
const OWN: &[(&str, &[&[E]])] = &[
    ("upload_model", &[UPLOAD, &[E::NoFile, E::UploadFailed]]),
    ("finalize_upload", &[UPLOAD, &[E::NotFound, E::UploadFailed]]),
    ("ingest_model", &[UPLOAD, FETCH]),
    ("create_upload_url", &[&[E::BadRequest, E::UploadLimit, E::LimitReached]]),
    ("check_hash", &[&[E::BadRequest, E::Sha256Required]]),
    ("list_models", &[&[E::BadRequest]]),
    ("update_model", &[&[E::BadRequest]]),
    ("get_model_file", &[FILE, &[E::FileNotFound]]),
    ("get_model_file_url", &[&[E::BadRequest, E::FileNotFound]]),
    ("list_renders", &[&[E::BadRequest]]),
    ("create_render", &[CREATE]),
    ("create_batch", &[CREATE, &[E::RendersRequired, E::TooMany]]),
    ("delete_render", &[&[E::RenderInFlight]]),
    ("dismiss_render", &[&[E::BadRequest]]),
    ("cancel_render", &[&[E::RenderStarted]]),
    ("get_video", &[FILE, &[E::BadRequest, E::VideoNotFound]]),
    ("get_poster", &[FILE, &[E::BadRequest, E::PosterNotFound]]),
    ("get_thumb", &[FILE, &[E::ThumbNotFound]]),
    ("get_dataset", &[FILE, &[E::DatasetNotFound]]),
    ("get_bundle", &[&[E::VideoNotFound]]),
    ("get_hls_file", &[FILE]),
    ("get_download_url", &[&[E::BadRequest, E::AssetNotFound]]),
    ("list_overlays", &[&[E::BadRequest]]),
    ("create_overlay", &[ASSET]),
    ("resolve_overlay", &[&[E::BadRequest, E::Sha256Required]]),
    ("delete_overlay", &[&[E::NotFound]]),
    ("create_texture", &[ASSET]),
    ("delete_texture", &[&[E::NotFound]]),
    ("create_env", &[ASSET]),
    ("delete_env", &[&[E::NotFound]]),
    ("create_look", &[&[E::BadRequest, E::InvalidSettings, E::InvalidLength, E::LimitReached]]),
    ("get_look", &[&[E::NotFound]]),
    ("update_look", &[&[E::BadRequest, E::NotFound, E::InvalidSettings, E::InvalidLength, E::LimitReached]]),
    ("delete_look", &[&[E::NotFound]]),
    ("draw_preview", &[PREVIEW]),
    ("find_surfaces", &[PREVIEW]),
    ("find_cameras", &[PREVIEW]),
    ("quote", &[&[E::BadRequest, E::RendersRequired, E::TooMany, E::InvalidSettings, E::InvalidLength]]),
    ("list_purchases", &[&[E::BadRequest]]),
];

/// Statuses with which single operations return a code, in addition to the statuses of the code.
const OTHER_STATUSES: &[(&str, u16, E)] = &[
    // The settings are valid, but this model cannot be drawn with them.
    ("draw_preview", 422, E::InvalidSettings),
    ("find_surfaces", 422, E::InvalidSettings),
    ("find_cameras", 422, E::InvalidSettings),
];

/// Returns the entries of [`OTHER_STATUSES`] of an operation.
pub(crate) fn other_statuses(operation: &str) -> impl Iterator<Item = (u16, E)> {
    OTHER_STATUSES.iter().filter(move |(id, ..)| *id == operation).map(|(_, status, code)| (*status, *code))
}

/// Returns every error code that an operation may return.
pub(crate) fn operation_errors(operation: &str, path: &str) -> Vec<E> {
    let own = OWN.iter().filter(|(id, _)| *id == operation).flat_map(|(_, groups)| groups.concat());
    let mut codes: Vec<E> = COMMON.iter().copied().chain(own).collect();
    if path.starts_with("/models/{") {
        codes.push(E::ModelNotFound);
    }
    if path.starts_with("/renders/{") {
        codes.push(E::RenderNotFound);
    }
    codes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::OWN;

    #[test]
    fn every_listed_operation_is_one_of_the_document_and_is_listed_once() {
        let document = crate::openapi::document();
        let paths = document["paths"].as_object().expect("paths");
        let operations: BTreeSet<&str> = paths
            .values()
            .filter_map(|path| path.as_object())
            .flat_map(|methods| methods.values())
            .filter_map(|operation| operation["operationId"].as_str())
            .collect();
        let listed: BTreeSet<&str> = OWN.iter().map(|(operation, _groups)| *operation).collect();
        assert!(listed.is_subset(&operations), "{:?}", listed.difference(&operations).collect::<Vec<_>>());
        assert_eq!(listed.len(), OWN.len());
        let described =
            document["paths"]["/models/{modelId}/preview"]["post"]["responses"]["422"]["description"].as_str();
        assert!(described.is_some_and(|text| text.contains("invalid_settings")), "{described:?}");
    }
}
