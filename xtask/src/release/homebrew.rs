//! The formula with which Homebrew installs the archives from a tap.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{ReleaseError, Target, archive::sum, npm, write};

/// Writes the formula for these archives, which are fetched from `url`.
pub(super) fn formula(
    folder: &Path,
    version: &str,
    archives: &[(Target, PathBuf)],
    url: &str,
    repository: Option<&str>,
) -> Result<PathBuf, ReleaseError> {
    let mut text = format!("class Headstart < Formula\n  desc \"{}\"\n", npm::DESCRIPTION);
    if let Some(repository) = repository {
        let _ = writeln!(text, "  homepage \"{repository}\"");
    }
    let _ = writeln!(text, "  version \"{version}\"\n  license any_of: [\"MIT\", \"Apache-2.0\"]");
    for (system, os) in [("macos", "darwin"), ("linux", "linux")] {
        let mut of_system = String::new();
        for (processor, cpu) in [("arm", "arm64"), ("intel", "x64")] {
            // Of the two archives for Linux, the static one is taken, because it needs no libraries of Homebrew's.
            let fits = |(target, _): &&(Target, PathBuf)| target.os == os && target.cpu == cpu;
            let found = archives.iter().filter(fits).max_by_key(|(target, _)| target.libc == Some("musl"));
            let Some((target, archive)) = found else { continue };
            let _ = writeln!(
                of_system,
                "    on_{processor} do\n      url \"{url}/{}\"\n      sha256 \"{}\"\n    end",
                target.archive_name(version),
                sum(archive)?
            );
        }
        if !of_system.is_empty() {
            let _ = write!(text, "\n  on_{system} do\n{of_system}  end\n");
        }
    }
    text.push_str(
        r##"
  def install
    bin.install "headstart"
    generate_completions_from_executable(bin/"headstart", "completions")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/headstart --version")
  end
end
"##,
    );
    let file = folder.join("homebrew/headstart.rb");
    write(&file, text)?;
    Ok(file)
}
