//! `plinth admin account`.

use std::io::{IsTerminal as _, Read as _};

use anyhow::{Context as _, Result, ensure};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use plinth_service::Service;
use plinth_service::access::{NewAccount, hash_password};
use plinth_service::admin::{Account, AccountQuery, Actor, ListedAccount};
use plinth_spec::limits;
use plinth_spec::wire::Timestamp;
use plinth_studio::sign_in_url;
use serde_json::{Value, json};
use url::Url;

use super::run::{Done, listed, positional, reason, reason_arg, text};
use crate::cmd::{Usage, message_only, without_byte_order_mark};
use crate::note::note;

/// Number of bytes that are read from standard input as a password; no password may be that long.
const PASSWORD_INPUT_BYTES: u64 = 1 << 16;

pub(super) fn command() -> Command {
    let email = || positional("EMAIL", "E-mail address of the account");
    Command::new("account")
        .about("Lists, creates, signs in, suspends and unsuspends accounts, and makes them administrators")
        .subcommand_required(true)
        .subcommand(list_command())
        .subcommand(
            Command::new("create")
                .about("Creates an account with its workspace and the signup bonus")
                .arg(email())
                .arg(flag("admin", "Make the account an administrator"))
                .arg(
                    Arg::new("password")
                        .long("password")
                        .value_name("P")
                        .help("Password for the web UI; other users of this machine can read it in the list of processes"),
                )
                .arg(
                    flag("password-stdin", "Read the password for the web UI from standard input, a pipe or a file")
                        .conflicts_with("password"),
                ),
        )
        .subcommand(
            Command::new("sign-in")
                .about("Creates a link that signs one browser in to an account; it works once")
                .arg(email())
                .arg(
                    Arg::new("expires-in")
                        .long("expires-in")
                        .value_name("SECONDS")
                        .value_parser(value_parser!(i64).range(1..=limits::SIGN_IN_LINK_MAX_SECS))
                        .help(format!("Lifetime of the link [default: {}]", limits::SIGN_IN_LINK_SECS)),
                ),
        )
        .subcommand(
            Command::new("suspend")
                .about("Suspends an account: its keys stop working and its browsers are signed out at once")
                .long_about(
                    "Suspends an account: its keys and those of its teams stop working at once, and its browsers are signed out. \
                     Renders that it has ordered are still drawn.",
                )
                .arg(email())
                .arg(reason_arg()),
        )
        .subcommand(
            Command::new("unsuspend").about("Ends the suspension of an account").arg(email()).arg(reason_arg()),
        )
        .subcommand(
            Command::new("make-admin")
                .about("Makes an account an administrator of the installation")
                .arg(email())
                .arg(reason_arg()),
        )
        .subcommand(
            Command::new("remove-admin")
                .about("Makes an administrator an ordinary account; not the last one")
                .arg(email())
                .arg(reason_arg()),
        )
}

fn list_command() -> Command {
    Command::new("list")
        .about("Lists accounts, the newest first")
        .arg(Arg::new("search").long("search").value_name("TEXT").help("Only addresses that contain this text"))
        .arg(flag("admins", "Only administrators"))
        .arg(flag("suspended", "Only suspended accounts"))
        .arg(
            Arg::new("limit")
                .long("limit")
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..=100_000))
                .default_value("1000")
                .help("Maximum number of accounts"),
        )
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

pub(super) async fn run(service: &Service, public_url: &Url, verb: &str, args: &ArgMatches) -> Result<Done> {
    if verb == "list" {
        return list(service, args).await;
    }
    let email = text(args, "EMAIL")?;
    match verb {
        "create" => create(service, email, args).await,
        "sign-in" => sign_in(service, public_url, email, args).await,
        _ => change(service, verb, email, &reason(args)).await,
    }
}

/// Runs one of the verbs that suspend an account, make it an administrator, or undo this.
async fn change(service: &Service, verb: &str, email: &str, why: &str) -> Result<Done> {
    let Account { id, email, .. } = service.find_account(email).await.map_err(message_only)?;
    let by = Actor::Command;
    let (changed, state, json) = match verb {
        "suspend" => {
            (service.suspend_account(&by, &id, why).await, "suspended", json!({"email": email, "suspended": true}))
        }
        "unsuspend" => (
            service.reactivate_account(&by, &id, why).await,
            "no longer suspended",
            json!({"email": email, "suspended": false}),
        ),
        _ => {
            let is_admin = verb == "make-admin";
            let state = if is_admin { "an administrator" } else { "no longer an administrator" };
            (service.set_admin(&by, &id, is_admin, why).await, state, json!({"email": email, "isAdmin": is_admin}))
        }
    };
    changed.map_err(message_only)?;
    Ok(Done { text: format!("{email} is {state}"), json })
}

async fn list(service: &Service, args: &ArgMatches) -> Result<Done> {
    let query = AccountQuery {
        search: args.get_one::<String>("search").cloned().unwrap_or_default(),
        admins: args.get_flag("admins"),
        suspended: args.get_flag("suspended"),
        offset: 0,
    };
    let limit = args.get_one::<u32>("limit").copied().unwrap_or(1000);
    // One more account than requested shows whether the list is complete.
    let mut accounts = service.list_accounts(&query, limit + 1).await.map_err(message_only)?;
    let has_more = accounts.len() > limit as usize;
    accounts.truncate(limit as usize);
    if has_more {
        note!(
            "plinth: there are more accounts than these {limit}; set a larger --limit, or narrow the list with --search"
        );
    }
    let lines: Vec<String> = accounts.iter().map(line).collect();
    let rows: Vec<Value> = accounts.iter().map(row).collect();
    Ok(Done { text: listed(&lines, "no account was found"), json: json!({"accounts": rows, "hasMore": has_more}) })
}

fn line(listed: &ListedAccount) -> String {
    let account = &listed.account;
    let admin = if account.is_admin { ", administrator" } else { "" };
    let suspended = if account.suspended_at.is_some() { ", suspended" } else { "" };
    format!(
        "{} {}: {} credits, {} renders, {} bytes{admin}{suspended}",
        account.id,
        account.email,
        account.balance.total(),
        listed.renders,
        listed.stored_bytes
    )
}

fn row(listed: &ListedAccount) -> Value {
    let account = &listed.account;
    json!({"id": account.id, "email": account.email, "isAdmin": account.is_admin,
           "suspended": account.suspended_at.is_some(), "paid": account.balance.paid, "free": account.balance.free,
           "renders": listed.renders, "storedBytes": listed.stored_bytes, "createdAt": Timestamp(account.created_at)})
}

async fn create(service: &Service, email: &str, args: &ArgMatches) -> Result<Done> {
    let password_hash = password(args)?.as_deref().map(hash_password).transpose().map_err(message_only)?;
    let new = NewAccount { email: email.to_owned(), is_admin: args.get_flag("admin"), password_hash };
    let id = service.create_account(new).await.map_err(message_only)?;
    let account = service.find_account(email).await.map_err(message_only)?;
    let text = format!("created the account {} with the id {id} and {} credits", account.email, limits::SIGNUP_BONUS);
    Ok(Done { text, json: json!({"id": id, "email": account.email}) })
}

/// Returns the password that the flags give, if any.
/// Errors: standard input is a terminal, cannot be read, or has more than one line.
fn password(args: &ArgMatches) -> Result<Option<String>> {
    if !args.get_flag("password-stdin") {
        return Ok(args.get_one::<String>("password").cloned());
    }
    let input = std::io::stdin();
    if input.is_terminal() {
        let message = "--password-stdin reads a pipe or a file, because a terminal would show the password; create the \
                       account without a password, and set it on the page Account";
        return Err(Usage(message.to_owned()).into());
    }
    let mut given = String::new();
    let read = input.lock().take(PASSWORD_INPUT_BYTES).read_to_string(&mut given);
    read.context("the password cannot be read from standard input")?;
    let line = without_byte_order_mark(&given);
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    ensure!(!line.contains('\n'), "standard input has more than one line; it must contain only the password");
    Ok(Some(line.to_owned()))
}

async fn sign_in(service: &Service, public_url: &Url, email: &str, args: &ArgMatches) -> Result<Done> {
    let expires_in = args.get_one::<i64>("expires-in").copied().unwrap_or(limits::SIGN_IN_LINK_SECS);
    let account = service.find_account(email).await.map_err(message_only)?;
    let url = sign_in_url(public_url, &service.create_sign_in(&account.id, expires_in).await.map_err(message_only)?);
    let text = format!("sign-in link for {}; it works once, within {expires_in} s:\n{url}", account.email);
    Ok(Done { text, json: json!({"email": account.email, "url": url, "expiresIn": expires_in}) })
}
