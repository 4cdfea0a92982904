//! The npm package, and the pure crates as WebAssembly: they build, their module asks its host for nothing, it runs.

mod npm;
mod toolchain;

use std::path::{Path, PathBuf};
use std::process::Command;

use wasmparser::{Parser, Payload};
use xxhash_rust::xxh3::xxh3_128;

use self::toolchain::{TARGET, Toolchain};
use crate::rules::PURE_CRATES;

/// The one module whose functions ours may import: what wasm-bindgen writes beside it.
const GLUE: &str = "./glue_bg.js";

/// How the package is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// As it is published: small, which takes minutes.
    Small,
    /// For a developer who wants to try something: quick to build, large.
    Dev,
}

/// The modules: one for each entry of the package, and one that only tells how large the grammar is. Each is an example of
/// the crate; with its features.
const MODULES: [(&str, &str); 5] = [
    ("headstart", "engine,shell"),
    ("core", "engine"),
    ("gate", "shell"),
    ("controller", "controller"),
    ("grammar", "shell"),
];

/// Why a task around WebAssembly did not pass.
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
    #[error("{package} is not among the dependencies, so the C headers for {TARGET} are not found")]
    NoHeaders { package: &'static str },
    #[error("{path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
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

/// Builds the npm package: `target/npm/headstart`, and the archive that npm would publish, whose path it returns.
pub(crate) fn build(repository: &Path, profile: Profile) -> Result<PathBuf, WasmError> {
    npm::require()?;
    let toolchain = Toolchain::find(repository)?;
    let bindgen = toolchain.build_tool("xtask-bindgen")?;
    let source = repository.join("crates/wasm/npm");
    for (name, features) in MODULES {
        let module = toolchain.build_module(profile, name, features)?;
        bind(&bindgen, &module, &source.join("build").join(name))?;
    }
    npm::install(&source)?;
    npm::package(&source, &toolchain.target_folder, profile)
}

/// Prints how large the modules are; an error if one is larger than it may be.
pub(crate) fn check_sizes(repository: &Path) -> Result<(), WasmError> {
    complete(Command::new("node").arg(repository.join("crates/wasm/npm/sizes.mjs")))
}

/// Writes the bindings of a module to a folder, unless they are there.
fn bind(bindgen: &Path, module: &Path, folder: &Path) -> Result<(), WasmError> {
    let bytes = read(module)?;
    let seen = folder.join("seen");
    let now = format!("{:x} {}", xxh3_128(&bytes), xxh3_128(&read(bindgen)?));
    if std::fs::read_to_string(&seen).is_ok_and(|seen| seen == now) {
        return Ok(());
    }
    replace_folder(folder)?;
    complete(Command::new(bindgen).arg("generate").arg(module).arg(folder))?;
    forbid_imports(&folder.join("glue_bg.wasm"), &[GLUE])?;
    std::fs::write(&seen, now).map_err(|source| WasmError::File { path: seen, source })
}

/// Builds every pure crate on its own, runs the tests of the package's crate as WebAssembly, and tries the packed package.
pub(crate) fn test(repository: &Path) -> Result<(), WasmError> {
    npm::require()?;
    let toolchain = Toolchain::find(repository)?;
    for package in PURE_CRATES {
        // One by one: built together, one crate's features would hide what another one lacks.
        toolchain.build(&format!("headstart-{package}"), &[])?;
    }
    let bindgen = toolchain.build_tool("xtask-bindgen")?;
    toolchain.test_package(&bindgen)?;
    try_out(repository, &[])
}

/// Installs the package, built anew where it is stale, in projects of its own, and runs them; `tests` are some of their files.
pub(crate) fn try_out(repository: &Path, tests: &[&str]) -> Result<(), WasmError> {
    let archive = build(repository, Profile::Small)?;
    npm::try_out(&repository.join("crates/wasm/npm"), &archive, tests)
}

/// Runs the tests of a front end, over the package, built anew where it is stale.
pub(crate) fn test_front_end(repository: &Path, folder: &str) -> Result<(), WasmError> {
    npm::require()?;
    npm::require_browser()?;
    build(repository, Profile::Small)?;
    npm::test(&repository.join(folder))
}

/// An error if the module imports from another module than the allowed ones.
fn forbid_imports(module: &Path, allowed: &[&str]) -> Result<(), WasmError> {
    let bytes =
        std::fs::read(module).map_err(|source| WasmError::File { path: module.to_owned(), source })?;
    let names =
        imports(&bytes, allowed).map_err(|source| WasmError::Parse { path: module.to_owned(), source })?;
    if names.is_empty() { Ok(()) } else { Err(WasmError::Imports { names }) }
}

/// The names that a module imports from others than the allowed modules, as `module.name`.
fn imports(module: &[u8], allowed: &[&str]) -> Result<Vec<String>, wasmparser::BinaryReaderError> {
    let mut names = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::ImportSection(section) = payload? {
            for import in section.into_imports() {
                let import = import?;
                if !allowed.contains(&import.module) {
                    names.push(format!("{}.{}", import.module, import.name));
                }
            }
        }
    }
    Ok(names)
}

fn read(path: &Path) -> Result<Vec<u8>, WasmError> {
    std::fs::read(path).map_err(|source| WasmError::File { path: path.to_owned(), source })
}

/// An empty folder where a full one may have been.
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

#[cfg(test)]
mod tests {
    use super::imports;

    const HEADER: &[u8] = b"\0asm\x01\0\0\0";

    #[test]
    fn an_import_is_found_and_named() {
        // One function type `() -> ()`, one import `env.isdigit` of it.
        let types = b"\x01\x04\x01\x60\0\0";
        let import = b"\x02\x0f\x01\x03env\x07isdigit\0\0";
        let module = [HEADER, types, import].concat();
        assert_eq!(imports(&module, &[]).unwrap(), ["env.isdigit"]);
        assert_eq!(imports(&module, &["./glue_bg.js"]).unwrap(), ["env.isdigit"]);
        assert!(imports(&module, &["env"]).unwrap().is_empty());
        assert!(imports(&[HEADER, types].concat(), &[]).unwrap().is_empty());
    }

    #[test]
    fn what_is_not_a_module_is_an_error() {
        assert!(imports(b"not wasm", &[]).is_err());
        assert!(imports(&[HEADER, b"\x02\x0f\x01"].concat(), &[]).is_err());
    }
}
