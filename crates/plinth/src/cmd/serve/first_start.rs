//! The very first start: an administrator, how to sign in, a key, and how to go on.

use std::path::Path;

use anyhow::Result;
use plinth_service::Service;
use plinth_service::access::{NewAccount, NewKey};
use plinth_spec::limits;
use plinth_spec::wire::Scope;
use plinth_studio::sign_in_url;
use url::Url;

/// Address of the account that the first start makes.
const ADMINISTRATOR: &str = "admin@plinth.local";
/// The model to try with, in a checkout of the repository.
const SAMPLE: &str = "fixtures/models/flight_helmet.glb";

/// Makes the first account of an installation that has none. What to print about it: that it was made, a sign-in link and
/// its key, which are shown this once.
pub(super) async fn welcome(service: &Service, public_url: &Url) -> Result<Option<String>> {
    let new = NewAccount { email: ADMINISTRATOR.to_owned(), is_admin: true, password_hash: None };
    let Some(account_id) = service.create_first_account(new).await? else { return Ok(None) };
    let link = sign_in_url(public_url, &service.create_sign_in(&account_id, limits::SIGN_IN_LINK_SECS).await?);
    let key = NewKey {
        account_id,
        workspace_id: None,
        name: "first start".to_owned(),
        scopes: vec![Scope::Read, Scope::Render],
        expires_in_secs: None,
        has_legacy_prefix: false,
    };
    let token = service.create_key(key).await?.token;
    let sample = if Path::new(SAMPLE).exists() { SAMPLE } else { "MODEL.glb" };
    let (bonus, hours) = (limits::SIGNUP_BONUS, limits::SIGN_IN_LINK_SECS / 3600);
    let base = public_url.as_str().trim_end_matches('/');
    // One line each: a terminal may break them, a shell may not see that.
    Ok(Some(format!(
        r#"
This is the first start. The account {ADMINISTRATOR} was made; it administers this installation and has {bonus} credits.
Open this link to sign in; it works once, within {hours} hours:

    {link}

Its API key is shown this once only:

    {token}

Paste these two lines to upload a model and wait for its video, turntable.mp4:

    curl -sS -H 'Authorization: Bearer {token}' -F file=@{sample} -F 'renderSettings={{"quality":"share","length":2}}' {base}/v1/models | tee upload.json; echo
    curl -s -f --retry 300 --retry-delay 2 --retry-all-errors -H 'Authorization: Bearer {token}' -o turntable.mp4 {base}/v1/renders/$(sed 's/.*"renderId":"\([^"]*\)".*/\1/' upload.json)/video && ls -l turntable.mp4

Another sign-in link: plinth admin account sign-in {ADMINISTRATOR}
More accounts and keys: plinth admin --help. The interface is described at {base}/v1/openapi.json
"#
    )))
}
