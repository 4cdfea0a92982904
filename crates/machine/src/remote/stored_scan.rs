//! The stored state of a workspace, in `STATE/remote/`, with which the next process sends only what has changed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use headstart_overlay_fs::WorkspacePath;
use headstart_toolbox::exchange::{Manifest, TreeEdit};
use serde::{Deserialize, Serialize};

use super::scan::{FileStamp, WorkspaceScan};
use crate::workspace::state_name;

const FOLDER: &str = "remote";
const CLIENT: &str = "client";

#[derive(Serialize, Deserialize)]
struct StoredScan {
    tree: Vec<TreeEdit>,
    stamps: Vec<(WorkspacePath, FileStamp)>,
}

/// A random name for this state folder; without a folder, a name that no other process has.
pub(super) fn client(state: Option<&Path>) -> String {
    let known = state.and_then(|state| stored_client(&state.join(FOLDER)).ok());
    known.unwrap_or_else(|| random().unwrap_or_else(|_| format!("process-{}", std::process::id())))
}

fn stored_client(folder: &Path) -> io::Result<String> {
    crate::store::create_private_folder(folder).map_err(io::Error::other)?;
    let file = folder.join(CLIENT);
    if let Ok(name) = fs::read_to_string(&file)
        && name.len() == 32
    {
        return Ok(name);
    }
    let mut new = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
    new.write_all(random()?.as_bytes())?;
    // If another process was faster, its name counts.
    let _ = new.persist_noclobber(&file);
    fs::read_to_string(file)
}

fn random() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(format!("{:032x}", u128::from_le_bytes(bytes)))
}

/// The state that an earlier process stored; empty if it cannot be read.
pub(super) fn read(state: Option<&Path>, workspace: &Path) -> WorkspaceScan {
    let content = file(state, workspace).and_then(|file| fs::read(file).ok());
    let stored: Option<StoredScan> = content.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let Some(StoredScan { tree, stamps }) = stored else { return WorkspaceScan::default() };
    let mut manifest = Manifest::default();
    manifest.apply(&tree);
    WorkspaceScan { manifest, stamps: stamps.into_iter().collect::<BTreeMap<_, _>>(), left_out: Vec::new() }
}

/// Stores the state for the next process. An error has no effect, except that more has to be read and sent.
pub(super) fn write(state: Option<&Path>, workspace: &Path, scan: &WorkspaceScan) {
    let Some((file, folder)) =
        file(state, workspace).and_then(|file| Some((file.clone(), file.parent()?.to_owned())))
    else {
        return;
    };
    let scan = StoredScan {
        tree: scan.manifest.edits_since(&Manifest::default()),
        stamps: scan.stamps.iter().map(|(path, stamp)| (path.clone(), *stamp)).collect(),
    };
    let written = tempfile::Builder::new().prefix(".new-").tempfile_in(folder).and_then(|mut new| {
        let mut buffered = io::BufWriter::new(&mut new);
        serde_json::to_writer(&mut buffered, &scan)?;
        buffered.flush()?;
        drop(buffered);
        new.persist(file).map_err(|error| error.error)
    });
    drop(written);
}

fn file(state: Option<&Path>, workspace: &Path) -> Option<PathBuf> {
    Some(state?.join(FOLDER).join(format!("{}.json", state_name(workspace))))
}
