use headstart_overlay_fs::WorkspacePath;

use super::fuse::fuse;
use crate::query::{MOST_TERMS, Name};
use crate::role::Role;
use crate::score::{self, idf, mean, occurrences};
use crate::search::{Budget, Recent, names_definition};
use crate::view::Layer;
use crate::{IndexError, Query, Symbol, SymbolKind, View, Weights, whole};

/// How much a file is worth more if all of its name is asked for.
const NAMED: f32 = 0.5;

/// Scores of all documents of a view for one query.
pub(super) struct Ranking<'a> {
    pub(super) view: &'a View<'a>,
    /// By the index of the layer.
    pub(super) scores: Vec<Scores>,
    /// What each term adds to a chunk: layer, chunk, term, part, field.
    pub(super) chunk_parts: Vec<Part>,
    pub(super) file_parts: Vec<Part>,
    pub(super) weights: &'a Weights,
}

#[derive(Default)]
pub(super) struct Scores {
    pub(super) chunks: Vec<f32>,
    pub(super) files: Vec<f32>,
    /// For each content, the sum over the terms of what each adds to the chunk that it matches best.
    contents: Vec<f32>,
    /// For each file, how much of its name is in the query.
    named: Vec<f32>,
    /// For each content, what the current term adds to the chunk that it matches best; 0 between two terms.
    best: Vec<f32>,
}

/// What a term adds to a document's score.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) layer: u32,
    pub(super) document: u32,
    pub(super) term: u32,
    pub(super) field: u32,
    pub(super) score: f32,
}

/// A file and its best chunk.
#[derive(Debug, Clone)]
pub(super) struct Ranked {
    pub(super) path: WorkspacePath,
    pub(super) layer: usize,
    pub(super) file: u32,
    pub(super) score: f32,
    /// The best chunk.
    pub(super) chunk: Option<u32>,
    /// The definitions that were asked for by their name, the one that fits best first.
    pub(super) definitions: Vec<Symbol>,
    /// Whether its vectors are close to the query's.
    pub(super) near: bool,
}

impl<'a> Ranking<'a> {
    pub(super) fn of(view: &'a View<'a>, query: &Query, weights: &'a Weights) -> Result<Self, IndexError> {
        let mut ranking = Self {
            view,
            scores: view.layers.iter().map(Scores::of).collect(),
            chunk_parts: Vec::new(),
            file_parts: Vec::new(),
            weights,
        };
        for number in telling_terms(view, query)? {
            let (term, weight) = &query.terms[number];
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            ranking.score_chunks(term, *weight, number)?;
            ranking.score_files(term, *weight, number)?;
        }
        Ok(ranking)
    }

    fn score_chunks(&mut self, term: &str, weight: f32, number: u32) -> Result<(), IndexError> {
        let totals = &self.view.totals;
        let means = totals.chunk_lengths.map(|total| mean(total, totals.chunks));
        let (start, mut found) = (self.chunk_parts.len(), 0);
        for (layer, at) in self.view.layers.iter().zip(0..) {
            let catalogue = layer.catalogue();
            let (parts, weights) = (&mut self.chunk_parts, &self.weights.chunk);
            layer.snapshot.chunk_postings(term, &mut |posting| {
                let chunk = catalogue.chunk(posting.chunk);
                let holders = layer.holders(chunk.content);
                if holders == 0 {
                    return;
                }
                found += u64::from(holders);
                let score = occurrences(weights, posting.counts, chunk.lengths, means);
                let field = u32::from(posting.counts[1] != 0);
                parts.push(Part { layer: at, document: posting.chunk, term: number, field, score });
            })?;
        }
        let idf = weight * idf(found, totals.chunks);
        let view = self.view;
        let content_of =
            |part: &Part| view.layers[part.layer as usize].catalogue().chunk(part.document).content as usize;
        for part in &mut self.chunk_parts[start..] {
            part.score = idf * part.score / (self.weights.chunk_k + part.score);
            let content = content_of(part);
            let scores = &mut self.scores[part.layer as usize];
            scores.chunks[part.document as usize] += part.score;
            scores.best[content] = scores.best[content].max(part.score);
        }
        for part in &self.chunk_parts[start..] {
            let (content, scores) = (content_of(part), &mut self.scores[part.layer as usize]);
            // The first chunk of a content takes the value, so the others add 0.
            scores.contents[content] += std::mem::take(&mut scores.best[content]);
        }
        Ok(())
    }

    fn score_files(&mut self, term: &str, weight: f32, number: u32) -> Result<(), IndexError> {
        let totals = &self.view.totals;
        let means = totals.file_lengths.map(|total| mean(total, totals.files));
        let (start, mut found) = (self.file_parts.len(), 0);
        for (layer, at) in self.view.layers.iter().zip(0..) {
            let catalogue = layer.catalogue();
            let (parts, weights) = (&mut self.file_parts, &self.weights.file);
            let named = &mut self.scores[at as usize].named;
            layer.snapshot.file_postings(term, &mut |posting| {
                let Some(file) = catalogue.file(posting.file).filter(|_| layer.shows(posting.file)) else {
                    return;
                };
                found += 1;
                if posting.counts[1] != 0 {
                    named[posting.file as usize] += 1.0 / score::number(file.lengths[1]);
                }
                let score = occurrences(weights, posting.counts, file.lengths, means);
                let field = (0..4).find(|field| posting.counts[*field as usize] != 0).unwrap_or(0);
                parts.push(Part { layer: at, document: posting.file, term: number, field, score });
            })?;
        }
        let idf = weight * idf(found, totals.files) * self.weights.file_share;
        for part in &mut self.file_parts[start..] {
            part.score = idf * part.score / (self.weights.file_k + part.score);
            self.scores[part.layer as usize].files[part.document as usize] += part.score;
        }
        Ok(())
    }

    /// The files sorted by their scores, down to the least share of the best score.
    pub(super) fn files(
        &self,
        query: &Query,
        budget: Budget,
        recent: Recent<'_>,
    ) -> Result<Vec<Ranked>, IndexError> {
        let mut candidates = Vec::new();
        for (at, layer) in self.view.layers.iter().enumerate() {
            self.of_layer(at, layer, query, &mut candidates);
        }
        let best = |list: &[Candidate]| list.iter().map(|it| it.score).fold(0.0, f32::max);
        let top = best(&candidates);
        for (path, share) in recent {
            for (at, layer) in self.view.layers.iter().enumerate() {
                let file = layer.catalogue().by_path.get(path);
                if let Some(candidate) = file.and_then(|file| candidate_of(&mut candidates, at, *file)) {
                    candidate.score += top * self.weights.recent * share.clamp(0.0, 1.0);
                }
            }
        }
        if query.only_names {
            self.put_definitions_first(query, top, &mut candidates)?;
        }
        let least = best(&candidates) * budget.least;
        candidates.retain(|it| 0.0 < it.score && least <= it.score);
        if query.nearest.is_empty() || names_definition(self.view, query)? {
            return Ok(self.sorted(candidates, budget.hits));
        }
        let count = candidates.len();
        let mut files = fuse(self, query, self.sorted(candidates, count));
        files.truncate(budget.hits);
        Ok(files)
    }

    fn of_layer(&self, at: usize, layer: &Layer<'_>, query: &Query, candidates: &mut Vec<Candidate>) {
        let (catalogue, scores) = (layer.catalogue(), &self.scores[at]);
        for (file, entry) in catalogue.files.iter().enumerate() {
            let Some(entry) = entry else { continue };
            let content = entry.content as usize;
            let chunks = catalogue.contents.get(content).map(|content| content.chunks.clone());
            let chunks = chunks.unwrap_or_default();
            let size = 1.0 + self.weights.size * score::number(1 + (chunks.end - chunks.start)).ln();
            let mut best: Option<(u32, f32)> = None;
            for chunk in chunks {
                let score = scores.chunks[chunk as usize];
                if best.map_or(0.0, |(_, best)| best) < score {
                    best = Some((chunk, score));
                }
            }
            let spread = scores.contents.get(content).map_or(0.0, |score| self.weights.spread * score);
            let score = size * (best.map_or(0.0, |(_, score)| score) + scores.files[file] + spread);
            if score <= 0.0 {
                continue;
            }
            let score =
                score * (1.0 + NAMED * scores.named[file].min(1.0)) * query.worth(Role::of(&entry.path));
            let file = u32::try_from(file).unwrap_or(u32::MAX);
            if layer.shows(file) && query.allows(&entry.path) {
                let chunk = best.map(|(chunk, _)| chunk);
                candidates.push(Candidate { layer: at, file, score, chunk, definitions: Vec::new() });
            }
        }
    }

    /// A file that defines a name which the query consists of comes before all others: most where the name is spelled
    /// as it was asked for, and in what it was said to be in.
    fn put_definitions_first(
        &self,
        query: &Query,
        top: f32,
        candidates: &mut [Candidate],
    ) -> Result<(), IndexError> {
        for name in &query.names {
            for (at, layer) in self.view.layers.iter().enumerate() {
                let catalogue = layer.catalogue();
                let mut found = Vec::new();
                let wanted = whole(&name.text);
                layer.snapshot.definitions(&wanted, &mut |content, symbol| found.push((content, symbol)))?;
                for (content, symbol) in found {
                    let Some(entry) = catalogue.content(content) else { continue };
                    let around = match &name.within {
                        Some(_) => layer.snapshot.symbols(content)?,
                        None => Vec::new(),
                    };
                    for file in entry.files.iter().copied().filter(|file| layer.shows(*file)) {
                        let path = catalogue.file(file).map(|file| &file.path);
                        if let Some((path, known)) = path.zip(candidate_of(candidates, at, file)) {
                            let fit = name.fit(&symbol, &around, path);
                            if 0.0 < fit {
                                known.definitions.push((fit, symbol.clone()));
                            }
                        }
                    }
                }
            }
        }
        for candidate in candidates {
            let path = self.view.layers[candidate.layer].catalogue().file(candidate.file).map(|it| &it.path);
            let of_file = query.names.iter().zip(path).map(|(name, path)| name.fit_of_file(path));
            candidate.score += top * of_file.fold(0.0, f32::max);
            candidate.definitions.sort_by(|(one, _), (other, _)| other.total_cmp(one));
            // What is only spelled in another way is no answer beside what is not.
            let best = candidate.definitions.first().map_or(0.0, |(fit, _)| *fit);
            candidate.definitions.retain(|(fit, _)| best <= fit + 0.25);
            candidate.score += top * best;
        }
        Ok(())
    }

    /// The best `count` files, in an order that does not depend on the layer.
    fn sorted(&self, mut candidates: Vec<Candidate>, count: usize) -> Vec<Ranked> {
        let order = |one: &Candidate, other: &Candidate| {
            let path =
                |it: &Candidate| self.view.layers[it.layer].catalogue().file(it.file).map(|it| &it.path);
            other.score.total_cmp(&one.score).then_with(|| path(one).cmp(&path(other)))
        };
        if count == 0 {
            return Vec::new();
        }
        if count < candidates.len() {
            candidates.select_nth_unstable_by(count - 1, order);
            candidates.truncate(count);
        }
        candidates.sort_unstable_by(order);
        let ranked = candidates.into_iter().filter_map(|it| {
            let Candidate { layer, file, score, chunk, definitions } = it;
            let definitions = definitions.into_iter().map(|(_, symbol)| symbol).collect();
            let path = self.view.layers[layer].catalogue().file(file)?.path.clone();
            Some(Ranked { path, layer, file, score, chunk, definitions, near: false })
        });
        ranked.collect()
    }
}

/// The places in the query of the terms that tell most, by how rare they are in the view and how they stand in the query.
fn telling_terms(view: &View<'_>, query: &Query) -> Result<Vec<usize>, IndexError> {
    if query.terms.len() <= MOST_TERMS {
        return Ok((0..query.terms.len()).collect());
    }
    let mut rated = Vec::with_capacity(query.terms.len());
    for (number, (term, weight)) in query.terms.iter().enumerate() {
        let mut found = 0;
        for layer in &view.layers {
            let catalogue = layer.catalogue();
            layer.snapshot.chunk_postings(term, &mut |posting| {
                found += u64::from(layer.holders(catalogue.chunk(posting.chunk).content));
            })?;
        }
        if 0 < found {
            rated.push((weight * idf(found, view.totals.chunks), number));
        }
    }
    rated.sort_by(|one, other| other.0.total_cmp(&one.0));
    rated.truncate(MOST_TERMS);
    let mut numbers: Vec<usize> = rated.into_iter().map(|(_, number)| number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// The candidate for a file, if it is one. Candidates are sorted by layer and file.
fn candidate_of(candidates: &mut [Candidate], layer: usize, file: u32) -> Option<&mut Candidate> {
    let at = candidates.binary_search_by_key(&(layer, file), |it| (it.layer, it.file)).ok()?;
    candidates.get_mut(at)
}

struct Candidate {
    layer: usize,
    file: u32,
    score: f32,
    chunk: Option<u32>,
    /// The definitions that were asked for, each with how well it fits.
    definitions: Vec<(f32, Symbol)>,
}

impl Name {
    /// How well a definition of this name, in whatever spelling, fits: no other spelling is as good as the same.
    fn fit(&self, symbol: &Symbol, around: &[Symbol], path: &WorkspacePath) -> f32 {
        let letters = |name: &str| name.replace('_', "").to_lowercase();
        let spelled = if symbol.name == self.text {
            2.0
        } else if letters(&symbol.name) == letters(&self.text) {
            0.5
        } else {
            // Another form of the word.
            return 0.0;
        };
        let kind = match symbol.kind {
            // `mod name;` only says that the definition is elsewhere.
            SymbolKind::Module if symbol.first == symbol.last => 0.25,
            SymbolKind::Module | SymbolKind::Constant => 0.9,
            _ => 1.0,
        };
        let Some(within) = &self.within else { return spelled * kind };
        let encloses = |it: &Symbol| it.name == *within && it.first <= symbol.first && symbol.last <= it.last;
        let of_path = path.names().any(|name| stem(name).eq_ignore_ascii_case(within.as_bytes()));
        let place = match (around.iter().any(encloses), of_path) {
            (true, _) => 1.5,
            (false, true) => 1.25,
            (false, false) => 1.0,
        };
        spelled * kind * place
    }

    /// How well a file fits that is called so, or whose folder is and it speaks for the folder.
    fn fit_of_file(&self, path: &WorkspacePath) -> f32 {
        let mut names = path.names().rev().map(stem);
        let speaks = |name: &&[u8]| !["mod", "index", "__init__"].iter().any(|it| it.as_bytes() == *name);
        if names.find(speaks) == Some(self.text.as_bytes()) { 0.7 } else { 0.0 }
    }
}

/// A name without its ending.
fn stem(name: &[u8]) -> &[u8] {
    name.rsplitn(2, |byte| *byte == b'.').last().unwrap_or_default()
}

impl Scores {
    fn of(layer: &Layer<'_>) -> Self {
        let catalogue = layer.catalogue();
        let none = |count| vec![0.0; count];
        let (chunks, contents) = (catalogue.chunks.len(), catalogue.contents.len());
        Self {
            chunks: none(chunks),
            files: none(catalogue.files.len()),
            contents: none(contents),
            named: none(catalogue.files.len()),
            best: none(contents),
        }
    }
}

impl Query {
    /// How much a file of this role counts: a question about behaviour is answered by source.
    fn worth(&self, role: Role) -> f32 {
        match role {
            Role::Source => 1.0,
            Role::Test if self.asks_for_tests => 1.0,
            Role::Text if self.asks_for_texts => 1.0,
            Role::Test | Role::Text | Role::Example => 0.65,
            Role::Made => 0.3,
        }
    }

    /// Whether a path is within the place that the query names.
    pub(super) fn allows(&self, path: &WorkspacePath) -> bool {
        let below = self.folder.as_ref().is_none_or(|folder| path.starts_with(folder));
        let ends = self.ending.as_ref().is_none_or(|ending| {
            let name = path.file_name().unwrap_or_default();
            let (dot, end) = (name.len().checked_sub(ending.len() + 1), ending.as_bytes());
            dot.is_some_and(|dot| name[dot] == b'.' && name[dot + 1..].eq_ignore_ascii_case(end))
        });
        below && ends
    }
}

/// The name of the field in which a part counts.
pub(super) fn field_name(of_file: bool, field: u32) -> &'static str {
    let names: &[&'static str] = if of_file { &score::FILE_FIELDS } else { &score::CHUNK_FIELDS };
    names.get(field as usize).copied().unwrap_or_default()
}
