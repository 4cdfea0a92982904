//! What commands in views wrote and an accept does not bring, also in views that have ended.

use std::collections::HashSet;

use headstart_overlay_fs::{
    Change, ChangeKind, ChangeSet, Content, HeldOutput, KeepObstacle, LeftOut, Torn, WorkspacePath,
};
use headstart_toolbox::ViewOutput;

/// A file of which less than this part is left counts as emptied.
const EMPTIED: usize = 10;

/// Where something is that a command wrote, or whose removal it was, and that is not staged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeftOutPlace {
    /// In the present view.
    Here,
    /// In a view that has ended, so that nobody can read it any more.
    Gone,
}

/// What the commands of a step left out so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct LeftOutSoFar {
    /// In views that have ended: it is nowhere any more, unless an earlier process kept it.
    gone: Vec<LeftOut>,
    /// In the present view.
    current: Vec<LeftOut>,
    /// What brings the rows of the present view that have no obstacle.
    keepable: Vec<Change>,
    /// What brings rows of views that have ended.
    earlier: Vec<Change>,
    /// What was kept on disk of a view when it ended.
    held: Vec<HeldOutput>,
}

impl LeftOutSoFar {
    /// Notes what a command has left, or that it began in a new view.
    pub(crate) fn note(&mut self, ran: &ViewOutput) {
        if ran.is_new_view {
            self.end_view();
        }
        self.current.clone_from(&ran.left_out);
        self.keepable.clone_from(&ran.keepable);
        // Half of what is at a place may be in another view.
        let Self { gone, current, keepable, earlier, held } = self;
        for row in current.iter_mut().filter(|row| gone.iter().any(|gone| overlap(gone, row))) {
            (row.obstacle, row.moves) = (Some(KeepObstacle::Gone), false);
            keepable.retain(|change| !is_below(&change.path, row));
        }
        for row in gone.iter_mut().filter(|row| current.iter().any(|now| overlap(row, now))) {
            (row.obstacle, row.moves) = (Some(KeepObstacle::Gone), false);
            earlier.retain(|change| !is_below(&change.path, row));
            held.retain(|output| !is_below(&output.path, row));
        }
    }

    /// What an accept brings if its user keeps what is left out.
    pub(crate) fn keepable(&self) -> Vec<Change> {
        [self.keepable.as_slice(), &self.earlier].concat()
    }

    /// What it brings by moving files.
    pub(crate) fn held(&self) -> Vec<HeldOutput> {
        self.held.clone()
    }

    /// The places that can only be brought if they are held when the present view ends.
    pub(crate) fn to_hold(&self) -> Vec<WorkspacePath> {
        let rows = self.current.iter().filter(|row| row.can_be_moved());
        let paths = rows.filter_map(|row| WorkspacePath::parse(&row.path).ok());
        paths.filter(|path| self.held.iter().all(|output| output.path != *path)).collect()
    }

    /// Notes what was held of the present view, which has ended with that.
    pub(crate) fn note_held(&mut self, held: Vec<HeldOutput>) {
        let is_held = |row: &LeftOut| held.iter().any(|output| is_below(&output.path, row));
        for row in &mut self.current {
            if !is_held(row) {
                *row = row.clone().not_moved(KeepObstacle::Unfit);
            }
        }
        self.held.extend(held);
    }

    /// All rows, sorted by their paths.
    pub(crate) fn rows(&self) -> Vec<LeftOut> {
        let mut rows = self.current.clone();
        merge(&mut rows, &self.gone);
        rows.sort_by(|one, other| one.path.cmp(&other.path));
        rows
    }

    /// Where what is at a path was left out, or with `is_searched` something below it. Of what is gone, caches do not
    /// count, and nothing below a path does: who reads a whole folder does not expect it.
    pub(crate) fn place_of(
        &self,
        path: &WorkspacePath,
        is_searched: bool,
        below: &[LeftOut],
    ) -> Option<LeftOutPlace> {
        let is_at = |row: &LeftOut, is_searched: bool| {
            let left = WorkspacePath::parse(&row.path);
            left.is_ok_and(|left| path.starts_with(&left) || is_searched && left.starts_with(path))
        };
        if self.current.iter().any(|row| is_at(row, is_searched)) {
            return Some(LeftOutPlace::Here);
        }
        let mut gone = self.gone.iter().chain(below);
        gone.any(|row| !row.cache && is_at(row, false)).then_some(LeftOutPlace::Gone)
    }

    /// What a command took away whose only copy may have been in a view that is gone. The view of the command itself is
    /// looked through where it is read.
    pub(crate) fn torn(&self, ran: &ViewOutput, staged: &ChangeSet, below: &[LeftOut]) -> Option<Torn> {
        let current = if ran.is_new_view { self.current.as_slice() } else { &[] };
        let places = self.gone.iter().chain(current).chain(below);
        let written: Vec<_> =
            places.filter(|row| 0 < row.written && !row.cache).map(|row| row.path.clone()).collect();
        if written.is_empty() {
            return None;
        }
        let there: HashSet<_> = ran.changes.changes.iter().filter_map(content).map(Content::hash).collect();
        let is_gone = |change: &&Change| {
            change.base_content.as_ref().is_some_and(|before| {
                let left = content(change).map_or(0, |content| content.len());
                !before.is_empty() && left * EMPTIED < before.len() && !there.contains(&before.hash())
            })
        };
        let is_new = |change: &&Change| {
            !staged.changes.iter().any(|was| was.path == change.path && was.kind == change.kind)
        };
        let removed = ran.changes.changes.iter().filter(is_gone).filter(is_new);
        let removed: Vec<_> = removed.map(|change| change.path.clone()).collect();
        (!removed.is_empty()).then_some(Torn { removed, written })
    }

    /// Takes over what other work has left out, which may have been kept by an earlier process. Its view has ended, but what
    /// can be kept of it is here.
    pub(crate) fn take_over(&mut self, rows: &[LeftOut], keepable: &[Change], held: &[HeldOutput]) {
        let rows = rows.iter().map(|row| {
            let is_held = held.iter().any(|output| is_below(&output.path, row));
            if is_held { row.clone() } else { row.clone().not_moved(KeepObstacle::Gone) }
        });
        merge(&mut self.gone, &rows.collect::<Vec<_>>());
        self.earlier.extend_from_slice(keepable);
        self.held.extend_from_slice(held);
    }

    /// Notes that the present view has ended.
    pub(crate) fn end_view(&mut self) {
        self.keepable.clear();
        let current = std::mem::take(&mut self.current);
        merge(&mut self.gone, &current);
        let Self { gone, earlier, held, .. } = self;
        let is_here = |row: &LeftOut| {
            earlier.iter().any(|change| is_below(&change.path, row))
                || held.iter().any(|output| is_below(&output.path, row))
        };
        for row in gone.iter_mut().filter(|row| !is_here(row)) {
            (row.obstacle, row.moves) = (Some(KeepObstacle::Gone), false);
        }
    }
}

/// Whether one of two places contains the other.
fn overlap(one: &LeftOut, other: &LeftOut) -> bool {
    let (Ok(one), Ok(other)) = (WorkspacePath::parse(&one.path), WorkspacePath::parse(&other.path)) else {
        return false;
    };
    one.starts_with(&other) || other.starts_with(&one)
}

fn is_below(path: &WorkspacePath, row: &LeftOut) -> bool {
    WorkspacePath::parse(&row.path).is_ok_and(|place| path.starts_with(&place))
}

fn merge(rows: &mut Vec<LeftOut>, others: &[LeftOut]) {
    for other in others {
        if !rows.iter().any(|row| row.path == other.path) {
            rows.push(other.clone());
        }
    }
}

fn content(change: &Change) -> Option<&Content> {
    match &change.kind {
        ChangeKind::Write { content, .. } => Some(content),
        _ => None,
    }
}
