//! What is taken away: contents that were in the workspace, or staged, and are at no path of the change set.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use headstart_overlay_fs::{Change, ChangeKind, Content, ContentHash, EntryKind};
use headstart_workspace_path::WorkspacePath;

use super::Reader;
use super::half_moves::{Changes, carriers};
use super::left_out::{Purpose, WrittenFile};

/// A file of which less than this part is left counts as emptied.
const EMPTIED: usize = 10;

/// For each removed content that git does not have, the files of the change set in which it may be. As long as they are
/// there, it need not be asked again where it went.
pub(in crate::os) type Settled = BTreeMap<WorkspacePath, Vec<Carrier>>;

/// A file or link, and what it holds.
pub(in crate::os) type Carrier = (WorkspacePath, Key);

/// Whether something is a link, and the hash of its content.
pub(super) type Key = (bool, ContentHash);

/// A content that is not at its path any more, nor at another one of the change set.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says another thing of the file, and any of them go together"
)]
pub(super) struct Lost {
    pub(super) path: WorkspacePath,
    pub(super) content: Content,
    is_link: bool,
    /// Whether only the work had it: it was staged, and is not on disk.
    pub(super) is_staged: bool,
    /// Whether it was removed or emptied, and not only overwritten.
    pub(super) is_gone: bool,
    /// Whether it was overwritten with something else, and not only edited.
    is_replaced: bool,
    /// Whether this was not so before the last command.
    is_new: bool,
    /// Whether it is on disk, and git does not have it for this path.
    is_only_copy: bool,
    /// Where it may be, if an earlier command took it away and that is unchanged.
    pub(super) settled: Option<Vec<Carrier>>,
}

impl Lost {
    pub(super) fn key(&self) -> Key {
        (self.is_link, self.content.hash())
    }

    /// Whether the only copy was taken away, and it is not known where it went.
    pub(super) fn is_unsettled(&self) -> bool {
        self.is_taken_away() && self.settled.is_none()
    }

    /// Whether that must not be done alone. What is only overwritten may be: an accept keeps it for the undo.
    pub(super) fn is_unsafe(&self) -> bool {
        self.is_gone && self.is_unsettled()
    }

    pub(super) fn is_taken_away(&self) -> bool {
        self.is_only_copy && (self.is_gone || self.is_replaced)
    }

    /// Whether people look for a copy of it.
    pub(super) fn is_missed(&self) -> bool {
        self.is_gone || self.is_taken_away()
    }

    /// Whether the last command removed something of the workspace.
    pub(super) fn is_new_removal(&self) -> bool {
        self.is_gone && self.is_new && !self.is_staged
    }

    /// Whether the last command overwrote the only copy, or removed what never was on disk.
    pub(super) fn is_new_replacement(&self) -> bool {
        self.is_new && if self.is_staged { self.is_gone } else { self.is_only_copy }
    }

    /// Whether a file that is left out may be a copy of it and has to come along then.
    pub(super) fn may_be(&self, file: &WrittenFile) -> bool {
        let is_alike = self.content.len() as u64 == file.len
            // Empty files are alike by their names, for a folder that moves does so with all that is in it.
            && (0 < file.len || self.is_gone && self.path.file_name() == file.path.file_name());
        is_alike
            && match file.purpose {
                Purpose::Unknown => true,
                Purpose::BuildOutput => self.is_gone || self.is_only_copy,
                Purpose::Cache => self.is_only_copy || self.is_gone && self.is_staged,
            }
    }
}

/// Contents by their hashes.
struct There {
    /// Those that are at some path of the change set.
    kept: BTreeSet<Key>,
    /// Those that were at the changed paths before.
    moved: BTreeSet<ContentHash>,
}

impl There {
    /// From what changes do, and what was there before them.
    fn of<'c>(changes: impl Iterator<Item = (&'c ChangeKind, Option<&'c Content>)>) -> Self {
        let (mut kept, mut moved) = (BTreeSet::new(), BTreeSet::new());
        for (kind, before) in changes {
            kept.extend(key(kind));
            moved.extend(before.map(Content::hash));
        }
        Self { kept, moved }
    }
}

impl Reader<'_> {
    /// The contents that are not in the workspace any more.
    pub(super) fn lost(&mut self) -> Vec<Lost> {
        let changes = self.changes.clone();
        let there = There::of(changes.values().map(|change| (&change.kind, change.base_content.as_ref())));
        let mut lost = Vec::new();
        for change in changes.values() {
            let (Some(base), Some(content)) = (&change.base, &change.base_content) else { continue };
            let before = self.from.known.get(&change.path);
            let is_new = before.is_none_or(|before| before.kind != change.kind);
            let is_link = base.kind == EntryKind::Symlink;
            if !there.kept.contains(&(is_link, content.hash())) {
                let settled = self.settled_before(&change.path, is_new, &there.kept);
                let at = self.lost_at(&change.path, (is_link, content), &change.kind, &there);
                lost.push(Lost { is_new, settled, ..at });
            }
        }
        lost.extend(self.lost_of_the_work(&there));
        lost
    }

    /// The contents that are on disk in the place of what comes along, and at no path of the change set then.
    pub(super) fn lost_to(&mut self, brought: &Changes, lost: &[Lost]) -> Vec<Lost> {
        let changes = self.changes.values().map(|change| (&change.kind, change.base_content.as_ref()));
        let bases = brought
            .values()
            .map(|(base, (kind, _))| (kind, base.as_ref().and_then(|base| base.content.as_ref())));
        let there = There::of(changes.chain(bases));
        let mut replaced = Vec::new();
        for (path, (base, (kind, _))) in brought {
            let Some((base, content)) = base.as_ref().and_then(|base| Some((base, base.content.as_ref()?)))
            else {
                continue;
            };
            let is_link = base.kind() == EntryKind::Symlink;
            let is_known = lost.iter().any(|lost| lost.path == *path && !lost.is_staged);
            if !is_known && !there.kept.contains(&(is_link, content.hash())) {
                replaced.push(self.lost_at(path, (is_link, content), kind, &there));
            }
        }
        replaced
    }

    /// A content that the last command took away from the disk.
    fn lost_at(
        &mut self,
        path: &WorkspacePath,
        (is_link, content): (bool, &Content),
        now: &ChangeKind,
        there: &There,
    ) -> Lost {
        let is_only_copy = !content.is_empty() && !self.output.tracked().has_content(path, content);
        Lost {
            path: path.clone(),
            content: content.clone(),
            is_link,
            is_staged: false,
            is_gone: is_gone(now, content, &there.moved),
            is_replaced: is_only_copy && !keeps_half(now, content),
            is_new: true,
            is_only_copy,
            settled: None,
        }
    }

    /// The contents that were staged before the last command and are nowhere in the change set now.
    fn lost_of_the_work(&self, there: &There) -> impl Iterator<Item = Lost> {
        self.from.known.values().filter_map(|was| {
            let (content, is_link) = match &was.kind {
                ChangeKind::Write { content, .. } => (content.clone(), false),
                ChangeKind::Link { target, .. } => (target.clone().into(), true),
                ChangeKind::CreateDirectory | ChangeKind::Delete => return None,
            };
            if there.kept.contains(&(is_link, content.hash())) || was.base_content.as_ref() == Some(&content)
            {
                return None;
            }
            let is_gone =
                self.changes.get(&was.path).is_none_or(|now| is_gone(&now.kind, &content, &there.moved));
            Some(Lost {
                path: was.path.clone(),
                content,
                is_link,
                is_staged: true,
                is_gone,
                is_replaced: false,
                is_new: true,
                is_only_copy: false,
                settled: None,
            })
        })
    }

    /// Where the content of a path may be, if an earlier command took it away and that is still there.
    fn settled_before(
        &self,
        path: &WorkspacePath,
        is_new: bool,
        kept: &BTreeSet<Key>,
    ) -> Option<Vec<Carrier>> {
        let carriers = match self.from.settled {
            Some(settled) => settled.get(path)?.clone(),
            // What was shown in a new view was settled in an earlier one, if anything was written there.
            None if is_new => return None,
            None => carriers(self.from.known.values().filter(|change| change.base.is_none())),
        };
        carriers.iter().all(|(path, was)| kept.contains(was) || self.is_only_edited(path)).then_some(carriers)
    }

    /// Whether a file of the change set is still there with most of what it held, and not with what came from another
    /// file.
    fn is_only_edited(&self, path: &WorkspacePath) -> bool {
        let before = self.from.known.get(path).and_then(content);
        let Some((now, before)) = self.changes.get(path).zip(before) else { return false };
        let mut others = self.from.known.values().filter(|change| change.path != *path);
        keeps_half(&now.kind, before) && !others.any(|change| content(change) == content(now))
    }
}

/// The content that a change writes.
fn content(change: &Change) -> Option<&Content> {
    match &change.kind {
        ChangeKind::Write { content, .. } => Some(content),
        _ => None,
    }
}

/// Whether a change leaves nothing, or next to nothing, of what was there. `moved` has the contents that were at the
/// changed paths before: one of them in place of another means that the other was replaced as a whole.
fn is_gone(now: &ChangeKind, before: &Content, moved: &BTreeSet<ContentHash>) -> bool {
    match now {
        ChangeKind::Write { content, .. } => {
            let is_another = content.hash() != before.hash() && moved.contains(&content.hash());
            is_another || content.len() * EMPTIED < before.len()
        }
        ChangeKind::Link { .. } | ChangeKind::CreateDirectory | ChangeKind::Delete => true,
    }
}

/// Whether half of the words that were there are still there. A formatter leaves them, and so does an edit.
fn keeps_half(now: &ChangeKind, before: &[u8]) -> bool {
    let ChangeKind::Write { content, .. } = now else { return false };
    let is_between = |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric();
    let now: HashSet<_> = content.split(is_between).collect();
    let (kept, all) = before.split(is_between).fold((0, 0), |(kept, all), word| {
        (if now.contains(word) { kept + word.len() } else { kept }, all + word.len())
    });
    all <= kept * 2
}

/// What a change puts in place: whether it is a link, and its content.
pub(super) fn key(kind: &ChangeKind) -> Option<Key> {
    match kind {
        ChangeKind::Write { content, .. } => Some((false, content.hash())),
        ChangeKind::Link { target, .. } => Some((true, ContentHash::of(target))),
        ChangeKind::CreateDirectory | ChangeKind::Delete => None,
    }
}
