//! What the folders are called in which a view keeps what is written, by the number of their place.

/// The upper layer of an overlay.
pub(super) fn upper(place: usize) -> String {
    format!("upper-{place}")
}

/// The folder that overlayfs wants beside it.
pub(super) fn work(place: usize) -> String {
    format!("work-{place}")
}

/// The upper layer of build output, in its room.
pub(super) const BUILD_UPPER: &str = "upper";
/// The folder that overlayfs wants beside it.
pub(super) const BUILD_WORK: &str = "work";
/// What it lies over where there is nothing else.
pub(super) const BUILD_NOTHING: &str = "nothing";

/// A folder that began empty.
pub(super) fn empty(place: usize) -> String {
    format!("empty-{place}")
}

/// A clone of the workspace, in the room of its view.
pub(super) const CLONE: &str = "workspace";
