use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cap_fs_ext::DirExt as _;
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::drop_ended;
use super::outcome::{SweepOutcome, Swept};
use crate::TreeError;
use crate::os::OsTree;
use crate::os::commit::commit_failure::at_root;
use crate::os::disk::calls;
use crate::os::disk::system::path_from_bytes;
use crate::os::staging::home::{NOTE, NOTE_DRAFT, STAGING, StagingHome, identity, is_no_folder, is_private};
use crate::os::staging::lock_token::TOKEN_FILE;
use crate::os::staging::{Phase, Staging};

impl OsTree {
    /// Removes what a host's state folder keeps for undos in workspaces that do not exist any more: nothing is at
    /// their path, or another folder. What was used after `unused_since` (a time since the Unix epoch) stays, and so
    /// does what may be the only copy of something, because whoever removed the workspace may not have meant to
    /// remove that.
    pub fn sweep_orphans(state: &Path, unused_since: Duration) -> Result<Vec<Swept>, TreeError> {
        sweep_homes(&state.join(STAGING), unused_since).map_err(|error| at_root(&error))
    }
}

fn sweep_homes(path: &Path, unused_since: Duration) -> io::Result<Vec<Swept>> {
    let homes = match Dir::open_ambient_dir(path, ambient_authority()) {
        Err(error) if is_no_folder(&error) => return Ok(Vec::new()),
        homes => homes?,
    };
    let mut swept = Vec::new();
    for entry in homes.entries()? {
        let name = entry?.file_name();
        let Some(key) = name.to_str() else { continue };
        let folder = match homes.open_dir_nofollow(key) {
            // It is not the folder of a workspace, or another sweep has removed it.
            Err(error) if is_no_folder(&error) => continue,
            folder => folder?,
        };
        if is_private(&folder)? && is_orphan(&folder, key)? {
            // A rename from here can reach nothing, because the workspace is gone.
            let home = StagingHome { folder: Arc::new(folder), path: Some(path.join(key)), reaches: false };
            sweep_home(&home, unused_since, &mut swept)?;
            remove_if_empty(&homes, &home, key)?;
        }
    }
    swept.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(swept)
}

/// Whether the workspace of a folder is certainly gone. Without a note this cannot be known.
fn is_orphan(home: &Dir, key: &str) -> io::Result<bool> {
    let noted = match home.read(NOTE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        noted => noted?,
    };
    match Dir::open_ambient_dir(path_from_bytes(&noted), ambient_authority()) {
        Ok(root) => Ok(identity(&root)? != key),
        // A workspace that cannot be opened may still exist.
        Err(error) => Ok(is_no_folder(&error)),
    }
}

fn sweep_home(home: &StagingHome, unused_since: Duration, swept: &mut Vec<Swept>) -> io::Result<()> {
    for name in home.names()? {
        let Some(staging) = Staging::open(home, &name)? else { continue };
        let outcome = match sweep_one(&staging, unused_since) {
            // It contains a name that no commit gives.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => SweepOutcome::Foreign,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            outcome => outcome?,
        };
        swept.push(Swept { name: staging.told, outcome, stayed: Vec::new() });
    }
    Ok(())
}

fn sweep_one(staging: &Staging, unused_since: Duration) -> io::Result<SweepOutcome> {
    let phase = staging.phase()?;
    match phase {
        Phase::Applying | Phase::Completing | Phase::Undoing | Phase::Returning | Phase::Kept => {
            return Ok(SweepOutcome::Kept);
        }
        Phase::Waiting | Phase::Idle if staging.is_alive()? => return Ok(SweepOutcome::Alive),
        Phase::Idle if staging.owner()?.is_none() && !staging.content()?.is_empty() => {
            return Ok(SweepOutcome::Foreign);
        }
        Phase::Committed | Phase::Undone | Phase::Waiting | Phase::Idle => {}
    }
    if !is_unused_since(&staging.folder, unused_since)? {
        return Ok(SweepOutcome::RecentOrphan);
    }
    Ok(match drop_ended(staging, phase, true)? {
        SweepOutcome::Removed => SweepOutcome::Orphan,
        kept => kept,
    })
}

/// Whether a folder was not used since. A time before 1970 cannot be right and counts as old.
fn is_unused_since(folder: &Dir, unused_since: Duration) -> io::Result<bool> {
    let (seconds, nanoseconds) = calls::look_at(folder)?.modified;
    let seconds = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
    let used = seconds + Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or_default());
    Ok(used <= unused_since)
}

fn remove_if_empty(homes: &Dir, home: &StagingHome, key: &str) -> io::Result<()> {
    for entry in home.folder.entries()? {
        let name = entry?.file_name();
        if ![NOTE, NOTE_DRAFT, TOKEN_FILE].iter().any(|ours| name == *ours) {
            return Ok(());
        }
    }
    for name in [NOTE_DRAFT, TOKEN_FILE, NOTE] {
        match home.folder.remove_file(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    match homes.remove_dir(key) {
        // Another process is at work in it.
        Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => Err(error),
        _ => Ok(()),
    }
}
