//! The licences of what is compiled into the binary, which ask to go along with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};

use super::{ReleaseError, at};

/// How the names of files begin that hold a licence, a list of authors or a notice, in capitals.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// The text that goes along with the binary for a target.
pub(super) fn notices(repository: &Path, triple: &str) -> Result<String, ReleaseError> {
    let mut command = MetadataCommand::new();
    command.current_dir(repository.join("crates/cli"));
    command.other_options(["--locked".to_owned(), "--filter-platform".to_owned(), triple.to_owned()]);
    let metadata = command.exec().map_err(|source| ReleaseError::Metadata { source })?;
    let compiled = compiled_in(&metadata)?;
    // One text is often that of many packages, but for its white space.
    let mut texts: BTreeMap<String, (Vec<String>, String)> = BTreeMap::new();
    let mut without = Vec::new();
    for package in compiled {
        let name = format!("{} {}", package.name, package.version);
        let found = licence_texts(package)?;
        if found.is_empty() {
            let from = package.repository.as_deref().unwrap_or("no address given");
            without.push(format!(
                "{name}: {} ({from})",
                package.license.as_deref().unwrap_or("no licence named")
            ));
        }
        for text in found {
            let words: Vec<_> = text.split_whitespace().collect();
            let known = texts.entry(words.join(" ")).or_insert_with(|| (Vec::new(), text));
            known.0.push(name.clone());
        }
    }
    let mut notices = String::from("headstart is made with the work of others. Their licences:\n");
    let mut texts: Vec<_> = texts.into_values().collect();
    texts.sort();
    for (names, text) in texts {
        let line = "=".repeat(80);
        let _ = writeln!(notices, "\n{line}\n{}\n{line}\n\n{}", names.join(", "), text.trim());
    }
    if !without.is_empty() {
        notices.push_str("\nThese name their licence and bring no text of it:\n\n");
        notices.push_str(&without.join("\n"));
        notices.push('\n');
    }
    notices.push_str("\nThe syntaxes by which code is coloured:\n\n");
    notices.push_str(&two_face::acknowledgement::listing().to_md());
    Ok(notices)
}

/// The packages of others that the binary is made of: what only builds or tests it is not in it.
fn compiled_in(metadata: &Metadata) -> Result<Vec<&Package>, ReleaseError> {
    let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let nodes: BTreeMap<&PackageId, _> = nodes.map(|node| (&node.id, node)).collect();
    let binary = metadata.packages.iter().find(|package| package.name.as_str() == "headstart");
    let mut left = vec![&binary.ok_or(ReleaseError::NoPackage)?.id];
    let mut seen = BTreeSet::new();
    while let Some(id) = left.pop() {
        if !seen.insert(id) {
            continue;
        }
        let needs = nodes.get(id).into_iter().flat_map(|node| &node.deps);
        let compiled = needs.filter(|needed| {
            needed.dep_kinds.is_empty()
                || needed.dep_kinds.iter().any(|info| info.kind == DependencyKind::Normal)
        });
        left.extend(compiled.map(|needed| &needed.pkg));
    }
    let mut packages: Vec<_> = metadata
        .packages
        .iter()
        .filter(|package| package.source.is_some() && seen.contains(&package.id))
        .collect();
    packages.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    Ok(packages)
}

/// What stands in the files beside a package's manifest.
fn licence_texts(package: &Package) -> Result<BTreeSet<String>, ReleaseError> {
    let manifest = package.manifest_path.as_std_path();
    let folder = manifest.parent().unwrap_or(manifest);
    let mut texts = BTreeSet::new();
    for entry in at(folder, std::fs::read_dir(folder))? {
        let entry = at(folder, entry)?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let path = entry.path();
        if NAMES.iter().any(|begin| name.starts_with(begin)) && path.is_file() {
            // A few are of a time before UTF-8.
            texts.insert(String::from_utf8_lossy(&at(&path, std::fs::read(&path))?).replace("\r\n", "\n"));
        }
    }
    Ok(texts)
}
