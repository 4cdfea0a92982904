//! Digests, which tell change sets apart.

use serde::Serialize;

use crate::{ChangeKind, ChangeSet, Content, ContentHash};

impl ChangeSet {
    /// The digest of these changes: of what they do, and of what they rely on.
    pub fn digest(&self) -> ContentHash {
        self.digest_with(None)
    }

    /// The digest of these changes together with what is [committed with them](crate::Workspace::commit_with).
    pub fn digest_with(&self, beside: Option<&str>) -> ContentHash {
        Digest::of(self).with(beside).whole
    }
}

/// All hashes of a change set that a commit needs, so that each content is hashed once.
#[derive(Debug)]
pub(crate) struct Digest {
    /// The digest of the whole change set.
    pub(crate) whole: ContentHash,
    /// The hashes of the changes, in their order.
    #[cfg_attr(
        not(feature = "os"),
        expect(dead_code, reason = "only a commit on a disk asks for single hashes")
    )]
    pub(crate) changes: Vec<Hashes>,
}

/// The hashes of one change.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "os"), expect(dead_code, reason = "only a commit on a disk asks for single hashes"))]
pub(crate) struct Hashes {
    /// The hash of the content that the change expects.
    pub(crate) old: Option<ContentHash>,
    /// The hash of the content, or of the link's target, that the change makes.
    pub(crate) new: Option<ContentHash>,
}

impl Digest {
    pub(crate) fn of(changes: &ChangeSet) -> Self {
        let mut bytes = Vec::new();
        let mut hashes = Vec::with_capacity(changes.changes.len());
        for change in &changes.changes {
            let old = change.base_content.as_ref().map(Content::hash);
            put(&mut bytes, &(&change.path, &change.base, old));
            let new = match &change.kind {
                ChangeKind::Write { content, executable, moved_from } => {
                    let new = content.hash();
                    put(&mut bytes, &("write", new, executable, moved_from));
                    Some(new)
                }
                kind => {
                    put(&mut bytes, kind);
                    if let ChangeKind::Link { target, .. } = kind {
                        Some(ContentHash::of(target))
                    } else {
                        None
                    }
                }
            };
            if let Some(mode) = change.mode {
                put(&mut bytes, &("mode", mode));
            }
            hashes.push(Hashes { old, new });
        }
        put(&mut bytes, &changes.reads);
        Self { whole: ContentHash::of(&bytes), changes: hashes }
    }

    /// The digest together with what another participant commits.
    pub(crate) fn with(self, beside: Option<&str>) -> Self {
        let Some(beside) = beside else { return self };
        let mut bytes = Vec::new();
        put(&mut bytes, &(self.whole, beside));
        Self { whole: ContentHash::of(&bytes), ..self }
    }
}

fn put(bytes: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(bytes, value).expect("works because memory takes every write");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WorkspacePath;

    /// Work is found by its digest, so any difference between two change sets must change it.
    #[test]
    fn change_sets_that_differ_have_digests_that_differ() {
        let change = |text: &str, executable| {
            let path = WorkspacePath::parse("a").unwrap();
            let kind = ChangeKind::Write { content: text.into(), executable, moved_from: None };
            crate::Change { path, base: None, base_content: None, kind, mode: None }
        };
        let private = |change| crate::Change { mode: Some(0o600), ..change };
        let set = |changes| ChangeSet { changes, reads: Vec::new() }.digest();
        let all = [
            set(vec![]),
            set(vec![change("x", false)]),
            set(vec![change("y", false)]),
            set(vec![change("x", true)]),
            set(vec![private(change("x", false))]),
            set(vec![change("x", false), change("x", false)]),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(all[index + 1..].iter().all(|other| other != one), "{index}");
        }
    }
}
