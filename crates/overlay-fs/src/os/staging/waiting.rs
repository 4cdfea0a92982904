//! Staging folders that one process prepared and another one commits.

use std::io;

use super::{OWNER, Phase, Staging};
use crate::ContentHash;
use crate::os::OsTree;
use crate::os::disk::calls::{self, Time};
use crate::os::disk::file_lock::FileLock;

impl Staging {
    /// Leaves the folder for whichever process commits its changes. From here on it belongs to nobody, and stays when
    /// its process ends.
    pub(in crate::os) fn wait(mut self, sync: bool) -> io::Result<()> {
        self.mark(Phase::Waiting, &serde_json::to_vec(&self.verified)?, Time::default(), sync)?;
        self.release();
        Ok(())
    }

    /// Takes over a folder that waits; `None` if somebody else did, or is removing it.
    fn adopt(mut self) -> io::Result<Option<Self>> {
        let owner = calls::open(self.at(OWNER))?;
        let Some(owner) = FileLock::of_file(owner)? else { return Ok(None) };
        if self.phase()? != Phase::Waiting {
            return Ok(None);
        }
        self.hold(owner);
        let Ok(verified) = serde_json::from_slice(&self.content_of(Phase::Waiting.journal())?) else {
            // The file may have attributes that the user has removed from theirs since.
            self.remove(false)?;
            return Ok(None);
        };
        self.verified = verified;
        self.leave(Phase::Waiting, false)?;
        self.bits = Some(self.bits_of_new()?);
        Ok(Some(self))
    }

    /// The permission bits that this process's umask leaves of those of a new file.
    fn bits_of_new(&self) -> io::Result<u32> {
        let file = calls::create(self.at(Phase::Idle.journal()), 0o777, b"")?;
        let found = calls::look_at(&file)?;
        calls::remove_file(self.at(Phase::Idle.journal()))?;
        Ok(found.mode & 0o777)
    }
}

impl OsTree {
    /// Takes over what another process prepared for these changes. It only saves time: if anything is wrong with it,
    /// it counts as absent.
    pub(in crate::os) fn adopt(&self, changes: ContentHash) -> Option<Staging> {
        let home = self.homes.outside_if_there().ok()??;
        // A folder that is kept for an undo does not wait for a commit.
        let is_kept = |name: &String| self.undoable().contains_key(name);
        for name in home.names().ok()?.into_iter().filter(|name| !is_kept(name)) {
            let Ok(Some(staging)) = Staging::open(&home, &name) else { continue };
            let is_it = matches!(staging.phase(), Ok(Phase::Waiting))
                && staging
                    .owner()
                    .is_ok_and(|owner| owner.is_some_and(|owner| owner.changes == Some(changes)));
            if is_it && let Ok(Some(adopted)) = staging.adopt() {
                return Some(adopted);
            }
        }
        None
    }
}
