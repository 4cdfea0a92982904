//! What Node and npm do for the package: its code, its types, its archive.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Profile, WasmError, complete};

/// Where `trial/browser.mjs` and the front ends look, too.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Whether Node and npm are there.
pub(super) fn require() -> Result<(), WasmError> {
    for program in ["node", "npm"] {
        let found =
            Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
        if !found {
            return Err(WasmError::NoNode { program });
        }
    }
    Ok(())
}

/// Whether there is a browser that the tests can start.
pub(super) fn require_browser() -> Result<(), WasmError> {
    let named = std::env::var("CHROMIUM").ok();
    let tried = named.map_or_else(|| BROWSERS.map(str::to_owned).to_vec(), |name| vec![name]);
    let found = tried.iter().any(|program| {
        Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
    });
    if found { Ok(()) } else { Err(WasmError::NoBrowser { tried }) }
}

/// Tries the archive in projects beside it.
pub(super) fn try_out(source: &Path, archive: &Path, tests: &[&str]) -> Result<(), WasmError> {
    require_browser()?;
    let folder = archive.with_file_name("trial");
    complete(Command::new("node").arg(source.join("trial.mjs")).arg(archive).arg(folder).args(tests))
}

/// Runs the tests of a package.
pub(super) fn test(folder: &Path) -> Result<(), WasmError> {
    install(folder)?;
    complete(Command::new("npm").current_dir(folder).args(["test", "--silent"]))
}

/// The packages that `package-lock.json` names, if they are not there yet.
pub(super) fn install(folder: &Path) -> Result<(), WasmError> {
    let modified = |file: &str| folder.join(file).metadata().and_then(|metadata| metadata.modified());
    // npm writes this file last.
    if let (Ok(installed), Ok(locked)) =
        (modified("node_modules/.package-lock.json"), modified("package-lock.json"))
        && locked <= installed
    {
        return Ok(());
    }
    eprintln!("xtask: npm ci in {}", folder.display());
    complete(Command::new("npm").current_dir(folder).args(["ci", "--silent"]))
}

/// Writes the package's folder and packs it; the archive.
pub(super) fn package(source: &Path, target_folder: &Path, profile: Profile) -> Result<PathBuf, WasmError> {
    let output = target_folder.join("npm");
    let folder = output.join("headstart");
    let mut build = Command::new("node");
    build.arg(source.join("build.mjs")).arg(&folder);
    if profile == Profile::Dev {
        build.arg("--dev");
    }
    eprintln!("xtask: writing {}", folder.display());
    complete(&mut build)?;

    let packed = Command::new("npm")
        .current_dir(&folder)
        .args(["pack", "--silent", "--pack-destination"])
        .arg(&output)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| WasmError::Start { program: "npm".to_owned(), source })?;
    if !packed.status.success() {
        return Err(WasmError::Failed { command: "npm pack".to_owned() });
    }
    // All that it says is the name of the file.
    let archive = output.join(String::from_utf8_lossy(&packed.stdout).trim());
    eprintln!("xtask: packed {}", archive.display());
    Ok(archive)
}
