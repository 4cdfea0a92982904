use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::archive::sum;
use super::{ReleaseError, TARGETS, Target, address, homebrew, npm, registry, version, write};

/// For a shell of Unix (on Windows that of Git), and for PowerShell.
const INSTALLERS: [(&str, &str); 2] = [
    ("install.sh", include_str!("../../../release/install.sh")),
    ("install.ps1", include_str!("../../../release/install.ps1")),
];

/// Makes everything that is released beside the archives in `folder`: checksums, the installers and the formula, which
/// fetch the archives from `url`, npm packages, and the entry for the registry of agents. Returns the files that were
/// written.
pub(crate) fn assemble(repository: &Path, folder: &Path, url: &str) -> Result<Vec<PathBuf>, ReleaseError> {
    let is_address = (url.starts_with("https://") || url.starts_with("http://127.0.0.1:"))
        && !url.ends_with('/')
        && !url.contains(|c: char| c.is_whitespace() || c.is_control() || "\"'`$\\".contains(c));
    if !is_address {
        return Err(ReleaseError::Address { url: url.to_owned() });
    }
    let version = version::of_workspace(repository)?;
    let archives: Vec<(Target, PathBuf)> = TARGETS
        .into_iter()
        .map(|target| (target, folder.join(target.archive_name(&version))))
        .filter(|(_, archive)| archive.exists())
        .collect();
    if archives.is_empty() {
        return Err(ReleaseError::NoArchive { folder: folder.to_owned(), version });
    }
    let mut sums = String::new();
    for (target, archive) in &archives {
        let _ = writeln!(sums, "{}  {}", sum(archive)?, target.archive_name(&version));
    }
    let sums_file = folder.join("SHA256SUMS");
    write(&sums_file, &sums)?;
    let mut installers = Vec::new();
    for (name, template) in INSTALLERS {
        let file = folder.join(name);
        let text = template.replace("@VERSION@", &version).replace("@URL@", url);
        write(&file, text.replace("@SUMS@", sums.trim_end()))?;
        installers.push(file);
    }
    let address = address::of(repository)?;
    let formula = homebrew::formula(folder, &version, &archives, url, address.as_deref())?;
    let packages = npm::packages(repository, folder, &version, &archives)?;
    let entry = registry::entry(folder, &version, address.as_deref())?;
    Ok([vec![sums_file, formula], installers, packages, entry].concat())
}
