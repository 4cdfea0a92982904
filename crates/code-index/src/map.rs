//! A map of the repository: the files on which most others depend, and what they define.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use headstart_overlay_fs::WorkspacePath;

use crate::{IndexError, Symbol, SymbolKind, View, whole};

/// The share of its weight that a file passes on, as in `PageRank`.
const DAMPING: f64 = 0.85;
/// The number of rounds; more of them hardly change the order.
const ROUNDS: usize = 20;
/// If more files than this define a name, uses of it say nothing about which one is meant.
const MOST_DEFINERS: usize = 4;
/// The most definitions that are shown for one file.
const MOST_SHOWN: usize = 24;
/// The most names that are looked up.
const MOST_NAMES: usize = 20_000;

/// The files below a folder on which most others depend, with their definitions, in at most `bytes` of text. A file
/// counts more for each name that it defines and others use.
///
/// For each file a line with its path, followed by lines of the form ` line: kind name`. Paths for which `closes` is
/// true are left out.
pub fn repo_map(
    view: &View<'_>,
    below: &WorkspacePath,
    bytes: usize,
    closes: &dyn Fn(&WorkspacePath) -> bool,
) -> Result<String, IndexError> {
    let files = files(view)?;
    let ranks = ranks(view, &files)?;
    let mut order: Vec<usize> = (0..files.len()).filter(|at| files[*at].path.starts_with(below)).collect();
    order.sort_unstable_by(|one, other| {
        ranks[*other].total_cmp(&ranks[*one]).then_with(|| files[*one].path.cmp(&files[*other].path))
    });
    let mut text = String::new();
    for file in order.into_iter().map(|at| &files[at]).filter(|file| !file.symbols.is_empty()) {
        if closes(&file.path) {
            continue;
        }
        let entry = entry(file);
        if bytes < text.len() + entry.len() {
            break;
        }
        text.push_str(&entry);
    }
    Ok(text)
}

struct File {
    layer: usize,
    number: u32,
    path: WorkspacePath,
    symbols: Vec<Symbol>,
}

fn files(view: &View<'_>) -> Result<Vec<File>, IndexError> {
    let mut files = Vec::new();
    for (at, layer) in view.layers.iter().enumerate() {
        for (number, entry) in (0..).zip(&layer.catalogue().files) {
            let Some(entry) = entry.as_ref().filter(|_| layer.shows(number)) else { continue };
            let mut symbols = layer.snapshot.symbols(entry.content)?;
            symbols.retain(|symbol| symbol.defines() && symbol.kind != SymbolKind::Module);
            files.push(File { layer: at, number, path: entry.path.clone(), symbols });
        }
    }
    Ok(files)
}

/// The rank of each file: how likely a reader is there who starts anywhere and follows uses to definitions.
fn ranks(view: &View<'_>, files: &[File]) -> Result<Vec<f64>, IndexError> {
    let mut definers: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, file) in files.iter().enumerate() {
        for symbol in &file.symbols {
            let places = definers.entry(whole(&symbol.name)).or_default();
            if places.last() != Some(&at) {
                places.push(at);
            }
        }
    }
    let number: HashMap<(usize, u32), usize> =
        files.iter().enumerate().map(|(at, file)| ((file.layer, file.number), at)).collect();
    let mut uses: Vec<Vec<(usize, f64)>> = vec![Vec::new(); files.len()];
    let telling = definers.iter().filter(|(name, places)| 3 < name.len() && places.len() <= MOST_DEFINERS);
    for (name, places) in telling.take(MOST_NAMES) {
        for (at, layer) in view.layers.iter().enumerate() {
            let catalogue = layer.catalogue();
            layer.snapshot.chunk_postings(name, &mut |posting| {
                let holders =
                    catalogue.content(catalogue.chunk(posting.chunk).content).map(|content| &content.files);
                for user in holders.into_iter().flatten().filter_map(|file| number.get(&(at, *file))) {
                    let weight = f64::from(posting.counts[0]).sqrt()
                        / f64::from(u32::try_from(places.len()).unwrap_or(1));
                    uses[*user]
                        .extend(places.iter().filter(|place| *place != user).map(|place| (*place, weight)));
                }
            })?;
        }
    }
    let sums: Vec<f64> = uses.iter().map(|uses| uses.iter().map(|(_, weight)| weight).sum()).collect();
    let even = 1.0 / f64::from(u32::try_from(files.len().max(1)).unwrap_or(u32::MAX));
    let mut ranks = vec![even; files.len()];
    for _ in 0..ROUNDS {
        let mut next = vec![0.0; files.len()];
        let mut kept = 0.0;
        for (at, uses) in uses.iter().enumerate() {
            if uses.is_empty() {
                kept += ranks[at];
            }
            for (place, weight) in uses {
                next[*place] += ranks[at] * weight / sums[at];
            }
        }
        for rank in &mut next {
            *rank = (1.0 - DAMPING) * even + DAMPING * (*rank + kept * even);
        }
        ranks = next;
    }
    Ok(ranks)
}

fn entry(file: &File) -> String {
    let mut text = format!("{}\n", file.path);
    let kinds =
        |symbol: &&Symbol| matches!(symbol.kind, SymbolKind::Type | SymbolKind::Function | SymbolKind::Macro);
    let mut shown: Vec<&Symbol> = file.symbols.iter().filter(kinds).collect();
    if shown.is_empty() {
        shown = file.symbols.iter().collect();
    }
    let more = shown.len().saturating_sub(MOST_SHOWN);
    for symbol in shown.into_iter().take(MOST_SHOWN) {
        let _ = writeln!(text, " {}: {} {}", symbol.first, symbol.kind.name(), symbol.name);
    }
    if 0 < more {
        let _ = writeln!(text, " and {more} more");
    }
    text
}
