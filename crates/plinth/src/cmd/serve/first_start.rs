//! First start of an installation: creates an administrator, a sign-in link and an API key, and prints the next steps.

use std::path::Path;

use plinth_service::access::{NewAccount, NewKey};
use plinth_service::admin::AccountQuery;
use plinth_service::{Result, Service};
use plinth_spec::limits;
use plinth_spec::wire::Scope;
use plinth_studio::sign_in_url;
use url::Url;

/// E-mail address of the account that the first start creates.
const ADMINISTRATOR: &str = "admin@plinth.local";
/// Path of the sample model, relative to the root of a checkout of the repository.
const SAMPLE: &str = "fixtures/models/flight_helmet.glb";

/// Creates the first account of an installation. Returns the text to print, with a sign-in link and an API key, which
/// are shown only once. If an account exists already, this function creates nothing. The text then is empty if an
/// administrator exists; otherwise it says how to make an account an administrator. `flags` are the flags with which
/// `plinth admin` finds this installation.
pub(super) async fn welcome(service: &Service, public_url: &Url, flags: &str) -> Result<String> {
    let new = NewAccount { email: ADMINISTRATOR.to_owned(), is_admin: true, password_hash: None };
    let Some(account_id) = service.create_first_account(new).await? else {
        let query = AccountQuery { admins: true, ..AccountQuery::default() };
        let has_administrator = !service.list_accounts(&query, 1).await?.is_empty();
        return Ok(if has_administrator { String::new() } else { no_administrator(flags) });
    };
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
    // Each command is printed on one line, however long, because a line break would split the command when it is
    // pasted.
    Ok(format!(
        r#"
This is the first start. The administrator account {ADMINISTRATOR} was created, with {bonus} credits.
Open this link to sign in; it works once, within {hours} hours:

    {link}

Its API key is shown only once:

    {token}

Paste these two commands to upload a model and wait for its video, turntable.mp4:

    curl -sS -H 'Authorization: Bearer {token}' -F file=@{sample} -F 'renderSettings={{"quality":"share","length":2}}' {base}/v1/models | tee upload.json; echo
    curl -s -f --retry 300 --retry-delay 2 --retry-all-errors -H 'Authorization: Bearer {token}' -o turntable.mp4 {base}/v1/renders/$(sed 's/.*"renderId":"\([^"]*\)".*/\1/' upload.json)/video && ls -l turntable.mp4

Another sign-in link: plinth admin account sign-in {ADMINISTRATOR}{flags}
More accounts and keys: plinth admin --help. The API is described at {base}/v1/openapi.json
"#
    ))
}

fn no_administrator(flags: &str) -> String {
    format!(
        "No account is an administrator. To make one of them an administrator and to sign it in:\n\n    \
         plinth admin account make-admin EMAIL{flags}\n    plinth admin account sign-in EMAIL{flags}\n"
    )
}
