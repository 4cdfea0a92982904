//! Finds files that import each other in a circle. More than three of them are too many, because such files have to be
//! read together.

mod modules;
mod names;
mod paths;
mod scripts;

use std::collections::{BTreeMap, BTreeSet};

use super::broken::{Broken, RuleError};
use super::dependencies::Package;
use super::text::File;

const MOST_FILES: usize = 3;

/// The imports: a file, a file that it imports, and the names that it takes from there.
type Arrows = BTreeMap<(String, String), BTreeSet<String>>;

pub(super) fn check(files: &[File], packages: &[Package]) -> Result<Vec<Broken>, RuleError> {
    let mut broken = broken(&scripts::arrows(files));
    for package in packages {
        broken.extend(self::broken(&names::arrows(files, &package.folder)?));
    }
    Ok(broken)
}

fn broken(arrows: &Arrows) -> Vec<Broken> {
    too_large(arrows).iter().map(|circle| broken_circle(circle, arrows)).collect()
}

/// A folder is one noun, and its files are phases of that noun. So an import from a file to the file in whose folder it
/// is makes no circle among the phases of a noun. In a circle of several nouns such imports count, and each noun is
/// counted once.
fn too_large(arrows: &Arrows) -> BTreeSet<BTreeSet<String>> {
    let mut among_phases = arrows.clone();
    among_phases.retain(|(from, to), _| !stands_in(from, to));
    let of_phases = circles(&among_phases).into_iter().filter(|circle| MOST_FILES < circle.len());
    let nouns = |circle: &BTreeSet<String>| {
        let is_noun = |file: &&String| !circle.iter().any(|other| stands_in(file, other));
        circle.iter().filter(is_noun).count()
    };
    of_phases.chain(circles(arrows).into_iter().filter(|circle| MOST_FILES < nouns(circle))).collect()
}

/// Whether a file is in the folder of another: `a/b.rs` is in that of `a.rs` or `a/mod.rs`. A crate's root does not
/// count, because everything is in its folder.
fn stands_in(file: &str, other: &str) -> bool {
    let folder = other.strip_suffix("/mod.rs").or_else(|| {
        let is_root = other.ends_with("/lib.rs") || other.ends_with("/main.rs");
        other.strip_suffix(".rs").filter(|_| !is_root)
    });
    file != other
        && folder.and_then(|folder| file.strip_prefix(folder)).is_some_and(|rest| rest.starts_with('/'))
}

fn broken_circle(circle: &BTreeSet<String>, arrows: &Arrows) -> Broken {
    let ties = arrows.iter().filter(|((from, to), _)| circle.contains(from) && circle.contains(to));
    let ties = ties.map(|((from, to), names)| {
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        format!("\n    {from} -> {to}: {}", names.join(", "))
    });
    let what = format!(
        "and {} more files import each other in a circle; what two of them need belongs into a file below both:{}",
        circle.len() - 1,
        ties.collect::<String>()
    );
    Broken::new(circle.first().cloned().unwrap_or_default(), what)
}

/// The sets of files in which each file reaches every other one by imports.
fn circles(arrows: &Arrows) -> Vec<BTreeSet<String>> {
    let mut onward: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in arrows.keys() {
        onward.entry(from).or_default().push(to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        onward.keys().map(|file| (*file, reached_from(file, &onward))).collect();
    let mut circles: Vec<BTreeSet<String>> = Vec::new();
    for (file, theirs) in &reached {
        if circles.iter().any(|circle| circle.contains(*file)) {
            continue;
        }
        let goes_back = |other: &&&str| reached.get(**other).is_some_and(|back| back.contains(file));
        circles.push(theirs.iter().filter(goes_back).map(|other| (*other).to_owned()).collect());
    }
    circles
}

fn reached_from<'a>(file: &str, onward: &BTreeMap<&str, Vec<&'a str>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut ahead: Vec<&str> = onward.get(file).cloned().unwrap_or_default();
    while let Some(next) = ahead.pop() {
        if reached.insert(next) {
            ahead.extend(onward.get(next).into_iter().flatten());
        }
    }
    reached
}

#[cfg(test)]
mod tests;
