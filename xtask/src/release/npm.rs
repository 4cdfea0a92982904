//! The binary as npm packages: one for each target, of which npm installs the one that fits, and a launcher that starts
//! it. No package has an install script.

use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::read::GzDecoder;
use serde_json::{Map, Value, json};

use super::{ReleaseError, Target, address, at, write};
use crate::notices::FILE;

/// The name of the launcher, with which the other names begin. The name `headstart` belongs to the package of the
/// crates.
const NAME: &str = "headstart-cli";
const LAUNCHER: &str = include_str!("../../../release/npm/launcher.js");
const README: &str = include_str!("../../../release/npm/README.md");
pub(super) const DESCRIPTION: &str =
    "Predicts the next prompt of a coding agent's user, runs it while they read, hands the work over on Tab";

/// Writes and packs the packages for these archives. Returns the files.
pub(super) fn packages(
    repository: &Path,
    folder: &Path,
    version: &str,
    archives: &[(Target, PathBuf)],
) -> Result<Vec<PathBuf>, ReleaseError> {
    let folder = folder.join("npm");
    if folder.exists() {
        at(&folder, std::fs::remove_dir_all(&folder))?;
    }
    let mut packed = Vec::new();
    let mut optional = Map::new();
    for (target, archive) in archives {
        let name = target.package();
        let package = folder.join(&name);
        unpack(archive, target.binary_name(), &package.join("bin"))?;
        unpack(archive, FILE, &package)?;
        let mut manifest = json!({
            "name": name,
            "version": version,
            "description": format!("The binary of {NAME} for {}", target.triple),
            "license": "MIT OR Apache-2.0",
            "os": [target.os],
            "cpu": [target.cpu],
            "files": ["bin", "LICENSE-*", FILE],
            "preferUnplugged": true,
        });
        if let Some(libc) = target.libc {
            manifest["libc"] = json!([libc]);
        }
        let readme =
            format!("The binary of [{NAME}](https://www.npmjs.com/package/{NAME}) for {}.\n", target.triple);
        write(&package.join("README.md"), readme)?;
        packed.push(pack(repository, &folder, &package, &manifest)?);
        optional.insert(name, version.into());
    }
    let launcher = folder.join(NAME);
    write(&launcher.join("bin/headstart.js"), LAUNCHER)?;
    write(&launcher.join("README.md"), README)?;
    let manifest = json!({
        "name": NAME,
        "version": version,
        "description": DESCRIPTION,
        "license": "MIT OR Apache-2.0",
        "keywords": ["agent", "coding", "suggestion", "terminal", "acp", "mcp"],
        "bin": { "headstart": "bin/headstart.js" },
        "files": ["bin", "LICENSE-*"],
        "engines": { "node": ">=18" },
        "optionalDependencies": Value::Object(optional),
    });
    packed.push(pack(repository, &folder, &launcher, &manifest)?);
    Ok(packed)
}

impl Target {
    /// The name of the target's package. The launcher forms it in the same way.
    fn package(self) -> String {
        let libc = match self.libc {
            Some("musl") => "-musl",
            _ => "",
        };
        format!("{NAME}-{}-{}{libc}", self.os, self.cpu)
    }
}

/// Unpacks one file of an archive.
fn unpack(archive: &Path, wanted: &str, folder: &Path) -> Result<(), ReleaseError> {
    at(folder, std::fs::create_dir_all(folder))?;
    let file = at(archive, std::fs::File::open(archive))?;
    let mut tar = tar::Archive::new(GzDecoder::new(file));
    for entry in at(archive, tar.entries())? {
        let mut entry = at(archive, entry)?;
        if at(archive, entry.path())?.file_name().is_some_and(|name| name == wanted) {
            return at(archive, entry.unpack(folder.join(wanted)).map(drop));
        }
    }
    let missing = std::io::Error::new(std::io::ErrorKind::NotFound, format!("holds no {wanted}"));
    at(archive, Err(missing))
}

fn pack(repository: &Path, folder: &Path, package: &Path, manifest: &Value) -> Result<PathBuf, ReleaseError> {
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let to = package.join(licence);
        at(&to, std::fs::copy(repository.join(licence), &to))?;
    }
    let mut manifest = manifest.clone();
    // The address that npm compares with the repository from which the release was built.
    if let Some(url) = address::of(repository)? {
        manifest["repository"] = json!({ "type": "git", "url": format!("git+{url}.git") });
    }
    write(&package.join("package.json"), format!("{manifest:#}\n"))?;
    let mut npm = Command::new("npm");
    npm.args(["pack", "--silent", "--pack-destination"]).arg(folder).current_dir(package);
    let output = npm.output().map_err(|source| ReleaseError::Start { program: "npm".to_owned(), source })?;
    if !output.status.success() {
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        return Err(ReleaseError::Failed { command: format!("{npm:?}") });
    }
    let name = String::from_utf8_lossy(&output.stdout);
    Ok(folder.join(name.trim().lines().last().unwrap_or_default()))
}
