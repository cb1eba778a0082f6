//! Graphics adapters and the device: opening, limits, errors and loss.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::RenderError;
use crate::device::Device;

/// Graphics APIs that are used, as far as they are built for the system: Vulkan; Metal on macOS; Direct3D 12 and Vulkan on Windows.
const BACKENDS: wgpu::Backends = wgpu::Backends::PRIMARY;

/// A device that does not respond within this time is considered hung.
const DEVICE_TIMEOUT: Duration = Duration::from_mins(1);

/// Whether an adapter is a graphics card or a software driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdapterKind {
    /// A graphics card.
    Hardware,
    /// A driver that draws on the CPU, such as Mesa's lavapipe.
    Software,
}

/// Properties of an adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterReport {
    /// Name of the device.
    pub name: String,
    /// Driver name and version.
    pub driver: String,
    /// Graphics card or software driver.
    pub kind: AdapterKind,
    /// Graphics API, such as `vulkan`.
    pub backend: String,
    /// Longest side of a texture in pixels.
    pub max_texture_side: u32,
    /// Largest buffer in bytes.
    pub max_buffer_bytes: u64,
    /// Maximum samples per pixel of the colour format of frames.
    pub max_samples: u32,
}

/// Options for choosing an adapter.
#[derive(Clone, Debug, Default)]
pub struct GpuOptions {
    /// Part of an adapter's name (case-insensitive), or `cpu` for a software adapter. `None`: the best available.
    pub adapter: Option<String>,
}

/// The reason why no device could be opened.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    /// The Vulkan loader is missing, or there is no driver.
    #[error(
        "no Vulkan driver was found; install one (Debian and Ubuntu: `apt-get install mesa-vulkan-drivers libvulkan1` \
         gives a software driver that needs no graphics card)"
    )]
    NoAdapter,
    /// No adapter matches the requested name.
    #[error("no adapter matches '{wanted}'; available: {available}")]
    NoSuchAdapter {
        /// The requested name.
        wanted: String,
        /// Names of the available adapters.
        available: String,
    },
    /// The driver could not open the device.
    #[error("the adapter '{name}' could not be opened; check its driver with `plinth doctor`")]
    Device {
        /// Name of the adapter.
        name: String,
        /// Error of the driver.
        #[source]
        source: wgpu::RequestDeviceError,
    },
}

/// An opened device.
pub struct Gpu {
    pub(crate) device: Device,
    pub(crate) queue: wgpu::Queue,
    report: AdapterReport,
    fault: Arc<Mutex<Option<Fault>>>,
}

/// An error reported by the device since the last check.
#[derive(Clone, Debug)]
enum Fault {
    Lost(String),
    OutOfMemory(String),
    Rejected(String),
}

/// Returns all adapters of this machine, best first.
pub fn adapters() -> Vec<AdapterReport> {
    let instance = instance();
    let mut found = pollster::block_on(instance.enumerate_adapters(BACKENDS));
    found.sort_by_key(preference);
    found.iter().map(report).collect()
}

impl Gpu {
    /// Opens the requested adapter, or the best available: a discrete card, an integrated one, or a software driver.
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
        Ok(Self { device: Device::new(device), queue, report, fault })
    }

    /// Keeps pipelines, images and light between scenes, for a process that draws one picture after another. They take memory
    /// until the device is closed.
    pub fn keep_warm(&mut self) {
        self.device.keep();
    }

    /// Returns the properties of the opened adapter.
    pub fn report(&self) -> &AdapterReport {
        &self.report
    }

    /// Waits until a submission has completed.
    /// Errors: [`RenderError::DeviceLost`] and others if the device failed or does not respond.
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

    /// Returns the error that the device has reported since the last check, if any.
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

    /// Returns the bytes allocated on the device, if the driver reports them.
    pub(crate) fn allocated_bytes(&self) -> Option<u64> {
        self.device.generate_allocator_report().map(|report| report.total_allocated_bytes)
    }

    /// Whether frames are drawn on the CPU.
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

/// Sort key: graphics cards before software drivers.
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

/// Records errors and device loss. The default handler of wgpu panics.
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

/// Message with which wgpu drops the device if an allocation failed in a call that cannot return an error.
const OUT_OF_MEMORY: &str = "Out of memory";
