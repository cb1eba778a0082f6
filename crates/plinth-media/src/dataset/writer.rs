//! Takes the layers of views and writes a whole set.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use plinth_frame::{Layers, LayersSink, SinkError};
use plinth_spec::OutputFile;

use super::about::{DatasetAbout, Manifest};
use super::archive::write_zip;
use super::cameras::DatasetCameras;
use super::depth::METRIC_LIMIT;
use super::file::FileEntry;
use super::layout::{MANIFEST, OVERVIEW, POINTS, README};
use super::overview::overview;
use super::points::ply;
use super::view::ViewEncoder;
use super::work::WorkFolder;
use super::{colmap, readme, transforms};
use crate::MediaError;
use crate::partial;
use crate::writer::WrittenFile;

/// Bytes that views on their way to the encoders may take together, about.
const MEMORY: usize = 400 << 20;
/// Bytes a pixel of a view on its way: its layers, and what they are turned into.
const BYTES_PER_PIXEL: usize = 44;
/// Encoders, at most; each divides its view among all processors.
const MAX_ENCODERS: usize = 4;

/// What is to be written.
#[derive(Clone, Debug)]
pub struct DatasetPlan {
    /// A `.zip`, or else a folder that is not there yet or empty.
    pub target: PathBuf,
    /// Names everything that decides the views' content: views that a killed run with the same key has finished beside the
    /// same target are not written again.
    pub key: String,
    /// The cameras.
    pub cameras: DatasetCameras,
    /// Whether colours carry the mark of what nobody paid for.
    pub watermark: bool,
    /// Whether the split files for readers of the NeRF-synthetic layout are written too.
    pub splits: bool,
    /// Where the set comes from.
    pub about: DatasetAbout,
}

impl DatasetPlan {
    fn is_zip(&self) -> bool {
        self.target.extension().is_some_and(|e| e.eq_ignore_ascii_case("zip"))
    }

    fn views(&self) -> usize {
        self.cameras.world_from_camera.len()
    }
}

/// What encoders share.
struct Shared {
    work: WorkFolder,
    encoder: ViewEncoder,
    failure: Mutex<Option<MediaError>>,
}

/// Takes views in any order and writes the set. Dropped before [`Self::finish`], it leaves nothing; killed, it leaves what
/// the next one with the same plan goes on with.
pub struct DatasetWriter<'a> {
    plan: DatasetPlan,
    stop: &'a AtomicBool,
    shared: Arc<Shared>,
    missing: Vec<u32>,
    sender: Option<SyncSender<Layers>>,
    /// Views that encoders are done with.
    spares: Receiver<Layers>,
    encoders: Vec<JoinHandle<()>>,
}

impl<'a> DatasetWriter<'a> {
    /// Opens the place where the set grows and starts the encoders.
    /// Errors: a place that cannot be written to or is in use, or views that are too far away for the format.
    pub fn start(plan: DatasetPlan, stop: &'a AtomicBool) -> Result<Self, MediaError> {
        if plan.cameras.depth_far > METRIC_LIMIT {
            let far = plan.cameras.depth_far;
            let problem =
                format!("the model reaches {far:.1} units away from a camera; at most {METRIC_LIMIT} can be written");
            return Err(MediaError::Frames { problem });
        }
        check_target(&plan)?;
        partial::sweep(&plan.target);
        let work = WorkFolder::open(&plan.target, &plan.key)?;
        let missing = work.missing(plan.views());
        let encoder = ViewEncoder::new(plan.cameras.clone(), plan.watermark);
        let shared = Arc::new(Shared { work, encoder, failure: Mutex::new(None) });
        let pixels = plan.cameras.width as usize * plan.cameras.height as usize;
        let affordable = MEMORY / (pixels * BYTES_PER_PIXEL).max(1);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let count = affordable.min(processors).clamp(1, MAX_ENCODERS);
        // No room in the channel: a view is either being drawn or being encoded.
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

    /// The views that have to come.
    pub fn missing(&self) -> &[u32] {
        &self.missing
    }

    /// Waits for the encoders, writes what describes the set as a whole, and gives it its name.
    /// Errors: views that did not come, or a disk that failed; then nothing is there.
    pub fn finish(mut self) -> Result<WrittenFile, MediaError> {
        self.join()?;
        let files = self.describe()?;
        self.stop_if_wanted()?;
        let (work, target) = (&self.shared.work, &self.plan.target);
        let fault = |source| MediaError::File { file: target.clone(), source };
        let bytes = if self.plan.is_zip() {
            write_zip(&work.set(), &files, target, self.stop)?
        } else {
            if target.is_dir() {
                std::fs::remove_dir(target).map_err(fault)?;
            }
            std::fs::rename(work.set(), target).map_err(fault)?;
            files.iter().map(|file| file.bytes).sum()
        };
        let (width, height) = (self.plan.cameras.width, self.plan.cameras.height);
        Ok(WrittenFile { file: OutputFile::Dataset, path: target.clone(), bytes, width, height })
    }

    /// Writes the files of the set as a whole. Returns all files: first what describes the set, then its pictures.
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
        let words = format!(
            "{views} views of {}x{} pixels, coverage: {}",
            plan.cameras.width, plan.cameras.height, plan.about.coverage
        );
        let (colmap, overview) =
            rayon::join(|| colmap::files(&plan.cameras, &rows), || overview(&words, views, |view| work.tiles(view)));
        contents.extend(colmap);
        contents.push((OVERVIEW.to_owned(), overview?));
        let mut files = Vec::new();
        for (path, content) in contents {
            files.push(work.write_set(path, &content)?);
        }
        files.extend(pictures);
        let (width, height) = (plan.cameras.width, plan.cameras.height);
        let manifest = json(&Manifest { about: &plan.about, views, width, height, files: &files })?;
        files.insert(1, work.write_set(MANIFEST.to_owned(), &manifest)?);
        Ok(files)
    }

    fn take(&mut self, layers: Layers) -> Result<(), MediaError> {
        self.stop_if_wanted()?;
        let sent = self.sender.as_ref().is_some_and(|sender| sender.send(layers).is_ok());
        // Encoders end before their time only by a failure.
        if sent { self.failure() } else { self.join() }
    }

    /// Waits for the encoders.
    fn join(&mut self) -> Result<(), MediaError> {
        drop(self.sender.take());
        let died = self.encoders.drain(..).map(JoinHandle::join).filter(Result::is_err).count();
        self.failure()?;
        if died > 0 {
            return Err(MediaError::Frames { problem: "a thread of the dataset's writer died".to_owned() });
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
        // The work folder is removed when the last encoder has let go of it.
        drop(self.join());
    }
}

/// Encodes views until no more come or one fails.
fn encode_views(shared: &Shared, receiver: &Mutex<Receiver<Layers>>, done: &Sender<Layers>) {
    loop {
        let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(layers) = next else { return };
        let view = layers.index as usize;
        let encoded = shared.encoder.encode(&layers);
        // Where no more views come, nobody needs their memory.
        let _needed = done.send(layers);
        if let Err(error) = encoded.and_then(|encoded| shared.work.finish_view(view, encoded)) {
            shared.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            return;
        }
    }
}

fn check_target(plan: &DatasetPlan) -> Result<(), MediaError> {
    let target = &plan.target;
    if plan.is_zip() {
        if target.is_dir() {
            let source = std::io::ErrorKind::IsADirectory.into();
            return Err(MediaError::File { file: target.clone(), source });
        }
        return Ok(());
    }
    if target.is_file() {
        let source = std::io::ErrorKind::NotADirectory.into();
        return Err(MediaError::File { file: target.clone(), source });
    }
    if std::fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(MediaError::FolderNotEmpty { folder: target.clone() });
    }
    Ok(())
}

fn json(value: &impl serde::Serialize) -> Result<Vec<u8>, MediaError> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| MediaError::Frames { problem: format!("the set cannot be described: {error}") })?;
    text.push(b'\n');
    Ok(text)
}
