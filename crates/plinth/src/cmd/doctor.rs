//! `plinth doctor`: what this machine would render with, and where it keeps things.

use std::io::Write;

use anyhow::{Result, bail};
use clap::{ArgMatches, Command};
use plinth_media::{Capabilities, MediaError};
use plinth_render::{AdapterKind, AdapterReport, Gpu, GpuError, GpuOptions, adapters};
use serde_json::{Value, json};

use super::kept::Kept;
use crate::config::{self, Config, Group};

pub(crate) fn command() -> Command {
    Command::new("doctor")
        .about("Says what this machine would render with and keep files in, and what to do where something is missing")
        .arg(super::json_arg("Print one JSON object"))
        .args(config::args(&[Group::Machine, Group::Data]))
}

/// What was found.
struct Findings {
    /// The adapter that a render would take, opened as a render does.
    chosen: Result<AdapterReport, GpuError>,
    others: Vec<AdapterReport>,
    ffmpeg: Result<Capabilities, MediaError>,
    /// The database and the store, as configured.
    kept: Kept,
}

impl Findings {
    /// Everything but ProRes is needed by every video.
    fn ready(&self) -> bool {
        self.chosen.is_ok() && self.ffmpeg.as_ref().is_ok_and(|m| m.h264)
    }

    /// Whether the server would work here.
    fn ready_to_serve(&self) -> bool {
        self.ready() && self.kept.is_usable()
    }
}

pub(crate) fn run(args: &ArgMatches, out: &mut dyn Write) -> Result<()> {
    let config = Config::read(args)?;
    let kept = super::block_on(async { Ok(Kept::look(&config).await) })?;
    let machine = config.machine;
    let chosen = Gpu::open(&GpuOptions { adapter: machine.adapter }).map(|gpu| gpu.report().clone());
    let mut others = adapters();
    if let Some(at) = chosen.as_ref().ok().and_then(|c| others.iter().position(|o| o == c)) {
        others.remove(at);
    }
    let findings = Findings { chosen, others, ffmpeg: plinth_media::probe(&machine.ffmpeg), kept };
    if args.get_flag("json") {
        writeln!(out, "{:#}", report(&findings))?;
    } else {
        print(&findings, out)?;
    }
    if !findings.ready() {
        bail!("this machine cannot render videos yet");
    }
    if !findings.kept.is_usable() {
        bail!("the database or the store cannot be used");
    }
    Ok(())
}

fn report(findings: &Findings) -> Value {
    let adapter = match &findings.chosen {
        Ok(chosen) => facts(chosen),
        Err(error) => json!({"error": one_line(error)}),
    };
    let ffmpeg = match &findings.ffmpeg {
        Ok(m) => json!({"version": m.version, "h264": m.h264, "prores": m.prores}),
        Err(error) => json!({"error": one_line(error)}),
    };
    let others: Vec<_> = findings.others.iter().map(facts).collect();
    json!({"ready": findings.ready_to_serve(), "adapter": adapter, "otherAdapters": others, "ffmpeg": ffmpeg,
           "database": findings.kept.database.json(), "storage": findings.kept.storage.json()})
}

fn facts(adapter: &AdapterReport) -> Value {
    json!({"name": adapter.name, "driver": adapter.driver, "kind": kind(adapter), "backend": adapter.backend,
           "maxTextureSide": adapter.max_texture_side, "maxBufferBytes": adapter.max_buffer_bytes,
           "maxSamples": adapter.max_samples})
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
            writeln!(out, "adapter   {}", words(chosen))?;
            if chosen.kind == AdapterKind::Software {
                writeln!(out, "          works, but slowly: a graphics card with a Vulkan driver is faster")?;
            }
        }
        Err(error) => writeln!(out, "adapter   missing: {}", one_line(error))?,
    }
    for other in &findings.others {
        writeln!(out, "          not used unless asked for with --adapter: {}", words(other))?;
    }
    match &findings.ffmpeg {
        Ok(found) => print_encoders(found, out)?,
        Err(error) => writeln!(out, "ffmpeg    missing: {}", one_line(error))?,
    }
    writeln!(out, "database  {}", findings.kept.database.words())?;
    writeln!(out, "storage   {}", findings.kept.storage.words())
}

fn print_encoders(found: &Capabilities, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "ffmpeg    {}", found.version)?;
    let line = |works, lacks: &'static str| if works { "works" } else { lacks };
    let h264 = line(found.h264, "missing: no video can be written; install an ffmpeg built with --enable-libx264");
    let prores = line(found.prores, "missing: only quality pro needs it; install an ffmpeg that has this encoder");
    writeln!(out, "H.264     libx264 {h264}")?;
    writeln!(out, "ProRes    prores_ks {prores}")
}

fn words(adapter: &AdapterReport) -> String {
    let AdapterReport { name, driver, backend, max_texture_side, max_samples, .. } = adapter;
    let kind = kind(adapter);
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
