//! Brings what a view left out, by moving its files. Nobody reads them: what the system says about a file tells whether
//! it is the one that was moved, and whether the user's file at its place is the one that the view showed.

use std::io;
use std::path::Path;

use cap_fs_ext::DirExt as _;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use headstart_workspace_path::WorkspacePath;

use super::apply::Applied;
use super::commit_failure::CommitFailure;
use super::folders::Folders;
use super::lock::CommitLock;
use super::stage;
use crate::os::disk::calls::{self, Location, Stat};
use crate::os::disk::marks;
use crate::os::disk::names::names_in;
use crate::os::disk::seen::{FileState, look_if_there, place};
use crate::os::disk::system::{Errno, os_name};
use crate::os::staging::journal::{Action, InTurn, Journal, Step};
use crate::os::staging::{Phase, Staging};
use crate::os::{OsTree, metadata_of};
use crate::walk::link_target;
use crate::{ContentHash, EntryKind, HeldOutput, KeepObstacle, TreeError};

/// Deeper folders are not looked through.
const DEEPEST: usize = 200;
/// The bits that a file may bring along: those for everybody.
const ORDINARY_BITS: u32 = 0o777;

/// What the journal says besides the steps.
#[derive(Clone, Copy)]
struct Belongs {
    name: ContentHash,
    /// The commit to which it belongs.
    after: Option<ContentHash>,
    in_turn: Option<InTurn>,
}

/// Why nothing of it is brought.
enum Stop {
    Obstacle(KeepObstacle),
    Failure(CommitFailure),
}

impl From<CommitFailure> for Stop {
    fn from(failure: CommitFailure) -> Self {
        Self::Failure(failure)
    }
}

impl From<KeepObstacle> for Stop {
    fn from(obstacle: KeepObstacle) -> Self {
        Self::Obstacle(obstacle)
    }
}

impl OsTree {
    /// As [`Workspace::bring`](crate::Workspace::bring). It is a commit of its own: the files get a second name in a staging
    /// folder, a journal says what is about to be done, and each is moved from there. So a process that dies in the middle
    /// leaves the held files as they are, and the next one takes the steps back.
    pub(super) fn bring_output(
        &self,
        output: &HeldOutput,
        (after, turn): (Option<ContentHash>, Option<ContentHash>),
        allows: &(dyn for<'p> Fn(&'p WorkspacePath) -> bool + Sync),
    ) -> Result<Option<KeepObstacle>, TreeError> {
        let name = output.digest();
        let _lock = CommitLock::take(&self.root)?;
        let last = self.recover()?;
        self.note_clean(last);
        if self.holds(name)? {
            return Ok(None);
        }
        let Some(home) = self.homes.outside() else { return Ok(Some(KeepObstacle::Outside)) };
        let staging = Staging::create(&home, name).map_err(|error| super::commit_failure::at_root(&error))?;
        let tried = steps_of_earlier(output);
        let mut plan = Plan {
            tree: self,
            staging: &staging,
            output,
            allows,
            // What an attempt took back has other times than before, so there the steps are compared.
            since: if tried.is_some() { i64::MAX } else { output.since },
            steps: Vec::new(),
            replaced: 0,
            number: 0,
        };
        let planned = plan.whole();
        let (steps, replaced) = (plan.steps, plan.replaced);
        let planned = planned.and_then(|()| match &tried {
            _ if steps.is_empty() => Err(KeepObstacle::Gone.into()),
            Some(tried) if !are_same(&steps, tried) => Err(KeepObstacle::Changed.into()),
            _ => Ok(()),
        });
        if planned.is_err() {
            let _ = staging.remove(false);
        }
        // Without another commit it is one of the turn's own.
        let in_turn = turn.filter(|_| after.is_none()).map(|turn| self.next_place(turn));
        let belongs = Belongs { name, after, in_turn };
        match planned.and_then(|()| self.carry_out(&staging, output, belongs, (steps, last))) {
            Ok(()) => {
                if in_turn.is_some() {
                    self.known().in_turn = in_turn;
                }
                self.keep_brought(staging, replaced);
                release(output);
            }
            Err(Stop::Obstacle(obstacle)) => return Ok(Some(obstacle)),
            Err(Stop::Failure(CommitFailure::Conflict(_))) => return Ok(Some(KeepObstacle::Changed)),
            Err(Stop::Failure(CommitFailure::Error(error))) => return Err(error),
        }
        Ok(None)
    }

    fn carry_out(
        &self,
        staging: &Staging,
        output: &HeldOutput,
        belongs: Belongs,
        (steps, last): (Vec<Step>, calls::Time),
    ) -> Result<(), Stop> {
        self.known().last = None;
        let begun = self.begin_bringing(staging, output, belongs, (steps, last));
        let (journal, begun) = begun.inspect_err(|_| drop(staging.remove(false)))?;
        let mut applied = Applied::new(&self.root, staging);
        let outcome = applied.apply(&journal.steps).and_then(|()| {
            if self.is_full() {
                applied.sync(&journal.steps)?;
            }
            staging.end(Phase::Applying, Phase::Committed, self.is_full()).map_err(CommitFailure::at_root)
        });
        if let Err(failure) = outcome {
            return Err(Stop::Failure(match applied.roll_back(&journal.steps, self.is_full()) {
                Ok(kept) => self.end_rollback(staging, &kept, failure),
                Err(error) => super::commit_failure::not_taken_back(failure, &error),
            }));
        }
        self.note_clean(begun);
        Ok(())
    }

    fn begin_bringing(
        &self,
        staging: &Staging,
        output: &HeldOutput,
        belongs: Belongs,
        (steps, last): (Vec<Step>, calls::Time),
    ) -> Result<(Journal, calls::Time), CommitFailure> {
        if self.is_full() {
            // What overlayfs wrote for a view is on no medium yet.
            match calls::sync_file_system(&staging.folder) {
                Err(Errno::NOSYS) => {}
                synced => synced.map_err(CommitFailure::at_root)?,
            }
        }
        let identity = staging.identity().map_err(CommitFailure::at_root)?.to_owned();
        let journal = Journal::new(belongs.name, identity, steps);
        let journal = journal.with_after(belongs.after).with_turn(belongs.in_turn);
        note_steps(output, &journal);
        let begun =
            staging.begin(Phase::Applying, &journal, last, self.is_full()).map_err(CommitFailure::at_root)?;
        Ok((journal, begun))
    }

    /// Keeps what was replaced for an undo. More than half of the room would push out the accept itself, so then only the
    /// note stays, by which an undo says that it leaves this as it is.
    fn keep_brought(&self, mut staging: Staging, replaced: u64) {
        staging.release();
        if self.options.undo.accepts == 0 {
            let _ = staging.remove(false);
        } else if self.options.undo.bytes / 2 < replaced {
            let _ = staging.remove_content();
        } else {
            self.keep_one_more(&staging.name, replaced);
        }
    }

    /// Takes back what was brought along with a commit that was just taken back. What changed since stays as it is. The
    /// result names the places that were taken back, and those that stay.
    pub(in crate::os) fn take_brought_back(
        &self,
        commit: ContentHash,
    ) -> Result<(Vec<WorkspacePath>, Vec<WorkspacePath>), TreeError> {
        let failed = |error: io::Error| super::commit_failure::at_root(&error);
        let (mut taken, mut stayed) = (Vec::new(), Vec::new());
        for (staging, phase) in self.ended().map_err(failed)?.into_iter().rev() {
            let journal =
                if phase == Phase::Committed { staging.journal(phase).map_err(failed)? } else { None };
            let Some(journal) = journal.filter(|journal| journal.after == Some(commit)) else { continue };
            let place = top_of(&journal.steps);
            let is_as_left = crate::os::recover::undo::is_whole(&staging, &journal.steps).map_err(failed)?
                && self.changed_since(&journal.steps).is_ok_and(|changed| changed.is_empty());
            let changes = staging.changes(phase).map_err(failed)?.unwrap_or(commit);
            let is_back = is_as_left && self.take_commit_back(&staging, changes, &journal, None).is_ok();
            if is_back {
                taken.extend(place);
            } else {
                stayed.extend(place);
                // Nothing can take it back any more. What of it cannot be removed now is left to a sweep.
                let _ = crate::os::recover::drop_ended(&staging, phase, self.is_full());
            }
        }
        Ok((taken, stayed))
    }
}

/// The place that steps have brought, if they are of such a commit.
pub(in crate::os) fn brought_place(steps: &[Step]) -> Option<WorkspacePath> {
    let is_unread = |state: &Option<FileState>| state.as_ref().is_some_and(FileState::is_unread);
    let is_brought = steps.iter().any(|step| is_unread(&step.new) || is_unread(&step.old));
    is_brought.then(|| top_of(steps)).flatten()
}

/// The lowest path at or above all steps.
fn top_of(steps: &[Step]) -> Option<WorkspacePath> {
    let mut top = steps.first()?.path.clone();
    while !steps.iter().all(|step| step.path.starts_with(&top)) {
        top = top.parent()?;
    }
    Some(top)
}

/// Removes the held files, whose second names are in the workspace now. What cannot be removed goes with the host's folder.
fn release(output: &HeldOutput) {
    let Some((above, name, note)) = place_of(output) else { return };
    let _ = calls::remove_file_if_there(place(&above, &note));
    let _ = above.remove_file(&name).or_else(|_| above.remove_dir_all(&name));
}

/// The host's folder with the held files, their name in it, and that of the note on an attempt.
fn place_of(output: &HeldOutput) -> Option<(Dir, String, String)> {
    let files = Path::new(&output.files);
    let name = files.file_name()?.to_str()?;
    let above = Dir::open_ambient_dir(files.parent()?, ambient_authority()).ok()?;
    Some((above, name.to_owned(), format!("{name}-tried")))
}

/// Notes the steps of an attempt, for the one after it. Without the note that one finds that the files have changed.
fn note_steps(output: &HeldOutput, journal: &Journal) {
    let Some((above, _, note)) = place_of(output) else { return };
    let at = place(&above, &note);
    if calls::remove_file_if_there(at).is_ok() {
        let _ = calls::create(at, 0o600, &journal.to_bytes());
    }
}

/// The steps of an earlier attempt, which was taken back.
fn steps_of_earlier(output: &HeldOutput) -> Option<Vec<Step>> {
    let (above, _, note) = place_of(output)?;
    let file = calls::open(place(&above, &note)).ok()?;
    let len = calls::look_at(&file).ok()?.len;
    Some(Journal::parse(&calls::read(file, len).ok()?)?.steps)
}

/// Whether these are the same steps, for the same files of the user.
fn are_same(steps: &[Step], tried: &[Step]) -> bool {
    let is_same_file = |now: &FileState, then: &FileState| {
        let is_as_then = (now.inode, now.len, now.modified) == (then.inode, then.len, then.modified);
        now.kind == then.kind && now.mode == then.mode && (now.kind == EntryKind::Directory || is_as_then)
    };
    let is_same = |(now, then): (&Step, &Step)| {
        let is_about_same = now.path == then.path && now.action == then.action;
        is_about_same
            && match (&now.old, &then.old) {
                (None, None) => true,
                (Some(now), Some(then)) => is_same_file(now, then),
                _ => false,
            }
    };
    steps.len() == tried.len() && steps.iter().zip(tried).all(is_same)
}

struct Plan<'a> {
    tree: &'a OsTree,
    staging: &'a Staging,
    output: &'a HeldOutput,
    allows: &'a (dyn for<'p> Fn(&'p WorkspacePath) -> bool + Sync),
    /// What changed then or later has not been seen.
    since: i64,
    steps: Vec<Step>,
    /// The bytes of what is replaced and removed.
    replaced: u64,
    number: usize,
}

/// The user's folder in which something is to be, if there is one.
type Below<'b> = Option<&'b Dir>;

impl Plan<'_> {
    fn whole(&mut self) -> Result<(), Stop> {
        let Some((above, name, _)) = place_of(self.output) else { return Err(KeepObstacle::Gone.into()) };
        let path = &self.output.path;
        let Some(user) = path.file_name().filter(|_| !path.is_root()) else {
            return Err(KeepObstacle::Unfit.into());
        };
        let user = os_name(user).map_err(CommitFailure::at_root)?;
        let mut folders = Folders::new(&self.tree.root);
        let parent = match folders.open(&path.parent().unwrap_or_default()) {
            Ok(folder) => folder.try_clone().map_err(CommitFailure::at_root)?,
            // The folder that was to hold it is gone, or a link leads elsewhere.
            Err(_) => return Err(KeepObstacle::Changed.into()),
        };
        let at = place(&above, &name);
        match look_if_there(at).map_err(CommitFailure::at_root)? {
            None => return Err(KeepObstacle::Gone.into()),
            Some(found) if found.device != self.tree.device => return Err(KeepObstacle::Outside.into()),
            Some(_) => {}
        }
        let theirs = Location { folder: &parent, name: user };
        if self.output.existed && look_if_there(theirs).map_err(CommitFailure::at_root)?.is_none() {
            return Err(KeepObstacle::Changed.into());
        }
        self.entry(at, Some(&parent), path, false)
    }

    /// Plans what is at one name. `hides` says that nothing of the user's is to stay there beside it.
    fn entry(
        &mut self,
        held: Location<'_>,
        below: Below<'_>,
        path: &WorkspacePath,
        hides: bool,
    ) -> Result<(), Stop> {
        if self.is_hidden(path) {
            return if hides { Err(KeepObstacle::Closed.into()) } else { Ok(()) };
        }
        self.check(path)?;
        let failed = |error: Errno| CommitFailure::io(path, error);
        let found = calls::look(held).map_err(failed)?;
        let name = os_name(path.file_name().unwrap_or_default()).map_err(CommitFailure::at_root)?;
        let theirs = below.map(|folder| Location { folder, name });
        let now = match theirs {
            Some(theirs) => look_if_there(theirs).map_err(|error| CommitFailure::io(path, error))?,
            None => None,
        };
        let now = now.map(|now| self.seen(path, now)).transpose()?;
        match found.kind {
            EntryKind::Other if self.output.overlay && marks::is_removal(held) => match (theirs, now) {
                (Some(theirs), Some(now)) => self.remove(theirs, &now, path),
                _ => Ok(()),
            },
            EntryKind::Other => Err(KeepObstacle::Unfit.into()),
            EntryKind::Directory => self.folder((held, &found), theirs.zip(now), path, hides),
            EntryKind::File | EntryKind::Symlink => {
                if found.kind == EntryKind::Symlink {
                    let target = calls::read_link(held).map_err(failed)?;
                    if link_target(path, &target).is_none() {
                        return Err(KeepObstacle::Unfit.into());
                    }
                }
                let is_folder = now.is_some_and(|now| now.kind == EntryKind::Directory);
                if let (Some(theirs), Some(now), true) = (theirs, now, is_folder) {
                    self.remove(theirs, &now, path)?;
                }
                self.file(held, &found, now.filter(|_| !is_folder), path)
            }
        }
    }

    fn file(
        &mut self,
        held: Location<'_>,
        found: &Stat,
        now: Option<Stat>,
        path: &WorkspacePath,
    ) -> Result<(), Stop> {
        let failed = |error: Errno| CommitFailure::io(path, error);
        let name = self.next();
        let at = self.staging.at(&name);
        match calls::link(held, at) {
            Err(Errno::MLINK) => return Err(KeepObstacle::Unfit.into()),
            linked => linked.map_err(failed)?,
        }
        if self.output.overlay {
            marks::remove(at);
        }
        if found.kind == EntryKind::File && found.mode & !ORDINARY_BITS & 0o7777 != 0 {
            let file = calls::open(at).map_err(failed)?;
            calls::set_mode(&file, found.mode & ORDINARY_BITS).map_err(failed)?;
        }
        let new = FileState::new(&calls::look(at).map_err(failed)?, None);
        let action = if now.is_some() { Action::Replace } else { Action::Put };
        self.replaced += now.map_or(0, |now| now.len);
        self.push(path, action, name, now.map(|now| FileState::new(&now, None)), Some(new));
        Ok(())
    }

    fn folder(
        &mut self,
        (held, found): (Location<'_>, &Stat),
        theirs: Option<(Location<'_>, Stat)>,
        path: &WorkspacePath,
        hides: bool,
    ) -> Result<(), Stop> {
        if DEEPEST < path.names().count() {
            return Err(KeepObstacle::Unfit.into());
        }
        let failed = |error: io::Error| CommitFailure::io(path, error);
        let hides = hides || self.output.overlay && marks::hides_below(held);
        let inner = held.folder.open_dir_nofollow(held.name).map_err(failed)?;
        let names = names_of(&inner).map_err(failed)?;
        let below = match theirs {
            Some((theirs, now)) if now.kind == EntryKind::Directory => {
                Some(theirs.folder.open_dir_nofollow(theirs.name).map_err(failed)?)
            }
            Some((theirs, now)) => {
                self.remove(theirs, &now, path)?;
                None
            }
            None => None,
        };
        if below.is_none() {
            self.make_folder(found, path)?;
        }
        let is_older = below.as_ref().map(calls::look_at).transpose();
        let is_older = is_older.map_err(|error| CommitFailure::io(path, error))?;
        let is_as_seen = is_older.is_none_or(|now| !self.is_newer(&now));
        for name in &names {
            let inside = path.join_bytes(name).map_err(|_| Stop::from(KeepObstacle::Unfit))?;
            let at = Location { folder: &inner, name: os_name(name).map_err(CommitFailure::at_root)? };
            let is_there = || match &below {
                Some(folder) => look_if_there(Location { folder, name: at.name }).map(|now| now.is_some()),
                None => Ok(false),
            };
            // It may have been there, and the user removed it.
            if !is_as_seen && !self.is_hidden(&inside) && !is_there().map_err(failed)? {
                return Err(KeepObstacle::Changed.into());
            }
            self.entry(at, below.as_ref(), &inside, hides)?;
        }
        let Some(below) = below.filter(|_| hides) else { return Ok(()) };
        for name in names_of(&below).map_err(failed)? {
            if names.binary_search(&name).is_ok() {
                continue;
            }
            let inside = path.join_bytes(&name).map_err(|_| Stop::from(KeepObstacle::Unfit))?;
            let at = Location { folder: &below, name: os_name(&name).map_err(CommitFailure::at_root)? };
            let now = calls::look(at).map_err(|error| CommitFailure::io(&inside, error))?;
            let now = self.seen(&inside, now)?;
            self.remove(at, &now, &inside)?;
        }
        Ok(())
    }

    fn make_folder(&mut self, found: &Stat, path: &WorkspacePath) -> Result<(), Stop> {
        let failed = |error: Errno| CommitFailure::io(path, error);
        let name = self.next();
        let at = self.staging.at(&name);
        calls::make_folder(at, 0o700).map_err(failed)?;
        // Its owner may always write, because what is in it comes later.
        let folder = calls::open(at).map_err(failed)?;
        calls::set_mode(&folder, found.mode & ORDINARY_BITS | 0o700).map_err(failed)?;
        let new = FileState::new(&calls::look_at(&folder).map_err(failed)?, None);
        self.push(path, Action::MakeFolder, name, None, Some(new));
        Ok(())
    }

    /// Plans the removal of something of the user's, with everything in it.
    fn remove(&mut self, at: Location<'_>, now: &Stat, path: &WorkspacePath) -> Result<(), Stop> {
        self.check(path)?;
        if self.output.hidden.iter().any(|hidden| hidden.starts_with(path) || path.starts_with(hidden)) {
            return Err(KeepObstacle::Closed.into());
        }
        match now.kind {
            EntryKind::Other => Err(KeepObstacle::Unfit.into()),
            EntryKind::File | EntryKind::Symlink => {
                let name = format!("{}-old", self.next());
                self.replaced += now.len;
                self.push(path, Action::TakeAway, name, Some(FileState::new(now, None)), None);
                Ok(())
            }
            EntryKind::Directory => {
                let failed = |error: io::Error| CommitFailure::io(path, error);
                let folder = at.folder.open_dir_nofollow(at.name).map_err(failed)?;
                for inner in names_of(&folder).map_err(failed)? {
                    let inside = path.join_bytes(&inner).map_err(|_| Stop::from(KeepObstacle::Unfit))?;
                    let place =
                        Location { folder: &folder, name: os_name(&inner).map_err(CommitFailure::at_root)? };
                    let now = calls::look(place).map_err(|error| CommitFailure::io(&inside, error))?;
                    let now = self.seen(&inside, now)?;
                    self.remove(place, &now, &inside)?;
                }
                let name = format!("{}-old", self.next());
                stage::copy_of_folder(at, self.staging.at(&name)).map_err(failed)?;
                self.push(path, Action::RemoveFolder, name, Some(FileState::new(now, None)), None);
                Ok(())
            }
        }
    }

    /// What is at a path, if it is what the view showed.
    fn seen(&self, path: &WorkspacePath, now: Stat) -> Result<Stat, Stop> {
        if now.device != self.tree.device {
            return Err(super::commit_failure::other_file_system(path).into());
        }
        let is_changed = now.kind != EntryKind::Directory && self.is_newer(&now);
        if is_changed { Err(KeepObstacle::Changed.into()) } else { Ok(now) }
    }

    fn is_newer(&self, now: &Stat) -> bool {
        self.since <= metadata_of(now).fingerprint.changed_ns
    }

    fn check(&self, path: &WorkspacePath) -> Result<(), Stop> {
        if self.tree.is_reserved(path) {
            return Err(KeepObstacle::Unfit.into());
        }
        if (self.allows)(path) { Ok(()) } else { Err(KeepObstacle::Closed.into()) }
    }

    fn is_hidden(&self, path: &WorkspacePath) -> bool {
        self.output.hidden.iter().any(|hidden| path.starts_with(hidden))
    }

    fn next(&mut self) -> String {
        self.number += 1;
        self.number.to_string()
    }

    fn push(
        &mut self,
        path: &WorkspacePath,
        action: Action,
        name: String,
        old: Option<FileState>,
        new: Option<FileState>,
    ) {
        self.steps.push(Step { path: path.clone(), action, name, old, new });
    }
}

/// The names in a folder as they are, sorted.
fn names_of(folder: &Dir) -> io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    names_in(folder, |name| {
        names.push(name.to_vec());
        Ok(None)
    })?;
    names.sort_unstable();
    Ok(names)
}
