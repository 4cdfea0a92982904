//! Checks of what the repository promises about itself, so that a broken rule is a failed test and not a reviewer's
//! remark.

mod broken;
mod circles;
mod dependencies;
mod layout;
mod named_tests;
mod rows;
mod tests_of;
mod text;

use std::path::Path;

pub(crate) use broken::RuleError;
pub(crate) use dependencies::PURE_CRATES;
pub(crate) use rows::write as write_rows;

/// Checks every rule. The error lists all that are broken.
pub(crate) fn run(repository: &Path) -> Result<(), RuleError> {
    let packages = dependencies::workspace_packages(repository)?;
    let files = text::files(repository)?;
    let mut broken = dependencies::check(&packages);
    broken.extend(layout::check(repository, &packages)?);
    broken.extend(text::check(&files, &text::MachinePaths::of_this_machine(repository)));
    broken.extend(named_tests::check(&files));
    broken.extend(rows::check(&files));
    broken.extend(circles::check(&files, &packages)?);
    for warning in text::warnings(&files) {
        eprintln!("rules: {warning}");
    }
    if broken.is_empty() { Ok(()) } else { Err(RuleError::Broken(broken)) }
}

#[cfg(test)]
mod tests {
    // Row: S1
    #[test]
    fn the_repository_keeps_its_rules() {
        if let Err(error) = super::run(&crate::repository()) {
            panic!("{error}");
        }
    }
}
