//! `plinth admin key`.

use anyhow::{Context as _, Result};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use plinth_service::Service;
use plinth_service::access::{Key, NewKey};
use plinth_spec::id::{TokenId, WorkspaceId};
use plinth_spec::limits;
use plinth_spec::wire::{Scope, Timestamp};
use serde_json::{Value, json};

use super::run::{Done, id, listed, positional, text};
use crate::cmd::{Usage, message_only};

pub(super) fn command() -> Command {
    let value = |name: &'static str, shown: &'static str| Arg::new(name).long(name).value_name(shown);
    Command::new("key")
        .about("Lists, creates and revokes API keys")
        .subcommand_required(true)
        .subcommand(
            Command::new("list")
                .about("Lists the keys of an account, the newest first")
                .arg(value("account", "EMAIL").required(true).help("Account of the keys")),
        )
        .subcommand(
            Command::new("create")
                .about("Creates a key and prints its token, which is shown only once")
                .arg(value("account", "EMAIL").required(true).help("Account of the key"))
                .arg(value("workspace", "ID").help("Team workspace of the key; default: the account's own workspace"))
                .arg(value("scopes", "SCOPES").default_value("read,render").help("Scopes of the key"))
                .arg(
                    value("expires-in", "SECONDS")
                        .value_parser(value_parser!(i64).range(1..=limits::KEY_MAX_SECS))
                        .help("Lifetime of the key; default: unlimited"),
                )
                .arg(value("name", "N").default_value("").help("Display name"))
                .arg(
                    Arg::new("legacy-prefix")
                        .long("legacy-prefix")
                        .action(ArgAction::SetTrue)
                        .help("Use the older key format"),
                ),
        )
        .subcommand(Command::new("revoke").about("Revokes a key").arg(positional("ID", "The key's identifier")))
}

async fn list(service: &Service, args: &ArgMatches) -> Result<Done> {
    let account = service.find_account(text(args, "account")?).await.map_err(message_only)?;
    let keys = service.keys(&account.id).await.map_err(message_only)?;
    let rows: Vec<Value> = keys.iter().map(row).collect();
    let lines: Vec<String> = keys.iter().map(line).collect();
    let text = listed(&lines, &format!("{} has no keys", account.email));
    Ok(Done { text, json: json!({"keys": rows}) })
}

fn line(Key { token, is_valid }: &Key) -> String {
    let end = match (token.expires_at, token.revoked_at) {
        (_, Some(at)) => format!("revoked {}", time(at)),
        (Some(at), None) if *is_valid => format!("expires {}", time(at)),
        (Some(at), None) => format!("expired {}", time(at)),
        (None, None) => "does not expire".to_owned(),
    };
    let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.as_str()).collect();
    let (name, last4) = (&token.name, &token.last4);
    format!("{} …{last4} '{name}': {}, workspace {}, {end}", token.id, scopes.join(","), token.workspace_id)
}

fn row(Key { token, is_valid }: &Key) -> Value {
    json!({"id": token.id, "name": token.name, "last4": token.last4, "scopes": token.scopes,
           "workspaceId": token.workspace_id, "isValid": is_valid, "createdAt": Timestamp(token.created_at),
           "expiresAt": token.expires_at.map(Timestamp), "revokedAt": token.revoked_at.map(Timestamp),
           "lastUsedAt": token.last_used_at.map(Timestamp)})
}

fn time(at: i64) -> String {
    json!(Timestamp(at)).as_str().unwrap_or_default().to_owned()
}

pub(super) async fn run(service: &Service, verb: &str, args: &ArgMatches) -> Result<Done> {
    if verb == "list" {
        return list(service, args).await;
    }
    if verb == "revoke" {
        let id = id(args, TokenId::parse, "key")?;
        service.revoke_key(&id).await.map_err(message_only)?;
        return Ok(Done { text: format!("the key {id} is revoked"), json: json!({"id": id, "revoked": true}) });
    }
    let workspace = args.get_one::<String>("workspace");
    let workspace_id = workspace
        .map(|given| WorkspaceId::parse(given).with_context(|| format!("there is no workspace '{given}'")))
        .transpose()?;
    let account = service.find_account(text(args, "account")?).await.map_err(message_only)?;
    let new = NewKey {
        account_id: account.id,
        workspace_id,
        name: text(args, "name")?.to_owned(),
        scopes: scopes(text(args, "scopes")?)?,
        expires_in_secs: args.get_one::<i64>("expires-in").copied(),
        has_legacy_prefix: args.get_flag("legacy-prefix"),
    };
    let made = service.create_key(new).await.map_err(message_only)?;
    let text = format!("created the key {}; its token is shown only once:\n{}", made.id, made.token);
    Ok(Done { text, json: json!({"id": made.id, "token": made.token}) })
}

fn scopes(text: &str) -> Result<Vec<Scope>, Usage> {
    let mut scopes = Vec::new();
    for word in text.split(',').map(str::trim) {
        let scope = Scope::from_name(word).ok_or_else(|| {
            Usage(format!("'{word}' is not a scope; --scopes accepts read, render, or both separated by a comma"))
        })?;
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    Ok(scopes)
}
