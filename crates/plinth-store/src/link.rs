//! Signed links. A link grants access to one object without an API key until it expires.

use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use object_store::path::Path;
use object_store::signer::{SignedUrlOptions, Signer as _};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use plinth_spec::limits;
use sha2::Sha256;
use url::Url;

use crate::Result;
use crate::error::StoreError;
use crate::key::ObjectKey;
use crate::open::{Links, Store};

/// Characters that are percent-encoded in the path of a link.
const READABLE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_').remove(b'~');

/// The operation that a link allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkMethod {
    /// Downloading the object.
    Get,
    /// Uploading the object.
    Put,
}

impl LinkMethod {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Put => "PUT",
        }
    }
}

/// The content of a link that its signature covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// The allowed operation.
    pub method: LinkMethod,
    /// Path of the object.
    pub key: &'a str,
    /// Expiry time, in seconds since 1970.
    pub expires_at_secs: i64,
    /// `Content-Type` of the response.
    pub content_type: &'a str,
    /// `Content-Disposition` of the response; empty if the response has no such header.
    pub disposition: &'a str,
}

/// The reason why a link is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// The signature does not belong to the content of the link.
    #[error("the signature does not belong to this link")]
    Signature,
    /// The link has expired.
    #[error("the link has expired")]
    Expired,
}

/// A secret with which links to objects in the local store are signed.
#[derive(Clone)]
pub struct LinkSecret {
    /// Identifier of the secret. Each link contains the identifier of the secret that signed it. The identifier is
    /// empty for the first secret of an installation that is older than these identifiers.
    pub id: String,
    pub secret: String,
}

impl std::fmt::Debug for LinkSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinkSecret").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A link that [`Store::link`] creates.
#[derive(Clone, Copy, Debug)]
pub struct NewLink<'a> {
    /// The allowed operation.
    pub method: LinkMethod,
    pub key: &'a ObjectKey<'a>,
    /// Requested lifetime. It is clamped to the allowed range of lifetimes.
    pub lifetime_secs: i64,
    /// `Content-Disposition` of the response.
    pub disposition: Option<&'a str>,
    /// Current time, in seconds since 1970.
    pub now_secs: i64,
}

/// Signs and verifies links to objects in the local store.
#[derive(Clone, Debug)]
pub struct LinkSigner {
    base: Url,
}

impl LinkSigner {
    /// Creates a signer. `base` is the public URL of the service.
    pub const fn new(base: Url) -> Self {
        Self { base }
    }

    /// Returns the signed URL of a link.
    pub fn sign(&self, secret: &LinkSecret, link: &Link<'_>) -> String {
        let encoded = |text: &str| utf8_percent_encode(text, READABLE).to_string();
        let base = self.base.as_str().trim_end_matches('/');
        let signature = hex::encode(mac(secret, link).finalize().into_bytes());
        let id = if secret.id.is_empty() { String::new() } else { format!("&kid={}", encoded(&secret.id)) };
        format!(
            "{base}/_o/{}?exp={}&type={}&disp={}{id}&sig={signature}",
            encoded(link.key),
            link.expires_at_secs,
            encoded(link.content_type),
            encoded(link.disposition),
        )
    }

    /// Verifies the signature and the expiry time of a link. `secret` must be the secret whose identifier the link
    /// contains. Signatures are compared in constant time.
    /// Errors: the reason why the link is rejected.
    pub fn check(
        &self,
        secret: &LinkSecret,
        link: &Link<'_>,
        signature: &str,
        now_secs: i64,
    ) -> std::result::Result<(), LinkError> {
        // Upper-case hexadecimal digits are rejected, so that each link has exactly one valid spelling.
        let is_lower_case = !signature.bytes().any(|digit| digit.is_ascii_uppercase());
        let bytes = hex::decode(signature).ok().filter(|_bytes| is_lower_case).ok_or(LinkError::Signature)?;
        mac(secret, link).verify_slice(&bytes).map_err(|_differs| LinkError::Signature)?;
        if now_secs < link.expires_at_secs { Ok(()) } else { Err(LinkError::Expired) }
    }
}

fn mac(secret: &LinkSecret, link: &Link<'_>) -> Hmac<Sha256> {
    #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.secret.as_bytes()).expect("a key of any length");
    let expires = link.expires_at_secs.to_string();
    // The length of each field is signed, too. Otherwise two different links could have the same signed bytes.
    for part in [link.method.as_str(), link.key, &expires, link.content_type, link.disposition] {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part.as_bytes());
    }
    mac
}

impl Store {
    /// Returns the origin of all links, which consists of scheme, host and port.
    pub async fn link_origin(&self) -> Result<String> {
        let url = match &self.links {
            Links::Local(signer) => signer.base.clone(),
            Links::S3(s3) => s3.signed_url(http::Method::GET, &Path::from("any"), Duration::from_secs(1)).await?,
        };
        Ok(url.origin().ascii_serialization())
    }

    /// Returns a signed link to an object. Links to the local store are signed with `secret`, and links to S3 are
    /// signed with the S3 credentials.
    pub async fn link(&self, link: NewLink<'_>, secret: &LinkSecret) -> Result<String> {
        let NewLink { method, key, disposition, now_secs, .. } = link;
        let lifetime_secs = limits::clamp_expires_secs(Some(link.lifetime_secs));
        match &self.links {
            Links::Local(signer) => {
                let path = key.path();
                let expires_at_secs = now_secs + lifetime_secs;
                let disposition = disposition.unwrap_or_default();
                let content_type = key.content_type();
                Ok(signer.sign(secret, &Link { method, key: &path, expires_at_secs, content_type, disposition }))
            }
            Links::S3(s3) => {
                let mut query: Vec<(&str, &str)> = Vec::new();
                if method == LinkMethod::Get {
                    query.push(("response-content-type", key.content_type()));
                    query.extend(disposition.map(|d| ("response-content-disposition", d)));
                }
                let verb = match method {
                    LinkMethod::Get => http::Method::GET,
                    LinkMethod::Put => http::Method::PUT,
                };
                let lifetime = Duration::from_secs(lifetime_secs.unsigned_abs());
                let options = SignedUrlOptions::new().with_query(query);
                let url = s3.signed_url_opts(verb, &self.path(key)?, lifetime, &options).await;
                url.map(String::from).map_err(StoreError::from)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signer() -> LinkSigner {
        LinkSigner::new(Url::parse("http://127.0.0.1:8080/").unwrap())
    }

    fn secret() -> LinkSecret {
        LinkSecret { id: "k3Jd92LmQx7a".to_owned(), secret: "secret".to_owned() }
    }

    fn link() -> Link<'static> {
        Link {
            method: LinkMethod::Get,
            key: "models/m.glb",
            expires_at_secs: 100,
            content_type: "model/gltf-binary",
            disposition: "attachment; filename=\"a b.glb\"",
        }
    }

    fn signature_of(url: &str) -> String {
        Url::parse(url).unwrap().query_pairs().find(|(k, _)| k == "sig").unwrap().1.into_owned()
    }

    #[test]
    fn a_link_is_valid_until_its_last_second() {
        let signature = signature_of(&signer().sign(&secret(), &link()));
        assert_eq!(signer().check(&secret(), &link(), &signature, 99), Ok(()));
        assert_eq!(signer().check(&secret(), &link(), &signature, 100), Err(LinkError::Expired));
    }

    #[test]
    fn the_parameters_of_a_signed_link_are_parsed_back() {
        let url = signer().sign(&secret(), &link());
        assert!(url.starts_with("http://127.0.0.1:8080/_o/models/m.glb?"), "{url}");
        let url = Url::parse(&url).unwrap();
        let disposition = url.query_pairs().find(|(k, _)| k == "disp").unwrap().1.into_owned();
        assert_eq!(disposition, link().disposition);
    }

    #[test]
    fn a_link_names_its_secret_and_hides_it() {
        let url = signer().sign(&secret(), &link());
        assert!(url.contains("&kid=k3Jd92LmQx7a&"), "{url}");
        let shown = format!("{:?}", secret());
        assert!(shown.contains("k3Jd92LmQx7a") && !shown.contains("\"secret\""), "{shown}");
        let first = LinkSecret { id: String::new(), ..secret() };
        assert!(
            !signer().sign(&first, &link()).contains("kid"),
            "links of old installations contain no identifier of a secret"
        );
    }

    #[test]
    fn a_changed_link_is_rejected() {
        let signature = signature_of(&signer().sign(&secret(), &link()));
        let changed = [
            Link { method: LinkMethod::Put, ..link() },
            Link { key: "models/n.glb", ..link() },
            Link { expires_at_secs: 101, ..link() },
            Link { content_type: "text/html", ..link() },
            Link { disposition: "", ..link() },
        ];
        for link in changed {
            assert_eq!(signer().check(&secret(), &link, &signature, 0), Err(LinkError::Signature), "{link:?}");
        }
        for at in 0..signature.len() {
            let mut other = signature.clone().into_bytes();
            other[at] = if other[at] == b'0' { b'1' } else { b'0' };
            let other = String::from_utf8(other).unwrap();
            assert_eq!(signer().check(&secret(), &link(), &other, 0), Err(LinkError::Signature));
        }
        for bad in ["", "00", "zz", &"g".repeat(64), &signature.to_uppercase()] {
            assert_eq!(signer().check(&secret(), &link(), bad, 0), Err(LinkError::Signature));
        }
    }

    #[test]
    fn a_signature_with_another_secret_is_rejected() {
        let other = LinkSecret { secret: "other".to_owned(), ..secret() };
        let signature = signature_of(&signer().sign(&other, &link()));
        assert_eq!(signer().check(&secret(), &link(), &signature, 0), Err(LinkError::Signature));
    }
}
