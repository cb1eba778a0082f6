//! Limits how many jobs of a worker run at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Slots for jobs: the same number for renders that are drawn, for packagings, and for renders whose files are uploaded.
/// Drawing leaves processors idle while a model is loaded and while the last frames are encoded. Packagings use this
/// time, with a lower priority. Uploads take time, but hardly any processor time.
#[derive(Debug)]
pub(crate) struct Slots {
    renders: Arc<Semaphore>,
    packagings: Arc<Semaphore>,
    uploads: Arc<Semaphore>,
    freed: Notify,
    /// Number of renders that are drawn and for which previews make way.
    urgent: AtomicUsize,
}

/// A slot of a job. The slot is free again when this value is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Arc<Slots>,
    permit: OwnedSemaphorePermit,
    is_urgent: bool,
}

impl Slots {
    pub(crate) fn new(count: usize) -> Arc<Self> {
        let semaphore = || Arc::new(Semaphore::new(count));
        Arc::new(Self {
            renders: semaphore(),
            packagings: semaphore(),
            uploads: semaphore(),
            freed: Notify::new(),
            urgent: AtomicUsize::new(0),
        })
    }

    /// Returns whether a render or a packaging may be claimed.
    pub(crate) fn has_free_slot(&self) -> bool {
        self.renders.available_permits() + self.packagings.available_permits() > 0
    }

    /// Returns whether a render is drawn for which previews make way.
    pub(crate) fn is_urgent(&self) -> bool {
        self.urgent.load(Ordering::SeqCst) > 0
    }

    /// Takes a slot for drawing a render, if one is free.
    pub(crate) fn take_render(self: &Arc<Self>) -> Option<Slot> {
        self.take(&self.renders)
    }

    /// Takes a slot for a packaging, if one is free.
    pub(crate) fn take_packaging(self: &Arc<Self>) -> Option<Slot> {
        self.take(&self.packagings)
    }

    fn take(self: &Arc<Self>, semaphore: &Arc<Semaphore>) -> Option<Slot> {
        let permit = Arc::clone(semaphore).try_acquire_owned().ok()?;
        Some(Slot { slots: Arc::clone(self), permit, is_urgent: false })
    }

    /// Waits until a render exchanges its slot for an upload slot. The end of a job does not end this wait.
    pub(crate) async fn freed(&self) {
        self.freed.notified().await;
    }
}

impl Slot {
    /// Lets previews make way while the slot is used for drawing.
    pub(crate) fn make_urgent(&mut self) {
        if !std::mem::replace(&mut self.is_urgent, true) {
            self.slots.urgent.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn end_urgency(&mut self) {
        if std::mem::take(&mut self.is_urgent) {
            self.slots.urgent.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Exchanges the slot of a drawn render for an upload slot, so that the next render can be claimed. Keeps the slot if
    /// no upload slot is free, so that renders are not drawn faster than they are uploaded.
    pub(crate) fn exchange_for_upload(&mut self) {
        if let Ok(upload) = Arc::clone(&self.slots.uploads).try_acquire_owned() {
            self.permit = upload;
            self.end_urgency();
            self.slots.freed.notify_one();
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.end_urgency();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Duration, timeout};

    use super::*;

    #[tokio::test]
    async fn the_next_render_begins_while_files_are_stored_but_no_more_than_one_waits() {
        let slots = Slots::new(1);
        let mut first = slots.take_render().unwrap();
        assert!(slots.take_render().is_none(), "one render is drawn at a time");
        assert!(!slots.is_urgent(), "a free video of an upload is not urgent");
        first.make_urgent();
        assert!(slots.is_urgent());
        first.exchange_for_upload();
        assert!(!slots.is_urgent(), "the render is drawn, only its files are still stored");
        timeout(Duration::from_secs(5), slots.freed()).await.unwrap();
        let mut second = slots.take_render().unwrap();
        second.exchange_for_upload();
        assert!(slots.take_render().is_none(), "the files of the first render are still being stored");
        drop(second);
        assert!(slots.take_render().is_some());
        drop(first);
    }

    #[test]
    fn packagings_have_slots_of_their_own() {
        let slots = Slots::new(1);
        let render = slots.take_render();
        assert!(slots.has_free_slot());
        let packaging = slots.take_packaging();
        assert!(!slots.has_free_slot());
        drop((render, packaging));
        assert!(slots.has_free_slot());
    }
}
