use std::path::Path;

use super::{ReleaseError, address};

/// The version of the crates.
pub(super) fn of_workspace(repository: &Path) -> Result<String, ReleaseError> {
    let package = package(repository)?;
    let version = package.get("version").and_then(toml::Value::as_str);
    version.map(str::to_owned).ok_or_else(|| problem("Cargo.toml", &"has no workspace.package.version"))
}

/// The fields that the crates share.
pub(super) fn package(repository: &Path) -> Result<toml::Value, ReleaseError> {
    let manifest = read(repository, "Cargo.toml")?;
    let manifest: toml::Table = manifest.parse().map_err(|error| problem("Cargo.toml", &error))?;
    let package = manifest.get("workspace").and_then(|workspace| workspace.get("package"));
    package.cloned().ok_or_else(|| problem("Cargo.toml", &"has no workspace.package"))
}

/// Checks that everything that a tag releases has its version: the crates, the npm package and the extension. The
/// changelog must have a section for it, and all packages must name the repository. Returns the version.
pub(crate) fn check(repository: &Path, tag: &str) -> Result<String, ReleaseError> {
    let version = of_workspace(repository)?;
    if tag.strip_prefix('v') != Some(version.as_str()) {
        return Err(problem(
            "Cargo.toml",
            &format!("has version {version}, and the tag is {tag}, not v{version}"),
        ));
    }
    for file in ["crates/wasm/npm/package.json", "editors/vscode/package.json"] {
        let manifest: serde_json::Value =
            serde_json::from_str(&read(repository, file)?).map_err(|error| problem(file, &error))?;
        let found = manifest.get("version").and_then(|version| version.as_str()).unwrap_or("none");
        if found != version {
            return Err(problem(file, &format!("has version {found}, and the crates have {version}")));
        }
    }
    // The versions that crates of the workspace require of each other.
    let manifest = read(repository, "Cargo.toml")?;
    for line in manifest.lines().filter(|line| line.starts_with("headstart-") && line.contains("path = \"")) {
        if !line.contains(&format!("version = \"{version}\"")) {
            return Err(problem("Cargo.toml", &format!("asks for another version: {line}")));
        }
    }
    let heading = format!("## [{version}]");
    if !read(repository, "CHANGELOG.md")?.lines().any(|line| line.starts_with(&heading)) {
        let missing =
            format!("has no line that begins with \"{heading}\"; what is under [Unreleased] belongs there");
        return Err(problem("CHANGELOG.md", &missing));
    }
    address::check(repository)?;
    Ok(version)
}

fn read(repository: &Path, file: &str) -> Result<String, ReleaseError> {
    let path = repository.join(file);
    std::fs::read_to_string(&path).map_err(|source| ReleaseError::File { path, source })
}

fn problem(file: &str, problem: &dyn std::fmt::Display) -> ReleaseError {
    ReleaseError::Version { file: file.to_owned(), problem: problem.to_string() }
}
