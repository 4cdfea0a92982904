//! What can be done with commits made ahead that cannot be accepted, because git was used meanwhile.

use std::path::Path;

use headstart_git_ahead::{GitChange, GitError, MergeCheck, Offer, Repository};
use headstart_overlay_fs::{Conflict, ConflictKind};
use serde::Serialize;

use crate::git;

/// The commits of work whose accept had a conflict about refs.
pub struct ConflictingCommits {
    repository: Repository,
    change: GitChange,
    id: String,
}

/// Where the commits can be stored, and the outcome of a merge.
#[derive(Debug, Serialize)]
pub struct CommitOffer {
    /// The name of the ref.
    pub name: String,
    /// The id of the commit.
    pub(crate) tip: String,
    merge: &'static str,
    /// Whether the commits are stored there now.
    kept: bool,
}

impl ConflictingCommits {
    /// The commits of this work; `None` if the conflict is not about refs, or if there is no commit.
    pub fn of(
        workspace: &Path,
        state: Option<&Path>,
        (id, change): (&str, Option<&GitChange>),
        conflicts: &[Conflict],
    ) -> Option<Self> {
        let change = change.filter(|change| change.tip().is_some())?;
        is_about_git(conflicts).then_some(())?;
        let repository = git::repository(workspace, state)?;
        Some(Self { repository, change: change.clone(), id: id.to_owned() })
    }

    /// Finds out where the commits could be stored. Nothing is written.
    pub fn offer(&self) -> Result<Option<CommitOffer>, GitError> {
        Ok(self.repository.offer(&self.change, &self.id)?.map(|offer| CommitOffer::of(&offer)))
    }

    /// Stores the commits there. To be called only if the user wants it.
    pub fn keep(&self) -> Result<Option<CommitOffer>, GitError> {
        let Some(offer) = self.offer()? else { return Ok(None) };
        let kept = self.repository.keep(&self.change, &self.id)?.is_some();
        Ok(Some(CommitOffer { kept, ..offer }))
    }

    /// The number of commits, in words.
    pub fn counted(&self) -> String {
        match self.change.refs.iter().map(|change| change.commits).max().unwrap_or_default() {
            0 | 1 => "commit".to_owned(),
            many => format!("{many} commits"),
        }
    }
}

impl CommitOffer {
    fn of(offer: &Offer) -> Self {
        let merge = match offer.merge {
            MergeCheck::Clean => "clean",
            MergeCheck::Conflicts => "conflicts",
            MergeCheck::Unknown => "unknown",
        };
        Self { name: offer.name.to_string(), tip: offer.tip.to_string(), merge, kept: false }
    }

    /// Tells the user what to do next.
    pub fn merge_advice(&self) -> String {
        let how = match self.merge {
            "clean" => ", without conflicts",
            "conflicts" => "; there are conflicts to solve",
            _ => "",
        };
        format!("`git merge {}` joins it with what you have{how}", self.name)
    }
}

/// Whether an accept failed because of git.
pub(crate) fn is_about_git(conflicts: &[Conflict]) -> bool {
    conflicts.iter().any(|conflict| conflict.kind == ConflictKind::Ref)
}
