//! Files that other programs execute or obey without anybody asking them to, so that whoever writes one decides what
//! runs later, outside every wall of this crate.

use std::sync::LazyLock;

use headstart_workspace_path::WorkspacePath;

use crate::path_pattern::folded;
use crate::{EffectKind, Reason, Verdict};

/// Files that one kind of program executes or obeys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtectedFiles {
    /// Who does it and when, in words behind the path: `.envrc is …`.
    pub what: &'static str,
    /// Their names, in lower case. A `*` stands for any text, `a/b` for `b` in a folder `a`, at any depth of the
    /// workspace. A pattern that ends in a slash covers the folder, everything below it, and a file of that name.
    pub patterns: &'static [&'static str],
}

/// All kinds. A write of one asks in every mode but `yolo`, no "always" covers it, and work ahead stops at it.
///
/// Left out on purpose is what a build, a test or a linter of the project runs (`package.json`, `Makefile`, `build.rs`,
/// `eslint.config.js`): that is the project's code, which edits are about, and a question about each of them would
/// teach a user to agree without reading.
pub static PROTECTED_FILES: [ProtectedFiles; 8] = [
    ProtectedFiles {
        what: "configures programs that git runs",
        patterns: &[
            ".git/",
            ".gitmodules",
            ".lfsconfig",
            ".gitconfig",
            ".hg/",
            ".hgrc",
            ".jj/",
            ".svn/",
            ".githooks/",
            ".husky/",
            ".huskyrc*",
            ".pre-commit-config.y*ml",
            ".pre-commit-hooks.yaml",
            ".lefthook/",
            "lefthook*.yml",
            "lefthook*.yaml",
            "lefthook*.toml",
            "lefthook*.json",
            ".lefthook*.yml",
            ".lefthook*.yaml",
            ".lefthook*.toml",
            ".lefthook*.json",
            ".overcommit.yml",
            ".git-hooks/",
            ".simple-git-hooks.*",
            "simple-git-hooks.*",
            ".lintstagedrc*",
            "lint-staged.config.*",
            "captainhook.json",
        ],
    },
    ProtectedFiles { what: "sets the rules for this workspace", patterns: &[".headstart/"] },
    ProtectedFiles {
        what: "tells coding agents what to do, what to run and what to ask",
        patterns: &[
            "agents.md",
            "agents.*.md",
            "agent.md",
            "claude.md",
            "claude.*.md",
            "gemini.md",
            "qwen.md",
            "warp.md",
            "crush.md",
            "skill.md",
            ".mcp.json",
            "mcp.json",
            ".agent/",
            ".agents/",
            ".aider*",
            ".amazonq/",
            ".augment/",
            ".augment-guidelines",
            ".claude/",
            ".claude.json",
            ".claude-plugin/",
            ".cline/",
            ".clinerules/",
            ".codex/",
            ".continue/",
            ".continuerc.json",
            ".copilot/",
            ".crush/",
            ".crush.json",
            "crush.json",
            ".cursor/",
            ".cursorrules",
            ".factory/",
            ".gemini/",
            ".goose/",
            ".goosehints",
            ".junie/",
            ".kilocode/",
            ".kilocode*",
            ".kiro/",
            ".opencode/",
            "opencode.json*",
            ".qwen/",
            ".roo/",
            ".roorules*",
            ".roomodes",
            ".rules",
            ".trae/",
            ".windsurf/",
            ".windsurfrules",
            ".github/copilot-*",
            ".github/agents/",
            ".github/chatmodes/",
            ".github/hooks/",
            ".github/instructions/",
            ".github/prompts/",
            ".github/skills/",
        ],
    },
    ProtectedFiles {
        what: "names programs that an editor starts",
        patterns: &[
            ".vscode/",
            "*.code-workspace",
            ".devcontainer/",
            ".devcontainer.json",
            ".idea/",
            "*.iml",
            ".fleet/",
            ".zed/",
            ".vs/",
            ".nova/",
            ".helix/",
            ".theia/",
            ".settings/",
            ".gitpod*",
            ".replit",
            ".dir-locals*.el",
            ".exrc",
            ".vimrc",
            ".lvimrc",
            ".nvimrc",
            ".nvim.lua",
            ".vim/",
            "*.sublime-project",
        ],
    },
    ProtectedFiles {
        what: "runs when a shell, a debugger or an interpreter starts in its folder",
        patterns: &[
            ".envrc",
            ".direnv/",
            ".autoenv*",
            ".mise/",
            ".mise.*",
            "mise.toml",
            "mise.*.toml",
            ".config/mise/",
            ".config/mise.toml",
            ".rtx.toml",
            ".tool-versions",
            "devbox.json",
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".bash_aliases",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            ".zlogout",
            ".config/fish/",
            ".inputrc",
            ".tmux.conf",
            ".screenrc",
            ".gdbinit",
            ".lldbinit",
            ".rprofile",
            ".irbrc",
            ".pryrc",
            ".psqlrc",
            ".sqliterc",
            "sitecustomize.py",
            "usercustomize.py",
            "autorun.inf",
            "desktop.ini",
        ],
    },
    ProtectedFiles {
        what: "names programs that a package manager or a build starts, and where they come from",
        patterns: &[
            ".cargo/config",
            ".cargo/config.toml",
            "rust-toolchain",
            "rust-toolchain.toml",
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            ".yarn/releases/",
            ".yarn/plugins/",
            ".pnpmfile.*",
            "bunfig.toml",
            ".bundle/",
            ".rspec",
            ".condarc",
            "pip.conf",
            ".pip/",
            "nuget.config",
            ".nuget/",
            ".config/dotnet-tools.json",
            ".bazelrc",
            ".bazelversion",
            ".bazeliskrc",
            ".mvn/",
            "gradle-wrapper.*",
            "gradlew",
            "gradlew.bat",
            "mvnw",
            "mvnw.cmd",
            ".sbtopts",
            ".jvmopts",
        ],
    },
    ProtectedFiles {
        what: "is run by a build server, with its keys",
        patterns: &[
            ".github/workflows/",
            ".github/actions/",
            ".github/dependabot.y*ml",
            ".github/codeowners",
            ".gitlab-ci*.y*ml",
            ".gitlab/",
            ".forgejo/",
            ".gitea/",
            ".circleci/",
            ".travis.y*ml",
            "azure-pipelines*.y*ml",
            ".azure-pipelines/",
            ".azuredevops/",
            "bitbucket-pipelines.y*ml",
            "jenkinsfile*",
            ".jenkins/",
            ".drone.y*ml",
            ".woodpecker/",
            ".woodpecker.y*ml",
            "appveyor.y*ml",
            ".appveyor.y*ml",
            ".buildkite/",
            ".semaphore/",
            ".teamcity/",
            ".tekton/",
            ".cirrus.y*ml",
            ".cirrus.star",
            ".builds/",
            ".build.yml",
            ".harness/",
            "cloudbuild.y*ml",
            "buildspec*.y*ml",
            "wercker.yml",
            "netlify.toml",
            "vercel.json",
            "renovate.json*",
            ".renovaterc*",
        ],
    },
    ProtectedFiles {
        what: "is started by the desktop or the system",
        patterns: &["*.desktop", ".config/autostart/", ".config/systemd/", "launchagents/"],
    },
];

static PATTERNS: LazyLock<Vec<(&'static ProtectedFiles, Pattern)>> = LazyLock::new(|| {
    let of_kind =
        |files: &'static ProtectedFiles| files.patterns.iter().map(move |text| (files, Pattern::of(text)));
    PROTECTED_FILES.iter().flat_map(of_kind).collect()
});

struct Pattern {
    names: Vec<&'static str>,
    of_folder: bool,
}

impl Pattern {
    fn of(text: &'static str) -> Self {
        let (text, of_folder) = text.strip_suffix('/').map_or((text, false), |text| (text, true));
        Self { names: text.split('/').collect(), of_folder }
    }

    /// Whether the pattern is about the path that has these names, or about a folder in its way: a link that takes the
    /// place of `.claude` brings `.claude/settings.json` along.
    fn covers(&self, path: &[&str]) -> bool {
        (0..path.len()).any(|start| {
            let rest = &path[start..];
            let fits = self.names.iter().zip(rest).all(|(pattern, name)| fits(pattern, name));
            fits && (rest.len() <= self.names.len() || self.of_folder)
        })
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    name.strip_prefix(start).is_some_and(|name| {
        let mut ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
        ends.any(|at| fits(rest, &name[at..]))
    })
}

/// Why a path is protected, in words behind it: `.envrc runs when …`. `None` for every other path.
///
/// Names are compared as every file system may: without their case, and without the dots and blanks at their end that
/// Windows does not see. The gate judges the path that a call names; whoever follows links has to ask again.
pub fn protected(path: &WorkspacePath) -> Option<&'static str> {
    let names: Vec<_> = path.names().map(folded).collect();
    let names: Vec<_> = names.iter().map(|name| name.trim_end_matches(['.', ' '])).collect();
    let mut patterns = PATTERNS.iter();
    patterns.find(|(_, pattern)| pattern.covers(&names)).map(|(files, _)| files.what)
}

/// The verdict on a write of a protected path, which no mode but `yolo` lets pass.
pub(crate) fn verdict(path: &WorkspacePath, why: &str) -> Verdict {
    let detail = format!("{path} {why}");
    Verdict::boundary(Reason::ProtectedPath, &detail).with_effect(EffectKind::Executes, detail)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn what_other_programs_execute_or_obey_is_known_by_its_path() {
        let protects = |path: &str| protected(&WorkspacePath::parse(path).unwrap());
        for path in [
            ".git/hooks/pre-push",
            ".git",
            "a/.GIT/config",
            ".vscode/tasks.json",
            ".VSCode/Settings.JSON",
            "packages/web/.vscode/launch.json",
            ".vscode./tasks.json",
            ".vscode /tasks.json",
            ".\u{17f}vn/x",
            ".vs\u{200b}code/tasks.json",
            ".claude/settings.local.json",
            ".mcp.json",
            ".cursor/rules/a.mdc",
            ".cargo/config.toml",
            ".husky/_/h",
            ".github/workflows/ci.yml",
            ".gitlab-ci.yml",
            ".gitlab-ci.yaml.",
            ".devcontainer/devcontainer.json",
            ".idea/runConfigurations/x.xml",
            "docs/agents.md",
            "CLAUDE.local.md",
            ".envrc",
            ".pre-commit-config.yaml",
            ".headstart/config.toml",
            // A link that takes the place of a folder brings all that is below it.
            ".claude",
            ".github",
            "sub/.cargo",
        ] {
            assert!(protects(path).is_some(), "{path}");
        }
        for path in [
            ".",
            "src/main.rs",
            "package.json",
            "Makefile",
            ".gitignore",
            ".github/ISSUE_TEMPLATE/bug.md",
            "github/workflows/ci.yml",
            "docs/agents.mdx",
            "src/agents/md.rs",
            "vscode/tasks.json",
            "README.md",
            ".editorconfig",
            "src/.config/app.toml",
        ] {
            assert_eq!(protects(path), None, "{path}");
        }
    }

    #[test]
    fn the_table_is_in_lower_case_and_names_nothing_twice() {
        let mut seen = BTreeSet::new();
        for pattern in PROTECTED_FILES.iter().flat_map(|files| files.patterns) {
            assert_eq!(*pattern, pattern.to_lowercase());
            // Only such a folder is protected as a whole when it may be a link that takes its place.
            assert!(!pattern.trim_end_matches('/').contains('/') || pattern.starts_with('.'), "{pattern}");
            assert!(seen.insert(pattern), "{pattern}");
        }
    }
}
