//! Finds files that import each other in a circle. More than three of them are too many, because such files have to be
//! read together.

mod modules;
mod paths;
mod rust_imports;
mod script_imports;

use std::collections::{BTreeMap, BTreeSet};

use super::dependencies::Package;
use super::text::File;
use super::violations::{RuleError, Violation};

const MOST_FILES: usize = 3;

/// The imports: a file, a file that it imports, and the names that it takes from there.
type ImportGraph = BTreeMap<(String, String), BTreeSet<String>>;

pub(super) fn check(files: &[File], packages: &[Package]) -> Result<Vec<Violation>, RuleError> {
    let mut violations = violations(&script_imports::import_graph(files));
    for package in packages {
        violations.extend(self::violations(&rust_imports::import_graph(files, &package.folder)?));
    }
    Ok(violations)
}

fn violations(graph: &ImportGraph) -> Vec<Violation> {
    too_large(graph).iter().map(|cycle| cycle_violation(cycle, graph)).collect()
}

/// A folder is one noun, and its files are phases of that noun. So an import from a file to the file in whose folder it
/// is makes no circle among the phases of a noun. In a circle of several nouns such imports count, and each noun is
/// counted once.
fn too_large(graph: &ImportGraph) -> BTreeSet<BTreeSet<String>> {
    let mut among_phases = graph.clone();
    among_phases.retain(|(from, to), _| !is_in_folder_of(from, to));
    let phase_cycles = cycles(&among_phases).into_iter().filter(|cycle| MOST_FILES < cycle.len());
    let nouns = |cycle: &BTreeSet<String>| {
        let is_noun = |file: &&String| !cycle.iter().any(|other| is_in_folder_of(file, other));
        cycle.iter().filter(is_noun).count()
    };
    phase_cycles.chain(cycles(graph).into_iter().filter(|cycle| MOST_FILES < nouns(cycle))).collect()
}

/// Whether a file is in the folder of another: `a/b.rs` is in that of `a.rs` or `a/mod.rs`. A crate's root does not
/// count, because everything is in its folder.
fn is_in_folder_of(file: &str, other: &str) -> bool {
    let folder = other.strip_suffix("/mod.rs").or_else(|| {
        let is_root = other.ends_with("/lib.rs") || other.ends_with("/main.rs");
        other.strip_suffix(".rs").filter(|_| !is_root)
    });
    file != other
        && folder.and_then(|folder| file.strip_prefix(folder)).is_some_and(|rest| rest.starts_with('/'))
}

fn cycle_violation(cycle: &BTreeSet<String>, graph: &ImportGraph) -> Violation {
    let imports = graph.iter().filter(|((from, to), _)| cycle.contains(from) && cycle.contains(to));
    let imports = imports.map(|((from, to), names)| {
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        format!("\n    {from} -> {to}: {}", names.join(", "))
    });
    let what = format!(
        "and {} more files import each other in a circle; what two of them need belongs into a file below both:{}",
        cycle.len() - 1,
        imports.collect::<String>()
    );
    Violation::new(cycle.first().cloned().unwrap_or_default(), what)
}

/// The sets of files in which each file reaches every other one by imports.
fn cycles(graph: &ImportGraph) -> Vec<BTreeSet<String>> {
    let mut imports: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in graph.keys() {
        imports.entry(from).or_default().push(to);
    }
    let reachable: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|file| (*file, reachable_from(file, &imports))).collect();
    let mut cycles: Vec<BTreeSet<String>> = Vec::new();
    for (file, reachable_files) in &reachable {
        if cycles.iter().any(|cycle| cycle.contains(*file)) {
            continue;
        }
        let leads_back = |other: &&&str| reachable.get(**other).is_some_and(|back| back.contains(file));
        cycles.push(reachable_files.iter().filter(leads_back).map(|other| (*other).to_owned()).collect());
    }
    cycles
}

fn reachable_from<'a>(file: &str, imports: &BTreeMap<&str, Vec<&'a str>>) -> BTreeSet<&'a str> {
    let mut reachable = BTreeSet::new();
    let mut pending: Vec<&str> = imports.get(file).cloned().unwrap_or_default();
    while let Some(next) = pending.pop() {
        if reachable.insert(next) {
            pending.extend(imports.get(next).into_iter().flatten());
        }
    }
    reachable
}

#[cfg(test)]
mod tests;
