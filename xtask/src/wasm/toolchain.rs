//! What building for WebAssembly needs: the Rust target, a C compiler that supports it, and headers for the grammar.

mod path_remap;

use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::MetadataCommand;

use self::path_remap::PathRemap;
use super::{Profile, WasmError, complete};

pub(super) const TARGET: &str = "wasm32-unknown-unknown";
/// The crate whose examples are the modules of the npm package.
const MODULES: &str = "headstart-wasm";
const FLAGS_VARIABLE: &str = "CFLAGS_wasm32_unknown_unknown";

/// A toolchain that can build for WebAssembly.
pub(super) struct Toolchain {
    repository: PathBuf,
    c_flags: String,
    path_remap: PathRemap,
    /// The folder in which cargo puts what it builds.
    target_folder: PathBuf,
}

impl Toolchain {
    pub(super) fn find(repository: &Path) -> Result<Self, WasmError> {
        require_target()?;
        require_compiler()?;
        let metadata = MetadataCommand::new()
            .current_dir(repository)
            .other_options(["--filter-platform".to_owned(), TARGET.to_owned()])
            .exec()?;
        let path_remap = PathRemap::of(&metadata, &sysroot()?);
        let c_flags = format!("{} {}", c_flags(&metadata)?, path_remap.c_flags()).trim().to_owned();
        let target_folder = metadata.target_directory.into_std_path_buf();
        Ok(Self { repository: repository.to_owned(), c_flags, path_remap, target_folder })
    }

    /// The folder in which the npm package is made.
    pub(super) fn npm_folder(&self) -> PathBuf {
        self.target_folder.join("npm")
    }

    /// Builds one package for WebAssembly.
    pub(super) fn build(&self, package: &str, arguments: &[&str]) -> Result<(), WasmError> {
        eprintln!("xtask: building {package} {} for {TARGET}", arguments.join(" "));
        complete(self.cargo_for_wasm(&["build", "-q", "-p", package]).args(arguments))
    }

    /// Builds a module of the npm package, with these features of its crate. Returns its file. Beside a small module
    /// the linker writes a map of where everything is in it, with the suffix `map`.
    pub(super) fn build_module(
        &self,
        profile: Profile,
        name: &str,
        features: &str,
    ) -> Result<PathBuf, WasmError> {
        let (cargo_profile, features) = (profile.of_cargo(), format!("--features={features}"));
        let folder = self.target_folder.join(TARGET).join(cargo_profile).join("examples");
        // The file of a library has no hyphens in its name.
        let module = folder.join(name.replace('-', "_")).with_extension("wasm");
        let arguments = ["--profile", cargo_profile, "--example", name, "--no-default-features", &features];
        match profile {
            Profile::Dev => self.build(MODULES, &arguments)?,
            Profile::Small => {
                eprintln!("xtask: building {MODULES} {} for {TARGET}", arguments.join(" "));
                let map = format!("-Clink-arg=-Map={}", module.with_extension("map").display());
                let mut build = self.cargo_for_wasm(&["rustc", "-q", "-p", MODULES]);
                complete(build.args(arguments).args(["--", &map]))?;
            }
        }
        Ok(module)
    }

    /// Runs the tests of the npm package's crate as WebAssembly, in Node.
    pub(super) fn test_package(&self, bindgen: &Path) -> Result<(), WasmError> {
        eprintln!("xtask: testing headstart-wasm as WebAssembly");
        complete(
            self.cargo_for_wasm(&["test", "-q", "-p", "headstart-wasm", "--test", "*"])
                .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", format!("{} test", bindgen.display())),
        )
    }

    /// Builds a program of this workspace for this machine. Returns its file.
    pub(super) fn build_tool(&self, package: &str) -> Result<PathBuf, WasmError> {
        eprintln!("xtask: building {package}");
        self.build_with_tests(&["--bin", package, "--test", "glob"])?;
        Ok(self.target_folder.join("debug").join(package).with_extension(std::env::consts::EXE_EXTENSION))
    }

    /// Builds the binary `headstart`.
    pub(super) fn build_binary(&self) -> Result<(), WasmError> {
        self.build_with_tests(&["--bin", "headstart", "--test", "pseudo_terminal"])
    }

    /// Builds programs of this workspace together with one of the tests, so that dependencies have the features that
    /// they have in tests. With other features most dependencies would be compiled once more.
    fn build_with_tests(&self, targets: &[&str]) -> Result<(), WasmError> {
        let mut command = self.cargo(&["build", "-q", "--locked", "--workspace", "--all-features"]);
        complete(command.args(targets))
    }

    fn cargo_for_wasm(&self, arguments: &[&str]) -> Command {
        let mut command = self.cargo(arguments);
        command.args(["--target", TARGET]).env(FLAGS_VARIABLE, &self.c_flags);
        self.path_remap.hide(&mut command);
        command
    }

    fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
        command.current_dir(&self.repository).args(arguments);
        command
    }
}

fn sysroot() -> Result<PathBuf, WasmError> {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let output = Command::new(&rustc)
        .args(["--print", "sysroot"])
        .output()
        .map_err(|source| WasmError::Start { program: rustc, source })?;
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
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

/// A C compiler is needed because the grammar of bash is written in C. The `cc` crate uses `clang` for this target
/// unless a variable names another one.
fn require_compiler() -> Result<(), WasmError> {
    let compiler = std::env::var("CC_wasm32_unknown_unknown").unwrap_or_else(|_| "clang".to_owned());
    let found = Command::new(&compiler)
        .args([&format!("--target={TARGET}"), "-print-target-triple"])
        .output()
        .is_ok_and(|output| output.status.success());
    if found { Ok(()) } else { Err(WasmError::NoCompiler { tried: compiler }) }
}

/// The caller's own flags, and the headers of the small C library that `tree-sitter-language` contains. The grammar's
/// build script does not pass these by itself.
fn c_flags(metadata: &cargo_metadata::Metadata) -> Result<String, WasmError> {
    const PACKAGE: &str = "tree-sitter-language";
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
