//! Names of the folders in which a view keeps what is written; most contain the index of a place.

/// The upper layer of an overlay.
pub(super) fn upper(place: usize) -> String {
    format!("upper-{place}")
}

/// The work folder that overlayfs needs beside its upper layer.
pub(super) fn work(place: usize) -> String {
    format!("work-{place}")
}

/// The upper layer of build output, in its room.
pub(super) const BUILD_UPPER: &str = "upper";
/// The work folder for it.
pub(super) const BUILD_WORK: &str = "work";
/// The lower layer of build output if there is no other.
pub(super) const BUILD_NOTHING: &str = "nothing";

/// A folder that begins empty.
pub(super) fn empty(place: usize) -> String {
    format!("empty-{place}")
}

/// A clone of the workspace, in the room of its view.
pub(super) const CLONE: &str = "workspace";
