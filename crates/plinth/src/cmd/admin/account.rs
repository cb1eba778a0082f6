//! `plinth admin account`.

use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use plinth_service::Service;
use plinth_service::access::{NewAccount, hash_password};
use plinth_spec::limits;
use plinth_studio::sign_in_url;
use serde_json::json;
use url::Url;

use super::run::{Done, message_only, positional, text};

pub(super) fn command() -> Command {
    let email = || positional("EMAIL", "E-mail address of the account");
    Command::new("account")
        .about("Creates, signs in, suspends and unsuspends accounts")
        .subcommand_required(true)
        .subcommand(
            Command::new("create")
                .about("Creates an account with its workspace and the signup bonus")
                .arg(email())
                .arg(
                    Arg::new("admin")
                        .long("admin")
                        .action(ArgAction::SetTrue)
                        .help("Make the account an administrator"),
                )
                .arg(Arg::new("password").long("password").value_name("P").help("Password for the web UI")),
        )
        .subcommand(
            Command::new("sign-in")
                .about("Creates a link that signs one browser in to an account; it works once")
                .arg(email())
                .arg(
                    Arg::new("expires-in")
                        .long("expires-in")
                        .value_name("SECONDS")
                        .value_parser(value_parser!(i64).range(0..))
                        .help(format!("Lifetime of the link [default: {}]", limits::SIGN_IN_LINK_SECS)),
                ),
        )
        .subcommand(
            Command::new("suspend")
                .about("Suspends an account: its keys stop working and its browsers are signed out at once")
                .arg(email()),
        )
        .subcommand(Command::new("unsuspend").about("Ends the suspension of an account").arg(email()))
}

pub(super) async fn run(service: &Service, public_url: &Url, verb: &str, args: &ArgMatches) -> Result<Done> {
    let email = text(args, "EMAIL")?;
    match verb {
        "create" => return create(service, email, args).await,
        "sign-in" => return sign_in(service, public_url, email, args).await,
        _ => {}
    }
    let is_suspended = verb == "suspend";
    service.set_suspended(email, is_suspended).await.map_err(message_only)?;
    let state = if is_suspended { "suspended" } else { "no longer suspended" };
    Ok(Done { text: format!("{email} is {state}"), json: json!({"email": email, "suspended": is_suspended}) })
}

async fn create(service: &Service, email: &str, args: &ArgMatches) -> Result<Done> {
    let password = args.get_one::<String>("password");
    let password_hash = password.map(|password| hash_password(password)).transpose().map_err(message_only)?;
    let new = NewAccount { email: email.to_owned(), is_admin: args.get_flag("admin"), password_hash };
    let id = service.create_account(new).await.map_err(message_only)?;
    let account = service.find_account(email).await.map_err(message_only)?;
    let text = format!("created the account {} with the id {id} and {} credits", account.email, limits::SIGNUP_BONUS);
    Ok(Done { text, json: json!({"id": id, "email": account.email}) })
}

async fn sign_in(service: &Service, public_url: &Url, email: &str, args: &ArgMatches) -> Result<Done> {
    let expires_in = args.get_one::<i64>("expires-in").copied().unwrap_or(limits::SIGN_IN_LINK_SECS);
    let account = service.find_account(email).await.map_err(message_only)?;
    let url = sign_in_url(public_url, &service.create_sign_in(&account.id, expires_in).await.map_err(message_only)?);
    let text = format!("sign-in link for {}; it works once, within {expires_in} s:\n{url}", account.email);
    Ok(Done { text, json: json!({"email": account.email, "url": url, "expiresIn": expires_in}) })
}
