//! Builds the npm package: its modules with their bindings, then its code, its types and its archive.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use ignore::WalkBuilder;
use wasmparser::{Parser, Payload};
use xxhash_rust::xxh3::xxh3_128;

use super::toolchain::{TARGET, Toolchain};
use super::{Profile, WasmError, complete, npm, read, replace_folder};
use crate::notices::{self, Compiled};

/// The only module from which ours may import functions: the one that wasm-bindgen writes beside it.
const GLUE: &str = "./glue_bg.js";

/// The modules, each with its features: one for each entry of the package, and two that only show how large the grammar
/// and the index are. Each module is an example of the crate.
const MODULES: [(&str, &str); 6] = [
    ("headstart", "engine,shell"),
    ("core", "engine"),
    ("gate", "shell"),
    ("code-index", "code-index"),
    ("core-and-index", "engine,index"),
    ("grammar", "shell"),
];

/// The module that a page fetches in two parts. The linker's map says which data belongs to which part.
const IN_PARTS: &str = "headstart";

/// The single module for developers, which serves all entries.
const ALL: [(&str, &str); 1] = [("headstart", "engine,shell,code-index")];

/// A package that is built.
pub(crate) struct Package {
    /// The folder with the content of the archive.
    pub(crate) folder: PathBuf,
    /// The archive that npm would publish.
    pub(crate) archive: PathBuf,
}

impl Profile {
    /// The folder of the modules and their bindings, below `npm` in the target folder. Each profile has its own folder,
    /// so that building one does not make the other out of date.
    pub(super) fn folder(self) -> &'static str {
        match self {
            Self::Small => "modules",
            Self::Dev => "modules-dev",
        }
    }

    pub(super) fn of_cargo(self) -> &'static str {
        match self {
            Self::Small => "wasm",
            Self::Dev => "wasm-dev",
        }
    }

    fn modules(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Small => &MODULES,
            Self::Dev => &ALL,
        }
    }
}

/// Builds the npm package as `npm/headstart` in the target folder, unless it is there and current. Meanwhile the
/// packages that `front_end` needs are installed, because that is mostly waiting.
pub(crate) fn build(
    repository: &Path,
    profile: Profile,
    front_end: Option<&Path>,
) -> Result<Package, WasmError> {
    npm::require()?;
    let toolchain = Toolchain::find(repository)?;
    let output = toolchain.npm_folder();
    std::fs::create_dir_all(&output).map_err(|source| WasmError::File { path: output.clone(), source })?;
    let _locked = lock(&output)?;
    let source = repository.join("crates/wasm/npm");
    let modules = output.join(profile.folder());
    thread::scope(|scope| {
        let installed = scope.spawn(|| {
            npm::install(&source)?;
            front_end.map_or(Ok(()), npm::install)
        });
        build_modules(&toolchain, profile, &modules)?;
        write_licences(repository, &modules)?;
        installed.join().expect("works because nothing in it panics")
    })?;
    let seen = seen(repository, &source, &modules, profile)?;
    let home = home(&read(&repository.join("Cargo.toml"))?);
    npm::PackageParts { source: &source, modules: &modules, output: &output, profile, home }.package(&seen)
}

fn build_modules(toolchain: &Toolchain, profile: Profile, folder: &Path) -> Result<(), WasmError> {
    let bindgen = toolchain.build_tool("xtask-bindgen")?;
    for (name, features) in profile.modules() {
        let module = toolchain.build_module(profile, name, features)?;
        bind(&bindgen, &module, &folder.join(name))?;
        if (profile, *name) == (Profile::Small, IN_PARTS) {
            let map = module.with_extension("map");
            std::fs::copy(&map, folder.join(name).with_extension("map"))
                .map_err(|source| WasmError::File { path: map, source })?;
        }
    }
    Ok(())
}

/// Writes the licences of what is compiled into the modules beside these.
fn write_licences(repository: &Path, modules: &Path) -> Result<(), WasmError> {
    let package = Compiled { package: "headstart-wasm", triple: TARGET, options: &["--all-features"] };
    let path = modules.join(notices::FILE);
    std::fs::write(&path, notices::notices(repository, package)?)
        .map_err(|source| WasmError::File { path, source })
}

/// The repository's address in the manifest of the workspace.
fn home(manifest: &[u8]) -> Option<String> {
    let manifest: toml::Table = std::str::from_utf8(manifest).ok()?.parse().ok()?;
    let package = manifest.get("workspace")?.get("package")?;
    Some(package.get("repository")?.as_str()?.to_owned())
}

/// Locks the folder. Until the lock is dropped no other task builds the package there.
fn lock(folder: &Path) -> Result<File, WasmError> {
    let path = folder.join("lock");
    let failed = |source| WasmError::Lock { path: path.clone(), source };
    let file = File::create(&path).map_err(failed)?;
    file.lock().map_err(failed)?;
    Ok(file)
}

/// Writes the bindings of a module to a folder, unless they are there and current.
fn bind(bindgen: &Path, module: &Path, folder: &Path) -> Result<(), WasmError> {
    let bytes = read(module)?;
    let seen = folder.join("seen");
    let now = format!("{:x} {:x}", xxh3_128(&bytes), xxh3_128(&read(bindgen)?));
    if std::fs::read_to_string(&seen).is_ok_and(|seen| seen == now) {
        return Ok(());
    }
    replace_folder(folder)?;
    complete(Command::new(bindgen).arg("generate").arg(module).arg(folder))?;
    forbid_imports(&folder.join("glue_bg.wasm"), &[GLUE])?;
    std::fs::write(&seen, now).map_err(|source| WasmError::File { path: seen, source })
}

/// A hash of all parts of the package. A package that was packed with the same hash is current.
fn seen(repository: &Path, source: &Path, modules: &Path, profile: Profile) -> Result<String, WasmError> {
    let mut paths: Vec<PathBuf> = WalkBuilder::new(source)
        .filter_entry(|entry| {
            !["node_modules", "test", "trial"].map(AsRef::as_ref).contains(&entry.file_name())
        })
        .build()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .map(ignore::DirEntry::into_path)
        .collect();
    paths.extend(profile.modules().iter().map(|(name, _)| modules.join(name).join("seen")));
    paths.push(modules.join(notices::FILE));
    paths.extend(["LICENSE-APACHE", "LICENSE-MIT", "Cargo.toml"].map(|name| repository.join(name)));
    paths.sort();
    let mut all = format!("{profile:?}").into_bytes();
    for path in paths {
        all.extend(path.as_os_str().as_encoded_bytes());
        all.extend(xxh3_128(&read(&path)?).to_le_bytes());
    }
    Ok(format!("{:x}", xxh3_128(&all)))
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

#[cfg(test)]
mod tests {
    use super::{home, imports};

    const HEADER: &[u8] = b"\0asm\x01\0\0\0";

    #[test]
    fn an_import_is_found_and_named() {
        // This is one function type `() -> ()` and one import `env.isdigit` of that type.
        let types = b"\x01\x04\x01\x60\0\0";
        let import = b"\x02\x0f\x01\x03env\x07isdigit\0\0";
        let module = [HEADER, types, import].concat();
        assert_eq!(imports(&module, &[]).unwrap(), ["env.isdigit"]);
        assert_eq!(imports(&module, &["./glue_bg.js"]).unwrap(), ["env.isdigit"]);
        assert!(imports(&module, &["env"]).unwrap().is_empty());
        assert!(imports(&[HEADER, types].concat(), &[]).unwrap().is_empty());
    }

    #[test]
    fn the_home_is_that_of_the_workspace() {
        let home = |text: &str| home(text.as_bytes());
        let address = "https://example.org/headstart";
        let manifest = format!("[workspace.package]\nrepository = \"{address}\"");
        assert_eq!(home(&manifest).as_deref(), Some(address));
        assert_eq!(home(&format!("[package]\nrepository = \"{address}\"")), None);
        assert_eq!(home("[workspace.package]\nversion = \"1.0.0\""), None);
    }

    #[test]
    fn what_is_not_a_module_is_an_error() {
        assert!(imports(b"not wasm", &[]).is_err());
        assert!(imports(&[HEADER, b"\x02\x0f\x01"].concat(), &[]).is_err());
    }
}
