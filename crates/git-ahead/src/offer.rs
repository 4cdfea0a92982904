use crate::{ObjectName, RefName};

/// What can be done with commits that cannot be accepted because a ref has moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The ref under which [`Repository::keep`](crate::Repository::keep) stores them.
    pub name: RefName,
    /// The commit.
    pub tip: ObjectName,
    /// The result of a merge with what the user has now.
    pub merge: MergeCheck,
}

/// The result of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeCheck {
    /// It has no conflicts, so `git merge` of the ref succeeds.
    Clean,
    /// It has conflicts.
    Conflicts,
    /// There is nothing to merge with, or the repository has merge drivers, which are not run to find out.
    Unknown,
}
