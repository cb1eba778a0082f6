//! `plinth admin storage`.

use std::ffi::OsString;
use std::io::Write;

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use plinth_service::Service;
use plinth_service::storage::{Checked, Finding};
use serde_json::json;

use super::hold::with_hold;
use super::run::Done;
use crate::cmd::message_only;
use crate::note::note;
use crate::system::{ChildId, ask_to_end};

pub(super) fn command() -> Command {
    let repair =
        "Schedule files that no row references for deletion, if they are at least two days old; rows are not changed";
    let check = Command::new("check")
        .about("Lists files that no row references, and missing files that rows reference")
        .long_about(
            "Lists files that no row references, and missing files that rows reference; exits with 1 if there are any. A \
             file without a row is listed if it is at least two days old, because a younger file may belong to an upload \
             in progress. Rows with missing files are not changed: restore the files from a backup, or delete the models \
             or renders to which the files belong.",
        )
        .arg(Arg::new("repair").long("repair").action(ArgAction::SetTrue).help(repair));
    let hold = Command::new("hold").about("Runs a command; until it ends, no server deletes files from the store").arg(
        Arg::new("CMD")
            .value_name("CMD")
            .required(true)
            .num_args(1..)
            .last(true)
            .value_parser(value_parser!(OsString))
            .help("The command and its arguments, after --"),
    );
    Command::new("storage")
        .about("Checks the store, and pauses the deletion of its files")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(check)
        .subcommand(hold)
}

pub(super) async fn run(service: &Service, verb: &str, args: &ArgMatches, out: &mut dyn Write) -> Result<Done> {
    if verb == "hold" { hold(service, args).await } else { check(service, args, out).await }
}

/// Runs a command while a hold pauses deletions from the store.
async fn hold(service: &Service, args: &ArgMatches) -> Result<Done> {
    let mut command = args.get_many::<OsString>("CMD").context("CMD is missing")?;
    let program = command.next().context("CMD is missing")?;
    let arguments: Vec<_> = command.collect();
    with_hold(service, async |stop| {
        let cannot = || format!("{} cannot be run", program.display());
        let mut child = std::process::Command::new(program).args(arguments).spawn().with_context(cannot)?;
        let id = ChildId::of(&child);
        let mut waiting = tokio::task::spawn_blocking(move || child.wait());
        let status = tokio::select! {
            status = &mut waiting => status,
            () = stop.cancelled() => {
                // The terminal sends the signal to `CMD`, too, which may therefore have ended already.
                ask_to_end(id);
                waiting.await
            }
        };
        let status = status?.with_context(cannot)?;
        ensure!(status.success(), "{} failed: {status}", program.display());
        Ok(())
    })
    .await?;
    // Standard output belongs to the command, whose output may be the copy.
    note!("plinth: nothing was deleted from the store during the command");
    Ok(Done { text: String::new(), json: json!({"held": true}) })
}

async fn check(service: &Service, args: &ArgMatches, out: &mut dyn Write) -> Result<Done> {
    let (repair, as_json) = (args.get_flag("repair"), args.get_flag("json"));
    let mut found = Vec::new();
    let (mut orphans, mut orphan_bytes, mut gone) = (0_u64, 0_u64, 0_u64);
    let (findings, mut received) = tokio::sync::mpsc::unbounded_channel();
    let mut tell = move |finding| drop(findings.send(finding));
    let checking = async {
        let checked = service.check_storage(repair, &mut tell).await;
        drop(tell);
        checked
    };
    let printing = async {
        while let Some(finding) = received.recv().await {
            let (word, path, size) = match finding {
                Finding::Orphan { path, size } => {
                    orphans += 1;
                    orphan_bytes += size;
                    ("unnamed", path, Some(size))
                }
                Finding::Gone { path } => {
                    gone += 1;
                    ("gone", path, None)
                }
            };
            if as_json {
                found.push(json!({"problem": word, "path": path, "size": size}));
            } else {
                writeln!(out, "{word} {path} {}", size.map_or_else(|| "-".to_owned(), |size| size.to_string()))?;
            }
        }
        anyhow::Ok(())
    };
    let (checked, printed) = tokio::join!(checking, printing);
    printed?;
    let Checked { objects, bytes, young, foreign, rows } = checked.map_err(message_only)?;
    let text = format!(
        "{objects} files with {bytes} bytes, {rows} rows; {young} files without a row are less than two days old, \
         {foreign} files are not Plinth's"
    );
    let json =
        json!({"objects": objects, "bytes": bytes, "rows": rows, "young": young, "foreign": foreign, "found": found});
    if orphans + gone == 0 {
        return Ok(Done { text, json });
    }
    if as_json {
        writeln!(out, "{json}")?;
    } else {
        writeln!(out, "{text}")?;
    }
    let what = if repair { "are scheduled for deletion" } else { "can be deleted with --repair" };
    bail!(
        "{orphans} files with {orphan_bytes} bytes that no row references {what}; {gone} files that rows reference are missing: \
         restore them from a backup, or delete the models or renders that they belong to"
    )
}
