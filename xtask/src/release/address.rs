//! Writes the repository's address into every file that has to name it. Without it, tools of others cannot find a
//! release.

use std::path::{Path, PathBuf};

use super::{ReleaseError, at, version};

/// The placeholder for the address until there is one.
const PLACEHOLDER: &str = "https://github.com/OWNER/headstart";
const OWNER: &str = "OWNER/headstart";
/// The packages for npm and VS Code whose manifests are written by hand.
const PACKAGES: [&str; 2] = ["crates/wasm/npm/package.json", "editors/vscode/package.json"];

/// Replaces the address in all files by this one. Returns the files that changed.
pub(crate) fn set(repository: &Path, url: &str) -> Result<Vec<PathBuf>, ReleaseError> {
    let is_address = url.strip_prefix("https://").is_some_and(|rest| {
        let known = |c: char| c.is_ascii_alphanumeric() || "-._/".contains(c);
        rest.split('/').count() == 3
            && rest.split('/').all(|part| !part.is_empty())
            && rest.chars().all(known)
    });
    if !is_address || Path::new(url).extension().is_some_and(|end| end == "git") {
        return Err(ReleaseError::Repository { url: url.to_owned() });
    }
    let before = of(repository)?.unwrap_or_else(|| PLACEHOLDER.to_owned());
    let mut changed = Vec::new();
    let mut edit = |file: &Path, with: &dyn Fn(&str) -> String| {
        let text = at(file, std::fs::read_to_string(file))?;
        let edited = with(&text);
        if edited != text {
            at(file, std::fs::write(file, edited))?;
            changed.push(file.to_owned());
        }
        Ok::<_, ReleaseError>(())
    };
    let entry = format!("repository = \"{url}\"");
    edit(&repository.join("Cargo.toml"), &|text| with_line(text, "license = ", "repository = ", &entry))?;
    for manifest in crates(repository)? {
        edit(&manifest, &|text| {
            with_line(text, "license.workspace = ", "repository.workspace = ", "repository.workspace = true")
        })?;
    }
    let entry = format!("  \"repository\": {{ \"type\": \"git\", \"url\": \"git+{url}.git\" }},");
    for package in PACKAGES {
        edit(&repository.join(package), &|text| {
            with_line(text, "  \"license\": ", "  \"repository\": ", &entry)
        })?;
    }
    // A workflow names an action by its path, without the host.
    let named = |url: &str| {
        let path = url.splitn(4, '/').nth(3).unwrap_or_default();
        format!("uses: {path}@")
    };
    for page in pages(repository)? {
        edit(&page, &|text| text.replace(&before, url).replace(&named(&before), &named(url)))?;
    }
    Ok(changed)
}

/// The address in the manifest of the crates.
pub(super) fn of(repository: &Path) -> Result<Option<String>, ReleaseError> {
    let package = version::package(repository)?;
    Ok(package.get("repository").and_then(|url| url.as_str()).map(str::to_owned))
}

/// Checks that everything that a release publishes names the repository.
pub(super) fn check(repository: &Path) -> Result<(), ReleaseError> {
    let missing = |file: &Path| {
        let file = file.strip_prefix(repository).unwrap_or(file).display().to_string();
        let problem =
            "does not say where the repository is; `cargo xtask release address URL` writes it".to_owned();
        ReleaseError::Version { file, problem }
    };
    let Some(url) = of(repository)? else { return Err(missing(&repository.join("Cargo.toml"))) };
    let named = crates(repository)?.into_iter().map(|file| (file, "repository.workspace = true".to_owned()));
    let packages = PACKAGES.map(|file| (repository.join(file), format!("git+{url}.git")));
    for (file, wanted) in named.chain(packages) {
        if !at(&file, std::fs::read_to_string(&file))?.contains(&wanted) {
            return Err(missing(&file));
        }
    }
    for page in pages(repository)? {
        if at(&page, std::fs::read_to_string(&page))?.contains(OWNER) {
            return Err(missing(&page));
        }
    }
    Ok(())
}

/// Inserts `line` after the first line that begins with `after`, and removes every line that begins with `old`.
fn with_line(text: &str, after: &str, old: &str, line: &str) -> String {
    let mut lines: Vec<&str> = text.lines().filter(|known| !known.starts_with(old)).collect();
    if let Some(place) = lines.iter().position(|known| known.starts_with(after)) {
        lines.insert(place + 1, line);
    }
    lines.join("\n") + "\n"
}

/// The manifests of the crates that are published.
fn crates(repository: &Path) -> Result<Vec<PathBuf>, ReleaseError> {
    let mut manifests = Vec::new();
    for entry in files(&repository.join("crates"))? {
        let manifest = entry.join("Cargo.toml");
        if !at(&manifest, std::fs::read_to_string(&manifest))?.contains("publish = false") {
            manifests.push(manifest);
        }
    }
    Ok(manifests)
}

/// The pages that tell a reader where to download something.
fn pages(repository: &Path) -> Result<Vec<PathBuf>, ReleaseError> {
    let mut pages = vec![repository.join("release/install.md"), repository.join("action.yml")];
    pages.extend(
        files(&repository.join("docs"))?
            .into_iter()
            .filter(|file| file.extension().is_some_and(|end| end == "md")),
    );
    Ok(pages)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, ReleaseError> {
    let entries = at(folder, std::fs::read_dir(folder))?;
    let entries = entries.map(|entry| at(folder, entry).map(|entry| entry.path()));
    let mut files = entries.collect::<Result<Vec<_>, _>>()?;
    files.sort();
    Ok(files)
}
