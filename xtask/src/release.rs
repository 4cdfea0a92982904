//! The parts of a release besides what cargo publishes: an archive for each target, an installer, and npm packages that
//! contain the binary.
//!
//! The code here only writes files, which `.github/workflows/release.yml` publishes.

pub(crate) mod address;
mod archive;
mod assemble;
mod homebrew;
mod npm;
mod registry;
mod version;

use std::path::{Path, PathBuf};

pub(crate) use archive::archive;
pub(crate) use assemble::assemble;
pub(crate) use version::check;

use crate::notices::NoticesError;

/// The folder in which the files of a release are put together, below the target folder.
pub(crate) const FOLDER: &str = "release-files";

/// A target for which there is a binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    /// The target, in rustc's form.
    pub(crate) triple: &'static str,
    /// The target in npm's form: `os`, `cpu`, and on Linux `libc`.
    os: &'static str,
    cpu: &'static str,
    libc: Option<&'static str>,
}

/// All targets with a binary.
pub(crate) const TARGETS: [Target; 7] = [
    Target { triple: "x86_64-unknown-linux-gnu", os: "linux", cpu: "x64", libc: Some("glibc") },
    Target { triple: "x86_64-unknown-linux-musl", os: "linux", cpu: "x64", libc: Some("musl") },
    Target { triple: "aarch64-unknown-linux-gnu", os: "linux", cpu: "arm64", libc: Some("glibc") },
    Target { triple: "aarch64-unknown-linux-musl", os: "linux", cpu: "arm64", libc: Some("musl") },
    Target { triple: "x86_64-apple-darwin", os: "darwin", cpu: "x64", libc: None },
    Target { triple: "aarch64-apple-darwin", os: "darwin", cpu: "arm64", libc: None },
    Target { triple: "x86_64-pc-windows-msvc", os: "win32", cpu: "x64", libc: None },
];

/// Why a release cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ReleaseError {
    #[error("{path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error("{triple} is no target of a release; there are {}", TARGETS.map(|target| target.triple).join(", "))]
    NoTarget { triple: String },
    #[error(
        "{folder} holds no archive of version {version}; `cargo xtask release archive` makes one for each target"
    )]
    NoArchive { folder: PathBuf, version: String },
    #[error("{url:?} is no address of a folder; write it as https://host/path, without a slash at the end")]
    Address { url: String },
    #[error(
        "{url:?} is no address of a repository; write it as https://github.com/OWNER/NAME, without .git or a slash at the end"
    )]
    Repository { url: String },
    #[error("{file}: {problem}")]
    Version { file: String, problem: String },
    #[error("{path} has {bytes} bytes; a binary of a release has at most {most}")]
    Size { path: PathBuf, bytes: usize, most: usize },
    #[error("{program} could not be started: {source}")]
    Start { program: String, source: std::io::Error },
    #[error("{command} failed")]
    Failed { command: String },
    #[error(transparent)]
    Notices(#[from] NoticesError),
}

impl Target {
    pub(crate) fn find(triple: &str) -> Result<Self, ReleaseError> {
        let found = TARGETS.into_iter().find(|target| target.triple == triple);
        found.ok_or_else(|| ReleaseError::NoTarget { triple: triple.to_owned() })
    }

    /// The file name of the target's binary.
    fn binary_name(self) -> &'static str {
        if self.os == "win32" { "headstart.exe" } else { "headstart" }
    }

    /// The file name of the target's archive.
    fn archive_name(self, version: &str) -> String {
        format!("headstart-{version}-{}.tar.gz", self.triple)
    }
}

fn at<T>(path: &Path, outcome: std::io::Result<T>) -> Result<T, ReleaseError> {
    outcome.map_err(|source| ReleaseError::File { path: path.to_owned(), source })
}

fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), ReleaseError> {
    if let Some(folder) = path.parent() {
        at(folder, std::fs::create_dir_all(folder))?;
    }
    at(path, std::fs::write(path, content))
}

// They pack with npm.
#[cfg(test)]
#[cfg(feature = "programs")]
mod tests;
