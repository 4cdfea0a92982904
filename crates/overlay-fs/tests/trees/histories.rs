//! Random histories, and histories that once showed a mistake.

use headstart_overlay_fs::MemoryTree;
use proptest::prelude::*;

use crate::at_once::AtOnce;
use crate::coarse::Coarse;
use crate::later::Later;
use crate::play::{Scope, play};

fn history() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..240)
}

/// A thousand histories for every tree, or as many as `PROPTEST_CASES` says.
#[expect(clippy::disallowed_methods, reason = "how long a test runs is for its caller to say")]
fn config() -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let is_default = std::env::var_os("PROPTEST_CASES").is_none();
    ProptestConfig { cases: if is_default { 1_000 } else { config.cases }, ..config }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn in_memory(bytes in history()) {
        play::<MemoryTree>(&bytes, Scope::All);
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn answered_later(bytes in history()) {
        play::<Later>(&bytes, Scope::All);
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn made_at_once(bytes in history()) {
        play::<AtOnce>(&bytes, Scope::All);
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn with_coarse_times(bytes in history()) {
        play::<Coarse>(&bytes, Scope::Commits);
    }
}

#[cfg(all(feature = "os", unix))]
proptest! {
    #![proptest_config(config())]

    #[test]
    fn on_disk(bytes in history()) {
        play::<crate::world::Disk>(&bytes, Scope::All);
    }
}

/// What these histories showed: an overlay over one that had made a folder or a file again as it was; a link of the
/// user that leads to where a new folder takes its place; and an overlay that was opened from a change set.
const FOUND: [&[u8]; 5] = [
    &[
        16, 71, 0, 39, 0, 39, 0, 249, 0, 0, 124, 87, 0, 107, 185, 224, 146, 16, 5, 0, 60, 40, 0, 30, 0, 163,
        0, 0, 0, 14, 0, 7, 0, 171, 156, 23, 0, 8, 0, 167, 0, 168, 24, 40, 24, 1, 215, 212, 0, 0, 0, 0, 0, 0,
        0, 0, 0,
    ],
    &[
        246, 105, 0, 0, 55, 0, 16, 15, 7, 0, 224, 103, 2, 42, 146, 231, 15, 7, 0, 112, 104, 19, 0, 0, 0, 0,
        53, 0, 0, 1, 0, 119, 0, 62, 0, 167, 0, 0, 0, 56, 0, 76, 76, 2, 30, 0, 0, 72, 0, 124, 0, 39, 0, 16, 0,
        13, 0, 99, 0, 0, 0, 25, 0, 34, 48, 33, 2, 24, 8, 8, 0, 0, 23, 0, 0, 38, 112, 12, 25, 0, 16, 12, 1, 0,
        199, 14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ],
    &[
        10, 7, 0, 0, 0, 90, 96, 10, 1, 0, 89, 1, 0, 153, 42, 230, 103, 0, 7, 0, 0, 1, 1, 0, 110, 0, 208, 103,
        1, 0, 112, 124, 212, 70, 167, 1, 0, 72, 116, 142, 0, 80, 3, 1, 0, 16, 0, 1, 0, 201, 0, 2, 248, 0, 0,
        0, 200, 0, 0, 169, 0, 0, 0, 55, 17, 199, 31, 39, 1, 0, 0, 0, 0, 50, 7, 3, 0, 231, 201, 0, 38, 0, 0,
        247, 199, 0, 107, 4, 112, 143, 0, 19, 0, 0, 0, 48, 0, 0, 7, 0, 0, 0, 8, 0, 238, 37, 48, 0, 1, 0, 27,
        45,
    ],
    &[
        23, 105, 0, 0, 114, 142, 0, 55, 0, 9, 0, 0, 30, 0, 0, 0, 56, 56, 190, 16, 0, 1, 0, 0, 18, 62, 0, 48,
        34, 1, 0, 0, 0, 31, 0, 0, 0, 75, 176, 0, 6, 39, 216, 14, 0, 39, 0, 171, 148, 30, 0, 16, 0, 1, 0, 3,
        0, 0, 0, 103, 91, 0, 0, 0, 0, 0, 0, 23,
    ],
    &[
        167, 140, 217, 122, 39, 0, 147, 7, 0, 23, 0, 219, 69, 137, 40, 120, 0, 0, 8, 8, 64, 55, 6, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ],
];

#[test]
fn what_once_went_wrong_does_not_again() {
    for bytes in FOUND {
        play::<MemoryTree>(bytes, Scope::Commits);
        play::<Later>(bytes, Scope::Commits);
        play::<AtOnce>(bytes, Scope::Commits);
        #[cfg(all(feature = "os", unix))]
        play::<crate::world::Disk>(bytes, Scope::Commits);
    }
}

/// A file is moved onto one that its user made executable meanwhile.
#[test]
fn a_file_moved_onto_one_that_was_made_executable() {
    let bytes = [
        5, 55, 0, 71, 0, 7, 0, 105, 0, 0, 48, 69, 114, 158, 0, 0, 0, 0, 0, 1, 0, 94, 0, 16, 0, 1, 0, 0, 0, 0,
        0, 36, 14, 0, 0, 0, 68, 0, 22, 0, 60, 0, 0, 41, 0, 40, 0, 0, 4, 189, 77, 43, 7, 29, 0, 0, 67, 16, 0,
        1, 0, 48, 218, 1, 0, 0, 0, 200, 42, 4, 103, 15, 119, 1, 7, 1, 64, 61, 127, 0, 8, 0, 0, 0, 207, 87, 6,
        108, 93, 22, 126, 19, 105, 13, 22, 24, 0, 0, 0, 0, 1, 109, 162, 89, 0, 0, 0, 0, 0, 0, 0,
    ];
    play::<MemoryTree>(&bytes, Scope::All);
    play::<Later>(&bytes, Scope::All);
    play::<AtOnce>(&bytes, Scope::All);
    #[cfg(all(feature = "os", unix))]
    play::<crate::world::Disk>(&bytes, Scope::All);
}
