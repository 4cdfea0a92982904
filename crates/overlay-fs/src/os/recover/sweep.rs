use std::io;

use super::drop_ended;
use super::outcome::{Stayed, SweepOutcome, Swept};
use super::undo::is_whole;
use crate::os::OsTree;
use crate::os::commit::commit_failure::at_root;
use crate::os::commit::lock::CommitLock;
use crate::os::staging::{Phase, Staging};
use crate::{ContentHash, TreeError};

impl OsTree {
    /// Ends what dead processes left half done in the workspace, removes what nobody needs any more, and returns for
    /// every staging folder what became of it.
    pub fn sweep(&self) -> Result<Vec<Swept>, TreeError> {
        self.sweep_but(None, None)
    }

    /// As [`sweep`](Self::sweep). Of what was prepared for any process it keeps only what waits for a commit of these
    /// changes, by their [digests](crate::ChangeSet::digest).
    pub fn sweep_unwanted(&self, wanted: &[ContentHash]) -> Result<Vec<Swept>, TreeError> {
        self.sweep_but(None, Some(wanted))
    }

    /// As [`sweep`](Self::sweep), but it keeps the notes about undos, by which a caller that died can learn that its
    /// undo was done. Meant for the start of a host, which may be about to ask again.
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
                    Ok(None) => Ok(unhindered(SweepOutcome::Foreign)),
                    Err(error) => Err(error),
                };
                let (outcome, stayed) = match outcome {
                    // It contains a name that no commit gives.
                    Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                        unhindered(SweepOutcome::Foreign)
                    }
                    // Its process has just removed it.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    outcome => outcome.map_err(failed)?,
                };
                swept.push(Swept { name: home.told(&name), outcome, stayed });
            }
        }
        self.trim(0, 0).map_err(failed)?;
        let left = self.stagings().map_err(failed)?;
        for one in swept.iter_mut().filter(|one| one.outcome == SweepOutcome::Undoable) {
            one.outcome = match left.iter().find(|staging| staging.told == one.name) {
                None => SweepOutcome::Removed,
                // A program wrote to a replaced file in it.
                Some(staging) if staging.phase().map_err(failed)? == Phase::Kept => SweepOutcome::Kept,
                Some(_) => SweepOutcome::Undoable,
            };
        }
        swept.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(swept)
    }

    /// Interrupted commits that earlier calls found and ended. Each is told once.
    pub fn recovered(&self) -> Vec<Swept> {
        std::mem::take(&mut *self.notes())
    }

    fn sweep_one(
        &self,
        staging: &Staging,
        phase: Phase,
        wanted: Option<&[ContentHash]>,
    ) -> io::Result<(SweepOutcome, Vec<Stayed>)> {
        let content = staging.content()?;
        let outcome = match phase {
            Phase::Applying | Phase::Completing | Phase::Undoing | Phase::Returning => {
                return self.take_back(staging, phase);
            }
            Phase::Kept => SweepOutcome::Kept,
            Phase::Committed => match staging.journal(phase)? {
                Some(journal) if !is_whole(staging, &journal.steps)? => {
                    drop_ended(staging, phase, self.is_full())?
                }
                _ => SweepOutcome::Undoable,
            },
            Phase::Waiting if is_wanted(staging, wanted)? => SweepOutcome::Waiting,
            Phase::Undone => {
                staging.remove(self.is_full())?;
                SweepOutcome::Removed
            }
            Phase::Waiting | Phase::Idle => {
                if staging.is_alive()? {
                    return Ok(unhindered(SweepOutcome::Alive));
                }
                // An empty folder was left by a process that died while making or removing it; a folder with content
                // is not ours.
                if staging.owner()?.is_none() && !content.is_empty() {
                    return Ok(unhindered(SweepOutcome::Foreign));
                }
                staging.remove(self.is_full())?;
                SweepOutcome::Removed
            }
        };
        Ok(unhindered(outcome))
    }
}

/// An outcome for which nothing had to go back.
fn unhindered(outcome: SweepOutcome) -> (SweepOutcome, Vec<Stayed>) {
    (outcome, Vec::new())
}

/// Whether somebody may still commit what waits. A maker that lives may not have told anybody about it yet.
fn is_wanted(staging: &Staging, wanted: Option<&[ContentHash]>) -> io::Result<bool> {
    let Some(wanted) = wanted else { return Ok(true) };
    Ok(staging.owner()?.and_then(|owner| owner.changes).is_some_and(|changes| wanted.contains(&changes)))
}
