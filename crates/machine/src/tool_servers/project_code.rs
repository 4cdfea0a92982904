//! Whether the command of a tool server may run code of the project, and what a yes to such a command is bound to: the
//! content of the whole workspace, because nobody knows what a script loads.

use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::system::is_inside;

/// The most bytes and files of a workspace to which a yes is bound.
pub(super) const MAX_BYTES: u64 = 64 * 1024 * 1024;
const MAX_FILES: usize = 5000;

/// Programs that run what they find in their folder, or what the files there name.
const FIND_IN_FOLDER: &str = "ash asdf awk bash bazel bazelisk bun bundle bunx busybox cabal cargo clj clojure cmd composer \
    conda corepack crystal cscript csh dash deno direnv docker docker-compose dotnet dune elixir env erl fish fnm gawk \
    gh ghci git gleam go gradle gradlew groovy guile hatch iex irb java jbang julia just kotlin ksh lein lua luajit make \
    mise mix mono mvn mvnw nim nix nix-shell node nodemon nox npm npx ocaml osascript pdm perl php pipenv pipx pixi pnpm \
    pnpx podman podman-compose poetry powershell pwsh pyenv pypy pytest python r racket rake rbenv rscript ruby runghc \
    rustup rye sbt scala sh stack swift task tclsh tcsh tox ts-node tsx uv uvx vite-node volta wscript yarn zig zsh zx";

/// What stands between the places that a word names.
const BETWEEN: &[char] = &[
    '=', ':', ',', ';', '@', ' ', '\t', '\n', '"', '\'', '`', '(', ')', '[', ']', '{', '}', '<', '>', '|',
    '&', '*', '?', '!', '$',
];

/// The parts of a command that may be a program or a place, each also without a short option before it (`-p./x`).
fn parts(line: &[String]) -> impl Iterator<Item = &str> {
    let parts = line.iter().flat_map(|word| std::iter::once(word.as_str()).chain(word.split(BETWEEN)));
    parts.flat_map(|part| {
        let behind = part.strip_prefix('-').and_then(|option| option.get(1..));
        std::iter::once(part).chain(behind)
    })
}

/// Whether a command may run code of the project: a word of it leads there, or it names a program that runs what it
/// finds in its folder, which is the workspace. Such a program may stand behind another one (`timeout 9 npm start`).
pub(super) fn may_run(line: &[String], workspace: &Path) -> bool {
    parts(line).any(|part| finds_in_folder(part) || leads_there(part, workspace))
}

fn finds_in_folder(part: &str) -> bool {
    let name = part.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let name =
        [".exe", ".cmd", ".bat", ".ps1"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let name = name.trim_end_matches(|sign: char| sign.is_ascii_digit() || ".-".contains(sign));
    FIND_IN_FOLDER.split(' ').any(|known| known == name)
}

fn leads_there(part: &str, workspace: &Path) -> bool {
    // What these are is known only to the process that opens them.
    if part.starts_with("/proc/") || part.starts_with("/dev/fd") {
        return true;
    }
    if part.is_empty() {
        return false;
    }
    let path = workspace.join(part);
    // A link in the workspace may lead anywhere, and elsewhere tomorrow.
    let is_there = path.symlink_metadata().is_ok() && is_inside(&without_dots(&path), workspace);
    is_there || path.canonicalize().is_ok_and(|path| is_inside(&path, workspace))
}

/// A path without `.` and `..`, as its text says.
fn without_dots(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut whole, component| {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                whole.pop();
            }
            other => whole.push(other),
        }
        whole
    })
}

/// What a workspace holds, as a hash of names and contents; `None` if it is too much, or if the command leads into git's
/// own folder, which changes with every command of git.
pub(super) fn contents(line: &[String], workspace: &Path) -> Option<String> {
    let of_git = |part: &str| part.split(['/', '\\']).any(|step| step.eq_ignore_ascii_case(".git"));
    if parts(line).any(of_git) {
        return None;
    }
    let mut hash = Sha256::new();
    let mut left = (MAX_FILES, MAX_BYTES);
    let mut folders = vec![workspace.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).ok()?.take(left.0 + 1).collect::<Result<Vec<_>, _>>().ok()?;
        let mut paths: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            left.0 = left.0.checked_sub(1)?;
            let metadata = path.symlink_metadata().ok()?;
            hash.update(path.as_os_str().as_encoded_bytes());
            if metadata.is_symlink() {
                hash.update(b"\0link\0");
                hash.update(fs::read_link(&path).ok()?.as_os_str().as_encoded_bytes());
                hash.update(b"\0");
            } else if metadata.is_dir() {
                hash.update(b"\0folder\0");
                if path != workspace.join(".git") {
                    folders.push(path);
                }
            } else if metadata.is_file() {
                left.1 = left.1.checked_sub(metadata.len())?;
                hash.update(b"\0file\0");
                hash.update(metadata.len().to_le_bytes());
                let mut content = Vec::new();
                fs::File::open(&path).ok()?.take(metadata.len()).read_to_end(&mut content).ok()?;
                hash.update(&content);
            }
        }
    }
    Some(super::approval::hex(&hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_command_that_may_run_code_of_the_project_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("w");
        fs::create_dir_all(workspace.join("tools/deep")).unwrap();
        let workspace = workspace.canonicalize().unwrap();
        fs::write(workspace.join("tools/run"), "").unwrap();
        fs::write(folder.path().join("outside"), "").unwrap();
        #[cfg(unix)]
        for (name, to) in [("out", "../outside"), ("dangles", "/nowhere")] {
            std::os::unix::fs::symlink(to, workspace.join(name)).unwrap();
        }
        let there = workspace.to_str().unwrap();
        let mut lines: Vec<String> = "npm run server; npx -y some-server; /usr/bin/python3.12 -m server; uvx some-server; \
            node20 x; NODE.EXE x; npx.cmd x; sh -c x; env some-server; timeout 9 npm start; nice -n 5 python -m x; \
            sudo -E node x; script -c npm; setsid --fork npm; xargs npx; some-server --run=npx; git mcp; gh mcp; docker run x; \
            ./tools/run; tools/run; some-server --plugin=tools/run; some-server -ptools/run; some-server -p./tools/run; \
            some-server tools; some-server .; some-server ./tools/../tools/run; some-server tools/deep/..; \
            some-server file:tools/run; some-server a,tools/run; some-server [tools/run]; some-server tools/*; \
            /proc/self/cwd/tools/run; /dev/fd/3; some-server @tools/run"
            .split("; ")
            .map(|line| line.trim().to_owned())
            .collect();
        lines.extend([
            format!("{there}/tools/run"),
            format!("some-server --root={there}"),
            format!("{there}/../w/tools/run"),
        ]);
        #[cfg(unix)]
        lines.extend(["./out", "out", "dangles", "some-server --load out"].map(str::to_owned));
        for line in &lines {
            assert!(may_run(&words(line), &workspace), "{line}");
        }
        assert!(30 < lines.len());
        for line in [
            "some-server stdio",
            "/usr/bin/some-server --read-only",
            "some-server ../outside",
            "some-server --port=80",
        ] {
            assert!(!may_run(&words(line), &workspace), "{line}");
        }
    }

    /// Each change of a project makes another content, but for what git keeps of it.
    #[test]
    fn a_content_is_another_one_after_each_change() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().canonicalize().unwrap();
        for at in ["tools/deep", "vendor/.git", ".git"] {
            fs::create_dir_all(workspace.join(at)).unwrap();
        }
        fs::write(workspace.join("tools/run"), "one").unwrap();
        let line = words("node tools/run");
        let mut seen = std::collections::BTreeSet::from([contents(&line, &workspace).unwrap()]);
        let writes =
            [("tools/run", "two"), ("tools/new", ""), ("vendor/.git/server.js", "x"), (".hidden", "x")];
        for (name, content) in writes {
            fs::write(workspace.join(name), content).unwrap();
            assert!(seen.insert(contents(&line, &workspace).unwrap()), "{name}");
        }
        fs::rename(workspace.join("tools/new"), workspace.join("tools/newer")).unwrap();
        assert!(seen.insert(contents(&line, &workspace).unwrap()), "a rename");
        #[cfg(unix)]
        for to in ["tools/run", "/usr/bin/env"] {
            let _ = fs::remove_file(workspace.join("link"));
            std::os::unix::fs::symlink(to, workspace.join("link")).unwrap();
            assert!(seen.insert(contents(&line, &workspace).unwrap()), "a link to {to}");
        }
        fs::write(workspace.join(".git/index"), "x").unwrap();
        assert!(seen.contains(&contents(&line, &workspace).unwrap()), "git's own files");
        for inside in ["node .git/x.js", "node vendor/.git/server.js", "some-server --load=.GIT/x"] {
            assert_eq!(contents(&words(inside), &workspace), None, "{inside}");
        }
        let sparse = fs::File::create(workspace.join("large")).unwrap();
        sparse.set_len(MAX_BYTES + 1).unwrap();
        assert_eq!(contents(&line, &workspace), None);
    }
}
