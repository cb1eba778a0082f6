//! `plinth admin account`.

use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command};
use plinth_service::Service;
use plinth_service::access::{NewAccount, hash_password};
use plinth_spec::limits;
use serde_json::json;

use super::run::{Done, positional, refused, text};

pub(super) fn command() -> Command {
    let email = || positional("EMAIL", "Address of the account");
    Command::new("account")
        .about("Creates, suspends and readmits accounts")
        .subcommand_required(true)
        .subcommand(
            Command::new("create")
                .about("Creates an account with its workspace and the signup bonus")
                .arg(email())
                .arg(Arg::new("admin").long("admin").action(ArgAction::SetTrue).help("It administers the installation"))
                .arg(Arg::new("password").long("password").value_name("P").help("Its password for the browser")),
        )
        .subcommand(Command::new("suspend").about("Shuts an account out; its keys are refused at once").arg(email()))
        .subcommand(Command::new("unsuspend").about("Lets a suspended account in again").arg(email()))
}

pub(super) async fn run(service: &Service, verb: &str, args: &ArgMatches) -> Result<Done> {
    let email = text(args, "EMAIL")?;
    if verb == "create" {
        return create(service, email, args).await;
    }
    let is_suspended = verb == "suspend";
    service.set_suspended(email, is_suspended).await.map_err(refused)?;
    let words = if is_suspended { "suspended" } else { "readmitted" };
    Ok(Done { words: format!("{email} is {words}"), json: json!({"email": email, "suspended": is_suspended}) })
}

async fn create(service: &Service, email: &str, args: &ArgMatches) -> Result<Done> {
    let password = args.get_one::<String>("password");
    let password_hash = password.map(|password| hash_password(password)).transpose().map_err(refused)?;
    let new = NewAccount { email: email.to_owned(), is_admin: args.get_flag("admin"), password_hash };
    let id = service.create_account(new).await.map_err(refused)?;
    let account = service.find_account(email).await.map_err(refused)?;
    let words = format!("{} is the account {id}, with {} credits", account.email, limits::SIGNUP_BONUS);
    Ok(Done { words, json: json!({"id": id, "email": account.email}) })
}
