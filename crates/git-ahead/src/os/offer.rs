//! Offers commits in another way if they cannot be accepted because a ref moved meanwhile.

use super::program::RepositoryPaths;
use super::refs::{self, Transaction};
use super::{Repository, Snapshot, folder, objects};
use crate::{GitChange, GitError, MergeCheck, ObjectName, Offer, RefChange, RefName};
use headstart_overlay_fs::Direction;

/// The first version whose `merge-tree` merges two commits, with `--write-tree`.
const MERGES_TREES: (u32, u32) = (2, 38);

impl Repository {
    /// Finds out what can be done with the commits of a change whose accept was a conflict; `None` if it has no
    /// commits. Nothing is written to the repository.
    pub fn offer(&self, change: &GitChange, id: &str) -> Result<Option<Offer>, GitError> {
        let Some(tip) = change.tip().cloned() else { return Ok(None) };
        let name = name(id)?;
        let real = self.at(change)?;
        let workspace = folder::open(&self.workspace)?;
        let Some(now) = Snapshot::take(&workspace, &self.state)? else { return Ok(None) };
        let at = now.repository(&real.folder.join("objects"))?;
        if let Some(objects) = &change.objects {
            objects::look_at(&self.git, &at, &self.state, objects)?;
        }
        let merge = self.check_merge(&at, &real, &tip)?;
        Ok(Some(Offer { name, tip, merge }))
    }

    fn check_merge(
        &self,
        at: &RepositoryPaths,
        real: &RepositoryPaths,
        tip: &ObjectName,
    ) -> Result<MergeCheck, GitError> {
        if folder::open(&real.folder)?.exists("info/attributes") {
            return Ok(MergeCheck::Unknown);
        }
        let options = ["rev-parse", "--verify", "-q", "HEAD^{commit}"];
        if self.git.try_ask(at, "rev-parse", &options, b"")?.is_err() {
            return Ok(MergeCheck::Unknown);
        }
        if self.git.version() < MERGES_TREES {
            return Ok(MergeCheck::Unknown);
        }
        let options = ["merge-tree", "--write-tree", "--no-messages", "HEAD", tip.as_str()];
        Ok(match self.git.try_ask(at, "merge-tree", &options, b"")? {
            Ok(_) => MergeCheck::Clean,
            Err(_) => MergeCheck::Conflicts,
        })
    }

    /// Stores the commits of a change under `refs/headstart/ID`, where they are in nobody's way. Only when the user
    /// asks for it.
    pub fn keep(&self, change: &GitChange, id: &str) -> Result<Option<RefName>, GitError> {
        let Some(tip) = change.tip().cloned() else { return Ok(None) };
        let name = name(id)?;
        let at = self.at(change)?;
        self.bring(&at, change)?;
        let made =
            RefChange { name: name.clone(), old: None, new: Some(tip), commits: 0, subjects: Vec::new() };
        let now = refs::current(&self.git, &at, std::slice::from_ref(&made))?;
        if now[0] != made.new {
            let made = RefChange { old: now.into_iter().next().flatten(), ..made };
            Transaction::prepare(&self.git, &at, &[&made], Direction::Apply)?.commit()?;
        }
        Ok(Some(name))
    }
}

fn name(id: &str) -> Result<RefName, GitError> {
    RefName::parse(&format!("refs/headstart/{id}"))
}
