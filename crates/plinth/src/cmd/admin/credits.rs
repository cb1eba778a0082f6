//! `plinth admin credits`.

use anyhow::{Context as _, Result};
use clap::{Arg, ArgMatches, Command, value_parser};
use plinth_service::Service;
use plinth_service::admin::{Actor, Grant};
use plinth_spec::funding::Pool;
use serde_json::json;

use super::run::{Done, positional, reason, reason_arg, text};
use crate::cmd::message_only;

pub(super) fn command() -> Command {
    Command::new("credits").about("Grants credits").subcommand_required(true).subcommand(
        Command::new("grant")
            .about("Adds credits to an account, or removes them if the number is negative")
            .arg(positional("EMAIL", "E-mail address of the account"))
            .arg(
                positional("N", "How many")
                    .value_parser(value_parser!(i64).range(-1_000_000_000..=1_000_000_000))
                    .allow_negative_numbers(true),
            )
            .arg(
                Arg::new("pool")
                    .long("pool")
                    .value_name("POOL")
                    .value_parser([Pool::Paid.as_str(), Pool::Free.as_str()])
                    .default_value(Pool::Paid.as_str())
                    .help("Credit pool"),
            )
            .arg(reason_arg()),
    )
}

pub(super) async fn run(service: &Service, args: &ArgMatches) -> Result<Done> {
    let email = text(args, "EMAIL")?;
    let credits: i64 = *args.get_one("N").context("N is missing")?;
    let pool = Pool::from_name(text(args, "pool")?).context("the pool is unknown")?;
    let account = service.find_account(email).await.map_err(message_only)?.id;
    let grant = Grant { pool, reason: reason(args), ..Grant::paid(credits) };
    let balance = service.grant_credits(&Actor::Command, &account, grant).await.map_err(message_only)?;
    let text = format!("{email} now has {} paid and {} free credits", balance.paid, balance.free);
    Ok(Done { text, json: json!({"email": email, "paid": balance.paid, "free": balance.free}) })
}
