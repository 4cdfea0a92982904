//! The steps for which the package needs Node and npm: its code, its types and its archive.

use std::path::Path;
use std::process::{Command, Stdio};

use super::package::Package;
use super::{Profile, WasmError, complete};

/// The names of browsers that `trial/browser.mjs` and the front ends search for, too.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Checks that Node and npm are installed.
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

/// Checks that there is a browser that the tests can start.
pub(super) fn require_browser() -> Result<(), WasmError> {
    let named = std::env::var("CHROMIUM").ok();
    let tried = named.map_or_else(|| BROWSERS.map(str::to_owned).to_vec(), |name| vec![name]);
    let found = tried.iter().any(|program| {
        Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
    });
    if found { Ok(()) } else { Err(WasmError::NoBrowser { tried }) }
}

/// Tries out the archive in projects beside it.
pub(super) fn try_out(
    source: &Path,
    archive: &Path,
    options: &[&str],
    tests: &[&str],
) -> Result<(), WasmError> {
    let mut trial = Command::new("node");
    trial.arg(source.join("trial.mjs")).arg(archive).arg(archive.with_file_name("trial"));
    complete(trial.args(options).args(tests))
}

/// Runs a script of a front end with this package. The link is needed because the front end's manifest names the usual
/// place of the package, and the target folder may be elsewhere.
pub(super) fn run(front_end: &Path, package: &Path, script: &str) -> Result<(), WasmError> {
    let link = front_end.join("node_modules/headstart");
    let canonical = |path: &Path| path.canonicalize().ok();
    if canonical(&link) != canonical(package) {
        // On Windows a junction needs no special rights. On other systems this makes an ordinary symbolic link.
        const LINK: &str = "const [package, link] = process.argv.slice(1); \
            fs.rmSync(link, { recursive: true, force: true }); fs.symlinkSync(package, link, 'junction')";
        complete(Command::new("node").args(["-e", LINK]).arg(package).arg(link))?;
    }
    complete(Command::new("npm").current_dir(front_end).args(["run", "--silent", script]))
}

/// Installs the packages that `package-lock.json` names, unless that was done already.
pub(super) fn install(folder: &Path) -> Result<(), WasmError> {
    let modified = |file: &str| folder.join(file).metadata().and_then(|metadata| metadata.modified());
    // npm writes this file last, so its time shows whether the installation is complete and current.
    if let (Ok(installed), Ok(locked)) =
        (modified("node_modules/.package-lock.json"), modified("package-lock.json"))
        && locked <= installed
    {
        return Ok(());
    }
    eprintln!("xtask: npm ci in {}", folder.display());
    complete(Command::new("npm").current_dir(folder).args(["ci", "--silent"]))
}

/// The parts of the package, and where it is written.
pub(super) struct PackageParts<'a> {
    /// The folder of its source.
    pub(super) source: &'a Path,
    /// The modules with their bindings.
    pub(super) modules: &'a Path,
    /// The folder that will contain the package's folder.
    pub(super) output: &'a Path,
    pub(super) profile: Profile,
    /// The address of the repository, for readers who find the package at a registry.
    pub(super) home: Option<String>,
}

impl PackageParts<'_> {
    /// Writes the package's folder and packs it, unless that was already done with the same parts. `seen` is the hash
    /// of the parts.
    pub(super) fn package(&self, seen: &str) -> Result<Package, WasmError> {
        let folder = self.output.join("headstart");
        let packed = self.output.join("packed");
        if let Ok(before) = std::fs::read_to_string(&packed)
            && let Some((of, name)) = before.split_once('\n')
            && of == seen
            && self.output.join(name).exists()
        {
            return Ok(Package { folder, archive: self.output.join(name) });
        }
        let failed = |source| WasmError::File { path: packed.clone(), source };
        // If the work below is interrupted, nothing is left that looks current.
        std::fs::write(&packed, "").map_err(failed)?;
        self.write(&folder)?;
        let name = self.pack(&folder)?;
        std::fs::write(&packed, format!("{seen}\n{name}")).map_err(failed)?;
        Ok(Package { folder, archive: self.output.join(name) })
    }

    fn write(&self, folder: &Path) -> Result<(), WasmError> {
        let mut build = Command::new("node");
        build.arg(self.source.join("build.mjs")).arg(self.modules).arg(folder);
        if self.profile == Profile::Dev {
            build.arg("--dev");
        }
        match &self.home {
            Some(home) => {
                build.arg(format!("--repository={home}"));
            }
            None => eprintln!(
                "xtask: the package names no repository, homepage and bugs: Cargo.toml has no workspace.package.repository"
            ),
        }
        eprintln!("xtask: writing {}", folder.display());
        complete(&mut build)
    }

    /// Packs the folder. Returns the name of the archive.
    fn pack(&self, folder: &Path) -> Result<String, WasmError> {
        let packed = Command::new("npm")
            .current_dir(folder)
            .args(["pack", "--silent", "--pack-destination"])
            .arg(self.output)
            .stderr(Stdio::inherit())
            .output()
            .map_err(|source| WasmError::Start { program: "npm".to_owned(), source })?;
        if !packed.status.success() {
            return Err(WasmError::Failed { command: "npm pack".to_owned() });
        }
        // npm prints nothing but the name of the file.
        let name = String::from_utf8_lossy(&packed.stdout).trim().to_owned();
        eprintln!("xtask: packed {}", self.output.join(&name).display());
        Ok(name)
    }
}
