//! Tests of commands that print information and render nothing.

use std::process::{Command, Stdio};

use crate::{Place, plinth, program, text};

#[test]
fn inspect_and_settings_print_json() {
    let place = Place::new();
    let done = plinth(&["inspect", &place.file("cube.glb"), "--json"]);
    let inventory: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(inventory["triangles"], 12);
    assert_eq!(inventory["meshNames"][0], "Cube_of_ice");
    let done = plinth(&["settings", "--json"]);
    let schema: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(schema["properties"]["bgColor"].is_object());
}

#[test]
fn the_documentation_has_the_settings_of_the_code() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md")).unwrap();
    let table = plinth(&["settings"]);
    let missing: Vec<String> = text(&table.stdout).lines().filter(|l| !page.contains(*l)).map(str::to_owned).collect();
    assert!(missing.is_empty(), "run `make generate`; missing: {missing:#?}");
}

#[test]
fn a_closed_output_pipe_is_not_an_error() {
    let mut child = program().arg("settings").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The pipe is closed before the program starts to write.
    drop(child.stdout.take());
    let done = child.wait_with_output().unwrap();
    assert_eq!((done.status.code(), text(&done.stderr).as_str()), (Some(0), ""));
}

fn doctor(variable: (&str, &str)) -> (Option<i32>, String, serde_json::Value) {
    let run = |json: &[&str]| program().arg("doctor").args(json).env(variable.0, variable.1).output().unwrap();
    let (plain, json) = (run(&[]), run(&["--json"]));
    assert_eq!(plain.status.code(), json.status.code());
    (plain.status.code(), text(&plain.stdout), serde_json::from_slice(&json.stdout).unwrap())
}

#[test]
fn doctor_checks_the_adapter_that_a_render_would_use() {
    let (code, report, json) = doctor(("PLINTH_ADAPTER", "cpu"));
    assert_eq!(
        (code, &json["ready"], &json["adapter"]["kind"], &json["adapter"]["pciAddress"]),
        (Some(0), &true.into(), &"software".into(), &serde_json::Value::Null),
        "{report}"
    );
    let (code, report, json) = doctor(("PLINTH_ADAPTER", "no such card"));
    assert_eq!((code, &json["ready"]), (Some(1), &false.into()));
    assert!(report.contains("no adapter matches 'no such card'; available: "), "{report}");
    assert!(json["otherAdapters"][0]["name"].is_string(), "{json}");
}

#[test]
fn doctor_needs_h264_but_not_prores_and_says_what_to_do() {
    let place = Place::new();
    let without = |encoder: &str| {
        // A script for an ffmpeg that lacks one encoder.
        place.script(&format!(
            r#"case "$*" in *{encoder}*) echo "Unknown encoder" >&2; exit 1;; esac; exec "$FFMPEG" "$@""#
        ))
    };
    let (code, report, json) = doctor(("PLINTH_FFMPEG", &without("prores_ks")));
    assert_eq!((code, &json["ready"], &json["ffmpeg"]["prores"]), (Some(0), &true.into(), &false.into()), "{report}");
    assert!(report.contains("prores_ks missing, needed only for quality pro; install"), "{report}");
    let (code, report, json) = doctor(("PLINTH_FFMPEG", &without("libx264")));
    assert_eq!((code, &json["ready"], &json["ffmpeg"]["h264"]), (Some(1), &false.into(), &false.into()), "{report}");
    assert!(report.contains("libx264 missing: videos cannot be written; install"), "{report}");
    let (code, report, json) = doctor(("PLINTH_FFMPEG", "/nowhere/ffmpeg"));
    assert_eq!((code, &json["ready"]), (Some(1), &false.into()));
    assert!(report.contains("'/nowhere/ffmpeg' cannot be started; install ffmpeg"), "{report}");
}

#[test]
fn doctor_reports_the_protections_of_jobs() {
    let (_code, report, json) = doctor(("PLINTH_FENCE", "auto"));
    let fence = &json["fence"];
    assert_eq!((&fence["mode"], &fence["jobUser"]), (&"auto".into(), &serde_json::Value::Null), "{json}");
    let landlock = fence["landlockAbi"].as_u64().map_or("no Landlock".to_owned(), |abi| format!("Landlock ABI {abi}"));
    assert!(report.contains(&format!("\nfence     auto: {landlock}, ")), "{report}");
    let warnings = fence["warnings"].as_array().unwrap();
    assert!(warnings.iter().all(|warning| report.contains(warning.as_str().unwrap())), "{report}");
}

#[test]
fn doctor_reports_a_data_folder_that_cannot_be_created() {
    let done = program().args(["doctor", "--json", "--data", "/proc/plinth"]).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    // The status is that of rendering, which needs no data folder.
    assert_eq!((done.status.code(), &json["ready"]), (Some(0), &false.into()), "{json}");
    for part in ["database", "storage"] {
        let error = json[part]["error"].as_str().unwrap_or_default();
        assert!(error.starts_with("no files can be created in /proc/plinth"), "{json}");
    }
}

#[test]
fn a_missing_user_for_jobs_is_an_error_at_the_start() {
    let place = Place::new();
    let done =
        program().args(["serve", "--job-user", "no-such-user-here", "--data", &place.file("data")]).output().unwrap();
    assert_eq!(done.status.code(), Some(1));
    let stderr = text(&done.stderr);
    assert!(stderr.contains("'no-such-user-here': the user does not exist"), "{stderr}");
    assert_eq!(place.names(), ["cube.glb"]);
}

#[test]
fn help_shows_each_commands_own_options_and_all_settings_only_when_asked_for_more() {
    for command in ["render", "inspect", "doctor", "settings"] {
        let done = Command::new(env!("CARGO_BIN_EXE_plinth")).args([command, "--help"]).output().unwrap();
        assert!(done.status.success() && text(&done.stdout).contains("Usage: plinth"), "{command}");
    }
    let (short, long) = (text(&plinth(&["render", "-h"]).stdout), text(&plinth(&["render", "--help"]).stdout));
    for (flag, is_common) in [("--bg-color <", true), ("--effect <", true), ("--ease-in-seconds <", false)] {
        assert_eq!((short.contains(flag), long.contains(flag)), (is_common, true), "{flag}");
    }
    assert!(short.contains("plinth render chair.glb -o chair.mp4"));
}

#[test]
fn every_command_prints_help() {
    for command in [
        "",
        "render",
        "inspect",
        "environment",
        "environment encode",
        "serve",
        "worker",
        "doctor",
        "settings",
        "openapi",
        "admin",
        "admin account",
        "admin account create",
        "admin account suspend",
        "admin account unsuspend",
        "admin account list",
        "admin account make-admin",
        "admin account remove-admin",
        "admin key",
        "admin key list",
        "admin key create",
        "admin key revoke",
        "admin credits",
        "admin credits grant",
        "admin workspace",
        "admin workspace list",
        "admin workspace create",
        "admin workspace add",
        "admin workspace remove",
        "admin workspace delete",
        "admin overlay",
        "admin overlay publish",
        "admin overlay withdraw",
        "admin overlay list",
        "admin environment",
        "admin environment publish",
        "admin environment withdraw",
        "admin environment list",
        "admin workers",
        "admin failures",
        "admin log",
    ] {
        let parts: Vec<&str> = command.split_whitespace().collect();
        let done = plinth(&[&parts[..], &["--help"]].concat());
        assert_eq!((done.status.code(), text(&done.stderr).as_str()), (Some(0), ""), "{command}");
        let usage = format!("Usage: {}", format!("plinth {command}").trim());
        assert!(text(&done.stdout).contains(&usage), "{command}: {}", text(&done.stdout));
    }
}
