//! What commands in views wrote and an accept does not bring, also in views that have ended.

use std::collections::HashSet;

use headstart_overlay_fs::{
    Change, ChangeKind, ChangeSet, Content, KeepObstacle, LeftOut, Torn, WorkspacePath,
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
    /// What brings the rows that have no obstacle.
    keepable: Vec<Change>,
}

impl LeftOutSoFar {
    /// Notes what a command has left, or that it began in a new view.
    pub(crate) fn note(&mut self, ran: &ViewOutput) {
        if ran.is_new_view {
            self.end_view();
        }
        self.current.clone_from(&ran.left_out);
        self.keepable.clone_from(&ran.keepable);
        // Half of what is at a place may have gone with another view.
        for row in self.current.iter_mut().filter(|row| self.gone.iter().any(|gone| gone.path == row.path)) {
            row.obstacle = Some(KeepObstacle::Gone);
            if let Ok(place) = WorkspacePath::parse(&row.path) {
                self.keepable.retain(|change| !change.path.starts_with(&place));
            }
        }
    }

    /// What an accept brings if its user keeps what is left out.
    pub(crate) fn keepable(&self) -> Vec<Change> {
        self.keepable.clone()
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

    /// Notes what commands have left out in views that have ended.
    pub(crate) fn note_gone(&mut self, rows: &[LeftOut]) {
        let gone = |row: &LeftOut| LeftOut { obstacle: Some(KeepObstacle::Gone), ..row.clone() };
        merge(&mut self.gone, &rows.iter().map(gone).collect::<Vec<_>>());
    }

    /// Begins with what an earlier process has kept. Its view has ended, but what can be kept of it is here.
    pub(crate) fn restore(&mut self, rows: &[LeftOut], keepable: &[Change]) {
        merge(&mut self.gone, rows);
        self.keepable = keepable.to_vec();
    }

    /// Notes that the present view has ended.
    pub(crate) fn end_view(&mut self) {
        self.keepable.clear();
        let current = std::mem::take(&mut self.current);
        merge(&mut self.gone, &current);
        for row in &mut self.gone {
            row.obstacle = Some(KeepObstacle::Gone);
        }
    }
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
