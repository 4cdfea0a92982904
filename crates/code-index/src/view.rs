//! Searches several indexes as one: the project's, and those of what is staged over it.

use std::collections::{HashMap, HashSet};

use headstart_overlay_fs::WorkspacePath;

use crate::catalogue::Totals;
use crate::{Catalogue, MemoryIndex, Snapshot};

/// What one step of staged work changes: the files that it wrote, and the paths that it removed or replaced.
///
/// It only contains what was staged, so making it takes only the time for these files, and dropping it costs nothing.
#[derive(Debug, Clone, Default)]
pub struct Staged {
    /// What was written.
    pub index: MemoryIndex,
    /// Paths at and below which nothing of the layers below counts. The paths of `index` need not be listed.
    pub hidden: Vec<WorkspacePath>,
}

/// An index and what is staged over it, as if everything had been indexed together.
///
/// Statistics are those of the merged view: hidden files do not count, staged ones do. So the scores are, up to
/// rounding, those of an index that is made anew, and scores of different layers can be compared.
pub struct View<'a> {
    pub(crate) layers: Vec<Layer<'a>>,
    pub(crate) totals: Totals,
}

pub(crate) struct Layer<'a> {
    pub(crate) snapshot: &'a dyn Snapshot,
    /// The files of this layer that a layer above hides.
    pub(crate) hidden: HashSet<u32>,
    /// For contents of hidden files, how many files that are not hidden have them.
    pub(crate) left: HashMap<u32, u32>,
}

impl<'a> View<'a> {
    /// A view of `base` with `steps`, the lowest first: each lies over those before it.
    pub fn new(base: &'a dyn Snapshot, steps: impl IntoIterator<Item = &'a Staged>) -> Self {
        let steps: Vec<&Staged> = steps.into_iter().collect();
        let snapshots = std::iter::once(base).chain(steps.iter().map(|step| &step.index as &dyn Snapshot));
        let mut layers = Vec::with_capacity(steps.len() + 1);
        let mut totals = Totals::default();
        for (depth, snapshot) in snapshots.enumerate() {
            let layer = Layer::below(snapshot, &steps[depth..]);
            totals.change(&snapshot.catalogue().totals, true);
            for file in &layer.hidden {
                let catalogue = snapshot.catalogue();
                if let Some(entry) = catalogue.file(*file) {
                    totals.change(&catalogue.totals_of(entry), false);
                }
            }
            layers.push(layer);
        }
        Self { layers, totals }
    }

    /// The number of files in the view.
    pub fn files(&self) -> u64 {
        self.totals.files
    }

    /// Whether something is at or below the path.
    pub fn has(&self, path: &WorkspacePath) -> bool {
        self.layers.iter().any(|layer| {
            let mut there = layer.catalogue().at_or_below(path);
            if layer.hidden.is_empty() {
                layer.catalogue().has(path)
            } else {
                there.any(|file| layer.shows(file))
            }
        })
    }
}

impl<'a> Layer<'a> {
    fn below(snapshot: &'a dyn Snapshot, above: &[&Staged]) -> Self {
        let catalogue = snapshot.catalogue();
        let mut hidden = HashSet::new();
        for step in above {
            for path in &step.hidden {
                hidden.extend(catalogue.at_or_below(path));
            }
            for path in step.index.catalogue().paths() {
                hidden.extend(catalogue.by_path.get(path));
            }
        }
        let mut left = HashMap::new();
        for file in &hidden {
            let Some(entry) = catalogue.file(*file) else { continue };
            let holders = catalogue.content(entry.content).map_or(0, |content| content.files.len());
            let holders = u32::try_from(holders).unwrap_or(u32::MAX);
            *left.entry(entry.content).or_insert(holders) -= 1;
        }
        Self { snapshot, hidden, left }
    }

    pub(crate) fn catalogue(&self) -> &'a Catalogue {
        self.snapshot.catalogue()
    }

    pub(crate) fn shows(&self, file: u32) -> bool {
        !self.hidden.contains(&file)
    }

    /// The number of files in the view with a content.
    pub(crate) fn holders(&self, content: u32) -> u32 {
        match self.left.get(&content) {
            Some(left) if !self.hidden.is_empty() => *left,
            _ => {
                let holders = self.catalogue().content(content).map_or(0, |content| content.files.len());
                u32::try_from(holders).unwrap_or(u32::MAX)
            }
        }
    }
}
