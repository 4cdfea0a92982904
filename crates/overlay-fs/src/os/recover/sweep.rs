use std::io;

use super::drop_ended;
use super::outcome::{SweepOutcome, Swept};
use super::undo::is_whole;
use crate::os::OsTree;
use crate::os::commit::lock::CommitLock;
use crate::os::commit::stop::at_root;
use crate::os::staging::{Phase, Staging};
use crate::{ContentHash, TreeError};

impl OsTree {
    /// Ends what dead processes left half done in the workspace, removes what nobody needs any more, and says of every
    /// staging folder what became of it.
    pub fn sweep(&self) -> Result<Vec<Swept>, TreeError> {
        self.sweep_but(None, None)
    }

    /// The same; and of what was prepared for any process it leaves only what waits for a commit of these changes, by
    /// their [digests](crate::ChangeSet::digest).
    pub fn sweep_unwanted(&self, wanted: &[ContentHash]) -> Result<Vec<Swept>, TreeError> {
        self.sweep_but(None, Some(wanted))
    }

    /// The same, but for the notes of undos, by which a caller that died knows that it was done: for the start of a
    /// host, which may be about to ask again.
    pub fn tidy(&self) -> Result<Vec<Swept>, TreeError> {
        self.sweep_but(Some(Phase::Undone), None)
    }

    fn sweep_but(
        &self,
        keep: Option<Phase>,
        wanted: Option<&[ContentHash]>,
    ) -> Result<Vec<Swept>, TreeError> {
        let _lock = CommitLock::take(&self.root)?;
        let failed = |error: io::Error| at_root(&error);
        let mut swept = self.recovered();
        for home in self.homes.existing().map_err(failed)? {
            for name in home.names().map_err(failed)? {
                let outcome = match Staging::open(&home, &name) {
                    Ok(Some(staging)) => match staging.phase() {
                        Ok(phase) if Some(phase) == keep => continue,
                        Ok(phase) => self.sweep_one(&staging, phase, wanted),
                        Err(error) => Err(error),
                    },
                    Ok(None) => Ok(SweepOutcome::Foreign),
                    Err(error) => Err(error),
                };
                let outcome = match outcome {
                    // A name that no commit gives.
                    Err(error) if error.kind() == io::ErrorKind::InvalidData => SweepOutcome::Foreign,
                    // Its process removed it at this moment.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    outcome => outcome.map_err(failed)?,
                };
                swept.push(Swept { name: home.told(&name), outcome });
            }
        }
        self.trim(0, 0).map_err(failed)?;
        let left = self.stagings().map_err(failed)?;
        for one in swept.iter_mut().filter(|one| one.outcome == SweepOutcome::Undoable) {
            one.outcome = match left.iter().find(|staging| staging.told == one.name) {
                None => SweepOutcome::Removed,
                // It was written to late.
                Some(staging) if staging.phase().map_err(failed)? == Phase::Kept => SweepOutcome::Kept,
                Some(_) => SweepOutcome::Undoable,
            };
        }
        swept.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(swept)
    }

    /// What earlier calls found half done and ended; each is told once.
    pub fn recovered(&self) -> Vec<Swept> {
        std::mem::take(&mut *self.notes())
    }

    fn sweep_one(
        &self,
        staging: &Staging,
        phase: Phase,
        wanted: Option<&[ContentHash]>,
    ) -> io::Result<SweepOutcome> {
        let content = staging.content()?;
        match phase {
            Phase::Applying | Phase::Completing | Phase::Undoing | Phase::Returning => {
                self.take_back(staging, phase)
            }
            Phase::Kept => Ok(SweepOutcome::Kept),
            Phase::Committed => match staging.journal(phase)? {
                Some(journal) if !is_whole(staging, &journal.steps)? => {
                    drop_ended(staging, phase, self.is_full())
                }
                _ => Ok(SweepOutcome::Undoable),
            },
            Phase::Waiting if is_wanted(staging, wanted)? => Ok(SweepOutcome::Waiting),
            Phase::Undone => {
                staging.remove(self.is_full())?;
                Ok(SweepOutcome::Removed)
            }
            Phase::Waiting | Phase::Idle => {
                if staging.is_alive()? {
                    return Ok(SweepOutcome::Alive);
                }
                // Made or removed halfway by a process that died there is nothing in it; else it is not ours.
                if staging.owner()?.is_none() && !content.is_empty() {
                    return Ok(SweepOutcome::Foreign);
                }
                staging.remove(self.is_full())?;
                Ok(SweepOutcome::Removed)
            }
        }
    }
}

/// Whether somebody may still commit what waits. Its maker may not have told anybody yet, and lives.
fn is_wanted(staging: &Staging, wanted: Option<&[ContentHash]>) -> io::Result<bool> {
    let Some(wanted) = wanted else { return Ok(true) };
    Ok(staging.owner()?.and_then(|owner| owner.changes).is_some_and(|changes| wanted.contains(&changes)))
}
