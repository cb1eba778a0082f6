//! Adapter, device, limits and loss.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::RenderError;

/// Graphics interfaces that are tried: of these, the ones that are built for the system (Vulkan; Metal on macOS; Direct3D 12
/// and Vulkan on Windows).
const BACKENDS: wgpu::Backends = wgpu::Backends::PRIMARY;

/// How long one wait for the device may take before it counts as hung.
const DEVICE_TIMEOUT: Duration = Duration::from_mins(1);

/// Whether an adapter is a graphics card or a software driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdapterKind {
    /// A graphics card.
    Hardware,
    /// A driver that draws on the processor, such as Mesa's lavapipe.
    Software,
}

/// What is known of one adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterReport {
    /// Name of the device.
    pub name: String,
    /// Driver name and version.
    pub driver: String,
    /// Card or software.
    pub kind: AdapterKind,
    /// The graphics interface, such as `vulkan`.
    pub backend: String,
    /// Longest side of a texture in pixels.
    pub max_texture_side: u32,
    /// Largest buffer in bytes.
    pub max_buffer_bytes: u64,
    /// Most samples per pixel of the colour format that frames are drawn in.
    pub max_samples: u32,
}

/// Which adapter to take.
#[derive(Clone, Debug, Default)]
pub struct GpuOptions {
    /// Part of an adapter's name (letter case ignored), or `cpu` for a software adapter. `None`: the best there is.
    pub adapter: Option<String>,
}

/// Why no device could be opened.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    /// The loader or every driver is missing.
    #[error(
        "no Vulkan driver was found; install one (Debian and Ubuntu: `apt-get install mesa-vulkan-drivers libvulkan1` \
         gives a software driver that needs no graphics card)"
    )]
    NoAdapter,
    /// No adapter has the asked name.
    #[error("no adapter matches '{wanted}'; available: {available}")]
    NoSuchAdapter {
        /// What was asked for.
        wanted: String,
        /// Names of those there are.
        available: String,
    },
    /// The driver refused to open the device.
    #[error("the adapter '{name}' could not be opened; check its driver with `plinth doctor`")]
    Device {
        /// Name of the adapter.
        name: String,
        /// The driver's words.
        #[source]
        source: wgpu::RequestDeviceError,
    },
}

/// An opened device.
pub struct Gpu {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    report: AdapterReport,
    fault: Arc<Mutex<Option<Fault>>>,
}

/// What went wrong on the device since the last look.
#[derive(Clone, Debug)]
enum Fault {
    Lost(String),
    OutOfMemory(String),
    Rejected(String),
}

/// All adapters of this machine, the best first.
pub fn adapters() -> Vec<AdapterReport> {
    let instance = instance();
    let mut found = pollster::block_on(instance.enumerate_adapters(BACKENDS));
    found.sort_by_key(preference);
    found.iter().map(report).collect()
}

impl Gpu {
    /// Opens the asked adapter, or the best there is: a discrete card, an integrated one, then software.
    pub fn open(options: &GpuOptions) -> Result<Self, GpuError> {
        let instance = instance();
        let mut found = pollster::block_on(instance.enumerate_adapters(BACKENDS));
        found.sort_by_key(preference);
        let adapter = choose(found, options)?;
        let features = adapter.features();
        let wanted = wgpu::Features::TEXTURE_ADAPTER_SPECIFIC_FORMAT_FEATURES
            | wgpu::Features::FLOAT32_FILTERABLE
            | wgpu::Features::TIMESTAMP_QUERY;
        let report = report(&adapter);
        let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
            label: Some("plinth"),
            required_features: features & wanted,
            required_limits: adapter.limits(),
            memory_hints: wgpu::MemoryHints::MemoryUsage,
            ..Default::default()
        }))
        .map_err(|source| GpuError::Device { name: report.name.clone(), source })?;
        let fault = Arc::new(Mutex::new(None));
        watch(&device, &fault);
        Ok(Self { device, queue, report, fault })
    }

    /// What was opened.
    pub fn report(&self) -> &AdapterReport {
        &self.report
    }

    /// Waits until a submission is done.
    /// Errors: [`RenderError::DeviceLost`] and the like when the device failed or does not answer.
    pub(crate) fn wait_for(&self, submission: wgpu::SubmissionIndex) -> Result<(), RenderError> {
        let waited = self
            .device
            .poll(wgpu::PollType::Wait { submission_index: Some(submission), timeout: Some(DEVICE_TIMEOUT) });
        self.check()?;
        match waited {
            Ok(_) => Ok(()),
            Err(source) => Err(RenderError::DeviceHung { source }),
        }
    }

    /// Reports what the device complained of since the last look.
    pub(crate) fn check(&self) -> Result<(), RenderError> {
        let taken = self.fault.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        match taken {
            None => Ok(()),
            Some(Fault::Lost(words)) => Err(RenderError::DeviceLost { words }),
            Some(Fault::OutOfMemory(words)) => Err(RenderError::OutOfMemory { words }),
            Some(Fault::Rejected(words)) => Err(RenderError::Rejected { words }),
        }
    }

    /// Largest buffer that shaders can read, in bytes.
    pub(crate) fn max_storage_bytes(&self) -> u64 {
        self.device.limits().max_storage_buffer_binding_size
    }

    /// Whether frames are drawn by the processor.
    pub(crate) fn is_software(&self) -> bool {
        self.report.kind == AdapterKind::Software
    }
}

fn instance() -> wgpu::Instance {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = BACKENDS;
    descriptor.flags = wgpu::InstanceFlags::empty();
    wgpu::Instance::new(descriptor)
}

/// Sort key: cards before software.
fn preference(adapter: &wgpu::Adapter) -> u8 {
    match adapter.get_info().device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::VirtualGpu => 1,
        wgpu::DeviceType::IntegratedGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    }
}

fn report(adapter: &wgpu::Adapter) -> AdapterReport {
    let info = adapter.get_info();
    let limits = adapter.limits();
    let flags = adapter.get_texture_format_features(wgpu::TextureFormat::Rgba8Unorm).flags;
    AdapterReport {
        name: info.name,
        driver: [info.driver, info.driver_info].join(" ").trim().to_owned(),
        kind: if info.device_type == wgpu::DeviceType::Cpu { AdapterKind::Software } else { AdapterKind::Hardware },
        backend: info.backend.to_string(),
        max_texture_side: limits.max_texture_dimension_2d,
        max_buffer_bytes: limits.max_buffer_size,
        max_samples: [16, 8, 4, 2].into_iter().find(|n| flags.sample_count_supported(*n)).unwrap_or(1),
    }
}

fn choose(found: Vec<wgpu::Adapter>, options: &GpuOptions) -> Result<wgpu::Adapter, GpuError> {
    let names: Vec<String> = found.iter().map(|a| a.get_info().name).collect();
    let Some(wanted) = options.adapter.as_deref().map(str::trim).filter(|w| !w.is_empty()) else {
        return found.into_iter().next().ok_or(GpuError::NoAdapter);
    };
    if names.is_empty() {
        return Err(GpuError::NoAdapter);
    }
    let lower = wanted.to_lowercase();
    let fits = |adapter: &wgpu::Adapter| {
        let info = adapter.get_info();
        (lower == "cpu" && info.device_type == wgpu::DeviceType::Cpu) || info.name.to_lowercase().contains(&lower)
    };
    found
        .into_iter()
        .find(fits)
        .ok_or_else(|| GpuError::NoSuchAdapter { wanted: wanted.to_owned(), available: names.join(", ") })
}

/// Records errors and loss instead of the default, which is to panic.
fn watch(device: &wgpu::Device, fault: &Arc<Mutex<Option<Fault>>>) {
    let record = |slot: &Mutex<Option<Fault>>, new: Fault| {
        let mut held = slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if held.is_none() {
            *held = Some(new);
        }
    };
    let slot = Arc::clone(fault);
    device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
        let new = match error {
            wgpu::Error::OutOfMemory { source } => Fault::OutOfMemory(source.to_string()),
            other => Fault::Rejected(other.to_string()),
        };
        record(&slot, new);
    }));
    let slot = Arc::clone(fault);
    device.set_device_lost_callback(move |reason, words| {
        if reason != wgpu::DeviceLostReason::Destroyed {
            record(&slot, if words.contains(OUT_OF_MEMORY) { Fault::OutOfMemory(words) } else { Fault::Lost(words) });
        }
    });
}

/// How wgpu names a refused allocation inside of a call that cannot report it; it then drops the device.
const OUT_OF_MEMORY: &str = "Out of memory";
