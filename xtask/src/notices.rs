//! The licences of everything that is compiled into a package, because they have to be distributed with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cargo_metadata::{MetadataCommand, Package};

/// The name of the file with the licences, in every package that contains one.
pub(crate) const FILE: &str = "THIRD-PARTY.md";

/// Why the licences could not be gathered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum NoticesError {
    #[error("cargo metadata: {0}")]
    Metadata(#[from] cargo_metadata::Error),
    #[error("cargo could not be started: {source}")]
    Start { source: std::io::Error },
    #[error("cargo tree does not say what {package} is made of")]
    Tree { package: &'static str },
    #[error("{path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
}

/// What is compiled, and how it is built.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compiled<'a> {
    /// The package of the workspace.
    pub(crate) package: &'static str,
    /// The target, in rustc's form.
    pub(crate) triple: &'a str,
    /// Further options for cargo, which say which features are on.
    pub(crate) options: &'a [&'a str],
}

/// The beginnings of names of files that hold a licence, a list of authors or a notice, in capitals.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// The text of the file with the licences.
pub(crate) fn notices(repository: &Path, compiled: Compiled<'_>) -> Result<String, NoticesError> {
    let names = compiled_in(repository, compiled)?;
    let mut command = MetadataCommand::new();
    command.current_dir(repository).other_options(["--locked".to_owned()]);
    let metadata = command.exec()?;
    let others = metadata.packages.iter().filter(|package| {
        package.source.is_some() && names.contains(&format!("{} v{}", package.name, package.version))
    });
    let mut others: Vec<_> = others.collect();
    others.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    // Many packages have the same text, apart from its white space.
    let mut texts: BTreeMap<String, (Vec<String>, String)> = BTreeMap::new();
    let mut without = Vec::new();
    for package in others {
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
    Ok(notices)
}

/// The packages of others that a package contains, as name and version. Packages that are only used to build or to test
/// it are left out.
fn compiled_in(repository: &Path, compiled: Compiled<'_>) -> Result<BTreeSet<String>, NoticesError> {
    let mut command = Command::new("cargo");
    command.current_dir(repository).args(["tree", "--locked", "--quiet", "--package", compiled.package]);
    command.args(["--target", compiled.triple, "--edges", "normal,no-proc-macro", "--prefix", "none"]);
    command.args(["--format", "{p}"]).args(compiled.options);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|source| NoticesError::Start { source })?;
    if !output.status.success() {
        return Err(NoticesError::Tree { package: compiled.package });
    }
    // A line is `name v1.2.3`, followed by the folder if it is a package of the workspace.
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect())
}

/// The content of the files with licences beside a package's manifest.
fn licence_texts(package: &Package) -> Result<BTreeSet<String>, NoticesError> {
    let manifest = package.manifest_path.as_std_path();
    let folder = manifest.parent().unwrap_or(manifest);
    let mut texts = BTreeSet::new();
    for entry in at(folder, std::fs::read_dir(folder))? {
        let entry = at(folder, entry)?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let path = entry.path();
        if NAMES.iter().any(|begin| name.starts_with(begin)) && path.is_file() {
            // A few of these files are older than UTF-8.
            texts.insert(String::from_utf8_lossy(&at(&path, std::fs::read(&path))?).replace("\r\n", "\n"));
        }
    }
    Ok(texts)
}

fn at<T>(path: &Path, outcome: std::io::Result<T>) -> Result<T, NoticesError> {
    outcome.map_err(|source| NoticesError::File { path: path.to_owned(), source })
}
