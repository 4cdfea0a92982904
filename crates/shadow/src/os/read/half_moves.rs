//! Keeps what was removed together with where its content went. Nobody sees where the bytes of a file came from, so
//! where something is removed or emptied and something else is written to paths that are left out, the latter may be
//! the only copy: it becomes part of the change set, or there is none.

use std::collections::{BTreeMap, BTreeSet};

use headstart_overlay_fs::{Change, ChangeKind, Content, ContentHash, EntryKind, Torn};
use headstart_workspace_path::WorkspacePath;

use super::Reader;
use super::below::Base;
use super::left_out::{AsChange, KindAndBits, Purpose, WrittenFile, WrittenFiles};
use crate::{NotStagedReason, ShadowError};

/// How many of the files that are left out may become part of the change set, and their bytes.
const MOST_FILES: usize = 64;
const MOST_BYTES: u64 = 16 << 20;
/// A file of which less than this part is left counts as emptied.
const EMPTIED: usize = 10;

/// For each removed content that git does not have, the files of the change set in which it may be. As long as they are
/// there, it need not be asked again where it went.
pub(in crate::os) type Settled = BTreeMap<WorkspacePath, Vec<Carrier>>;

/// A file or link, and what it holds.
pub(in crate::os) type Carrier = (WorkspacePath, Key);

/// Whether something is a link, and the hash of its content.
type Key = (bool, ContentHash);

/// A content of the workspace that is not at its path any more, nor at another one of the change set.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says another thing of the file, and any of them go together"
)]
struct Lost {
    path: WorkspacePath,
    content: Content,
    is_link: bool,
    /// Whether it was removed or emptied, and not only replaced.
    is_gone: bool,
    /// Whether this was not so before the last command.
    is_new: bool,
    /// Whether git does not have the content for this path.
    is_only_copy: bool,
    /// Where it may be, if an earlier command took it away and that is unchanged.
    settled: Option<Vec<Carrier>>,
}

impl Lost {
    /// Whether it must be asked where the content went.
    fn is_unsafe(&self) -> bool {
        self.is_only_copy && self.settled.is_none()
    }
}

/// The files that are left out, as changes.
#[derive(Default)]
struct Candidates {
    changes: BTreeMap<WorkspacePath, (Option<Base>, KindAndBits)>,
    unchanged: BTreeSet<WorkspacePath>,
    bytes: u64,
}

impl Reader<'_> {
    /// Brings the files that are left out and that belong to what was removed, and names the others.
    pub(super) fn keep_moves_whole(&mut self) -> Result<Settled, ShadowError> {
        let mut roots = std::mem::take(&mut self.left_out);
        roots.sort_by(|one, other| one.path.cmp(&other.path));
        let lost = self.lost();
        let is_searched = lost.iter().any(Lost::is_unsafe);
        let written: Vec<_> = roots.iter().map(|root| self.written_below(root, is_searched)).collect();
        let files: Vec<&WrittenFile> = written.iter().flat_map(|below| &below.files).collect();
        let (wanted, copies) = self.wanted(&files, &lost);
        let others = files.iter().filter(|file| file.purpose != Purpose::Cache);
        // What is wanted comes first, because the others are only read to see whether they have changed.
        let order = wanted.iter().chain(&copies).chain(others);
        let candidates = self.candidates(order)?;
        let missing = wanted.iter().any(|file| !candidates.knows(&file.path));
        let hashes: BTreeSet<_> = lost.iter().map(|lost| lost.content.hash()).collect();
        let of_copies = copies.iter().filter(|file| candidates.has_content(&file.path, &hashes));
        let brought: BTreeSet<_> = wanted.iter().chain(of_copies).map(|file| &file.path).collect();
        let changed = files.iter().map(|file| &file.path);
        let changed: BTreeSet<_> = changed.filter(|path| !candidates.unchanged.contains(path)).collect();
        let mut still: BTreeSet<_> = changed.difference(&brought).copied().collect();
        self.back.torn = if missing {
            still = changed;
            Some(torn(lost.iter().filter(|lost| lost.is_gone), &written, &still, Vec::new()))
        } else {
            self.unexplained(&lost, &candidates, &brought, &written, &still)
        };
        self.back.left_out.extend(written.iter().filter_map(|below| below.row(&still)));
        self.back.left_out.sort_by(|one, other| one.path.cmp(&other.path));
        let Candidates { mut changes, .. } = candidates;
        let brought = brought.into_iter().filter_map(|path| changes.remove_entry(path));
        let brought: Vec<_> = brought.collect();
        if self.back.torn.is_some() {
            return Ok(Settled::new());
        }
        for (path, (base, change)) in brought {
            self.back.brought.push(path.clone());
            self.change(path, base, change)?;
        }
        Ok(self.settled(lost))
    }

    fn settled(&self, lost: Vec<Lost>) -> Settled {
        let is_new = |change: &&Change| {
            let before = self.from.known.get(&change.path);
            change.base.is_none() || before.is_none_or(|before| before.kind != change.kind)
        };
        let carriers = carriers(self.changes.values().filter(is_new));
        let only_copies = lost.into_iter().filter(|lost| lost.is_only_copy);
        only_copies.map(|lost| (lost.path, lost.settled.unwrap_or_else(|| carriers.clone()))).collect()
    }

    /// Which of these files have to come along with what was removed, and which of them do if they are copies of it.
    fn wanted<'f>(
        &self,
        files: &[&'f WrittenFile],
        lost: &[Lost],
    ) -> (Vec<&'f WrittenFile>, Vec<&'f WrittenFile>) {
        let is_unsafe = lost.iter().any(Lost::is_unsafe);
        let has_new = lost.iter().any(|lost| lost.is_gone && lost.is_new);
        let is_wanted = |file: &WrittenFile| {
            file.purpose == Purpose::Unknown && (is_unsafe || has_new && self.from.ran_at <= file.changed)
        };
        let is_copy = |file: &WrittenFile| {
            let mut long_as =
                lost.iter().filter(|lost| lost.content.len() as u64 == file.len && 0 < file.len);
            long_as.any(|lost| match file.purpose {
                Purpose::Unknown => true,
                Purpose::BuildOutput => lost.is_gone,
                Purpose::Cache => lost.is_unsafe(),
            })
        };
        let wanted: Vec<_> = files.iter().copied().filter(|file| is_wanted(file)).collect();
        let copies = files.iter().copied().filter(|file| !is_wanted(file) && is_copy(file)).collect();
        (wanted, copies)
    }

    /// Reads these files, the first ones up to the limits.
    fn candidates<'f>(
        &self,
        files: impl Iterator<Item = &'f &'f WrittenFile>,
    ) -> Result<Candidates, ShadowError> {
        let mut candidates = Candidates::default();
        for file in files {
            let room = MOST_BYTES - candidates.bytes;
            if room < file.len || MOST_FILES <= candidates.changes.len() || candidates.knows(&file.path) {
                continue;
            }
            match self.as_change(file, room)? {
                AsChange::Impossible => {}
                AsChange::Unchanged => drop(candidates.unchanged.insert(file.path.clone())),
                AsChange::Change(base, change) => {
                    candidates.bytes += size(&change.0);
                    candidates.changes.insert(file.path.clone(), (base, change));
                }
            }
        }
        Ok(candidates)
    }

    /// Contents that git does not have, and that may have gone to a place which no change set reaches.
    fn unexplained(
        &self,
        lost: &[Lost],
        candidates: &Candidates,
        brought: &BTreeSet<&WorkspacePath>,
        written: &[WrittenFiles],
        still: &BTreeSet<&WorkspacePath>,
    ) -> Option<Torn> {
        let kinds =
            brought.iter().filter_map(|path| candidates.changes.get(*path)).map(|(_, (kind, _))| kind);
        let copied: BTreeSet<_> = kinds.filter_map(key).collect();
        let lost: Vec<_> =
            lost.iter().filter(|lost| lost.is_unsafe() && !copied.contains(&lost.key())).collect();
        if lost.is_empty() {
            return None;
        }
        let lengths = lost.iter().map(|lost| lost.content.len() as u64).collect();
        let not_staged =
            self.back.not_staged.iter().filter(|left| {
                matches!(left.why, NotStagedReason::Unreadable | NotStagedReason::LinkLeadsOut)
            });
        let mut elsewhere: Vec<_> = not_staged.map(|left| left.path.to_string()).collect();
        elsewhere.extend((self.from.forgotten)(&lengths));
        let torn = torn(lost.into_iter(), written, still, elsewhere);
        (!torn.written.is_empty()).then_some(torn)
    }

    /// The contents that are not in the workspace any more.
    fn lost(&mut self) -> Vec<Lost> {
        let kept: BTreeSet<_> = self.changes.values().filter_map(|change| key(&change.kind)).collect();
        let moved = self.changes.values().filter_map(|change| change.base_content.as_ref());
        let moved: BTreeSet<_> = moved.map(Content::hash).collect();
        let mut lost = Vec::new();
        for change in self.changes.values() {
            let (Some(base), Some(content)) = (&change.base, &change.base_content) else { continue };
            let before = self.from.known.get(&change.path);
            let is_new = before.is_none_or(|before| before.kind != change.kind);
            let is_link = base.kind == EntryKind::Symlink;
            if kept.contains(&(is_link, content.hash())) {
                continue;
            }
            let is_gone = is_gone(change, content, &moved);
            let is_only_copy =
                is_gone && !content.is_empty() && !self.output.tracked().has_content(&change.path, content);
            let settled = self.settled_before(&change.path, is_new, &kept);
            let (path, content) = (change.path.clone(), content.clone());
            lost.push(Lost { path, content, is_link, is_gone, is_new, is_only_copy, settled });
        }
        lost
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

    /// Whether a file of the change set is still there with another content, which neither came from another file nor
    /// is next to nothing.
    fn is_only_edited(&self, path: &WorkspacePath) -> bool {
        let content = |change: &Change| match &change.kind {
            ChangeKind::Write { content, .. } => Some(content.clone()),
            _ => None,
        };
        let before = self.from.known.get(path).and_then(content);
        let Some((now, before)) = self.changes.get(path).and_then(content).zip(before) else { return false };
        let mut others = self.from.known.values().filter(|change| change.path != *path);
        before.len() <= now.len() * EMPTIED && !others.any(|change| content(change).as_ref() == Some(&now))
    }
}

impl Candidates {
    fn knows(&self, path: &WorkspacePath) -> bool {
        self.changes.contains_key(path) || self.unchanged.contains(path)
    }

    fn has_content(&self, path: &WorkspacePath, hashes: &BTreeSet<ContentHash>) -> bool {
        let change = self.changes.get(path);
        change.and_then(|(_, (kind, _))| key(kind)).is_some_and(|(_, hash)| hashes.contains(&hash))
    }
}

impl Lost {
    fn key(&self) -> Key {
        (self.is_link, self.content.hash())
    }
}

/// Notes that what differs between these changes did not take a content anywhere else.
pub(in crate::os) fn settle(
    settled: &mut Settled,
    before: &BTreeMap<WorkspacePath, Change>,
    now: &BTreeMap<WorkspacePath, Change>,
) {
    let carriers: Vec<_> = carriers(now.values().filter(|change| change.base.is_none()));
    let changed =
        now.values().filter(|change| before.get(&change.path).map(|was| &was.kind) != Some(&change.kind));
    for change in changed {
        settled.entry(change.path.clone()).or_insert_with(|| carriers.clone());
    }
}

fn carriers<'c>(changes: impl Iterator<Item = &'c Change>) -> Vec<Carrier> {
    changes.filter_map(|change| Some((change.path.clone(), key(&change.kind)?))).collect()
}

/// Whether a change leaves nothing, or next to nothing, of what was there. `moved` has the contents that were at the
/// changed paths before: one of them in place of another means that the other was replaced as a whole.
fn is_gone(change: &Change, before: &Content, moved: &BTreeSet<ContentHash>) -> bool {
    match &change.kind {
        ChangeKind::Write { content, .. } => {
            let is_another = content.hash() != before.hash() && moved.contains(&content.hash());
            is_another || content.len() * EMPTIED < before.len()
        }
        ChangeKind::Link { .. } | ChangeKind::CreateDirectory | ChangeKind::Delete => true,
    }
}

/// What a change puts in place: whether it is a link, and its content.
fn key(kind: &ChangeKind) -> Option<Key> {
    match kind {
        ChangeKind::Write { content, .. } => Some((false, content.hash())),
        ChangeKind::Link { target, .. } => Some((true, ContentHash::of(target))),
        ChangeKind::CreateDirectory | ChangeKind::Delete => None,
    }
}

fn size(kind: &ChangeKind) -> u64 {
    match kind {
        ChangeKind::Write { content, .. } => content.len() as u64,
        ChangeKind::Link { target, .. } => target.len() as u64,
        ChangeKind::CreateDirectory | ChangeKind::Delete => 0,
    }
}

fn torn<'l>(
    lost: impl Iterator<Item = &'l Lost>,
    written: &[WrittenFiles],
    still: &BTreeSet<&WorkspacePath>,
    elsewhere: Vec<String>,
) -> Torn {
    let in_workspace = written.iter().filter_map(|below| {
        let row = below.row(still).filter(|row| 0 < row.written || row.more)?;
        Some(format!("{}{}", row.path, if row.folder { "/" } else { "" }))
    });
    let removed = lost.map(|lost| lost.path.clone()).collect();
    Torn { removed, written: in_workspace.chain(elsewhere).collect() }
}
