//! Checks that a crate only depends on crates above it in the table of ARCHITECTURE.md.

use std::path::{Path, PathBuf};

use cargo_metadata::MetadataCommand;

use super::violations::{RuleError, Violation};

/// The folders of the crates that use no clock, file, thread, environment variable or socket, in the order of the
/// table.
pub(crate) const PURE_CRATES: [&str; 15] = [
    "workspace-path",
    "followup-state",
    "tool-gate",
    "overlay-fs",
    "shadow",
    "git-ahead",
    "code-index",
    "forked-query",
    "providers",
    "toolbox",
    "context",
    "code-intel",
    "speculation",
    "budget",
    "agent",
];

/// The folders of the crates below them, which use tasks, processes and sockets.
const NATIVE_CRATES: [&str; 3] = ["tool-servers", "terminal", "machine"];

/// The folders of the packages that connect the crates with an environment. Nothing depends on them.
const HOSTS: [&str; 6] =
    ["crates/wasm", "crates/cli", "xtask", "xtask/bindgen", "xtask/screenshot", "xtask/simulation"];

/// A package of the workspace.
#[derive(Debug, Clone)]
pub(super) struct Package {
    /// Its name in Cargo.toml.
    pub(super) name: String,
    /// Its folder, relative to the repository, with `/` as separator.
    pub(super) folder: String,
    /// Its manifest.
    pub(super) manifest: PathBuf,
    /// The names of its direct dependencies of every kind: normal, build and dev.
    pub(super) dependencies: Vec<String>,
}

pub(super) fn workspace_packages(repository: &Path) -> Result<Vec<Package>, RuleError> {
    let metadata = MetadataCommand::new().current_dir(repository).no_deps().exec()?;
    let root = metadata.workspace_root.as_path();
    let packages = metadata.packages.iter().map(|package| {
        let folder = package.manifest_path.parent().unwrap_or(root);
        Package {
            name: package.name.to_string(),
            folder: folder.strip_prefix(root).unwrap_or(folder).as_str().replace('\\', "/"),
            manifest: package.manifest_path.clone().into_std_path_buf(),
            dependencies: package.dependencies.iter().map(|dependency| dependency.name.clone()).collect(),
        }
    });
    Ok(packages.collect())
}

pub(super) fn check(packages: &[Package]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for package in packages {
        let Some(own) = layer(&package.folder) else {
            violations.push(Violation::new(
                &package.folder,
                "a crate that the table does not know; give it a row in ARCHITECTURE.md and a place in xtask/src/rules/dependencies.rs",
            ));
            continue;
        };
        for dependency in &package.dependencies {
            let Some(other) = packages.iter().find(|other| other.name == *dependency) else { continue };
            let allowed = other.name == package.name
                || matches!((own, layer(&other.folder)), (Layer::Row(own), Some(Layer::Row(other))) if other < own)
                || matches!((own, layer(&other.folder)), (Layer::Host, Some(Layer::Row(_))));
            if !allowed {
                violations.push(Violation::new(
                    &package.folder,
                    format!("depends on {dependency}, which is not above it in the table of ARCHITECTURE.md"),
                ));
            }
        }
    }
    violations
}

/// The place of a package in the table.
#[derive(Debug, Clone, Copy)]
enum Layer {
    /// The row, counted from above.
    Row(usize),
    /// Below all rows.
    Host,
}

fn layer(folder: &str) -> Option<Layer> {
    if HOSTS.contains(&folder) {
        return Some(Layer::Host);
    }
    let name = folder.strip_prefix("crates/")?;
    PURE_CRATES.iter().chain(&NATIVE_CRATES).position(|known| *known == name).map(Layer::Row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, folder: &str, dependencies: &[&str]) -> Package {
        Package {
            name: name.to_owned(),
            folder: folder.to_owned(),
            manifest: PathBuf::new(),
            dependencies: dependencies.iter().map(ToString::to_string).collect(),
        }
    }

    /// The places that `check` reports for a gate, an engine, the binary and one more package.
    fn layer_violations(package_under_test: Package) -> Vec<String> {
        let packages = [
            package("headstart-tool-gate", "crates/tool-gate", &["serde"]),
            package("headstart-speculation", "crates/speculation", &["headstart-tool-gate"]),
            package("headstart", "crates/cli", &["headstart-speculation", "headstart-tool-gate"]),
            package_under_test,
        ];
        check(&packages).into_iter().map(|violation| violation.place).collect()
    }

    #[test]
    fn arrows_point_upwards_only() {
        let cases: [(&str, &[&str], bool); 6] = [
            ("crates/overlay-fs", &["serde"], true),
            ("crates/overlay-fs", &["headstart-tool-gate"], true),
            ("crates/overlay-fs", &["headstart-speculation"], false),
            ("crates/overlay-fs", &["headstart"], false),
            ("crates/wasm", &["headstart-speculation"], true),
            ("crates/wasm", &["headstart"], false),
        ];
        for (folder, dependencies, holds) in cases {
            let violations = layer_violations(package("under-test", folder, dependencies));
            assert_eq!(violations.is_empty(), holds, "{folder} with {dependencies:?}: {violations:?}");
        }
    }

    #[test]
    fn a_crate_must_have_its_row() {
        assert_eq!(layer_violations(package("headstart-index", "crates/index", &[])), ["crates/index"]);
    }
}
