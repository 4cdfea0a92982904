use std::collections::HashMap;

use super::rank::{Ranked, Ranking, field_name};
use super::{Budget, Hit, MatchReason};
use crate::fields::symbol_of;
use crate::{IndexError, Query, Symbol};

/// The most terms that explain a place.
const MOST_WHY: usize = 5;
/// The text that stands for a term if vectors are close.
const SIMILAR: &str = "similar";

/// Makes hits of ranked files: first one place of each file, then further places of the best files. Neighbouring
/// chunks become one place.
pub(super) fn hits_of(
    ranking: &Ranking<'_>,
    files: &[Ranked],
    query: &Query,
    budget: Budget,
) -> Result<Vec<Hit>, IndexError> {
    let mut places: Vec<Place> = Vec::new();
    for (rank, file) in files.iter().enumerate().take(budget.hits) {
        let asked = file.definitions.first();
        places.push(match asked {
            Some(symbol) => Place::of_definition(ranking, rank, file, symbol),
            None => Place::of(ranking, rank, file, file.chunk),
        });
    }
    for (rank, file) in files.iter().enumerate() {
        for symbol in file.definitions.iter().skip(1).take(budget.hits - places.len()) {
            places.push(Place::of_definition(ranking, rank, file, symbol));
        }
    }
    let mut more = further(ranking, files, budget);
    more.truncate(budget.hits - places.len());
    for (rank, chunk) in more {
        let place = Place::of(ranking, rank, &files[rank], Some(chunk));
        let near = places.iter_mut().find(|known| known.rank == rank && known.touches(&place));
        match near {
            Some(near) => near.join(&place),
            None => places.push(place),
        }
    }
    let why = Reasons::of(ranking, query, files);
    let mut symbols: HashMap<(usize, u32), Vec<Symbol>> = HashMap::new();
    let mut hits = Vec::with_capacity(places.len());
    for place in places {
        let file = &files[place.rank];
        let layer = &ranking.view.layers[file.layer];
        let Some(entry) = layer.catalogue().file(file.file) else { continue };
        let key = (file.layer, entry.content);
        if let std::collections::hash_map::Entry::Vacant(slot) = symbols.entry(key) {
            slot.insert(layer.snapshot.symbols(entry.content)?);
        }
        let (first, last) = place.lines;
        let is_name = |symbol: &Symbol| query.names().any(|name| name == symbol.name);
        hits.push(Hit {
            path: file.path.clone(),
            lines: place.lines,
            score: place.score,
            is_asked: place.symbol.as_ref().is_some_and(is_name),
            symbol: place.symbol.or_else(|| symbol_of(&symbols[&key], first, last, query).cloned()),
            why: why.of_place(file, place.chunk),
            digest: entry.digest,
        });
    }
    Ok(hits)
}

struct Place {
    rank: usize,
    chunk: Option<u32>,
    lines: (u32, u32),
    score: f32,
    /// The definition that was asked for.
    symbol: Option<Symbol>,
}

impl Place {
    fn of(ranking: &Ranking<'_>, rank: usize, file: &Ranked, chunk: Option<u32>) -> Self {
        let catalogue = ranking.view.layers[file.layer].catalogue();
        // If no chunk matches, the beginning of the file is shown.
        let content = catalogue.file(file.file).and_then(|entry| catalogue.content(entry.content));
        let shown = chunk.or_else(|| content.and_then(|content| content.chunks.clone().next()));
        let lines =
            shown.map(|chunk| catalogue.chunk(chunk)).map_or((0, 0), |chunk| (chunk.first, chunk.last));
        let of_chunk = |chunk: u32| ranking.scores[file.layer].chunks[chunk as usize];
        let score = match (chunk, file.chunk) {
            (Some(chunk), Some(best)) if chunk != best => {
                (file.score - of_chunk(best) + of_chunk(chunk)).max(0.0)
            }
            _ => file.score,
        };
        Self { rank, chunk, lines, score, symbol: None }
    }

    /// The place of a definition that was asked for: its own lines.
    fn of_definition(ranking: &Ranking<'_>, rank: usize, file: &Ranked, symbol: &Symbol) -> Self {
        let catalogue = ranking.view.layers[file.layer].catalogue();
        let content = catalogue.file(file.file).and_then(|entry| catalogue.content(entry.content));
        let chunks = content.map(|content| content.chunks.clone()).unwrap_or_default();
        let begins = |chunk: &u32| {
            let chunk = catalogue.chunk(*chunk);
            (chunk.first..=chunk.last).contains(&symbol.first)
        };
        let (chunk, lines) = (chunks.clone().find(begins), (symbol.first, symbol.last));
        Self { rank, chunk, lines, score: file.score, symbol: Some(symbol.clone()) }
    }

    fn touches(&self, other: &Self) -> bool {
        self.lines.0 <= other.lines.1 + 2 && other.lines.0 <= self.lines.1 + 2
    }

    fn join(&mut self, other: &Self) {
        self.lines = (self.lines.0.min(other.lines.0), self.lines.1.max(other.lines.1));
    }
}

/// The chunks of the files besides their best ones, the best first.
fn further(ranking: &Ranking<'_>, files: &[Ranked], budget: Budget) -> Vec<(usize, u32)> {
    if budget.hits <= files.len() {
        return Vec::new();
    }
    let mut more = Vec::new();
    // Beside a definition that was asked for, the rest of its file is no answer.
    for (rank, file) in files.iter().enumerate().filter(|(_, file)| file.definitions.is_empty()) {
        let catalogue = ranking.view.layers[file.layer].catalogue();
        let content = catalogue.file(file.file).and_then(|entry| catalogue.content(entry.content));
        let scores = &ranking.scores[file.layer].chunks;
        let best = file.chunk.map_or(0.0, |chunk| scores[chunk as usize]);
        for chunk in content.map(|content| content.chunks.clone()).unwrap_or_default() {
            let score = scores[chunk as usize];
            // A chunk with half the best score is a place of its own; below that, a word only occurs in passing.
            if Some(chunk) != file.chunk && 0.0 < score && 0.5 * best <= score {
                more.push((rank, chunk, file.score - best + score));
            }
        }
    }
    more.sort_unstable_by(|one, other| {
        other.2.total_cmp(&one.2).then(one.0.cmp(&other.0)).then(one.1.cmp(&other.1))
    });
    more.into_iter().map(|(rank, chunk, _)| (rank, chunk)).collect()
}

/// What each term adds to the documents that are shown.
struct Reasons<'a> {
    query: &'a Query,
    chunks: HashMap<(u32, u32), Vec<MatchReason>>,
    files: HashMap<(u32, u32), Vec<MatchReason>>,
}

impl<'a> Reasons<'a> {
    fn of(ranking: &Ranking<'_>, query: &'a Query, files: &[Ranked]) -> Self {
        let mut reasons = Self { query, chunks: HashMap::new(), files: HashMap::new() };
        for file in files {
            let layer = u32::try_from(file.layer).unwrap_or(u32::MAX);
            reasons.files.entry((layer, file.file)).or_default();
            let catalogue = ranking.view.layers[file.layer].catalogue();
            let content = catalogue.file(file.file).and_then(|entry| catalogue.content(entry.content));
            for chunk in content.map(|content| content.chunks.clone()).unwrap_or_default() {
                reasons.chunks.entry((layer, chunk)).or_default();
            }
        }
        for (parts, of_file) in [(&ranking.chunk_parts, false), (&ranking.file_parts, true)] {
            for part in parts {
                let known = if of_file { &mut reasons.files } else { &mut reasons.chunks };
                if let Some(list) = known.get_mut(&(part.layer, part.document)) {
                    let term = query.terms.get(part.term as usize).map(|(term, _)| term.clone());
                    let field = field_name(of_file, part.field);
                    list.push(MatchReason { term: term.unwrap_or_default(), field, part: part.score });
                }
            }
        }
        reasons
    }

    fn of_place(&self, file: &Ranked, chunk: Option<u32>) -> Vec<MatchReason> {
        let layer = u32::try_from(file.layer).unwrap_or(u32::MAX);
        let of_chunk = chunk.and_then(|chunk| self.chunks.get(&(layer, chunk)));
        let of_file = self.files.get(&(layer, file.file));
        let mut why: Vec<MatchReason> = of_chunk.into_iter().chain(of_file).flatten().cloned().collect();
        let place = |term: &str| self.query.terms().position(|known| known == term);
        why.sort_unstable_by(|one, other| {
            let terms = || place(&one.term).cmp(&place(&other.term));
            other.part.total_cmp(&one.part).then_with(terms).then_with(|| one.field.cmp(other.field))
        });
        why.truncate(MOST_WHY);
        if file.near {
            // This comes last, because vectors move a place without saying by how much.
            why.push(MatchReason { term: SIMILAR.to_owned(), field: "vectors", part: 0.0 });
        }
        why
    }
}
