//! Checks of what the repository promises about itself, so that a broken rule is a failed test and not a reviewer's
//! remark.

mod cycles;
mod dependencies;
mod layout;
mod text;
mod violations;

use std::path::Path;

pub(crate) use dependencies::PURE_CRATES;
pub(crate) use violations::RuleError;

/// Checks every rule. The error lists all that are broken.
pub(crate) fn run(repository: &Path) -> Result<(), RuleError> {
    let packages = dependencies::workspace_packages(repository)?;
    let files = text::files(repository)?;
    let mut violations = dependencies::check(&packages);
    violations.extend(layout::check(repository, &packages)?);
    violations.extend(text::check(&files, &text::MachinePaths::of_this_machine(repository)));
    violations.extend(cycles::check(&files, &packages)?);
    for warning in text::warnings(&files) {
        eprintln!("rules: {warning}");
    }
    if violations.is_empty() { Ok(()) } else { Err(RuleError::Violations(violations)) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_repository_keeps_its_rules() {
        if let Err(error) = super::run(&crate::repository()) {
            panic!("{error}");
        }
    }
}
