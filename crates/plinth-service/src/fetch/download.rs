//! Downloads from URLs. Redirects are followed manually, because the host of each redirect must be checked, too: all
//! its addresses must be public. Connections are made only to checked addresses.

use std::net::SocketAddr;
use std::sync::Arc;

use plinth_spec::{ErrorCode, limits};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, LOCATION, TRANSFER_ENCODING};
use reqwest::{Client, Method, Response, StatusCode};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

use super::FetchOptions;
use super::content::Content;
use super::guard::{self, Rejected};
use crate::error::{Result, ServiceError};
use crate::models::Incoming;

/// Accepted content types of a GLB, including the default type of object stores.
const TYPES: [&str; 5] = [
    "model/gltf-binary",
    "application/octet-stream",
    "binary/octet-stream",
    "application/x-binary",
    "application/gltf-buffer",
];
/// Query parameters of presigned object-store links. A presigned link is valid for GET only, so no HEAD request is sent
/// to it.
const SIGNED: [&str; 4] = ["x-amz-signature", "x-goog-signature", "signature", "sig"];

pub(crate) fn parse_url(text: &str) -> Result<Url> {
    let malformed = || ServiceError::new(ErrorCode::InvalidUrl, "this is not a URL");
    let text = text.trim();
    if text.chars().count() > limits::URL_CHARS {
        let message = format!("a URL has at most {} characters", limits::URL_CHARS);
        return Err(ServiceError::new(ErrorCode::InvalidUrl, message));
    }
    let url = Url::parse(text).map_err(|_malformed| malformed())?;
    check_scheme(&url)?;
    if url.host_str().is_none_or(str::is_empty) { Err(malformed()) } else { Ok(url) }
}

fn check_scheme(url: &Url) -> Result<()> {
    if matches!(url.scheme(), "http" | "https") {
        return Ok(());
    }
    Err(ServiceError::new(ErrorCode::InvalidUrlScheme, "the URL must begin with http:// or https://"))
}

/// A GLB that a server has begun to send.
pub(crate) struct Download {
    response: Response,
    content: Content,
    end: Instant,
}

impl Download {
    /// Requests a GLB. Each kind of failure has its own error code.
    pub(crate) async fn begin(options: &FetchOptions, url: &Url) -> Result<Self> {
        let end = Instant::now() + options.total;
        let requesting = async {
            if !is_signed(url) {
                probe(options, url).await?;
            }
            let response = follow(options, url, Method::GET).await?;
            check_response(&response)?;
            let content = Content::of(response.headers())?;
            Ok(Self { response, content, end })
        };
        timeout_at(end, requesting).await.map_err(too_late)?
    }

    /// Returns the size of the file, if the server has sent it. The size of a file that is sent in compressed form is unknown, and
    /// the length beside a transfer encoding does not count (RFC 9112, section 6.3).
    pub(crate) fn size(&self) -> Option<u64> {
        let counts = self.content.is_plain() && !self.response.headers().contains_key(TRANSFER_ENCODING);
        content_length(&self.response).filter(|_length| counts)
    }

    /// Receives the GLB into `file`.
    pub(crate) async fn receive(self, options: &FetchOptions, file: &mut Incoming) -> Result<()> {
        let Self { response, content, end } = self;
        timeout_at(end, receive(options, response, content, file)).await.map_err(too_late)?
    }
}

fn too_late(_elapsed: Elapsed) -> ServiceError {
    timed_out("the download exceeded its time limit")
}

async fn receive(
    options: &FetchOptions,
    mut response: Response,
    mut content: Content,
    file: &mut Incoming,
) -> Result<()> {
    let broke = |error: reqwest::Error| {
        ServiceError::new(ErrorCode::DownloadFailed, "the connection was lost during the download")
            .with_cause(error.without_url())
    };
    loop {
        let piece = timeout(options.stall, response.chunk()).await;
        match piece.map_err(|_stalled| timed_out("the download stalled"))?.map_err(broke)? {
            Some(bytes) => content.write(&bytes, file).await?,
            None => return content.finish(file).await,
        }
    }
}

/// Sends a HEAD request to check that the URL leads to a file. Accepts servers that do not support HEAD.
async fn probe(options: &FetchOptions, url: &Url) -> Result<()> {
    let late = |_late| ServiceError::new(ErrorCode::Timeout, "the URL's server did not respond in time");
    let response = timeout(options.answer, follow(options, url, Method::HEAD)).await.map_err(late)??;
    let unknown = [StatusCode::METHOD_NOT_ALLOWED, StatusCode::NOT_IMPLEMENTED, StatusCode::FORBIDDEN];
    if unknown.contains(&response.status()) { Ok(()) } else { check_response(&response) }
}

fn check_response(response: &Response) -> Result<()> {
    let status = response.status();
    if status != StatusCode::OK {
        let message = format!("the URL's server answered {}", status.as_u16());
        return Err(ServiceError::new(ErrorCode::UrlError, message));
    }
    check_type(response.headers())?;
    if content_length(response).is_some_and(|length| length > limits::MODEL_FILE_BYTES) {
        let message = format!("the file is larger than {} bytes", limits::MODEL_FILE_BYTES);
        return Err(ServiceError::new(ErrorCode::FileTooLarge, message));
    }
    Ok(())
}

fn content_length(response: &Response) -> Option<u64> {
    response.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn check_type(headers: &HeaderMap) -> Result<()> {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    let kind = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if TYPES.contains(&kind.as_str()) {
        return Ok(());
    }
    let shown: String = kind.chars().take(60).collect();
    Err(ServiceError::new(ErrorCode::InvalidContentType, format!("the URL leads to '{shown}', not to a GLB file")))
}

/// Sends a request and follows redirects. All addresses of the host of each redirect must be public.
async fn follow(options: &FetchOptions, url: &Url, method: Method) -> Result<Response> {
    let mut url = url.clone();
    for _hop in 0..=limits::INGEST_REDIRECTS {
        let response = send(options, &url, method.clone()).await?;
        if !response.status().is_redirection() {
            return Ok(response);
        }
        // Some servers do not percent-encode the path.
        let target = response.headers().get(LOCATION).and_then(|value| std::str::from_utf8(value.as_bytes()).ok());
        let next = target.and_then(|target| url.join(target).ok());
        let next =
            next.ok_or_else(|| ServiceError::new(ErrorCode::UrlError, "the URL redirects without a valid target"))?;
        check_scheme(&next)?;
        if url.scheme() == "https" && next.scheme() == "http" {
            return Err(ServiceError::new(ErrorCode::UrlError, "the URL redirects from https to http"));
        }
        url = next;
    }
    Err(ServiceError::new(
        ErrorCode::UrlError,
        format!("the URL redirects more than {} times", limits::INGEST_REDIRECTS),
    ))
}

async fn send(options: &FetchOptions, url: &Url, method: Method) -> Result<Response> {
    let addresses = guard::addresses(url, options).await.map_err(|rejected| match rejected {
        Rejected::Blocked => ServiceError::new(ErrorCode::BlockedHost, "the URL's host is not public"),
        Rejected::Unknown => ServiceError::new(ErrorCode::DnsError, "the URL's host has no address"),
    })?;
    let _chosen_before = rustls::crypto::ring::default_provider().install_default();
    // Connects to the checked addresses only, because a second DNS lookup could return other addresses (DNS rebinding).
    // Proxies from environment variables are disabled, because a proxy would look up the host itself.
    let client = Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(options.answer)
        .dns_resolver(Arc::new(Checked(addresses)))
        .build()
        .map_err(ServiceError::internal)?;
    // Do not send credentials that the URL contains.
    let mut plain = url.clone();
    let _absent = plain.set_username("");
    let _absent = plain.set_password(None);
    let answer = timeout(options.stall, client.request(method, plain).send()).await;
    answer.map_err(|_stalled| timed_out("the URL's server did not respond"))?.map_err(|error| {
        let (code, message) = if error.is_timeout() {
            (ErrorCode::Timeout, "the URL's server did not respond in time")
        } else {
            (ErrorCode::UrlError, "the URL's server could not be reached")
        };
        ServiceError::new(code, message).with_cause(error.without_url())
    })
}

/// A DNS resolver that returns the checked addresses for every name.
struct Checked(Vec<SocketAddr>);

impl Resolve for Checked {
    fn resolve(&self, _name: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(std::future::ready(Ok(addresses)))
    }
}

fn timed_out(message: &str) -> ServiceError {
    ServiceError::new(ErrorCode::DownloadTimeout, message)
}

fn is_signed(url: &Url) -> bool {
    url.query_pairs().any(|(name, _)| SIGNED.contains(&name.to_ascii_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_urls_with_a_host_are_accepted() {
        let code = |url: &str| parse_url(url).unwrap_err().code;
        for url in ["", "nonsense", "//x", "http://", "http://[::1"] {
            assert_eq!(code(url), ErrorCode::InvalidUrl, "{url}");
        }
        for url in ["ftp://example.org/x.glb", "file:///etc/passwd", "gopher://x", "data:text/plain,x"] {
            assert_eq!(code(url), ErrorCode::InvalidUrlScheme, "{url}");
        }
        assert!(parse_url(" https://example.org/x.glb ").is_ok());
        let long = |chars: usize| format!("{:x<chars$}", "https://example.org/");
        assert!(parse_url(&long(limits::URL_CHARS)).is_ok());
        assert_eq!(code(&long(limits::URL_CHARS + 1)), ErrorCode::InvalidUrl);
    }

    #[test]
    fn presigned_links_are_recognized() {
        assert!(is_signed(&Url::parse("https://b.s3.amazonaws.com/x?X-Amz-Signature=1").unwrap()));
        assert!(!is_signed(&Url::parse("https://example.org/x.glb?v=1").unwrap()));
    }
}
