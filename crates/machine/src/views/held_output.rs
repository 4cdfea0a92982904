//! What views left out, kept on disk until an accept brings it, the process ends, or others need the room.

use std::path::Path;
use std::sync::{Arc, Mutex};

use headstart_overlay_fs::{HeldOutput, WorkspacePath};
use headstart_toolbox::ViewId;

use super::opening::ViewFiles;
use super::step_views::OpenStepView;
use super::{Views, lock};
use crate::system::FileNumbers as _;

/// The output of so many views is kept at the same time. What is older is dropped.
const MOST: usize = 4;

/// The rooms of views that have ended, oldest first.
#[derive(Default)]
pub(super) struct HeldRooms(Mutex<Vec<ViewFiles>>);

impl HeldRooms {
    fn keep(&self, files: ViewFiles) {
        let mut rooms = lock(&self.0);
        if MOST <= rooms.len() {
            rooms.remove(0);
        }
        rooms.push(files);
    }

    /// Returns whether there was one.
    pub(super) fn drop_oldest(&self) -> bool {
        let mut rooms = lock(&self.0);
        let has_some = !rooms.is_empty();
        drop(rooms.drain(..usize::from(has_some)));
        has_some
    }
}

impl Views {
    /// Implements the port's method for keeping what is left out.
    pub async fn hold(self: &Arc<Self>, id: &ViewId, places: &[WorkspacePath]) -> Vec<HeldOutput> {
        let Some(open) = self.take(id) else { return Vec::new() };
        let (this, places) = (Arc::clone(self), places.to_vec());
        let held = tokio::task::spawn_blocking(move || this.hold_blocking(open, &places)).await;
        held.unwrap_or_default()
    }

    fn hold_blocking(&self, open: OpenStepView, places: &[WorkspacePath]) -> Vec<HeldOutput> {
        let super::opening::OpenedView { view, mut files, .. } = open.opened;
        let held = match files.folder() {
            Some(room) => view.hold(places, room),
            None => Vec::new(),
        };
        if !held.is_empty() {
            files.measure_disk();
            self.held.keep(files);
        }
        held
    }
}

/// Whether both are on one file system.
pub(super) fn reaches(state: &Path, workspace: &Path) -> bool {
    // The state folder need not exist yet.
    let state = state.ancestors().find_map(|folder| folder.metadata().ok());
    let device = workspace.metadata().ok().map(|found| found.dev());
    cfg!(target_os = "linux") && device.is_some() && state.map(|found| found.dev()) == device
}
