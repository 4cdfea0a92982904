use std::fs;
use std::path::Path;
use std::sync::Arc;

use headstart_overlay_fs::{ChangeSet, Durability, OsTree, UndoOutcome, Workspace as _};

use crate::measure::{Parts, Took, Way, compare, timed};
use crate::place::{FILE, Place, commit};

const SIZES: [(usize, usize, &str); 5] = [
    (1, FILE, "1 file of 4 KB"),
    (10, FILE, "10 files of 4 KB"),
    (100, FILE, "100 files of 4 KB"),
    (1_000, FILE, "1,000 files of 4 KB"),
    (10, 1 << 20, "10 files of 1 MB"),
];

/// Accepts whose state folder is on the workspace's file system.
pub(crate) fn accepts(parts: &Parts) {
    for (files, size, told) in SIZES {
        let part = format!("accept {told}");
        if parts.has(&part) {
            accepts_of(&part, &Place::new(parts.folder(), files, size));
        }
    }
}

/// Accepts whose state folder is on another file system, as is the folder that a copy copies from: the workspace is on
/// the disk and the rest in memory, and the other way round.
pub(crate) fn accepts_across(parts: &Parts) {
    let (disk, memory) = (std::env::temp_dir(), Path::new("/dev/shm"));
    if !memory.is_dir() {
        println!("accept across file systems: there is no /dev/shm, so it is not measured");
        return;
    }
    for (workspace, elsewhere, way) in [(&*disk, memory, "from memory"), (memory, &*disk, "into memory")] {
        for (files, size, told) in SIZES {
            let part = format!("accept across file systems, {way}, {told}");
            // A copy into memory is so cheap that the middle sizes show nothing new.
            let is_shown = workspace == disk || files == 100 || size != FILE;
            if parts.has(&part) && is_shown {
                let [workspace, elsewhere] = [workspace, elsewhere].map(|at| parts.folder_in(at));
                accepts_of(&part, &Place::across(workspace, elsewhere, files, size));
            }
        }
    }
}

fn accepts_of(part: &str, place: &Place) {
    let (fast, full) = (place.tree(Durability::Fast), place.tree(Durability::Full));
    let accept = |tree: &Arc<OsTree>, changes: ChangeSet| timed(|| commit(tree, changes)).0;
    let after_a_while = |what: &dyn Fn() -> Took| {
        Place::wait();
        what()
    };
    let without_sync = vec![
        Way::new("std::fs::copy over existing", || after_a_while(&|| timed(|| place.copy_over_existing()).0)),
        Way::new("prepared, Fast", || after_a_while(&|| accept(&fast, place.prepared(&fast)))),
        Way::new("not prepared, Fast", || after_a_while(&|| accept(&fast, place.staged(&fast)))),
        Way::new("prepared, Fast, files just saved", || {
            place.copy_over_existing();
            accept(&fast, place.prepared(&fast))
        }),
    ];
    compare(part, without_sync);
    let with_sync = vec![
        Way::new("std::fs::copy, and sync of files and folders", || {
            after_a_while(&|| timed(|| place.copy_and_sync()).0)
        }),
        Way::new("prepared, Full", || after_a_while(&|| accept(&full, place.prepared(&full)))),
        Way::new("not prepared, Full", || after_a_while(&|| accept(&full, place.staged(&full)))),
    ];
    compare(&format!("{part}, on the medium"), with_sync);
}

/// Undos, compared with a copy that puts the old content back.
pub(crate) fn undos(parts: &Parts) {
    for (files, size, told) in SIZES {
        let part = format!("undo {told}");
        if !parts.has(&part) {
            continue;
        }
        let place = Place::new(parts.folder(), files, size);
        let tree = place.tree(Durability::Fast);
        let undo = || {
            Place::wait();
            let changes = place.committed(&tree);
            let (time, outcome) = timed(|| tree.undo(&changes).unwrap());
            assert!(matches!(outcome, UndoOutcome::Undone { .. }), "{outcome:?}");
            time
        };
        let ways = vec![
            Way::new("std::fs::copy over existing", || timed(|| place.copy_over_existing()).0),
            Way::new("undo, Fast", undo),
        ];
        compare(&part, ways);
    }
}

/// Discarding prepared work, compared with the removal of a folder with the same files.
pub(crate) fn discards(parts: &Parts) {
    for (files, size, told) in SIZES {
        let part = format!("discard {told}");
        if !parts.has(&part) {
            continue;
        }
        let place = Place::new(parts.folder(), files, size);
        let tree = place.tree(Durability::Fast);
        let removed = parts.folder().join("removed");
        let remove = || {
            place.fill(&removed);
            timed(|| fs::remove_dir_all(&removed).unwrap()).0
        };
        let discard = || {
            let changes = place.prepared(&tree);
            timed(|| tree.forget(&changes)).0
        };
        let ways =
            vec![Way::new("std::fs::remove_dir_all", remove), Way::new("discard what was prepared", discard)];
        compare(&part, ways);
    }
}

/// Sweeps with twenty accepts kept, compared with reading the metadata of all their names.
pub(crate) fn sweeps(parts: &Parts) {
    for (files, size, told) in SIZES {
        let part = format!("sweep, 20 accepts of {told} kept");
        // Keeping twenty accepts of more files takes long and shows nothing new.
        if !parts.has(&part) || 10 < files {
            continue;
        }
        let place = Place::new(parts.folder(), files, size);
        let tree = place.tree(Durability::Fast);
        for _ in 0..20 {
            place.committed(&tree);
        }
        let ways = vec![
            Way::new("std::fs, metadata of every name", || timed(|| look(&place.state())).0),
            Way::new("sweep", || timed(|| tree.sweep().unwrap()).0),
        ];
        compare(&part, ways);
    }
}

fn look(folder: &Path) -> u64 {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let found = entry.metadata().unwrap();
        bytes += if found.is_dir() { look(&entry.path()) } else { found.len() };
    }
    bytes
}
