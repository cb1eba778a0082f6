//! `plinth render`: renders one model on this machine, without a server.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::{Arg, ArgAction, ArgMatches, Command};
use plinth_media::{EncoderChoice, H264Encoder, choose_encoder};
use plinth_model::conversion_advice;
use plinth_pipeline::{EnvironmentFiles, Job, JobError, Manifest, Stage, may_use_hardware, run as run_job};
use plinth_spec::settings::{ParseOptions, replace_aliases};
use plinth_spec::{OutputPaths, RenderSettings};
use serde_json::Value;

use super::progress::Shown;
use super::{Usage, assets, env_flag, flags, outputs, plain};
use crate::config::{self, Group, Machine};
use crate::note::note;
use crate::stop::Stop;

const EXAMPLES: &str = "\
Examples:
  plinth render chair.glb -o chair.mp4
  plinth render chair.glb -o chair.mp4 --quality 4k --effect hero-spin --length 8 --all
  plinth render chair.glb -o chair.mov                    (quality pro: ProRes 4444 with alpha)
  plinth render chair.glb -o chair.png --bg-color '#202428'
  plinth render chair.glb -o chair.zip --dataset-quality 196x1024 --coverage sphere       (a multi-view dataset)
  plinth render chair.glb -o chair.mp4 --env garden.hdr --env-mode grounded --settings @look.json
  plinth render chair.glb -o chair.mp4 --bg-image wall.jpg --decal logo.png@0,0.4,0.3,0.5

Each setting with a single value is a flag: --help lists all of them, `plinth settings` prints a table.";

pub(crate) fn command() -> Command {
    let switch = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    Command::new("render")
        .about("Renders a model to a video (.mp4, .mov), a still (.png) or a multi-view dataset (.zip, folder)")
        .after_help(EXAMPLES)
        .arg(super::model_arg())
        .args(outputs::args())
        .arg(
            Arg::new("settings")
                .long("settings")
                .value_name("JSON or @FILE")
                .help("Render settings as in the API; flags override them"),
        )
        .arg(env_flag::arg())
        .args(assets::args())
        .arg(super::json_arg("Print the results as a JSON object, and no progress"))
        .arg(
            switch("draft")
                .help("Compute light with a third of the rays and half of the samples: the render starts sooner, but the light is less exact"),
        )
        .arg(
            switch("profile")
                .help("Print the time of each render pass; with this flag, frames are drawn one at a time"),
        )
        .arg(switch("hash").requires("json").help("Add a SHA-256 over all frames to the JSON object"))
        .arg(switch("quiet").short('q').help("No progress"))
        .args(config::args(&[Group::Machine, Group::Cache]))
        .args(flags::args())
}

pub(crate) fn run(args: &ArgMatches, out: &mut dyn Write) -> Result<()> {
    let settings = settings(args)?;
    let (outputs, dataset) = outputs::outputs(args, &settings)?;
    let environment = env_flag::files(args)?;
    if let Some(id) = settings.environment().id.as_ref().filter(|_| environment.is_none()) {
        return Err(Usage(format!("the settings refer to the environment '{id}'; pass its file with --env")).into());
    }
    let image_files = assets::files(args, &settings)?;
    let path: &PathBuf = args.get_one("model").context("MODEL is missing")?;
    reject_replaced_inputs(&outputs, &inputs(args, path, environment.as_ref(), &image_files))?;
    let assets = assets::read(&image_files)?;
    let machine = Machine::read(args)?;
    let stop = Stop::listen().context("signal handlers cannot be installed")?;
    let is_silent = args.get_flag("quiet") || args.get_flag("json");
    let encoder = if may_use_hardware(&outputs, settings.video().quality) {
        encoder(&machine, &stop, is_silent)?
    } else {
        H264Encoder::default()
    };
    let (model, warnings) = read_model(path)?;
    let job = Job {
        model,
        environment: environment.as_ref().map(EnvironmentFiles::read).transpose()?,
        assets,
        outputs,
        dataset,
        watermark: false,
        draft: args.get_flag("draft"),
        adapter: machine.adapter,
        ffmpeg: machine.ffmpeg,
        cache: config::cache(args)?,
        encoder,
        posters_early: false,
        hash_frames: args.get_flag("hash"),
        time_passes: args.get_flag("profile"),
        settings,
    };
    let mut shown = Shown::new(is_silent);
    let mut report = |progress: plinth_pipeline::Progress| {
        if progress.stage == Stage::Rendering {
            stop.wait_for_job();
        }
        shown.tell(progress);
    };
    let outcome = run_job(&job, &mut report, stop.wanted());
    shown.clear();
    let mut manifest = match outcome {
        Err(JobError::Cancelled) => return Err(stop.stopped().into()),
        other => other.map_err(|error| with_file(error, path, &image_files))?,
    };
    manifest.warnings.splice(0..0, warnings);
    if args.get_flag("json") {
        writeln!(out, "{}", serde_json::to_string_pretty(&manifest)?)?;
    } else {
        print(&manifest, out)?;
    }
    Ok(())
}

/// Adds the name of the file that caused the error: the model or an image. If the disk is full, adds the folder of the output.
fn with_file(error: JobError, model: &Path, images: &BTreeMap<String, String>) -> anyhow::Error {
    let image = error.asset_id().and_then(|id| images.get(id)).cloned();
    let is_of_model = matches!(error, JobError::Model(_) | JobError::Scene(_)) && error.asset_id().is_none();
    let file = image.or_else(|| is_of_model.then(|| model.display().to_string()));
    match file.or_else(|| full_disk(&error)) {
        Some(context) => anyhow::Error::new(error).context(context),
        None => error.into(),
    }
}

/// Returns a message with the folder of an output that could not be written because the disk is full. Returns `None` if the error
/// has another cause.
fn full_disk(error: &JobError) -> Option<String> {
    let JobError::Media(error) = error else { return None };
    let file = std::path::absolute(error.file_on_full_disk()?).ok()?;
    let folder = file.parent().unwrap_or(&file);
    Some(format!("the disk with the folder {} is full", folder.display()))
}

/// Prints the output files and the warnings of a render.
fn print(manifest: &Manifest, out: &mut dyn Write) -> std::io::Result<()> {
    if let Some(failure) = &manifest.hardware_failure {
        note!("plinth: warning: {}; libx264 encoded instead", plain(failure));
    }
    for warning in &manifest.warnings {
        note!("plinth: warning: {}", plain(warning));
    }
    for (pass, millis) in manifest.pass_millis.iter().flatten() {
        writeln!(out, "{pass:16} {millis:8.2} ms per frame")?;
    }
    for file in &manifest.files {
        writeln!(out, "{} ({}×{}, {} kB)", file.path, file.width, file.height, file.bytes.div_ceil(1000))?;
    }
    Ok(())
}

/// Chooses the H.264 encoder. With `auto`, prints the reasons why hardware encoders are not used.
fn encoder(machine: &Machine, stop: &Stop, is_silent: bool) -> Result<H264Encoder> {
    if machine.encoder == EncoderChoice::default() {
        return Ok(H264Encoder::default());
    }
    // The test of an encoder creates temporary files, so signals must not end the program at once.
    stop.wait_for_job();
    let found = choose_encoder(&machine.ffmpeg, machine.encoder, stop.wanted());
    stop.job_ended()?;
    let found = found?;
    for (encoder, reason) in found.failures().filter(|_| !is_silent) {
        note!("plinth: {encoder} is not used: {}", plain(reason));
    }
    Ok(found.encoder)
}

/// Returns the files that a render reads, each with its content for error messages.
fn inputs<'a>(
    args: &'a ArgMatches,
    model: &'a Path,
    environment: Option<&'a EnvironmentFiles>,
    images: &'a BTreeMap<String, String>,
) -> Vec<(&'static str, &'a Path)> {
    let mut inputs = vec![("model", model)];
    inputs.extend(images.values().map(|file| ("image", Path::new(file))));
    inputs.extend(environment.into_iter().flat_map(EnvironmentFiles::paths).map(|file| ("environment", file)));
    inputs.extend(args.get_one::<PathBuf>("cameras").map(|file| ("cameras", file.as_path())));
    inputs.extend(settings_file(args).map(|file| ("settings", file)));
    inputs
}

/// Returns an error if an output would replace an input file. This can happen, for example, if both are images.
fn reject_replaced_inputs(outputs: &OutputPaths, inputs: &[(&str, &Path)]) -> Result<()> {
    for out in outputs.values() {
        let Ok(replaced) = out.canonicalize() else { continue };
        let is_replaced = |input: &Path| input.canonicalize().is_ok_and(|input| input == replaced);
        if let Some((content, input)) = inputs.iter().find(|(_content, input)| is_replaced(input)) {
            let message = format!(
                "the output {} would replace the {content} {}; choose another output",
                out.display(),
                input.display()
            );
            return Err(Usage(message).into());
        }
    }
    Ok(())
}

/// Reads a model file, whose extension must be accepted. Converts a ZIP with an OBJ to a GLB. Returns the GLB, and the
/// warnings of the conversion.
pub(crate) fn read_model(path: &Path) -> Result<(Vec<u8>, Vec<String>)> {
    let extension = outputs::extension(path);
    if extension != "glb" && extension != "zip" {
        let advice = advice(path, &extension);
        return Err(Usage(format!("{}: only .glb and .zip files are accepted; {advice}", path.display())).into());
    }
    let size = std::fs::metadata(path).with_context(|| format!("{} cannot be read", path.display()))?.len();
    if size > plinth_spec::limits::MODEL_FILE_BYTES {
        bail!("{}: {size} bytes exceed the limit of {}", path.display(), plinth_spec::limits::MODEL_FILE_BYTES);
    }
    let bytes = std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    if extension == "glb" {
        return Ok((bytes, Vec::new()));
    }
    if bytes.starts_with(b"glTF") {
        let message = format!("{}: this is a GLB; give the file the extension .glb", path.display());
        return Err(Usage(message).into());
    }
    let converted = plinth_model::obj_zip::glb_from_zip(&bytes, &plinth_model::Limits::default())
        .with_context(|| path.display().to_string())?;
    Ok((converted.glb, converted.warnings))
}

/// Returns what to do with a file that cannot be read as a model, because of its extension.
fn advice(path: &Path, extension: &str) -> &'static str {
    if path.is_dir() {
        return "this is a folder, so name a file in it";
    }
    conversion_advice(extension, true)
}

/// Returns the file of `--settings @FILE`.
fn settings_file(args: &ArgMatches) -> Option<&Path> {
    args.get_one::<String>("settings")?.strip_prefix('@').map(Path::new)
}

/// Returns the error message for a value of `--settings` that is not valid JSON.
fn invalid_json(given: Option<&String>, error: &serde_json::Error) -> String {
    match given.filter(|given| outputs::extension(Path::new(given)) == "json" && !given.starts_with('@')) {
        Some(file) => format!("--settings takes JSON, or a file as @FILE: did you mean --settings @{file}?"),
        None => format!("--settings is not valid JSON: {error}"),
    }
}

/// Reads the render settings. Flags override the settings in `--settings`. If they contain no quality or kind of
/// output, the extension of the output file can determine it.
fn settings(args: &ArgMatches) -> Result<RenderSettings> {
    let text = match (settings_file(args), args.get_one::<String>("settings")) {
        (Some(file), _) => super::read_text(file)?,
        (None, Some(given)) => given.clone(),
        (None, None) => "{}".to_owned(),
    };
    let wrong = |message: String| anyhow::Error::new(Usage(message));
    let value: Value =
        serde_json::from_str(&text).map_err(|error| wrong(invalid_json(args.get_one("settings"), &error)))?;
    let Value::Object(members) = value else {
        return Err(wrong(format!("--settings must be a JSON object, such as {}", r#"{"zoom": 1.2}"#)));
    };
    // A flag has the name of its setting. It overrides a setting under an alias only if the alias is replaced before.
    let mut members = replace_aliases(&members).map_err(|error| wrong(error.to_string()))?;
    members.extend(flags::sent(args));
    assets::set(args, &mut members)?;
    match outputs::extension(outputs::out(args)?).as_str() {
        "mov" => drop(members.entry("quality").or_insert_with(|| Value::from("pro"))),
        "zip" => drop(members.entry("output").or_insert_with(|| Value::from("dataset"))),
        _ => {}
    }
    RenderSettings::from_json(&Value::Object(members), ParseOptions::default())
        .map_err(|error| wrong(error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings_of(flags: &[&str]) -> Result<RenderSettings> {
        let args = [&["render", "model.glb", "-o", "out.mp4"], flags].concat();
        settings(&command().try_get_matches_from(args).unwrap())
    }

    #[test]
    fn a_settings_file_may_begin_with_a_byte_order_mark() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "\u{FEFF}{\"zoom\": 1.2}").unwrap();
        let given = format!("@{}", file.path().display());
        assert_eq!(settings_of(&["--settings", &given]).unwrap().echoed(), json!({"zoom": 1.2}));
    }

    #[test]
    fn a_flag_overrides_a_setting_that_is_given_under_an_alias() {
        let given = r#"{"videoLength": 4, "zoom": 1.2}"#;
        assert_eq!(settings_of(&["--settings", given]).unwrap().echoed(), json!({"length": 4, "zoom": 1.2}));
        let settings = settings_of(&["--settings", given, "--length", "5"]).unwrap();
        assert_eq!(settings.echoed(), json!({"length": 5, "zoom": 1.2}));
        let error = settings_of(&["--settings", r#"{"length": 3, "videoLength": 4}"#, "--length", "5"]).unwrap_err();
        assert_eq!(error.to_string(), "'length' is given twice, once under an alias");
        assert!(error.is::<Usage>());
    }
}
