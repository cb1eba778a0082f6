//! `plinth render`: one model on this machine, no server.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use indicatif::{ProgressBar, ProgressStyle};
use plinth_pipeline::{Job, JobError, Outputs, Progress, Stage, run as run_job};
use plinth_scene::{EnvironmentMap, gain_map, radiance_hdr};
use plinth_spec::RenderSettings;
use plinth_spec::settings::{Output, ParseOptions, not_yet_rendered};
use serde_json::Value;

use super::{Interrupted, flags};

pub(crate) fn command() -> Command {
    let path = |name: &'static str| Arg::new(name).long(name).value_name("FILE").value_parser(value_parser!(PathBuf));
    let switch = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    Command::new("render")
        .about("Renders a model to a video (.mp4, .mov) or a still (.png)")
        .arg(
            Arg::new("model")
                .value_name("MODEL")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("A .glb file, or a .zip with one OBJ"),
        )
        .arg(path("out").short('o').required(true).help("OUT.mp4, OUT.mov (quality pro) or OUT.png (the poster frame)"))
        .arg(
            Arg::new("settings")
                .long("settings")
                .value_name("JSON or @FILE")
                .help("Render settings as in the API; flags win over them"),
        )
        .arg(Arg::new("env").long("env").value_name("FILE").num_args(1..=3).value_parser(value_parser!(PathBuf)).help(
            "Environment: one Radiance .hdr, or the three parts of a gain map: sdr.webp gainmap.webp metadata.json",
        ))
        .arg(switch("all").help("Also write NAME.web.mp4, NAME.thumb.mp4, NAME.poster.png and NAME.small.png"))
        .arg(switch("hash").help("Put a SHA-256 over all frames into the manifest"))
        .arg(switch("json").help("Print the manifest as one JSON object"))
        .arg(switch("quiet").short('q').help("No progress"))
        .arg(
            Arg::new("adapter")
                .long("adapter")
                .env("PLINTH_ADAPTER")
                .value_name("NAME")
                .help("Part of an adapter's name, or cpu for a software driver"),
        )
        .arg(ffmpeg_arg())
        .args(flags::args())
}

/// `--ffmpeg`.
pub(crate) fn ffmpeg_arg() -> Arg {
    Arg::new("ffmpeg")
        .long("ffmpeg")
        .env("PLINTH_FFMPEG")
        .value_name("PROGRAM")
        .default_value("ffmpeg")
        .value_parser(value_parser!(PathBuf))
        .help("The ffmpeg to call")
}

pub(crate) fn run(args: &ArgMatches) -> Result<()> {
    let out: &PathBuf = args.get_one("out").context("--out is missing")?;
    let settings = settings(args, out)?;
    for name in not_yet_rendered(&settings) {
        eprintln!("plinth: warning: the setting {name} does not change the picture yet");
    }
    let path: &PathBuf = args.get_one("model").context("MODEL is missing")?;
    let job = Job {
        model: read_model(path)?,
        environment: environment(args)?,
        outputs: outputs(args, out)?,
        adapter: args.get_one::<String>("adapter").cloned(),
        ffmpeg: args.get_one::<PathBuf>("ffmpeg").cloned().unwrap_or_else(|| PathBuf::from("ffmpeg")),
        hash_frames: args.get_flag("hash"),
        settings,
    };
    let cancel = Arc::new(AtomicBool::new(false));
    let heard = Arc::clone(&cancel);
    ctrlc::set_handler(move || heard.store(true, Ordering::Relaxed)).context("Ctrl-C cannot be caught")?;
    let mut shown = Shown::new(args.get_flag("quiet") || args.get_flag("json"));
    let outcome = run_job(&job, &mut |progress| shown.tell(progress), &cancel);
    shown.clear();
    let manifest = match outcome {
        Err(JobError::Cancelled) => return Err(Interrupted.into()),
        other => other?,
    };
    if args.get_flag("json") {
        println!("{}", serde_json::to_string_pretty(&manifest)?);
        return Ok(());
    }
    for warning in &manifest.warnings {
        eprintln!("plinth: warning: {warning}");
    }
    for file in &manifest.files {
        println!("{} ({}×{}, {} kB)", file.path, file.width, file.height, file.bytes.div_ceil(1000));
    }
    Ok(())
}

/// Reads a model file of a kind that is accepted; an archive with an OBJ is converted.
pub(crate) fn read_model(path: &Path) -> Result<Vec<u8>> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    if extension != "glb" && extension != "zip" {
        bail!("{}: only .glb and .zip files are accepted, not .{extension}", path.display());
    }
    let size = std::fs::metadata(path).with_context(|| format!("{} cannot be read", path.display()))?.len();
    if size > plinth_spec::limits::MODEL_FILE_BYTES {
        bail!(
            "{}: {size} bytes are more than the {} that are accepted",
            path.display(),
            plinth_spec::limits::MODEL_FILE_BYTES
        );
    }
    let bytes = std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    if extension == "glb" {
        return Ok(bytes);
    }
    let converted = plinth_model::obj_zip::glb_from_zip(&bytes, &plinth_model::Limits::default())?;
    for warning in &converted.warnings {
        eprintln!("plinth: warning: {warning}");
    }
    Ok(converted.glb)
}

/// Settings from `--settings`, then flags, then what the output's name asks for.
fn settings(args: &ArgMatches, out: &Path) -> Result<RenderSettings> {
    let text = match args.get_one::<String>("settings").map(String::as_str) {
        None => "{}".to_owned(),
        Some(given) => match given.strip_prefix('@') {
            None => given.to_owned(),
            Some(file) => std::fs::read_to_string(file).with_context(|| format!("{file} cannot be read"))?,
        },
    };
    let value: Value = serde_json::from_str(&text).context("--settings is not valid JSON")?;
    let Value::Object(mut members) = value else { bail!("--settings must be a JSON object") };
    members.extend(flags::sent(args));
    let extension = out.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    if extension == "mov" {
        members.entry("quality").or_insert_with(|| Value::from("pro"));
    }
    let settings = RenderSettings::from_json(&Value::Object(members), ParseOptions::default())?;
    fits(&settings, &extension)?;
    Ok(settings)
}

/// Refuses an output whose name does not fit the settings.
fn fits(settings: &RenderSettings, extension: &str) -> Result<()> {
    let video = settings.video();
    if video.output == Output::Dataset {
        bail!("datasets are not rendered yet");
    }
    match (extension, video.quality.has_alpha()) {
        ("png", _) | ("mov", true) | ("mp4", false) => Ok(()),
        ("mov", false) => bail!("a .mov is quality pro, not {}; name the output .mp4", video.quality.name()),
        ("mp4", true) => bail!("quality pro is a .mov; name the output so"),
        _ => bail!("the output must end in .mp4, .mov or .png"),
    }
}

fn outputs(args: &ArgMatches, out: &Path) -> Result<Outputs> {
    let folder = out.parent().filter(|p| !p.as_os_str().is_empty());
    if let Some(missing) = folder.filter(|p| !p.is_dir()) {
        bail!("the folder {} does not exist", missing.display());
    }
    if out.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")) {
        return Ok(Outputs { poster: Some(out.to_owned()), ..Outputs::default() });
    }
    let mut outputs = Outputs { video: Some(out.to_owned()), ..Outputs::default() };
    if args.get_flag("all") {
        outputs.web = Some(out.with_extension("web.mp4"));
        outputs.thumb = Some(out.with_extension("thumb.mp4"));
        outputs.poster = Some(out.with_extension("poster.png"));
        outputs.small_poster = Some(out.with_extension("small.png"));
    }
    Ok(outputs)
}

fn environment(args: &ArgMatches) -> Result<Option<EnvironmentMap>> {
    let Some(files) = args.get_many::<PathBuf>("env") else { return Ok(None) };
    let parts = files
        .map(|path| std::fs::read(path).with_context(|| format!("{} cannot be read", path.display())))
        .collect::<Result<Vec<_>>>()?;
    Ok(Some(match parts.as_slice() {
        [hdr] => radiance_hdr(hdr)?,
        [sdr, gain, metadata] => gain_map(sdr, gain, metadata)?,
        _ => bail!("--env takes one .hdr file or the three parts of a gain map"),
    }))
}

/// Progress on the terminal: a bar where there is one, plain lines elsewhere.
struct Shown {
    bar: Option<ProgressBar>,
    quiet: bool,
    told: u32,
    stage: Option<Stage>,
}

impl Shown {
    fn new(quiet: bool) -> Self {
        let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        let style = ProgressStyle::with_template("{msg:10} {wide_bar} {pos}/{len} {prefix}")
            .unwrap_or_else(|_invalid| ProgressStyle::default_bar());
        let bar = (terminal && !quiet).then(|| ProgressBar::new(1).with_style(style));
        Self { bar, quiet, told: 0, stage: None }
    }

    fn tell(&mut self, progress: Progress) {
        let word = match progress.stage {
            Stage::Loading => "loading",
            Stage::Preparing => "preparing",
            Stage::Rendering => "rendering",
            Stage::Finishing => "finishing",
        };
        let left = progress.left.map_or_else(String::new, |left| format!("{} left", clock(left)));
        if let Some(bar) = &self.bar {
            bar.set_message(word);
            bar.set_length(u64::from(progress.frames.max(1)));
            bar.set_position(u64::from(progress.frame));
            bar.set_prefix(left);
            return;
        }
        let tenth = (progress.frame * 10).checked_div(progress.frames).unwrap_or(0);
        if self.quiet || (self.stage == Some(progress.stage) && tenth <= self.told) {
            return;
        }
        (self.stage, self.told) = (Some(progress.stage), tenth);
        match progress.stage {
            Stage::Rendering => eprintln!("rendering {}/{} {left}", progress.frame, progress.frames),
            _ => eprintln!("{word}"),
        }
    }

    fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Minutes and seconds.
fn clock(left: Duration) -> String {
    format!("{}:{:02}", left.as_secs() / 60, left.as_secs() % 60)
}
