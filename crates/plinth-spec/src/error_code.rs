//! The table of error codes: code, HTTP status, meaning. Clients branch on the code.

macro_rules! error_codes {
    ($($variant:ident $code:literal $status:literal $meaning:literal;)*) => {
        /// Why a request is refused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $(#[doc = $meaning] $variant,)*
        }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The code as it stands in the API.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// Its HTTP status. A few codes have several: see [`Self::other_statuses`].
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)* }
            }

            /// When it is answered.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }
        }
    };
}

error_codes! {
    Unauthorized "unauthorized" 401 "The token is missing, malformed, unknown or revoked.";
    TokenExpired "token_expired" 401 "The token has expired.";
    Forbidden "forbidden" 403 "The account is suspended, its workspace is gone or closed to it, or the resource belongs to somebody else.";
    InsufficientScope "insufficient_scope" 403 "The token lacks the scope that this call needs.";
    NoFile "no_file" 400 "The upload has no file.";
    BadRequest "bad_request" 400 "The request is malformed.";
    InvalidFormat "invalid_format" 400 "The file's extension is not accepted.";
    InvalidUrl "invalid_url" 400 "The URL is malformed.";
    InvalidUrlScheme "invalid_url_scheme" 400 "The URL is neither http nor https.";
    BlockedHost "blocked_host" 400 "The URL's host is not public.";
    DnsError "dns_error" 400 "The URL's host has no address.";
    UrlError "url_error" 400 "The URL's server refused, or redirected too often.";
    DownloadFailed "download_failed" 400 "The download broke off.";
    DownloadTimeout "download_timeout" 400 "The download stalled or took too long.";
    InvalidContentType "invalid_content_type" 400 "The URL does not lead to a GLB file.";
    UrlRequired "url_required" 400 "The body lacks `url`.";
    InvalidSettings "invalid_settings" 400 "`renderSettings` are not valid.";
    InvalidLength "invalid_length" 422 "The video's length is outside of what its tier allows.";
    ModelIdRequired "model_id_required" 400 "The body lacks `modelId`.";
    FileTooLarge "file_too_large" 400 "The file is larger than accepted.";
    RendersRequired "renders_required" 400 "The body lacks `renders`, or it is empty.";
    TooMany "too_many" 400 "There are more items than one call may have.";
    Sha256Required "sha256_required" 400 "The body lacks `sha256`.";
    NoCredits "no_credits" 402 "The balance does not cover the cost.";
    ModelNotFound "model_not_found" 404 "There is no such model, or not in the state that this call needs.";
    RenderNotFound "render_not_found" 404 "There is no such render.";
    DatasetNotFound "dataset_not_found" 404 "There is no dataset to download.";
    AssetNotFound "asset_not_found" 404 "The render does not have this file.";
    VideoNotFound "video_not_found" 404 "The video is not there (yet).";
    PosterNotFound "poster_not_found" 404 "The poster is not there (yet).";
    ThumbNotFound "thumb_not_found" 404 "The thumbnail video is not there (yet).";
    FileNotFound "file_not_found" 404 "The model's file is missing from storage.";
    NotFound "not_found" 404 "There is nothing under this address.";
    MethodNotAllowed "method_not_allowed" 405 "The address does not take this method.";
    Timeout "timeout" 408 "The URL's server did not answer in time.";
    RenderStarted "render_started" 409 "The render has begun and can no longer be cancelled.";
    RenderInFlight "render_in_flight" 409 "The render is queued or at work and cannot be deleted.";
    RangeNotSatisfiable "range_not_satisfiable" 416 "The range lies outside of the file.";
    UploadLimit "upload_limit" 429 "The free uploads of the last 24 hours are used up.";
    LimitReached "limit_reached" 429 "No more assets of this kind can be kept.";
    RateLimited "rate_limited" 429 "Too many requests; `Retry-After` says when to go on.";
    UploadFailed "upload_failed" 422 "The file could not be processed.";
    IngestFailed "ingest_failed" 422 "The downloaded file could not be processed.";
    Internal "internal" 500 "Something went wrong in the service.";
}

impl ErrorCode {
    /// Further HTTP statuses of this code, where what went wrong decides.
    pub const fn other_statuses(self) -> &'static [u16] {
        match self {
            Self::UploadFailed => &[400, 500],
            Self::IngestFailed => &[500],
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_unique_snake_case_words() {
        let words: BTreeSet<&str> = ErrorCode::ALL.iter().map(|c| c.as_str()).collect();
        assert_eq!(words.len(), ErrorCode::ALL.len());
        assert!(words.iter().all(|w| w.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')));
    }

    #[test]
    fn every_status_is_an_error() {
        for code in ErrorCode::ALL {
            assert!((400..600).contains(&code.status()));
            assert!(code.other_statuses().iter().all(|s| (400..600).contains(s) && *s != code.status()));
        }
    }

    #[test]
    fn credits_are_402_and_lengths_422() {
        assert_eq!(ErrorCode::NoCredits.status(), 402);
        assert_eq!(ErrorCode::InvalidLength.status(), 422);
        assert_eq!(ErrorCode::RenderStarted.status(), 409);
    }

    /// The contract's table, in its order.
    #[rustfmt::skip]
    const CONTRACT: [(&str, u16); 40] = [
        ("unauthorized", 401), ("token_expired", 401), ("forbidden", 403), ("insufficient_scope", 403),
        ("no_file", 400), ("bad_request", 400), ("invalid_format", 400), ("invalid_url", 400),
        ("invalid_url_scheme", 400), ("blocked_host", 400), ("dns_error", 400), ("url_error", 400),
        ("download_failed", 400), ("download_timeout", 400), ("invalid_content_type", 400), ("url_required", 400),
        ("invalid_settings", 400), ("invalid_length", 422), ("model_id_required", 400), ("file_too_large", 400),
        ("renders_required", 400), ("too_many", 400), ("sha256_required", 400), ("no_credits", 402),
        ("model_not_found", 404), ("render_not_found", 404), ("dataset_not_found", 404), ("asset_not_found", 404),
        ("video_not_found", 404), ("poster_not_found", 404), ("thumb_not_found", 404), ("file_not_found", 404),
        ("not_found", 404), ("timeout", 408), ("render_started", 409), ("render_in_flight", 409),
        ("upload_limit", 429), ("limit_reached", 429), ("rate_limited", 429), ("internal", 500),
    ];

    fn code(text: &str) -> ErrorCode {
        let found = ErrorCode::ALL.iter().find(|code| code.as_str() == text);
        *found.unwrap_or_else(|| panic!("there is no {text}"))
    }

    #[test]
    fn the_table_is_the_contracts() {
        for (text, status) in CONTRACT {
            let code = code(text);
            assert_eq!((code.status(), code.other_statuses()), (status, &[][..]), "{text}");
        }
        let varies = |text| {
            let code = code(text);
            [code.other_statuses(), &[code.status()]].concat().into_iter().collect::<BTreeSet<_>>()
        };
        assert_eq!(varies("upload_failed"), BTreeSet::from([400, 422, 500]));
        assert_eq!(varies("ingest_failed"), BTreeSet::from([422, 500]));
        // What the contract has no word for: its answers have no code of its own.
        let known = |code: &&ErrorCode| {
            CONTRACT.iter().any(|(text, _)| code.as_str() == *text) || code.as_str().ends_with("_failed")
        };
        let added: Vec<(&str, u16)> =
            ErrorCode::ALL.iter().filter(|code| !known(code)).map(|code| (code.as_str(), code.status())).collect();
        assert_eq!(added, [("method_not_allowed", 405), ("range_not_satisfiable", 416)]);
    }
}
