use std::fs;
use std::time::{Duration, SystemTime};

use super::{Record, SpeculationId, SpeculationState, Store};
use crate::error::CliError;
use crate::output;

/// A folder is created or removed within milliseconds, so one that has been in that state for longer was left by a dead
/// process.
const LEFTOVER_AFTER: Duration = Duration::from_secs(60 * 60);

/// What a sweep keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepPolicy {
    /// Younger speculations are kept, except those whose process died, which are always removed.
    pub younger_than: Duration,
    /// Whether work that nobody has accepted or aborted is kept, whatever its age.
    pub undecided: bool,
}

/// What a sweep did with one folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweepResult {
    pub name: String,
    pub removed: bool,
    pub why: String,
}

pub(super) fn sweep(store: &Store, now_ms: u64, keep: SweepPolicy) -> Result<Vec<SweepResult>, CliError> {
    let mut swept = Vec::new();
    for name in store.names()? {
        let done = match SpeculationId::parse(&name) {
            Some(id) => sweep_record(store, &id, now_ms, keep),
            None => sweep_leftover(store, &name),
        };
        let (removed, why) = done.unwrap_or_else(|error| (false, error.to_string()));
        swept.push(SweepResult { name, removed, why });
    }
    Ok(swept)
}

fn sweep_record(
    store: &Store,
    id: &SpeculationId,
    now_ms: u64,
    keep: SweepPolicy,
) -> Result<(bool, String), CliError> {
    let record = store.read(id)?;
    if store.is_alive(&record)? {
        return Ok((false, format!("process {} runs it", record.owner.pid)));
    }
    let locked = store.lock(id)?;
    match reason_to_remove(locked.record(), now_ms, keep) {
        Ok(why) => locked.remove().map(|()| (true, why)),
        Err(why) => Ok((false, why)),
    }
}

/// Why a record is removed; `Err` says why it is kept. Its age counts from its creation, because no later time is
/// known.
fn reason_to_remove(record: &Record, now_ms: u64, keep: SweepPolicy) -> Result<String, String> {
    let age = Duration::from_millis(now_ms.saturating_sub(record.created_at));
    let made = match now_ms.checked_sub(record.created_at) {
        Some(age) => format!("made {} ago", output::age(age)),
        None => "made at a time that this clock has not reached".to_owned(),
    };
    match record.state {
        SpeculationState::Running => Ok("the process that ran it is dead".to_owned()),
        SpeculationState::Finished if keep.undecided => Err("waits to be accepted or aborted".to_owned()),
        _ if age < keep.younger_than => Err(format!("{made}, and {}", keep.in_words())),
        SpeculationState::Finished => Ok(format!("{made}, neither accepted nor aborted")),
        SpeculationState::Accepted => Ok(format!("{made}, accepted")),
        SpeculationState::Aborted => Ok(format!("{made}, aborted")),
    }
}

impl SweepPolicy {
    /// Says in words which ages are kept.
    pub fn in_words(self) -> String {
        format!("what is younger than {} stays", output::days(self.younger_than))
    }
}

fn sweep_leftover(store: &Store, name: &str) -> Result<(bool, String), CliError> {
    let path = store.folder().join(name);
    let ours = name.starts_with(".new-") || name.starts_with(".gone-");
    let metadata = fs::symlink_metadata(&path).map_err(CliError::io("read", &path))?;
    if !ours || !metadata.is_dir() {
        return Ok((false, "is not one of headstart's".to_owned()));
    }
    let age = metadata.modified().ok().and_then(|time| SystemTime::now().duration_since(time).ok());
    if age.is_none_or(|age| age < LEFTOVER_AFTER) {
        return Ok((false, "another process is at work on it".to_owned()));
    }
    fs::remove_dir_all(&path).map_err(CliError::io("remove", &path))?;
    Ok((true, "a dead process left it half made or half removed".to_owned()))
}
