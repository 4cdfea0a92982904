use std::collections::BTreeMap;
use std::io;

use super::home::StagingHome;
use super::journal::InTurn;
use super::{Phase, Staging};
use crate::os::disk::calls::{self, Time};
use crate::os::disk::clock::Clock;
use crate::os::disk::seen::{Stamp, look_if_there, place};
use crate::os::{OsTree, file_times};

/// What this process knows of the staging folders of a workspace, so that a commit need not open each of them to
/// learn that nothing in it is half done. A phase is a name in the folder, and no name comes or goes without changing
/// the folder's times.
///
/// A folder is only remembered if its last change was older than a tick of the file system's clock when it was looked
/// at, because another change in the same tick would not show.
#[derive(Debug, Default)]
pub(in crate::os) struct StagingCache {
    /// For each place with staging folders, its stamp when its names were read, and the names.
    homes: BTreeMap<IsState, (Stamp, Vec<String>)>,
    /// For each folder in which nothing is half done, its stamp at that time, and how far its commit got.
    ended: BTreeMap<(IsState, String), (Stamp, Progress)>,
    /// The time of the last commit that is kept, if nothing was half done when this tree last released the commit
    /// lock.
    pub(in crate::os) last: Option<Time>,
    /// The place of the last commit that this tree made in a turn.
    pub(in crate::os) in_turn: Option<InTurn>,
}

/// Whether the staging folders are those in the state folder, and not those in the workspace.
type IsState = bool;

/// How far the commit of a staging folder got.
#[derive(Debug, Clone, Copy)]
pub(in crate::os) struct Progress {
    pub(in crate::os) phase: Phase,
    /// The time of its journal, if there is one.
    pub(in crate::os) journal: Option<Time>,
    /// The number of bytes that it holds for an undo.
    pub(in crate::os) bytes: u64,
}

impl StagingCache {
    /// Whether there is no staging folder.
    pub(in crate::os) fn has_none(&mut self, home: &StagingHome, clock: &Clock) -> io::Result<bool> {
        Ok(self.names(home, clock)?.is_empty())
    }

    fn names(&mut self, home: &StagingHome, clock: &Clock) -> io::Result<Vec<String>> {
        let is_state = home.path.is_some();
        let moment = file_times::since_now_ns();
        let found = calls::look_at(&*home.folder)?;
        let stamp = Stamp::new(&found);
        let names = match self.homes.remove(&is_state) {
            Some((seen, names)) if seen == stamp => names,
            _ => home.names()?,
        };
        if clock.shows_changes_since(moment, &found) {
            self.homes.insert(is_state, (stamp, names.clone()));
        }
        Ok(names)
    }
}

impl OsTree {
    /// The name of every staging folder, and how far its commit got, including those in which something may be half
    /// done. The caller must have the commit lock.
    pub(in crate::os) fn reached(
        &self,
        homes: &[StagingHome],
    ) -> io::Result<Vec<(String, Progress, Option<Staging>)>> {
        let mut known = self.known();
        let mut ended = BTreeMap::new();
        let mut all = Vec::new();
        for home in homes {
            for name in known.names(home, &self.clock)? {
                let key = (home.path.is_some(), name.clone());
                let moment = file_times::since_now_ns();
                let Some(found) = look_if_there(place(&home.folder, &name))? else { continue };
                let stamp = Stamp::new(&found);
                if let Some(before) = known.ended.get(&key).filter(|(seen, _)| *seen == stamp) {
                    all.push((name, before.1, None));
                    ended.insert(key, *before);
                    continue;
                }
                let is_known = self.undoable().contains_key(&name);
                let staging = if is_known { Staging::open_ours } else { Staging::open }(home, &name)?;
                let Some(staging) = staging else { continue };
                let (phase, journal) = staging.marked()?;
                let bytes = if phase == Phase::Committed && self.options.undo.accepts != 0 {
                    self.bytes_of(&staging)
                } else {
                    0
                };
                let reached = Progress { phase, journal: journal.map(|found| found.modified), bytes };
                if phase.is_half_done() {
                    all.push((name, reached, Some(staging)));
                    continue;
                }
                if self.clock.shows_changes_since(moment, &found) {
                    ended.insert(key, (stamp, reached));
                }
                all.push((name, reached, None));
            }
        }
        known.ended = ended;
        Ok(all)
    }

    fn bytes_of(&self, staging: &Staging) -> u64 {
        let known = self.undoable().get(&staging.name).copied();
        // It contains a name that no commit gives. A sweep reports it and leaves it.
        known.unwrap_or_else(|| staging.size().unwrap_or_default())
    }
}
