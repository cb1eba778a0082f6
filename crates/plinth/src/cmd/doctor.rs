//! `plinth doctor`: reports the graphics adapter and the encoders of this machine, its database and store, and its
//! sandbox.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};
use clap::{ArgMatches, Command};
use plinth_media::{
    Capabilities, EncoderChoice, EncoderTrial, H264Encoder, MediaError, Outcome, decide_encoder, try_encoders,
};
use plinth_render::{AdapterKind, AdapterReport, Gpu, GpuError, GpuOptions, adapters};
use serde_json::{Value, json};

use super::fence;
use super::storage_state::StorageState;
use crate::config::{self, Config, Group};
use crate::system::check_can_serve;

pub(crate) fn command() -> Command {
    Command::new("doctor")
        .about("Reports adapter, encoders, database and storage of this machine, and how to fix what is missing")
        .arg(super::json_arg("Print a JSON object"))
        .args(config::args(&[Group::Machine, Group::Fence, Group::Data]))
}

/// The results of all checks.
struct Findings {
    /// The adapter that a render would use. It was opened in the same way as for a render.
    chosen: Result<AdapterReport, GpuError>,
    others: Vec<AdapterReport>,
    ffmpeg: Result<Encoders, MediaError>,
    /// The configured database and store.
    storage: StorageState,
    /// The sandbox of jobs.
    fence: Result<fence::Found>,
}

struct Encoders {
    /// Software encoders.
    found: Capabilities,
    /// Tested hardware encoders.
    trials: Vec<EncoderTrial>,
    choice: EncoderChoice,
    /// The H.264 encoder that a render would use.
    chosen: Result<H264Encoder, MediaError>,
}

impl Encoders {
    fn look(program: &Path, choice: EncoderChoice) -> Result<Self, MediaError> {
        let found = plinth_media::probe(program)?;
        let trials = try_encoders(program, &AtomicBool::new(false))?;
        let chosen = decide_encoder(choice, trials.clone()).map(|found| found.encoder);
        Ok(Self { found, trials, choice, chosen })
    }
}

impl Findings {
    /// Returns whether all videos except ProRes can be written. Requires libx264 even if there is a hardware encoder,
    /// because libx264 encodes thumbnails and replaces a hardware encoder that fails.
    fn ready(&self) -> bool {
        self.chosen.is_ok() && self.ffmpeg.as_ref().is_ok_and(|m| m.found.h264.is_ok() && m.chosen.is_ok())
    }

    /// Returns whether the server would work on this machine.
    fn ready_to_serve(&self) -> bool {
        check_can_serve().is_ok() && self.ready() && self.storage.is_usable() && self.fence.is_ok()
    }
}

pub(crate) fn run(args: &ArgMatches, out: &mut dyn Write) -> Result<()> {
    let config = Config::read(args)?;
    let storage = super::block_on(async { Ok(StorageState::look(&config).await) })?;
    let fence = fence::Found::look(&config);
    let machine = config.machine;
    let chosen = Gpu::open(&GpuOptions { adapter: machine.adapter }).map(|gpu| gpu.report().clone());
    let mut others = adapters();
    if let Some(at) = chosen.as_ref().ok().and_then(|c| others.iter().position(|o| o == c)) {
        others.remove(at);
    }
    let findings =
        Findings { chosen, others, ffmpeg: Encoders::look(&machine.ffmpeg, machine.encoder), storage, fence };
    if args.get_flag("json") {
        writeln!(out, "{:#}", report(&findings))?;
    } else {
        print(&findings, out)?;
    }
    if !findings.ready() {
        bail!("this machine cannot render videos yet");
    }
    if findings.storage.is_broken() {
        bail!("the database or the store cannot be used");
    }
    if findings.fence.is_err() {
        bail!("jobs cannot be sandboxed as configured");
    }
    Ok(())
}

fn report(findings: &Findings) -> Value {
    let adapter = match &findings.chosen {
        Ok(chosen) => facts(chosen),
        Err(error) => json!({"error": one_line(error)}),
    };
    let ffmpeg = match &findings.ffmpeg {
        Ok(encoders) => encoder_facts(encoders),
        Err(error) => json!({"error": one_line(error)}),
    };
    let fence = match &findings.fence {
        Ok(found) => found.json(),
        Err(error) => json!({"error": super::one_line(error)}),
    };
    let others: Vec<_> = findings.others.iter().map(facts).collect();
    json!({"ready": findings.ready_to_serve(), "adapter": adapter, "otherAdapters": others, "ffmpeg": ffmpeg,
           "database": findings.storage.database.json(), "storage": findings.storage.storage.json(), "fence": fence})
}

fn encoder_facts(encoders: &Encoders) -> Value {
    let Encoders { found, trials, choice, chosen } = encoders;
    let hardware: serde_json::Map<String, Value> =
        trials.iter().map(|trial| (trial.encoder.to_string(), trial_text(&trial.outcome).into())).collect();
    let mut facts = json!({"version": found.version, "h264": found.h264.is_ok(), "prores": found.prores.is_ok(),
                           "encoderChoice": choice.to_string(), "hardware": hardware});
    match chosen {
        Ok(encoder) => facts["encoder"] = encoder.to_string().into(),
        Err(error) => facts["encoderError"] = one_line(error).into(),
    }
    facts
}

fn facts(adapter: &AdapterReport) -> Value {
    let address = Some(&adapter.pci_address).filter(|address| !address.is_empty());
    json!({"name": adapter.name, "driver": adapter.driver, "kind": kind(adapter), "pciAddress": address,
           "backend": adapter.backend, "maxTextureSide": adapter.max_texture_side,
           "maxBufferBytes": adapter.max_buffer_bytes, "maxSamples": adapter.max_samples})
}

fn kind(adapter: &AdapterReport) -> &'static str {
    match adapter.kind {
        AdapterKind::Hardware => "hardware",
        AdapterKind::Software => "software",
    }
}

fn print(findings: &Findings, out: &mut dyn Write) -> std::io::Result<()> {
    match &findings.chosen {
        Ok(chosen) => {
            writeln!(out, "adapter   {}", adapter_text(chosen))?;
            if chosen.kind == AdapterKind::Software {
                writeln!(out, "          works, but slowly: a graphics card with a Vulkan driver is faster")?;
            }
        }
        Err(error) => writeln!(out, "adapter   missing: {}", one_line(error))?,
    }
    for other in &findings.others {
        writeln!(out, "          used only with --adapter: {}", adapter_text(other))?;
    }
    match &findings.ffmpeg {
        Ok(found) => print_encoders(found, out)?,
        Err(error) => writeln!(out, "ffmpeg    missing: {}", one_line(error))?,
    }
    writeln!(out, "database  {}", findings.storage.database.text())?;
    writeln!(out, "storage   {}", findings.storage.storage.text())?;
    let lines = findings.fence.as_ref().map_or_else(|error| vec![super::one_line(error)], fence::Found::lines);
    let heads = std::iter::once("fence     ").chain(std::iter::repeat("          "));
    heads.zip(lines).try_for_each(|(head, line)| writeln!(out, "{head}{line}"))
}

fn print_encoders(encoders: &Encoders, out: &mut dyn Write) -> std::io::Result<()> {
    let Encoders { found, trials, choice, chosen } = encoders;
    writeln!(out, "ffmpeg    {}", found.version)?;
    let line = |works: &Result<(), String>, lacks: &str| match works {
        Ok(()) => "works".to_owned(),
        Err(problem) => format!("{lacks} ({problem})"),
    };
    let h264 = line(&found.h264, "missing: videos cannot be written; install an ffmpeg built with --enable-libx264");
    let prores = line(&found.prores, "missing, needed only for quality pro; install an ffmpeg that has this encoder");
    writeln!(out, "H.264     libx264 {h264}")?;
    for trial in trials {
        writeln!(out, "          {} {}", trial.encoder, super::plain(&trial_text(&trial.outcome)))?;
    }
    match chosen {
        Ok(encoder) => writeln!(out, "          {encoder} is used (--encoder {choice})")?,
        Err(error) => writeln!(out, "          no encoder is used: {}", one_line(error))?,
    }
    writeln!(out, "ProRes    prores_ks {prores}")
}

fn trial_text(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Works => "works".to_owned(),
        Outcome::NotBuiltIn => "is not in this ffmpeg".to_owned(),
        Outcome::Fails(reason) => format!("does not work here: {reason}"),
    }
}

fn adapter_text(adapter: &AdapterReport) -> String {
    let AdapterReport { name, driver, pci_address, backend, max_texture_side, max_samples, .. } = adapter;
    let kind = match pci_address.as_str() {
        "" => kind(adapter).to_owned(),
        address => format!("{}, PCI {address}", kind(adapter)),
    };
    format!(
        "{name}, {kind}, {backend}, driver {driver}, textures to {max_texture_side} px, {max_samples}× antialiasing"
    )
}

fn one_line(error: &(dyn std::error::Error + 'static)) -> String {
    match error.source() {
        Some(source) => super::plain(&format!("{error} ({source})")),
        None => super::plain(&error.to_string()),
    }
}
