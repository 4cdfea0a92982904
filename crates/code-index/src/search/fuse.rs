//! Combines two orders, that by words and that by vectors, into one.

use std::collections::{HashMap, HashSet};

use super::rank::{Ranked, Ranking};
use crate::Query;

/// A place counts `1 / (K + place)`, so a larger number makes the first places more alike. This is the usual value
/// for reciprocal rank fusion.
const K: f32 = 60.0;
/// The most files that are added without a matching word. More would fill every answer with files that are only a
/// little similar.
const MOST_ADDED: usize = 5;

/// Combines the order by words with that of [`Query::with_nearest`]. Scores keep their scale: a file that is first in
/// both gets the best score by words.
pub(super) fn fuse(ranking: &Ranking<'_>, query: &Query, words: Vec<Ranked>) -> Vec<Ranked> {
    let near = files_of_nearest(ranking, query);
    let weight = ranking.weights.vectors;
    let top = words.first().map_or(1.0, |first| first.score);
    let best = (1.0 + weight) / (K + 1.0);
    let places: HashMap<u32, usize> = near.iter().enumerate().map(|(at, (file, _))| (*file, at)).collect();
    let by_vectors = |at: usize| weight * share(at);
    let known: HashSet<u32> = words.iter().filter(|file| file.layer == 0).map(|file| file.file).collect();
    let joined = words.into_iter().enumerate().map(|(at, file)| {
        let near = places.get(&file.file).filter(|_| file.layer == 0);
        let sum = share(at) + near.map_or(0.0, |at| by_vectors(*at));
        Ranked { score: top * sum / best, near: near.is_some(), ..file }
    });
    let layer = &ranking.view.layers[0];
    let added = near.iter().enumerate().filter(|(_, (file, _))| !known.contains(file)).take(MOST_ADDED);
    let added = added.filter_map(|(at, (file, chunk))| {
        let path = layer.catalogue().file(*file)?.path.clone();
        let score = top * by_vectors(at) / best;
        Some(Ranked {
            path,
            layer: 0,
            file: *file,
            score,
            chunk: Some(*chunk),
            definitions: Vec::new(),
            near: true,
        })
    });
    let mut files: Vec<Ranked> = joined.chain(added).collect();
    files.sort_unstable_by(|one, other| {
        other.score.total_cmp(&one.score).then_with(|| one.path.cmp(&other.path))
    });
    files
}

/// The files of the lowest layer in the order of their closest chunks, each with that chunk.
fn files_of_nearest(ranking: &Ranking<'_>, query: &Query) -> Vec<(u32, u32)> {
    let layer = &ranking.view.layers[0];
    let catalogue = layer.catalogue();
    let (mut files, mut seen) = (Vec::new(), HashSet::new());
    for near in query.nearest.iter().filter(|near| 0.0 < near.similarity) {
        let content = catalogue.content(catalogue.chunk(near.chunk).content);
        for file in content.map(|content| content.files.as_slice()).unwrap_or_default() {
            let is_asked = catalogue.file(*file).is_some_and(|entry| query.allows(&entry.path));
            if is_asked && layer.shows(*file) && seen.insert(*file) {
                files.push((*file, near.chunk));
            }
        }
    }
    files
}

/// What a place in an order counts, from 0 on.
#[expect(clippy::cast_precision_loss, reason = "a place far down counts next to nothing anyway")]
fn share(place: usize) -> f32 {
    1.0 / (K + 1.0 + place as f32)
}
