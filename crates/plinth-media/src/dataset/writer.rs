//! Receives the layers of all views, and writes the complete dataset.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use plinth_frame::{Layers, LayersSink, SinkError};
use plinth_spec::OutputFile;

use super::about::{DatasetAbout, Manifest};
use super::archive::write_zip;
use super::cameras::DatasetCameras;
use super::file::FileEntry;
use super::layout::{MANIFEST, OVERVIEW, POINTS, README};
use super::overview::overview;
use super::overview_layout::OverviewLayout;
use super::points::ply;
use super::view::ViewEncoder;
use super::work::{WorkFolder, is_occupied};
use super::{colmap, readme, transforms};
use crate::MediaError;
use crate::partial;
use crate::writer::WrittenFile;

/// Description of a dataset: its contents and its destination.
#[derive(Clone, Debug)]
pub struct DatasetPlan {
    /// Path of the dataset: a `.zip` file, or a folder that is empty or does not exist.
    pub target: PathBuf,
    /// Key of everything that affects the pixels of the views. If an earlier run with the same key and target was
    /// killed, the views that it finished are reused.
    pub key: String,
    pub cameras: DatasetCameras,
    /// Whether the preview watermark is drawn on the colour images.
    pub watermark: bool,
    /// Whether to write the train, validation and test files of the NeRF-synthetic format, too.
    pub splits: bool,
    /// Describes how the dataset was made.
    pub about: DatasetAbout,
}

impl DatasetPlan {
    fn views(&self) -> usize {
        self.cameras.world_from_camera.len()
    }
}

/// Approximate memory limit of all views that are being encoded, in bytes.
const MEMORY: usize = 400 << 20;
/// Number of bytes per pixel of a view that is being encoded: its layers, and the encoded images.
const BYTES_PER_PIXEL: usize = 44;
/// Maximum number of encoder threads. Each thread also encodes the images of its view in parallel on all cores.
const MAX_ENCODERS: usize = 4;

/// State that the encoder threads share.
struct Shared {
    work: WorkFolder,
    encoder: ViewEncoder,
    failure: Mutex<Option<MediaError>>,
}

/// Receives views in any order, and writes the dataset. If the writer is dropped before [`Self::finish`], it deletes
/// everything that it wrote. If the process is killed, a later writer with the same plan continues its work.
pub struct DatasetWriter<'a> {
    plan: DatasetPlan,
    stop: &'a AtomicBool,
    shared: Arc<Shared>,
    missing: Vec<u32>,
    sender: Option<SyncSender<Layers>>,
    /// Buffers of encoded views, for reuse.
    spares: Receiver<Layers>,
    encoders: Vec<JoinHandle<()>>,
}

impl<'a> DatasetWriter<'a> {
    /// Opens the temporary folder and starts the encoder threads.
    /// Errors: if the folder is not writable or another process uses it.
    pub fn start(plan: DatasetPlan, stop: &'a AtomicBool) -> Result<Self, MediaError> {
        check_dataset_target(&plan.target)?;
        partial::remove_abandoned(&plan.target);
        let work = WorkFolder::open(&plan.target, &plan.key)?;
        let missing = work.missing(plan.views());
        let encoder = ViewEncoder::new(plan.cameras.clone(), plan.watermark);
        let shared = Arc::new(Shared { work, encoder, failure: Mutex::new(None) });
        let pixels = plan.cameras.width as usize * plan.cameras.height as usize;
        let affordable = MEMORY / (pixels * BYTES_PER_PIXEL).max(1);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let count = affordable.min(processors).clamp(1, MAX_ENCODERS);
        // The channel has no buffer, so a view cannot wait between drawing and encoding.
        let (sender, receiver) = sync_channel::<Layers>(0);
        let receiver = Arc::new(Mutex::new(receiver));
        let (done, spares) = channel();
        let encoders = (0..count)
            .map(|_| {
                let (shared, receiver, done) = (Arc::clone(&shared), Arc::clone(&receiver), done.clone());
                std::thread::spawn(move || encode_views(&shared, &receiver, &done))
            })
            .collect();
        Ok(Self { plan, stop, shared, missing, sender: Some(sender), spares, encoders })
    }

    /// Returns the indices of the views that an earlier run has not finished.
    pub fn missing(&self) -> &[u32] {
        &self.missing
    }

    /// Waits for the encoders, writes the files that describe the whole dataset, and moves the dataset to its
    /// destination.
    /// Errors: if views are missing or a file cannot be written. In this case all files are deleted.
    pub fn finish(mut self) -> Result<WrittenFile, MediaError> {
        self.join()?;
        let files = self.describe()?;
        self.stop_if_wanted()?;
        let (work, target) = (&self.shared.work, &self.plan.target);
        let bytes = if is_zip(target) {
            write_zip(&work.set(), &files, target, self.stop)?
        } else {
            work.deliver()?;
            files.iter().map(|file| file.bytes).sum()
        };
        let (width, height) = (self.plan.cameras.width, self.plan.cameras.height);
        Ok(WrittenFile { file: OutputFile::Dataset, path: target.clone(), bytes, width, height })
    }

    /// Writes the files that describe the whole dataset. Returns all files of the dataset: first these files, then the
    /// images.
    fn describe(&self) -> Result<Vec<FileEntry>, MediaError> {
        let (plan, work) = (&self.plan, &self.shared.work);
        let views = plan.views();
        let pictures = work.view_files(views)?;
        let rows = work.points(views)?;
        let mut contents: Vec<(String, Vec<u8>)> = vec![(README.to_owned(), readme::text(plan).into_bytes())];
        for (path, value) in transforms::files(&plan.cameras, plan.about.coverage, plan.splits) {
            contents.push((path, json(&value)?));
        }
        contents.push((POINTS.to_owned(), ply(&rows)));
        self.stop_if_wanted()?;
        let heading = format!(
            "{views} views of {}x{} pixels, coverage: {}",
            plan.cameras.width, plan.cameras.height, plan.about.coverage
        );
        let (colmap, overview) =
            rayon::join(|| colmap::files(&plan.cameras, &rows), || overview(&heading, views, |view| work.tiles(view)));
        contents.extend(colmap);
        contents.push((OVERVIEW.to_owned(), overview?));
        let mut files = Vec::new();
        for (path, content) in contents {
            files.push(work.write_set(path, &content)?);
        }
        files.extend(pictures);
        let (width, height) = (plan.cameras.width, plan.cameras.height);
        let manifest = json(&Manifest {
            about: &plan.about,
            views,
            width,
            height,
            overview: OverviewLayout::of(views),
            files: &files,
        })?;
        files.insert(1, work.write_set(MANIFEST.to_owned(), &manifest)?);
        Ok(files)
    }

    fn take(&mut self, layers: Layers) -> Result<(), MediaError> {
        self.stop_if_wanted()?;
        let sent = self.sender.as_ref().is_some_and(|sender| sender.send(layers).is_ok());
        // Sending fails only if an encoder thread failed and closed the channel.
        if sent { self.failure() } else { self.join() }
    }

    /// Waits for the encoder threads.
    fn join(&mut self) -> Result<(), MediaError> {
        drop(self.sender.take());
        let died = self.encoders.drain(..).map(JoinHandle::join).filter(Result::is_err).count();
        self.failure()?;
        if died > 0 {
            return Err(MediaError::Frames { problem: "a thread of the dataset writer panicked".to_owned() });
        }
        Ok(())
    }

    fn failure(&self) -> Result<(), MediaError> {
        self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    fn stop_if_wanted(&self) -> Result<(), MediaError> {
        if self.stop.load(Ordering::Relaxed) { Err(MediaError::Stopped) } else { Ok(()) }
    }
}

impl LayersSink for DatasetWriter<'_> {
    fn layers(&mut self, layers: Layers) -> Result<(), SinkError> {
        self.take(layers).map_err(|error| SinkError(Box::new(error)))
    }

    fn spare(&mut self) -> Option<Layers> {
        self.spares.try_recv().ok()
    }
}

impl Drop for DatasetWriter<'_> {
    fn drop(&mut self) {
        // Waits for the encoder threads, because the last of them deletes the temporary folder.
        drop(self.join());
    }
}

/// Encodes views until the channel closes or an error occurs.
fn encode_views(shared: &Shared, receiver: &Mutex<Receiver<Layers>>, done: &Sender<Layers>) {
    loop {
        let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(layers) = next else { return };
        let view = layers.index as usize;
        let encoded = shared.encoder.encode(&layers);
        // After the last view, nobody receives the buffers anymore, so an error is ignored.
        let _needed = done.send(layers);
        if let Err(error) = encoded.and_then(|encoded| shared.work.finish_view(view, encoded)) {
            shared.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            return;
        }
    }
}

fn is_zip(target: &Path) -> bool {
    target.extension().is_some_and(|e| e.eq_ignore_ascii_case("zip"))
}

/// Checks that a dataset can have this path: a `.zip` file, or a folder that is empty or does not exist. Changes no
/// files, so it can be called before a render.
/// Errors: if a `.zip` is a folder, if another path is a file, if the folder is not empty, or if the name is not allowed.
pub fn check_dataset_target(target: &Path) -> Result<(), MediaError> {
    partial::check_name(target)?;
    if is_zip(target) {
        if target.is_dir() {
            let source = std::io::ErrorKind::IsADirectory.into();
            return Err(MediaError::File { file: target.to_owned(), source });
        }
        return Ok(());
    }
    if target.symlink_metadata().is_ok() && !target.is_dir() {
        let source = std::io::ErrorKind::NotADirectory.into();
        return Err(MediaError::File { file: target.to_owned(), source });
    }
    if is_occupied(target) {
        return Err(MediaError::FolderNotEmpty { folder: target.to_owned() });
    }
    Ok(())
}

fn json(value: &impl serde::Serialize) -> Result<Vec<u8>, MediaError> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| MediaError::Frames { problem: format!("the manifest cannot be written: {error}") })?;
    text.push(b'\n');
    Ok(text)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_too_long_is_rejected_before_a_view_is_drawn() {
        let folder = tempfile::tempdir().unwrap();
        let long = "s".repeat(300);
        for name in [long.clone(), format!("{long}.zip")] {
            let error = check_dataset_target(&folder.path().join(name)).unwrap_err().to_string();
            assert!(error.contains("too long"), "{error}");
        }
        check_dataset_target(&folder.path().join("set.zip")).unwrap();
    }
}
