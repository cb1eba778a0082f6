//! Draws the pictures of a scene with one or two renderers, and delivers them in order.
//!
//! A software driver processes the triangles of a device on one core, even if the machine has more cores. Two devices
//! use two cores. The second device is opened after the first picture is finished, so that opening the second device
//! does not delay the first picture. Both devices draw the same pixels.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use plinth_frame::Region;
use plinth_scene::{Scene, Shot};

use crate::RenderError;
use crate::readback::{PlaneView, Readback};
use crate::recorder::Recorder;
use crate::renderer::Renderer;
use crate::second_device::SecondDevice;

/// A kind of picture that a renderer can draw.
pub(crate) trait PictureKind: Sync {
    /// The data that is delivered for each picture.
    type Picture: Send;
    /// Additional render targets that each renderer needs.
    type Targets;

    /// Creates the additional render targets of a renderer.
    fn targets(&self, renderer: &Renderer<'_>) -> Result<Self::Targets, RenderError>;

    /// Returns the textures that make up a finished picture, with the region and the number of bytes per pixel of each.
    fn planes(&self, renderer: &Renderer<'_>, targets: &Self::Targets) -> Vec<(wgpu::Texture, Region, u32)>;

    /// Records the passes that are drawn after the passes of the frame plan.
    fn record(&self, renderer: &Renderer<'_>, targets: &Self::Targets, recorder: &mut Recorder<'_>);

    /// Creates the picture of a shot from its copied textures `planes`. The memory of `spare` is reused.
    fn read(
        &self,
        renderer: &Renderer<'_>,
        shot: &Shot,
        planes: &[PlaneView<'_>],
        spare: Option<Self::Picture>,
    ) -> Self::Picture;
}

/// Draws shots, and passes their pictures to `deliver` in order. `deliver` may return a picture whose memory can be
/// reused.
/// Errors: the error of a renderer or of `deliver`. After an error, no more pictures are delivered.
pub(crate) fn draw<D: PictureKind>(
    renderer: &mut Renderer<'_>,
    scene: &Scene,
    shots: &[&Shot],
    kind: &D,
    deliver: &mut dyn FnMut(D::Picture) -> Result<Option<D::Picture>, RenderError>,
) -> Result<(), RenderError> {
    let second_device = renderer.second_device(scene, shots.len());
    let renderers = 1 + usize::from(second_device.is_some());
    let queue = ShotQueue::new(shots.len(), renderers * renderer.frames_in_flight() + 1);
    let spares = Mutex::new(Vec::new());
    let drawer = Drawer { scene, shots, kind, queue: &queue, spares: &spares };
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        let sender_of_second = sender.clone();
        scope.spawn(move || report(&sender, drawer.draw_shots(renderer, &sender)));
        if let Some(second_device) = second_device {
            scope.spawn(move || draw_on_second_device(second_device, drawer, &sender_of_second));
        } else {
            drop(sender_of_second);
        }
        let result = deliver_in_order(&receiver, drawer, deliver);
        queue.stop();
        result
    })
}

/// Draws pictures on a second device, after the first picture has been delivered. Does nothing if the second device
/// cannot be opened.
fn draw_on_second_device<D: PictureKind>(
    second_device: SecondDevice<'_>,
    drawer: Drawer<'_, D>,
    sender: &Sender<SentPicture<D>>,
) {
    if !drawer.queue.wait_for_first() {
        return;
    }
    let Some(gpu) = second_device.open() else { return };
    let Ok(mut renderer) = second_device.renderer(&gpu, drawer.scene) else { return };
    report(sender, drawer.draw_shots(&mut renderer, sender));
}

/// A picture with the index of its shot, or the error of a renderer.
type SentPicture<D> = Result<(usize, <D as PictureKind>::Picture), RenderError>;

fn report<D: Send>(sender: &Sender<Result<D, RenderError>>, result: Result<(), RenderError>) {
    if let Err(error) = result {
        // The receiver outlives the sending threads, so sending cannot fail.
        let _sent = sender.send(Err(error));
    }
}

fn deliver_in_order<D: PictureKind>(
    receiver: &Receiver<SentPicture<D>>,
    drawer: Drawer<'_, D>,
    deliver: &mut dyn FnMut(D::Picture) -> Result<Option<D::Picture>, RenderError>,
) -> Result<(), RenderError> {
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    while next < drawer.shots.len() {
        let lost = |_| RenderError::DeviceLost { message: "the renderer ended early".to_owned() };
        let (index, picture) = receiver.recv().map_err(lost)??;
        waiting.insert(index, picture);
        while let Some(picture) = waiting.remove(&next) {
            drawer.recycle(deliver(picture)?);
            drawer.queue.delivered();
            next += 1;
        }
    }
    Ok(())
}

/// Data that all renderers share.
struct Drawer<'a, D: PictureKind> {
    scene: &'a Scene,
    shots: &'a [&'a Shot],
    kind: &'a D,
    queue: &'a ShotQueue,
    spares: &'a Mutex<Vec<D::Picture>>,
}

impl<D: PictureKind> Clone for Drawer<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: PictureKind> Copy for Drawer<'_, D> {}

impl<D: PictureKind> Drawer<'_, D> {
    /// Draws shots with one renderer, until no shot is left.
    fn draw_shots(&self, renderer: &mut Renderer<'_>, sender: &Sender<SentPicture<D>>) -> Result<(), RenderError> {
        let targets = self.kind.targets(renderer)?;
        let planes = self.kind.planes(renderer, &targets);
        let textures: Vec<_> = planes.iter().map(|(texture, ..)| texture).collect();
        let sizes: Vec<_> = planes.iter().map(|(_, region, bytes)| (*region, *bytes)).collect();
        let mut ring = Readback::new(renderer.gpu, &sizes, renderer.frames_in_flight());
        loop {
            let claim = if ring.is_full() { Claim::SendFinished } else { self.queue.claim(ring.is_empty()) };
            match claim {
                Claim::Shot(index) => {
                    let shot = self.shots[index];
                    if renderer.clip_time != shot.clip_time {
                        renderer.pose(self.scene, shot.clip_time)?;
                    }
                    renderer.submit(&mut ring, index as u32, &textures, |renderer, recorder| {
                        renderer.encode(recorder, self.scene, shot);
                        self.kind.record(renderer, &targets, recorder);
                    })?;
                    if index == 0 {
                        // Drawing the next picture or storing light would delay the first picture.
                        self.send_oldest(renderer, &mut ring, sender)?;
                        renderer.deferred_store.start();
                    }
                }
                Claim::SendFinished => {
                    self.send_oldest(renderer, &mut ring, sender)?;
                }
                Claim::Done => {
                    while self.send_oldest(renderer, &mut ring, sender)? {}
                    return Ok(());
                }
            }
        }
    }

    /// Waits for the oldest picture in `ring`, and sends it. Returns false if the ring is empty.
    fn send_oldest(
        &self,
        renderer: &Renderer<'_>,
        ring: &mut Readback,
        sender: &Sender<SentPicture<D>>,
    ) -> Result<bool, RenderError> {
        let spare = self.spares.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let read = |index: u32, planes: &[PlaneView<'_>]| {
            (index as usize, self.kind.read(renderer, self.shots[index as usize], planes, spare))
        };
        let Some(picture) = ring.take(renderer.gpu, read)? else { return Ok(false) };
        // The receiver outlives the sending threads, so sending cannot fail.
        let _sent = sender.send(Ok(picture));
        Ok(true)
    }

    fn recycle(&self, spare: Option<D::Picture>) {
        self.spares.lock().unwrap_or_else(PoisonError::into_inner).extend(spare);
    }
}

/// Assigns the shots to the renderers in order. A shot is assigned only if fewer than `window` assigned pictures have
/// not been delivered yet, so that memory is bounded.
struct ShotQueue {
    state: Mutex<State>,
    changed: Condvar,
    count: usize,
    window: usize,
}

#[derive(Default)]
struct State {
    claimed: usize,
    delivered: usize,
    stopped: bool,
}

/// What a renderer should do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    /// Draw the shot at this position.
    Shot(usize),
    /// Send finished pictures first, because no shot can be claimed until more pictures have been delivered.
    SendFinished,
    /// Stop, because all shots have been claimed or drawing was stopped.
    Done,
}

impl ShotQueue {
    fn new(count: usize, window: usize) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), count, window }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims the next shot. If `may_wait` is true, waits until a shot can be claimed.
    fn claim(&self, may_wait: bool) -> Claim {
        let mut state = self.state();
        loop {
            if state.stopped || state.claimed == self.count {
                return Claim::Done;
            }
            if state.claimed < state.delivered + self.window {
                state.claimed += 1;
                return Claim::Shot(state.claimed - 1);
            }
            if !may_wait {
                return Claim::SendFinished;
            }
            state = self.wait(state);
        }
    }

    /// Waits until the first picture has been delivered. Returns false if drawing was stopped before that.
    fn wait_for_first(&self) -> bool {
        let mut state = self.state();
        while state.delivered == 0 && !state.stopped {
            state = self.wait(state);
        }
        !state.stopped
    }

    fn delivered(&self) {
        self.state().delivered += 1;
        self.changed.notify_all();
    }

    /// Stops the assignment of shots, and wakes all renderers that wait.
    fn stop(&self) {
        self.state().stopped = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use plinth_frame::PixelFormat;

    use super::*;
    use crate::gpu::{Gpu, GpuOptions};
    use crate::renderer::Picture;
    use crate::triangle_scene::triangle_scene;

    /// A [`PictureKind`] that records in which order pictures are drawn and read.
    #[derive(Default)]
    struct Order(Mutex<Vec<&'static str>>);

    impl PictureKind for Order {
        type Picture = ();
        type Targets = ();

        fn targets(&self, _renderer: &Renderer<'_>) -> Result<(), RenderError> {
            Ok(())
        }

        fn planes(&self, renderer: &Renderer<'_>, (): &()) -> Vec<(wgpu::Texture, Region, u32)> {
            vec![(renderer.view.targets.finished.clone(), renderer.view.look.region, renderer.color_bytes())]
        }

        fn record(&self, _renderer: &Renderer<'_>, (): &(), _recorder: &mut Recorder<'_>) {
            self.0.lock().unwrap().push("drawn");
        }

        fn read(&self, _renderer: &Renderer<'_>, _shot: &Shot, _planes: &[PlaneView<'_>], _spare: Option<()>) {
            self.0.lock().unwrap().push("read");
        }
    }

    #[test]
    fn the_first_picture_is_read_before_the_second_is_drawn() {
        let gpu = Gpu::open(&GpuOptions::default()).unwrap();
        let scene = triangle_scene();
        let picture = Picture { width: 64, height: 64, format: PixelFormat::Rgba8 };
        let mut renderer = Renderer::new(&gpu, &scene, picture, None).unwrap();
        let order = Order::default();
        draw(&mut renderer, &scene, &[&scene.shots[0]; 4], &order, &mut |()| Ok(None)).unwrap();
        let order = order.0.into_inner().unwrap();
        assert_eq!(order[..3], ["drawn", "read", "drawn"]);
        assert_eq!(order.iter().filter(|done| **done == "read").count(), 4);
    }

    #[test]
    fn shots_are_claimed_in_order_and_not_too_far_ahead() {
        let queue = ShotQueue::new(4, 2);
        assert_eq!(queue.claim(false), Claim::Shot(0));
        assert_eq!(queue.claim(false), Claim::Shot(1));
        assert_eq!(queue.claim(false), Claim::SendFinished);
        queue.delivered();
        assert_eq!(queue.claim(true), Claim::Shot(2));
        queue.delivered();
        assert_eq!(queue.claim(true), Claim::Shot(3));
        assert_eq!(queue.claim(true), Claim::Done);
    }

    #[test]
    fn stopping_wakes_all_waiting_renderers() {
        let queue = ShotQueue::new(9, 1);
        assert_eq!(queue.claim(true), Claim::Shot(0));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| queue.claim(true));
            let starting = scope.spawn(|| queue.wait_for_first());
            queue.stop();
            assert_eq!(waiting.join().unwrap(), Claim::Done);
            assert!(!starting.join().unwrap());
        });
    }
}
