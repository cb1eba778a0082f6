//! Opens graphics adapters, and handles their limits, errors and loss.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::thread::JoinHandle;
use std::time::Duration;

use plinth_frame::Region;

use crate::RenderError;
use crate::device::Device;

/// The graphics APIs that are used: Vulkan, or Metal on macOS, or Direct3D 12 and Vulkan on Windows.
const BACKENDS: wgpu::Backends = wgpu::Backends::PRIMARY;

/// If the device does not respond within this time, it is considered hung.
const DEVICE_TIMEOUT: Duration = Duration::from_mins(1);

/// Kind of an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdapterKind {
    /// A graphics card.
    Hardware,
    /// A software driver that draws on the CPU, such as Mesa's lavapipe.
    Software,
}

/// Properties of an adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterReport {
    /// Name of the graphics card or the software driver.
    pub name: String,
    /// Driver name and version.
    pub driver: String,
    /// Whether the adapter is a graphics card or a software driver.
    pub kind: AdapterKind,
    /// PCI address of the graphics card, such as `0000:65:00.0`. Empty if it has none, or if the driver does not report it.
    pub pci_address: String,
    /// Graphics API, such as `vulkan`.
    pub backend: String,
    /// Maximum width and height of a texture in pixels.
    pub max_texture_side: u32,
    /// Maximum size of a buffer in bytes.
    pub max_buffer_bytes: u64,
    /// Maximum number of samples per pixel in the colour format of frames.
    pub max_samples: u32,
}

/// Options that choose an adapter.
#[derive(Clone, Debug, Default)]
pub struct GpuOptions {
    /// Selects the best adapter whose name contains this text, ignoring case, or the graphics card with this PCI address. The
    /// text `cpu` selects a software driver. `None` selects the best of all adapters.
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
    /// No adapter matches the requested name or PCI address.
    #[error("no adapter matches '{wanted}'; available: {available}")]
    NoSuchAdapter {
        /// The requested name or PCI address.
        wanted: String,
        /// Names and PCI addresses of the available adapters.
        available: String,
    },
    /// The driver could not open the adapter.
    #[error("the adapter '{name}' could not be opened; check its driver with `plinth doctor`")]
    Device {
        name: String,
        /// Error of the driver.
        #[source]
        source: wgpu::RequestDeviceError,
    },
}

/// An opened graphics device.
pub struct Gpu {
    pub(crate) device: Device,
    pub(crate) queue: wgpu::Queue,
    report: AdapterReport,
    fault: Arc<Mutex<Option<Fault>>>,
    written: AtomicU64,
    /// Whether visible surfaces are always determined on the device (see [`crate::host_visibility`]).
    pub(crate) keeps_visibility: bool,
    /// Whether the device poses vertices and sorts triangles although it is a software driver (see [`Self::draws_as_card`]).
    acts_as_card: bool,
    /// Whether all mip levels of images are uploaded (see `upload/first_level.rs`).
    pub(crate) keeps_levels: bool,
}

/// An error that the device has reported since the last check.
#[derive(Clone, Debug)]
enum Fault {
    Lost(String),
    OutOfMemory(String),
    Rejected(String),
}

/// Returns all adapters of this machine. The best adapter comes first.
pub fn adapters() -> Vec<AdapterReport> {
    let instance = instance();
    let mut found = pollster::block_on(instance.enumerate_adapters(BACKENDS));
    found.sort_by_key(preference);
    found.iter().map(report).collect()
}

impl Gpu {
    /// Opens the requested adapter. If no adapter is requested, opens the best adapter: discrete graphics cards come
    /// before integrated graphics cards, and software drivers are last.
    pub fn open(options: &GpuOptions) -> Result<Self, GpuError> {
        let instance = instance();
        let mut found = pollster::block_on(instance.enumerate_adapters(BACKENDS));
        found.sort_by_key(preference);
        Self::open_adapter(&choose(found, options)?, wgpu::Features::TEXTURE_ADAPTER_SPECIFIC_FORMAT_FEATURES)
    }

    /// Starts to open the requested adapter on a new thread, as [`Self::open`] does.
    pub fn start_opening(options: GpuOptions) -> JoinHandle<Result<Self, GpuError>> {
        // While the dynamic linker loads a driver, which takes up to 20 ms, glibc starts no other threads. Therefore the
        // threads of `rayon`, which decode a model in the meantime, start first. Later calls need not wait for them.
        static THREADS: Once = Once::new();
        THREADS.call_once(|| drop(rayon::broadcast(|_thread| ())));
        std::thread::spawn(move || Self::open(&options))
    }

    /// Opens an adapter that draws nothing, so that only the CPU time of a frame is measured.
    #[cfg(feature = "noop")]
    pub fn open_without_drawing() -> Result<Self, GpuError> {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = wgpu::Backends::NOOP;
        descriptor.backend_options.noop = wgpu::NoopBackendOptions::enabled();
        let instance = wgpu::Instance::new(descriptor);
        let found = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::NOOP));
        // This adapter does not report the features of texture formats, so only features that all adapters have are
        // used.
        let mut gpu = Self::open_adapter(found.first().ok_or(GpuError::NoAdapter)?, wgpu::Features::empty())?;
        gpu.report.max_samples = 4;
        // The adapter says that it is a software driver. For those, the processor does a part of the drawing.
        gpu.report.kind = AdapterKind::Hardware;
        Ok(gpu)
    }

    /// Opens the device of an adapter. `of_formats` are features that are enabled in addition to the usual features.
    /// Features that the adapter lacks are not enabled.
    fn open_adapter(adapter: &wgpu::Adapter, of_formats: wgpu::Features) -> Result<Self, GpuError> {
        let features = adapter.features();
        let wanted = of_formats
            | wgpu::Features::FLOAT32_FILTERABLE
            | wgpu::Features::TIMESTAMP_QUERY
            | wgpu::Features::SHADER_INT64;
        let report = report(adapter);
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
        let (device, written) = (Device::new(device), AtomicU64::new(0));
        Ok(Self {
            device,
            queue,
            report,
            fault,
            written,
            keeps_visibility: false,
            acts_as_card: false,
            keeps_levels: false,
        })
    }

    /// Caches pipelines, images and light in memory between scenes, for a process that draws one picture after another.
    /// The memory is freed when the device is closed.
    pub fn enable_cache(&mut self) {
        self.device.enable_cache();
    }

    /// Determines visible surfaces on the device from now on, as with a graphics card. Without this call, the processor
    /// does so if a software driver draws. The pictures are the same except for rounding, so this is for comparisons.
    pub fn keep_visibility_on_device(&mut self) {
        self.keeps_visibility = true;
    }

    /// Poses vertices, sorts triangles and determines visible surfaces on the device from now on, as with a graphics card. The
    /// pictures are the same except for rounding, so this is for comparisons.
    pub fn act_as_card(&mut self) {
        (self.acts_as_card, self.keeps_visibility) = (true, true);
    }

    /// Uploads all mip levels of images from now on. Without this call, fine levels that no frame can read are left
    /// out. The pictures are the same, so this is for comparisons.
    pub fn keep_all_mip_levels(&mut self) {
        self.keeps_levels = true;
    }

    /// Returns the properties of the opened adapter.
    pub fn report(&self) -> &AdapterReport {
        &self.report
    }

    /// Writes bytes to a buffer before the next submission.
    pub(crate) fn write(&self, buffer: &wgpu::Buffer, offset: u64, bytes: &[u8]) {
        self.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.queue.write_buffer(buffer, offset, bytes);
    }

    /// Writes a region of a texture before the next submission. `texels` contains all rows of the texture from the top, each of
    /// `width` texels.
    pub(crate) fn write_texture<T: bytemuck::Pod>(
        &self,
        view: &wgpu::TextureView,
        region: Region,
        width: u32,
        texels: &[T],
    ) {
        let row_bytes = width * size_of::<T>() as u32;
        let first = region.y as usize * width as usize + region.x as usize;
        let size = wgpu::Extent3d { width: region.width, height: region.height, depth_or_array_layers: 1 };
        let written = u64::from(region.width) * u64::from(region.height) * size_of::<T>() as u64;
        self.written.fetch_add(written, Ordering::Relaxed);
        self.queue.write_texture(
            wgpu::TexelCopyTextureInfo {
                texture: view.texture(),
                mip_level: 0,
                origin: wgpu::Origin3d { x: region.x, y: region.y, z: 0 },
                aspect: wgpu::TextureAspect::All,
            },
            bytemuck::cast_slice(&texels[first..]),
            wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(row_bytes), rows_per_image: None },
            size,
        );
    }

    /// Returns the number of bytes written to existing buffers and textures so far.
    pub fn written_bytes(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Waits until a submission has completed.
    /// Errors: [`RenderError::DeviceLost`] or another error if the device failed or does not respond.
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
            Some(Fault::Lost(message)) => Err(RenderError::DeviceLost { message }),
            Some(Fault::OutOfMemory(message)) => Err(RenderError::OutOfMemory { message }),
            Some(Fault::Rejected(message)) => Err(RenderError::Rejected { message }),
        }
    }

    /// Returns the maximum size in bytes of a buffer that shaders can read.
    pub(crate) fn max_storage_bytes(&self) -> u64 {
        self.device.limits().max_storage_buffer_binding_size
    }

    /// Returns the number of bytes that are allocated on the device. Returns `None` if the driver does not report this
    /// number.
    pub(crate) fn allocated_bytes(&self) -> Option<u64> {
        self.device.generate_allocator_report().map(|report| report.total_allocated_bytes)
    }

    /// Returns whether the device poses vertices, interpolates light and sorts triangles. Software drivers would take more time
    /// for this than the processor does directly.
    pub(crate) fn draws_as_card(&self) -> bool {
        !self.is_software() || self.acts_as_card
    }

    /// Returns whether a software driver draws the frames on the CPU.
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

/// Returns the sort key of an adapter. Graphics cards come before software drivers.
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
        pci_address: info.device_pci_bus_id,
        backend: info.backend.to_string(),
        max_texture_side: limits.max_texture_dimension_2d,
        max_buffer_bytes: limits.max_buffer_size,
        max_samples: [16, 8, 4, 2].into_iter().find(|n| flags.sample_count_supported(*n)).unwrap_or(1),
    }
}

fn choose(found: Vec<wgpu::Adapter>, options: &GpuOptions) -> Result<wgpu::Adapter, GpuError> {
    let Some(wanted) = options.adapter.as_deref().map(str::trim).filter(|w| !w.is_empty()) else {
        return found.into_iter().next().ok_or(GpuError::NoAdapter);
    };
    if found.is_empty() {
        return Err(GpuError::NoAdapter);
    }
    let available = found.iter().map(|adapter| label(&adapter.get_info())).collect::<Vec<_>>().join(", ");
    let lower = wanted.to_lowercase();
    let fits = |adapter: &wgpu::Adapter| {
        let info = adapter.get_info();
        (lower == "cpu" && info.device_type == wgpu::DeviceType::Cpu)
            || info.name.to_lowercase().contains(&lower)
            || is_address(&lower, &info.device_pci_bus_id)
    };
    let chosen = found.into_iter().find(fits);
    chosen.ok_or_else(|| GpuError::NoSuchAdapter { wanted: wanted.to_owned(), available })
}

/// Returns the name of an adapter, with its PCI address if it has one.
fn label(info: &wgpu::AdapterInfo) -> String {
    let address = &info.device_pci_bus_id;
    if address.is_empty() { info.name.clone() } else { format!("{} ({address})", info.name) }
}

/// Returns whether `wanted`, in lower case, is a PCI address. Some programs print the address without its domain (`lspci`:
/// `65:00.0`), or with more zeros (`nvidia-smi`: `00000000:65:00.0`).
fn is_address(wanted: &str, address: &str) -> bool {
    let Some((_domain, in_domain)) = address.split_once(':') else { return false };
    wanted == in_domain || wanted.trim_start_matches('0') == address.trim_start_matches('0')
}

/// Stores errors and the loss of the device in `fault`. Without these callbacks, wgpu would panic.
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
    device.set_device_lost_callback(move |reason, message| {
        if reason != wgpu::DeviceLostReason::Destroyed {
            record(
                &slot,
                if message.contains(OUT_OF_MEMORY) { Fault::OutOfMemory(message) } else { Fault::Lost(message) },
            );
        }
    });
}

/// When an allocation fails in a call that cannot return an error, wgpu drops the device. The message of the lost
/// device then contains this text.
const OUT_OF_MEMORY: &str = "Out of memory";

#[cfg(test)]
mod tests {
    use super::is_address;

    #[test]
    fn a_pci_address_is_recognized_as_other_programs_print_it() {
        for wanted in ["0000:65:00.0", "00000000:65:00.0", "65:00.0"] {
            assert!(is_address(wanted, "0000:65:00.0"), "{wanted}");
        }
        for wanted in ["5:00.0", "0000:66:00.0", "0001:65:00.0", "0", "00.0"] {
            assert!(!is_address(wanted, "0000:65:00.0"), "{wanted}");
        }
        assert!(is_address("0001:65:00.0", "0001:65:00.0"));
        // Software drivers have no address.
        assert!(!is_address("0000:65:00.0", "") && !is_address("0", ""));
    }
}
