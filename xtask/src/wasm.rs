//! Builds the npm package, and checks the pure crates as WebAssembly: they can be built, their module imports nothing
//! from its host, and it runs.

mod npm;
mod package;
mod toolchain;

use std::path::{Path, PathBuf};
use std::process::Command;

use self::toolchain::{TARGET, Toolchain};
use crate::notices::NoticesError;
use crate::rules::PURE_CRATES;

pub(crate) use package::build;

/// How the package is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// As it is published: small, which takes minutes to build.
    Small,
    /// Quick to build and large: one module, which all entries of the package load.
    Dev,
}

/// Where the packed package is tried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trial {
    /// In Node and in the project of one bundler, with the package of [`Profile::Dev`].
    Dev,
    /// In a few projects, with the package as it is published.
    Usual,
    /// Like [`Trial::Usual`], and also in projects of all tools that the package's README names.
    All,
}

/// Which tests of a front end run, and with which package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// One path from end to end, with the package of [`Profile::Dev`].
    Smoke,
    /// All tests, with the package as it is published.
    Whole,
}

/// Why a task for WebAssembly failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum WasmError {
    #[error("the Rust target {TARGET} is not installed; run: rustup target add {TARGET}")]
    NoTarget,
    #[error(
        "no C compiler for {TARGET} (tried {tried:?}); install clang and llvm, or name one in CC_wasm32_unknown_unknown"
    )]
    NoCompiler { tried: String },
    #[error("{program} could not be started: {source}")]
    Start { program: String, source: std::io::Error },
    #[error("{command} failed")]
    Failed { command: String },
    #[error("cargo metadata: {0}")]
    Metadata(#[from] cargo_metadata::Error),
    #[error(transparent)]
    Notices(#[from] NoticesError),
    #[error("{package} is not among the dependencies, so the C headers for {TARGET} are not found")]
    NoHeaders { package: &'static str },
    #[error("{path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error("{path} cannot be locked, so that only one task builds the package at a time: {source}")]
    Lock { path: PathBuf, source: std::io::Error },
    #[error("{path} is not a WebAssembly module: {source}")]
    Parse { path: PathBuf, source: wasmparser::BinaryReaderError },
    #[error(
        "the module imports {}; it must not need anything of its host \
         (an `env` import is mostly a C function that the compiler did not inline)", .names.join(", ")
    )]
    Imports { names: Vec<String> },
    #[error(
        "{program} is not installed; install Node.js 20 or later with npm (Debian: apt-get install nodejs npm)"
    )]
    NoNode { program: &'static str },
    #[error(
        "no Chromium (looked for {}); install it (Debian: apt-get install --no-install-recommends chromium), \
         or name one in CHROMIUM", .tried.join(", ")
    )]
    NoBrowser { tried: Vec<String> },
}

/// Prints the sizes of the modules. It is an error if one is larger than permitted.
pub(crate) fn check_sizes(repository: &Path) -> Result<(), WasmError> {
    let modules = Toolchain::find(repository)?.npm_folder().join(Profile::Small.folder());
    complete(Command::new("node").arg(repository.join("crates/wasm/npm/sizes.mjs")).arg(modules))
}

/// Builds every pure crate on its own, and runs the tests of the package's crate as WebAssembly.
pub(crate) fn test_crates(repository: &Path) -> Result<(), WasmError> {
    npm::require()?;
    let toolchain = Toolchain::find(repository)?;
    for package in PURE_CRATES {
        // The crates are built one by one, because the features of one crate could hide what another one lacks if they
        // were built together.
        toolchain.build(&format!("headstart-{package}"), &[])?;
    }
    let bindgen = toolchain.build_tool("xtask-bindgen")?;
    toolchain.test_package(&bindgen)
}

/// Installs the package in projects made for that and runs its tests there, all or the named ones. The package is built
/// first if it is out of date.
pub(crate) fn try_out(repository: &Path, trial: Trial, tests: &[&str]) -> Result<(), WasmError> {
    npm::require_browser()?;
    let (profile, option) = match trial {
        Trial::Dev => (Profile::Dev, Some("--dev")),
        Trial::Usual => (Profile::Small, None),
        Trial::All => (Profile::Small, Some("--all")),
    };
    let package = build(repository, profile, None)?;
    npm::try_out(&repository.join("crates/wasm/npm"), &package.archive, option.as_slice(), tests)
}

/// The front end whose tests start the binary, which therefore has to be built.
const EXTENSION: &str = "editors/vscode";

/// Runs the tests of a front end with the package, which is built first if it is out of date.
pub(crate) fn test_front_end(repository: &Path, folder: &str, extent: Extent) -> Result<(), WasmError> {
    npm::require_browser()?;
    let (profile, script) = match extent {
        Extent::Smoke => (Profile::Dev, "smoke"),
        Extent::Whole => (Profile::Small, "test"),
    };
    if folder == EXTENSION {
        Toolchain::find(repository)?.build_binary()?;
    }
    let folder = repository.join(folder);
    let package = build(repository, profile, Some(&folder))?;
    npm::run(&folder, &package.folder, script)
}

fn read(path: &Path) -> Result<Vec<u8>, WasmError> {
    std::fs::read(path).map_err(|source| WasmError::File { path: path.to_owned(), source })
}

/// Replaces a folder by an empty one.
fn replace_folder(folder: &Path) -> Result<(), WasmError> {
    let failed = |source| WasmError::File { path: folder.to_owned(), source };
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    std::fs::create_dir_all(folder).map_err(failed)
}

fn complete(command: &mut Command) -> Result<(), WasmError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|source| WasmError::Start { program, source })?;
    if status.success() { Ok(()) } else { Err(WasmError::Failed { command: format!("{command:?}") }) }
}
