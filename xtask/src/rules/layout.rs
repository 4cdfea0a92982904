//! Checks that the lints apply to every crate.

use std::path::Path;

use super::dependencies::{PURE_CRATES, Package};
use super::violations::{RuleError, Violation};

const PURE_LINTS: &str = "../../lints/pure.clippy.toml";

pub(super) fn check(repository: &Path, packages: &[Package]) -> Result<Vec<Violation>, RuleError> {
    let mut violations = Vec::new();
    for name in PURE_CRATES {
        let place = format!("crates/{name}/clippy.toml");
        // It must be a link and not a copy, so that a new lint applies to every pure crate at once.
        let linked =
            std::fs::read_link(repository.join(&place)).is_ok_and(|target| target == Path::new(PURE_LINTS));
        if !linked {
            violations.push(Violation::new(place, format!("must be a symbolic link to {PURE_LINTS}")));
        }
    }
    for package in packages {
        let path = package.manifest.display().to_string();
        let manifest =
            std::fs::read_to_string(&package.manifest).map_err(|source| RuleError::Read { path, source })?;
        if !inherits_lints(&manifest) {
            violations.push(Violation::new(
                format!("{}/Cargo.toml", package.folder),
                "needs `lints.workspace = true`",
            ));
        }
    }
    Ok(violations)
}

fn inherits_lints(manifest: &str) -> bool {
    let Ok(manifest) = manifest.parse::<toml::Table>() else { return false };
    let inherits = manifest.get("lints").and_then(|lints| lints.get("workspace"));
    inherits.and_then(toml::Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lints_are_inherited_in_any_spelling() {
        assert!(inherits_lints("[lints]\nworkspace = true"));
        assert!(inherits_lints("lints.workspace = true"));
        assert!(!inherits_lints("[lints]\nworkspace = false"));
        assert!(!inherits_lints("[lints.rust]\nunsafe_code = \"forbid\""));
        assert!(!inherits_lints("[package]\nname = \"lints\""));
    }

    #[cfg(unix)]
    #[test]
    fn a_copy_of_the_pure_lints_is_not_a_link_to_them() {
        let repository = tempfile::tempdir().unwrap();
        for name in PURE_CRATES {
            fs::create_dir_all(repository.path().join("crates").join(name)).unwrap();
            std::os::unix::fs::symlink(
                PURE_LINTS,
                repository.path().join("crates").join(name).join("clippy.toml"),
            )
            .unwrap();
        }
        assert_eq!(check(repository.path(), &[]).unwrap(), []);

        let copied = repository.path().join("crates/toolbox/clippy.toml");
        fs::remove_file(&copied).unwrap();
        fs::write(&copied, "disallowed-methods = []").unwrap();
        let violations = check(repository.path(), &[]).unwrap();
        assert_eq!(violations.len(), 1);
        assert_eq!(violations[0].place, "crates/toolbox/clippy.toml");
    }
}
