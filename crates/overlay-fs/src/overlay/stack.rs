use std::collections::HashSet;

use super::Quota;
use super::entry::{Entry, StagedState};
use super::state::{Edits, State};
use crate::{ChangeSet, Observation, TreeError};

const UNLIMITED: Quota = Quota { files: u64::MAX, bytes: u64::MAX, file_bytes: u64::MAX, depth: u64::MAX };

impl ChangeSet {
    /// This change set followed by the one of an overlay that lies over this one's, as one change set.
    ///
    /// Committing it is like committing both, one after the other, with one exception: a folder that exists only
    /// because a file of this set is in it goes when `above` removes the file.
    ///
    /// What `above` read from this set does not depend on anybody else, so it leaves the read set. A folder in which
    /// this set stages something and that `above` listed was also listed by the overlay below, so take this set after
    /// `above` did its work.
    #[must_use]
    pub fn then(&self, above: &Self) -> Self {
        let state = stacked(self, above).expect("works because nothing exceeds no limit");
        Self { changes: state.changes(), reads: state.reads() }
    }
}

fn stacked(below: &ChangeSet, above: &ChangeSet) -> Result<State, TreeError> {
    let mut state = State::default();
    state.restore(below, UNLIMITED)?;
    let changed: HashSet<_> = above.changes.iter().map(|change| &change.path).collect();
    let mut edits: Edits = Vec::new();
    for change in &above.changes {
        let mut entry = Entry::from_change(change);
        if let Some(old) = state.entries.get(&change.path) {
            entry.base.clone_from(&old.base);
        } else {
            // The folder existed only because something of the set below is in it.
            entry.base.take_if(|base| base.fingerprint.is_staged());
        }
        entry.moved_from = match entry.moved_from.take() {
            Some(from) => match state.entries.get(&from) {
                None => Some(from),
                Some(old) => {
                    let was_there = old.base.as_ref().is_some_and(|base| base.content.is_some());
                    old.moved_from.clone().or_else(|| was_there.then_some(from))
                }
            },
            // It was written at the place to which the set below moved it.
            None => state.entries.get(&change.path).and_then(|old| match (&old.now, &entry.now) {
                (StagedState::File { .. }, StagedState::File { .. }) => old.moved_from.clone(),
                _ => None,
            }),
        };
        edits.push((change.path.clone(), Some(entry)));
    }
    let is_live = |entry: &Option<Entry>| {
        entry.as_ref().is_some_and(|entry| !matches!(entry.now, StagedState::Removed))
    };
    let revived: Edits = edits
        .iter()
        .filter(|(_, entry)| is_live(entry))
        .flat_map(|(path, _)| state.revive_above(path))
        .filter(|(folder, _)| !changed.contains(folder))
        .collect();
    edits.extend(revived);
    let reads = above.reads.iter().filter(|read| !is_of_below(&state, read)).cloned().collect::<Vec<_>>();
    state.apply(edits, UNLIMITED)?;
    for read in reads {
        state.observe(read);
    }
    Ok(state)
}

/// Whether what was read is, or may be, what the set below stages.
fn is_of_below(state: &State, read: &Observation) -> bool {
    state.entries.contains_key(&read.path)
        || state.is_hidden(&read.path)
        || state.below(&read.path).next().is_some()
}
