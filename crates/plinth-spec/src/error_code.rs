//! The table of error codes: code, HTTP status and meaning. Clients distinguish errors by their code.

macro_rules! error_codes {
    ($($variant:ident $code:literal $status:literal $meaning:literal;)*) => {
        /// The reason why a request is rejected.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $(#[doc = $meaning] $variant,)*
        }

        impl ErrorCode {
            /// All codes, in declaration order.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns the code's name in the API.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// Returns the default HTTP status of responses with this code. Some codes have further statuses: see
            /// [`Self::other_statuses`].
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)* }
            }

            /// Describes when a response has this code.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }
        }
    };
}

error_codes! {
    Unauthorized "unauthorized" 401 "The token is missing, malformed, unknown or revoked.";
    TokenExpired "token_expired" 401 "The token has expired.";
    Forbidden "forbidden" 403 "The account is suspended or has no access to the workspace, the workspace was deleted, or the resource belongs to another workspace.";
    InsufficientScope "insufficient_scope" 403 "The token lacks the scope that this call needs.";
    NoFile "no_file" 400 "The upload has no file.";
    BadRequest "bad_request" 400 "The request is malformed.";
    InvalidFormat "invalid_format" 400 "The file's extension is not accepted.";
    InvalidUrl "invalid_url" 400 "The URL is malformed.";
    InvalidUrlScheme "invalid_url_scheme" 400 "The URL is neither http nor https.";
    BlockedHost "blocked_host" 400 "The URL's host is not public.";
    DnsError "dns_error" 400 "The URL's host has no address.";
    UrlError "url_error" 400 "The URL's server returned an error or redirected too often.";
    DownloadFailed "download_failed" 400 "The connection was lost during the download.";
    DownloadTimeout "download_timeout" 400 "The download stalled or took too long.";
    InvalidContentType "invalid_content_type" 400 "The URL's content is not a GLB file.";
    UrlRequired "url_required" 400 "The body has no `url`.";
    InvalidSettings "invalid_settings" 400 "`renderSettings` is invalid.";
    InvalidLength "invalid_length" 422 "The video's length is outside the range of its quality.";
    ModelIdRequired "model_id_required" 400 "The body has no `modelId`.";
    FileTooLarge "file_too_large" 400 "The file is larger than the limit.";
    RendersRequired "renders_required" 400 "The body has no `renders`, or the list is empty.";
    TooMany "too_many" 400 "The request has more items than the limit.";
    Sha256Required "sha256_required" 400 "The body has no `sha256`.";
    NoCredits "no_credits" 402 "The balance does not cover the cost.";
    ModelNotFound "model_not_found" 404 "The model does not exist, or its status does not allow this call.";
    RenderNotFound "render_not_found" 404 "The render does not exist.";
    DatasetNotFound "dataset_not_found" 404 "The render has no dataset to download.";
    AssetNotFound "asset_not_found" 404 "The render does not have this file.";
    VideoNotFound "video_not_found" 404 "The render has no video, or its video is not ready yet.";
    PosterNotFound "poster_not_found" 404 "The render has no poster, or its poster is not ready yet.";
    ThumbNotFound "thumb_not_found" 404 "The render has no thumbnail video, or it is not ready yet.";
    FileNotFound "file_not_found" 404 "The model's file is missing from storage.";
    NotFound "not_found" 404 "No resource has this path or ID.";
    MethodNotAllowed "method_not_allowed" 405 "The path does not accept this method.";
    Timeout "timeout" 408 "The URL's server did not respond in time.";
    RenderStarted "render_started" 409 "The render has started and can no longer be cancelled.";
    RenderInFlight "render_in_flight" 409 "The render is queued or running and cannot be deleted.";
    PreconditionFailed "precondition_failed" 412 "The file is not the one that `If-Match` names.";
    RangeNotSatisfiable "range_not_satisfiable" 416 "The range lies outside the file.";
    UploadLimit "upload_limit" 429 "The free uploads of the last 24 hours are used up.";
    LimitReached "limit_reached" 429 "The limit on stored models, or on stored assets of this kind, is reached.";
    RateLimited "rate_limited" 429 "Too many requests; retry after the seconds in `Retry-After`.";
    UploadFailed "upload_failed" 422 "The file could not be processed.";
    IngestFailed "ingest_failed" 422 "The downloaded file could not be processed.";
    Internal "internal" 500 "An unexpected error in the service.";
}

impl ErrorCode {
    /// Returns further HTTP statuses that responses with this code may have, depending on the cause of the error.
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
    fn codes_are_unique_and_in_snake_case() {
        let codes: BTreeSet<&str> = ErrorCode::ALL.iter().map(|c| c.as_str()).collect();
        assert_eq!(codes.len(), ErrorCode::ALL.len());
        assert!(
            codes.iter().all(|code| code.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'))
        );
    }

    #[test]
    fn every_status_is_4xx_or_5xx() {
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

    /// The error codes and statuses of the API contract, in the order of the contract.
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
    fn codes_and_statuses_match_the_contract() {
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
        // The API contract has no codes for the statuses 405, 412 and 416, so this implementation adds three codes.
        let known = |code: &&ErrorCode| {
            let text = code.as_str();
            CONTRACT.iter().any(|(known, _)| text == *known) || ["upload_failed", "ingest_failed"].contains(&text)
        };
        let added: Vec<(&str, u16)> =
            ErrorCode::ALL.iter().filter(|code| !known(code)).map(|code| (code.as_str(), code.status())).collect();
        let expected = [("method_not_allowed", 405), ("precondition_failed", 412), ("range_not_satisfiable", 416)];
        assert_eq!(added, expected);
    }
}
