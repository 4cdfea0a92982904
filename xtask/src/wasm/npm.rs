//! What Node and npm do for the package: its code, its types, its archive.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Profile, WasmError, complete};

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
