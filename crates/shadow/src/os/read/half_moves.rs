//! Keeps what was removed together with where its content went. Nobody sees where the bytes of a file came from, so
//! where something is removed or emptied and something else is written to paths that are left out, the latter may be
//! the only copy: it becomes part of the change set, or there is none.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd as _;

use headstart_overlay_fs::{Change, ChangeKind, KeepObstacle, LeftOut, MOST_KEPT, Torn};
use headstart_workspace_path::WorkspacePath;

use super::below::Base;
use super::left_out::{AsChange, KindAndBits, Purpose, WrittenFile, WrittenFiles, open_parent};
use super::lost::{Carrier, Key, Lost, Settled, key};
use super::{Reader, kind_of};
use crate::{NotStagedReason, ShadowError, TakenAway};

/// How many files, and how many bytes of them, are read.
#[derive(Clone, Copy)]
struct Room {
    files: usize,
    bytes: u64,
}

/// Of the files that are left out, so many may become part of the change set without a word of the user's.
const BROUGHT: Room = Room { files: 64, bytes: 16 << 20 };
/// So many the user can have besides.
const KEPT: Room = Room { files: MOST_KEPT.0, bytes: MOST_KEPT.1 };

impl Room {
    /// Whether all of these files can be read.
    fn holds(self, files: &[WrittenFile]) -> bool {
        files.len() <= self.files && bytes(files.iter()) <= self.bytes
    }
}

/// Files that are left out, as changes.
pub(super) type Changes = BTreeMap<WorkspacePath, (Option<Base>, KindAndBits)>;

/// Those that were read, up to the limits.
#[derive(Default)]
struct Candidates {
    changes: Changes,
    unchanged: BTreeSet<WorkspacePath>,
    impossible: BTreeSet<WorkspacePath>,
    bytes: u64,
}

/// What becomes part of the change set with what was taken away.
struct Brought {
    changes: Changes,
    /// What of it is exactly what was taken away.
    copied: BTreeSet<Key>,
    /// The files that are not as they are on disk, and stay left out.
    still: BTreeSet<WorkspacePath>,
    /// Whether something belongs to what was removed and cannot be brought.
    is_half: bool,
    /// The others that were read.
    others: Candidates,
}

impl Reader<'_> {
    /// Brings the files that are left out and that belong to what was removed, and names the others.
    pub(super) fn keep_moves_whole(&mut self) -> Result<Settled, ShadowError> {
        let mut roots = std::mem::take(&mut self.left_out);
        roots.sort_by(|one, other| one.path.cmp(&other.path));
        let mut lost = self.lost();
        let (written, brought) = loop {
            let is_searched = lost.iter().any(Lost::is_unsafe);
            let written: Vec<_> = roots.iter().map(|root| self.written_below(root, is_searched)).collect();
            let brought = self.brought(&lost, &written)?;
            // What comes along takes away what is in its place on disk.
            let more = self.lost_to(&brought.changes, &lost);
            if more.is_empty() {
                break (written, brought);
            }
            lost.extend(more);
        };
        let closed = self.written_where_hidden();
        self.back.torn = if brought.is_half || !closed.is_empty() {
            Some(torn(lost.iter().filter(|lost| lost.is_gone), &written, &brought.still, closed))
        } else {
            self.unexplained(&lost, &brought, &written)
        };
        self.name_left_out(&lost, &written, &brought)?;
        if self.back.torn.is_some() {
            return Ok(Settled::new());
        }
        let is_nowhere =
            |lost: &&Lost| lost.is_gone && lost.is_taken_away() && !brought.copied.contains(&lost.key());
        let taken_away = |lost: &Lost| TakenAway {
            path: lost.path.clone(),
            len: lost.content.len() as u64,
            is_settled: !lost.is_unsettled(),
        };
        self.back.taken_away = lost.iter().filter(is_nowhere).map(taken_away).collect();
        for (path, (base, change)) in brought.changes {
            self.back.brought.push(path.clone());
            self.change(path, base, change)?;
        }
        Ok(self.settled(lost))
    }

    /// The hidden paths at which something is now. It was written by the last command, and is removed before the next one.
    fn written_where_hidden(&self) -> Vec<String> {
        let is_there = |path: &&WorkspacePath| {
            let folder = open_parent(self.from.view, path).zip(path.file_name());
            folder.is_some_and(|(folder, name)| kind_of(folder.as_fd(), name).is_some())
        };
        self.from.hidden.iter().filter(is_there).map(ToString::to_string).collect()
    }

    fn brought<'w>(&self, lost: &[Lost], written: &'w [WrittenFiles]) -> Result<Brought, ShadowError> {
        // Places of which all can be read come first, so that a large one does not take their room.
        let mut places: Vec<_> = written.iter().collect();
        places.sort_by_key(|below| [BROUGHT, KEPT].iter().filter(|room| !room.holds(&below.files)).count());
        let files: Vec<&WrittenFile> = places.iter().flat_map(|below| &below.files).collect();
        let mut changes = self.copies(&files, lost)?;
        let wanted = self.wanted(&files, lost, &changes);
        let is_other =
            |file: &&&WrittenFile| file.purpose != Purpose::Cache && !changes.contains_key(&file.path);
        let of =
            |places: &[&'w WrittenFiles]| places.iter().flat_map(|below| &below.files).collect::<Vec<_>>();
        let (kept, large) = places.split_at(places.partition_point(|below| KEPT.holds(&below.files)));
        let (kept, large) = (of(kept), of(large));
        // What is wanted comes first, because the others are only read to see whether they have changed.
        let mut candidates = Candidates::default();
        self.read_candidates(&mut candidates, wanted.iter(), BROUGHT)?;
        let is_missing = wanted.iter().any(|file| !candidates.knows(&file.path));
        self.read_candidates(&mut candidates, kept.iter().filter(is_other), KEPT)?;
        self.read_candidates(&mut candidates, large.iter().filter(is_other), BROUGHT)?;
        let paths = files.iter().map(|file| &file.path);
        let mut still: BTreeSet<_> =
            paths.filter(|path| !candidates.unchanged.contains(path)).cloned().collect();
        let copied = changes.values().filter_map(|(_, (kind, _))| key(kind)).collect();
        let is_half = is_missing && lost.iter().any(|lost| lost.is_unsafe() || lost.is_new_removal());
        if is_half {
            changes.clear();
        } else if !is_missing {
            let wanted = wanted.iter().filter_map(|file| candidates.changes.remove_entry(&file.path));
            changes.extend(wanted);
        }
        still.retain(|path| !changes.contains_key(path));
        Ok(Brought { changes, copied, still, is_half, others: candidates })
    }

    /// Names what is left out. Where something was taken away, a copy may be at places that otherwise nobody wants to
    /// hear of: in caches, and in folders that end with the view.
    fn name_left_out(
        &mut self,
        lost: &[Lost],
        written: &[WrittenFiles],
        brought: &Brought,
    ) -> Result<(), ShadowError> {
        let gone = lost.iter().filter(|lost| lost.is_missed() && !brought.copied.contains(&lost.key()));
        let lengths: BTreeSet<_> = gone.map(|lost| lost.content.len() as u64).collect();
        for below in written {
            let Some(row) = below.row(&brought.still) else { continue };
            let obstacle = match self.keepable(below, brought)? {
                Ok(changes) => {
                    self.back.keepable.extend(changes);
                    None
                }
                Err(obstacle) => Some(obstacle),
            };
            let cache = row.cache && lengths.is_empty();
            self.back.left_out.push(LeftOut { cache, obstacle, ..row });
        }
        if !lengths.is_empty() {
            let elsewhere = (self.from.forgotten)(&lengths).into_iter();
            self.back.left_out.extend(elsewhere.map(LeftOut::outside));
        }
        self.back.left_out.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(())
    }

    /// What brings all that was written below such a path, or why that is not possible.
    fn keepable(
        &mut self,
        below: &WrittenFiles,
        brought: &Brought,
    ) -> Result<Result<Vec<Change>, KeepObstacle>, ShadowError> {
        let files: Vec<_> = below.still(&brought.still).collect();
        if files.iter().any(|file| file.purpose == Purpose::Cache) {
            return Ok(Err(KeepObstacle::Cache));
        }
        let mut changes = Vec::new();
        for file in &files {
            let Some((base, (kind, mode))) = brought.others.changes.get(&file.path) else {
                let is_unfit = brought.others.impossible.contains(&file.path);
                let too_much = KeepObstacle::TooMuch { bytes: bytes(files.iter().copied()) };
                return Ok(Err(if is_unfit { KeepObstacle::Unfit } else { too_much }));
            };
            if self.below.changed_meanwhile(&file.path, base.as_ref())? {
                return Ok(Err(KeepObstacle::Changed));
            }
            let (base, base_content) =
                base.as_ref().map(|base| (base.fingerprint.clone(), base.content.clone())).unzip();
            changes.push(Change {
                path: file.path.clone(),
                base,
                base_content: base_content.flatten(),
                kind: kind.clone(),
                mode: *mode,
            });
        }
        let is_whole = below.is_whole || files.is_empty();
        Ok(if is_whole {
            Ok(changes)
        } else {
            Err(KeepObstacle::TooMuch { bytes: bytes(files.into_iter()) })
        })
    }

    fn settled(&self, lost: Vec<Lost>) -> Settled {
        let is_new = |change: &&Change| {
            let before = self.from.known.get(&change.path);
            change.base.is_none() || before.is_none_or(|before| before.kind != change.kind)
        };
        let carriers = carriers(self.changes.values().filter(is_new));
        let only_copies = lost.into_iter().filter(Lost::is_taken_away);
        only_copies.map(|lost| (lost.path, lost.settled.unwrap_or_else(|| carriers.clone()))).collect()
    }

    /// The files that are exactly what was taken away. They are as many as that is, so no limit of their own holds.
    fn copies(&self, files: &[&WrittenFile], lost: &[Lost]) -> Result<Changes, ShadowError> {
        let mut copies = Changes::new();
        let mut room = self.rules.quota.bytes;
        for file in files.iter().filter(|file| file.len <= self.rules.quota.file_bytes) {
            let alike: Vec<_> = lost.iter().filter(|lost| lost.may_be(file)).map(Lost::key).collect();
            if alike.is_empty() || room < file.len {
                continue;
            }
            room -= file.len;
            if let AsChange::Change(base, change) = self.as_change(file, file.len)?
                && key(&change.0).is_some_and(|key| alike.contains(&key))
            {
                copies.insert(file.path.clone(), (base, change));
            }
        }
        Ok(copies)
    }

    /// Which of the other files have to come along with what was taken away, because it may be in them.
    fn wanted<'f>(&self, files: &[&'f WrittenFile], lost: &[Lost], copies: &Changes) -> Vec<&'f WrittenFile> {
        let is_unsettled = lost.iter().any(Lost::is_unsettled);
        let has_new = lost.iter().any(|lost| lost.is_new_removal() || lost.is_new_replacement());
        let is_wanted = |file: &WrittenFile| {
            file.purpose == Purpose::Unknown
                && !copies.contains_key(&file.path)
                && (is_unsettled || has_new && self.from.ran_at <= file.changed)
        };
        files.iter().copied().filter(|file| is_wanted(file)).collect()
    }

    /// Reads these files, the first ones for which there is room.
    fn read_candidates<'f>(
        &self,
        candidates: &mut Candidates,
        files: impl Iterator<Item = &'f &'f WrittenFile>,
        most: Room,
    ) -> Result<(), ShadowError> {
        for file in files {
            let room = most.bytes.saturating_sub(candidates.bytes);
            if room < file.len || most.files <= candidates.changes.len() || candidates.knows(&file.path) {
                continue;
            }
            match self.as_change(file, room)? {
                AsChange::Impossible => drop(candidates.impossible.insert(file.path.clone())),
                AsChange::Unchanged => drop(candidates.unchanged.insert(file.path.clone())),
                AsChange::Change(base, change) => {
                    candidates.bytes += size(&change.0);
                    candidates.changes.insert(file.path.clone(), (base, change));
                }
            }
        }
        Ok(())
    }

    /// Contents that git does not have, and that may have gone to a place which no change set reaches.
    fn unexplained(&self, lost: &[Lost], brought: &Brought, written: &[WrittenFiles]) -> Option<Torn> {
        let lost: Vec<_> =
            lost.iter().filter(|lost| lost.is_unsafe() && !brought.copied.contains(&lost.key())).collect();
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
        let torn = torn(lost.into_iter(), written, &brought.still, elsewhere);
        (!torn.written.is_empty()).then_some(torn)
    }
}

impl Candidates {
    fn knows(&self, path: &WorkspacePath) -> bool {
        self.changes.contains_key(path) || self.unchanged.contains(path)
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

pub(super) fn carriers<'c>(changes: impl Iterator<Item = &'c Change>) -> Vec<Carrier> {
    changes.filter_map(|change| Some((change.path.clone(), key(&change.kind)?))).collect()
}

fn bytes<'f>(files: impl Iterator<Item = &'f WrittenFile>) -> u64 {
    files.map(|file| file.len).sum()
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
    still: &BTreeSet<WorkspacePath>,
    elsewhere: Vec<String>,
) -> Torn {
    let in_workspace = written.iter().filter_map(|below| {
        let row = below.row(still).filter(|row| 0 < row.written || row.more)?;
        Some(format!("{}{}", row.path, if row.folder { "/" } else { "" }))
    });
    let removed = lost.map(|lost| lost.path.clone()).collect();
    Torn { removed, written: in_workspace.chain(elsewhere).collect() }
}
