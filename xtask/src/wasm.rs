//! The pure crates as WebAssembly: they build, the linked module asks its host for nothing, and it runs.

use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::MetadataCommand;
use wasmparser::{Parser, Payload};

use crate::rules::PURE_CRATES;

const TARGET: &str = "wasm32-unknown-unknown";
const FLAGS_VARIABLE: &str = "CFLAGS_wasm32_unknown_unknown";
const PROBE: &str = "wasm-probe";

/// Why the WebAssembly check did not pass.
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
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path} is not a WebAssembly module: {source}")]
    Parse { path: PathBuf, source: wasmparser::BinaryReaderError },
    #[error(
        "the module imports {}; a pure crate must not need anything of its host \
         (an `env` import is mostly a C function that the compiler did not inline)", .names.join(", ")
    )]
    Imports { names: Vec<String> },
    #[error("node is not installed, so the module cannot be run; install Node.js 18 or later")]
    NoNode,
}

/// Builds every pure crate on its own, then the probe; checks and runs the probe.
pub(crate) fn run(repository: &Path) -> Result<(), WasmError> {
    require_target()?;
    require_compiler()?;
    let flags = c_flags(repository)?;
    for package in PURE_CRATES {
        // One by one: built together, one crate's features would hide what another one lacks.
        build(repository, &flags, &format!("headstart-{package}"), &[])?;
    }
    build(repository, &flags, PROBE, &["--release"])?;

    let module = target_folder(repository)?.join(TARGET).join("release").join(format!("{PROBE}.wasm"));
    let bytes = std::fs::read(&module).map_err(|source| WasmError::Read { path: module.clone(), source })?;
    let names = imports(&bytes).map_err(|source| WasmError::Parse { path: module.clone(), source })?;
    if !names.is_empty() {
        return Err(WasmError::Imports { names });
    }
    eprintln!(
        "xtask: {} pure crates build for {TARGET}; the linked module imports nothing",
        PURE_CRATES.len()
    );
    run_in_node(repository, &module)
}

/// The names that a module imports, as `module.name`.
fn imports(module: &[u8]) -> Result<Vec<String>, wasmparser::BinaryReaderError> {
    let mut names = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::ImportSection(section) = payload? {
            for import in section.into_imports() {
                let import = import?;
                names.push(format!("{}.{}", import.module, import.name));
            }
        }
    }
    Ok(names)
}

fn require_target() -> Result<(), WasmError> {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let output = Command::new(&rustc)
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()
        .map_err(|source| WasmError::Start { program: rustc, source })?;
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let installed = output.status.success()
        && std::fs::read_dir(folder).is_ok_and(|mut entries| {
            entries.any(|entry| {
                entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("libcore-"))
            })
        });
    if installed { Ok(()) } else { Err(WasmError::NoTarget) }
}

/// The grammar of bash is C. The `cc` crate takes `clang` for this target unless it is told another one.
fn require_compiler() -> Result<(), WasmError> {
    let compiler = std::env::var("CC_wasm32_unknown_unknown").unwrap_or_else(|_| "clang".to_owned());
    let found = Command::new(&compiler)
        .args([&format!("--target={TARGET}"), "-print-target-triple"])
        .output()
        .is_ok_and(|output| output.status.success());
    if found { Ok(()) } else { Err(WasmError::NoCompiler { tried: compiler }) }
}

/// The caller's own flags and the headers of the small C library that `tree-sitter-language` carries:
/// the grammar's build script does not pass them by itself.
fn c_flags(repository: &Path) -> Result<String, WasmError> {
    const PACKAGE: &str = "tree-sitter-language";
    let metadata = MetadataCommand::new()
        .current_dir(repository)
        .other_options(["--filter-platform".to_owned(), TARGET.to_owned()])
        .exec()?;
    let package = metadata
        .packages
        .iter()
        .find(|package| package.name.as_str() == PACKAGE)
        .ok_or(WasmError::NoHeaders { package: PACKAGE })?;
    let folder = package.manifest_path.parent().ok_or(WasmError::NoHeaders { package: PACKAGE })?;
    let headers = folder.join("wasm").join("include");
    let own = std::env::var(FLAGS_VARIABLE).unwrap_or_default();
    Ok(format!("{own} -isystem {headers}").trim_start().to_owned())
}

fn target_folder(repository: &Path) -> Result<PathBuf, WasmError> {
    let metadata = MetadataCommand::new().current_dir(repository).no_deps().exec()?;
    Ok(metadata.target_directory.into_std_path_buf())
}

fn build(repository: &Path, c_flags: &str, package: &str, arguments: &[&str]) -> Result<(), WasmError> {
    eprintln!("xtask: building {package} for {TARGET}");
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    command
        .current_dir(repository)
        .env(FLAGS_VARIABLE, c_flags)
        .args(["build", "-q", "-p", package, "--target", TARGET])
        .args(arguments);
    complete(&mut command)
}

/// Runs the module's `main`; in CI a missing Node is an error, at home it is only said.
fn run_in_node(repository: &Path, module: &Path) -> Result<(), WasmError> {
    let mut command = Command::new("node");
    command.arg(repository.join("xtask/wasm-probe/run.mjs")).arg(module);
    match complete(&mut command) {
        Err(WasmError::Start { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            if std::env::var_os("CI").is_some() {
                return Err(WasmError::NoNode);
            }
            eprintln!("xtask: node is not installed: the module was built and checked, but not run");
            Ok(())
        }
        outcome => outcome,
    }
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
        assert_eq!(imports(&[HEADER, types, import].concat()).unwrap(), ["env.isdigit"]);
        assert!(imports(&[HEADER, types].concat()).unwrap().is_empty());
    }

    #[test]
    fn what_is_not_a_module_is_an_error() {
        assert!(imports(b"not wasm").is_err());
        assert!(imports(&[HEADER, b"\x02\x0f\x01"].concat()).is_err());
    }
}
