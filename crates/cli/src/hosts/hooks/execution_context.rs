//! The conditions outside a command that a verdict depends on: where the product's project is, and what its shell would
//! do with a text.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use headstart_machine::config::PROJECT_FILE;
use headstart_machine::environment::Environment;
use headstart_tool_gate::ElsewhereVerdict;

use super::contract::Contract;
use super::message::HookCall;

/// Variables, or the beginnings of their names, by which a shell or any program runs someone's code when it starts.
const RUN_AT_START: [&str; 5] = ["BASH_ENV", "ENV", "LD_*", "DYLD_*", "SHELLOPTS"];

/// Variables, or the beginnings of their names, that put functions in the place of programs, or that choose programs,
/// files or options for programs that the gate knows, each with the programs that read it. None: the shell does, or
/// any program may.
const CHANGE_PROGRAMS: [(&[&str], &[&str]); 11] = [
    (
        &[
            "BASH_FUNC_*",
            "POSIXLY_CORRECT",
            "BASHOPTS",
            "BASH_COMPAT",
            "BASH_XTRACEFD",
            "CDPATH",
            "GLOBIGNORE",
            "EXECIGNORE",
            "IFS",
            "GCONV_PATH",
            "NLSPATH",
            "MALLOC_TRACE",
        ],
        &[],
    ),
    (&["GIT_*"], &["git", "bat", "batcat", "rg", "fd", "fdfind"]),
    (&["GREP_*"], &["grep", "egrep", "fgrep", "z*", "xz*", "bz*", "lz*"]),
    (&["GETCONF_DIR"], &["getconf"]),
    (&["AWKPATH", "AWKLIBPATH", "GAWK_*"], &["awk", "gawk", "mawk", "nawk", "original-awk"]),
    // A program that is a script in Perl is not known by its name.
    (&["PERL5*", "PERLLIB", "PERL_*"], &[]),
    (&["TAR_OPTIONS"], &["tar"]),
    (
        &["GZIP", "BZIP*", "XZ_*", "ZSTD_*", "ZIP*", "UNZIP*"],
        &["tar", "gzip", "gunzip", "z*", "xz*", "bz*", "bunzip2", "lz*", "un*"],
    ),
    (&["RIPGREP_CONFIG_PATH"], &["rg"]),
    (&["BAT_*"], &["bat", "batcat"]),
    (&["MAGIC"], &["file"]),
];

/// As a row of [`CHANGE_PROGRAMS`]. A second agent of the user's needs what they say, so it is none.
const OF_OPENSSL: (&[&str], &[&str]) = (&["OPENSSL_*"], &["openssl"]);

/// Variables of git that only choose who is asked for a password, who edits a message and whose name stands in a
/// commit. What is allowed does none of these.
const OF_COMMITS: [&str; 6] = [
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_AUTHOR_*",
    "GIT_COMMITTER_*",
    "GIT_TERMINAL_PROMPT",
];

/// Settings of git that only forbid something.
const FORBIDDING: [(&str, &str); 2] = [("safe.bareRepository", "explicit"), ("protocol.allow", "never")];

/// A path through more links than this is not followed, as the system does not follow one through 40.
const MAX_LINKS: usize = 40;

/// Folders of the system's programs, into which only the system's owner writes.
const SYSTEM_FOLDERS: [&str; 8] = [
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/opt/homebrew/bin",
    "/run/current-system/sw/bin",
];

/// The folder that counts as the workspace of a call. It is the product's project if the message names it and the
/// command runs in it, and otherwise the command's own folder. If a folder above that, up to the repository's, has a
/// project file of headstart's, it is that folder, so that its rules apply.
pub(crate) fn workspace(contract: &Contract, call: &HookCall, environment: &Environment) -> PathBuf {
    let directory = Path::new(&call.directory);
    let holds_it = |folder: &&Path| folder.is_absolute() && is_real(folder) && directory.starts_with(folder);
    let of_variables = contract.project_variables.iter().filter_map(|name| environment.get(name));
    let named = of_variables.map(Path::new).chain(call.roots.iter().map(Path::new)).find(holds_it);
    let project = named.unwrap_or(directory);
    for folder in project.ancestors() {
        if folder.join(PROJECT_FILE).is_file() {
            return folder.to_owned();
        }
        if folder.join(".git").exists() {
            break;
        }
    }
    project.to_owned()
}

/// The folder whose content the authors of the project choose: the outermost repository around the workspace, or the
/// workspace itself. The home folder is not one, because a repository there holds its owner's own files.
pub(crate) fn project_root<'a>(workspace: &'a Path, environment: &Environment) -> &'a Path {
    let home = environment.get("HOME").map(Path::new);
    let repositories = workspace.ancestors().filter(|folder| folder.join(".git").exists());
    repositories.filter(|folder| home != Some(*folder)).last().unwrap_or(workspace)
}

/// Why no command may be allowed in `directory` at all; `None` if there is no such reason.
pub(crate) fn of_folder(directory: &Path, workspace: &Path) -> Option<String> {
    if !is_real(directory) || !is_real(workspace) {
        return Some(format!(
            "the folder {} is reached through a link, or spelt in another way than the system does",
            directory.display()
        ));
    }
    (!directory.starts_with(workspace))
        .then(|| format!("the folder {} is outside the workspace", directory.display()))
}

/// Why the product's shell should not start a confined command; `None` if there is no such reason.
pub(crate) fn of_confined(environment: &Environment, workspace: &Path, program: &Path) -> Option<String> {
    let root = project_root(workspace, environment);
    if program.starts_with(root) {
        return Some(
            "headstart itself lies in the project, where whoever writes the project can change it".to_owned(),
        );
    }
    let leads_here = |value: &OsStr| {
        // The loader also splits this list at blanks, so the project's folder counts anywhere in it and not only at the
        // beginning of a path.
        std::env::split_paths(value).any(|path| !path.is_absolute())
            || value.to_string_lossy().contains(&*root.to_string_lossy())
    };
    let found = environment
        .names()
        .find(|name| fits(name, &RUN_AT_START) && environment.get(name).is_some_and(leads_here))?;
    Some(format!("the variable {found} may have the shell run something of the project's"))
}

/// Why the product's shell should not run the text unchanged, of which this is the verdict; `None` if there is no such
/// reason.
pub(crate) fn of_text(
    contract: &Contract,
    environment: &Environment,
    workspace: &Path,
    judged: &ElsewhereVerdict,
) -> Option<String> {
    if cfg!(windows) {
        return Some(
            "which shell of Windows runs it is not known, and the gate reads a text as bash does".to_owned(),
        );
    }
    let changes =
        |name: &&str| fits(name, &RUN_AT_START) || changes_one_of(name, &judged.programs, environment);
    if let Some(found) = environment.names().find(changes) {
        return Some(format!("the variable {found} may change what the command does"));
    }
    if !contract.runs_bash {
        let shell = environment.get("SHELL").map(Path::new).and_then(Path::file_name).and_then(OsStr::to_str);
        if shell != Some("bash") {
            return Some(format!(
                "the shell is {}, and the gate reads a text as bash does",
                shell.unwrap_or("not known")
            ));
        }
    }
    let path = environment.get("PATH").unwrap_or_default();
    let root = project_root(workspace, environment);
    // A folder of the project counts wherever it is in the list, because a program may be a script that starts others
    // by name.
    if let Some(folder) = std::env::split_paths(path).find(|folder| is_filled_by(folder, root)) {
        return Some(format!("PATH has a folder that the project fills: {:?}", folder.display().to_string()));
    }
    of_variables(environment, judged).or_else(|| of_programs(path, &judged.programs, root))
}

/// Why the command should not use the values of its variables. A product's shell may have more variables than the hook,
/// so one that the command does not certainly assign itself is taken for one that holds a secret.
fn of_variables(environment: &Environment, judged: &ElsewhereVerdict) -> Option<String> {
    let found = judged
        .variables
        .iter()
        .find(|variable| !variable.is_assigned || environment.get(&variable.name).is_some())?;
    Some(format!("it shows the variable {}, which may hold a secret", found.name))
}

/// Why these programs should not be started by their names; `None` if there is no such reason. `root` is the
/// [`project_root`].
pub(crate) fn of_programs(path: &OsStr, programs: &[String], root: &Path) -> Option<String> {
    let other = programs.iter().find(|name| !is_what_it_is_called(name, path, root))?;
    Some(format!("what PATH finds as {other} may be something that starts another program"))
}

/// Whether a variable of this name may change what a command does.
pub(crate) fn changes_commands(name: &str) -> bool {
    fits(name, &RUN_AT_START) || CHANGE_PROGRAMS.iter().any(|(variables, _)| fits(name, variables))
}

/// Whether a variable may change what one of these programs does.
fn changes_one_of(name: &str, programs: &[String], environment: &Environment) -> bool {
    let mut rows = CHANGE_PROGRAMS.iter().chain([&OF_OPENSSL]).filter(|(variables, _)| fits(name, variables));
    let is_read = |(_, readers): &(&[&str], &[&str])| {
        readers.is_empty() || programs.iter().any(|program| fits(program, readers))
    };
    rows.any(is_read) && !is_harmless(name, environment)
}

/// Whether the value of a variable is known to change nothing of what a command that only reads does.
fn is_harmless(name: &str, environment: &Environment) -> bool {
    let value = environment.get(name).and_then(OsStr::to_str);
    match name {
        "GIT_PAGER" => value == Some("cat"),
        "GIT_OPTIONAL_LOCKS" => value == Some("0"),
        "GREP_COLOR" | "GREP_COLORS" => true,
        name if fits(name, &OF_COMMITS) => true,
        name if name.starts_with("GIT_CONFIG_") => only_forbids(environment),
        _ => false,
    }
}

/// Whether all settings that variables give to git only forbid something.
fn only_forbids(environment: &Environment) -> bool {
    let text = |name: &str| environment.get(name).and_then(OsStr::to_str);
    let numbered = ["GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_*", "GIT_CONFIG_VALUE_*"];
    if environment.names().any(|name| name.starts_with("GIT_CONFIG") && !fits(name, &numbered)) {
        return false;
    }
    let count =
        text("GIT_CONFIG_COUNT").and_then(|count| count.parse::<usize>().ok()).filter(|count| *count < 16);
    count.is_some_and(|count| {
        (0..count).all(|place| {
            let key = text(&format!("GIT_CONFIG_KEY_{place}")).unwrap_or_default();
            let value = text(&format!("GIT_CONFIG_VALUE_{place}")).unwrap_or_default();
            FORBIDDING.iter().any(|(known, only)| known.eq_ignore_ascii_case(key) && *only == value)
        })
    })
}

/// Whether the authors of the project can put programs into a folder of the search path. `root` is the
/// [`project_root`]. A package manager fills `node_modules/.bin` for some project in any case.
pub(crate) fn is_filled_by(folder: &Path, root: &Path) -> bool {
    !folder.is_absolute() || folder.ends_with("node_modules/.bin") || leads_through(folder, root)
}

/// Whether a path, or a link on the way along it, is in `root`.
fn leads_through(path: &Path, root: &Path) -> bool {
    let parts = |path: &Path| -> Vec<OsString> {
        path.components().rev().map(|part| part.as_os_str().to_owned()).collect()
    };
    let (mut at, mut left, mut links) = (PathBuf::new(), parts(path), 0);
    while let Some(part) = left.pop() {
        match Path::new(&part).components().next() {
            Some(Component::ParentDir) => _ = at.pop(),
            // The root of the system takes the place of what came before it.
            _ => at.push(&part),
        }
        if at.starts_with(root) {
            return true;
        }
        if let Ok(target) = at.read_link() {
            links += 1;
            if MAX_LINKS < links {
                return true;
            }
            at.pop();
            left.extend(parts(&target));
        }
    }
    false
}

/// Whether a name leads to the program of that name, and not to a script or to a version manager's substitute, which a
/// file of the project could tell what to start, and not into the project. A name that is not found is a command built
/// into the shell.
fn is_what_it_is_called(name: &str, path: &OsStr, root: &Path) -> bool {
    let Some(file) = std::env::split_paths(path).map(|folder| folder.join(name)).find(|file| file.is_file())
    else {
        return true;
    };
    if leads_through(&file, root) {
        return false;
    }
    if file.parent().is_some_and(|folder| SYSTEM_FOLDERS.iter().any(|system| folder == Path::new(system))) {
        return true;
    }
    let Ok(real) = file.canonicalize() else { return false };
    let mut start = [0; 2];
    let is_script =
        File::open(&real).and_then(|mut file| file.read_exact(&mut start)).is_err() || start == *b"#!";
    !is_script && real.file_name().and_then(OsStr::to_str).is_some_and(|real| real.starts_with(name))
}

/// Whether a folder exists and its path is spelt as the system spells it, without links.
fn is_real(folder: &Path) -> bool {
    folder.is_dir() && folder.canonicalize().is_ok_and(|real| real.as_os_str() == folder.as_os_str())
}

fn fits(name: &str, patterns: &[&str]) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *pattern,
    })
}

#[cfg(test)]
mod tests {
    use headstart_tool_gate::{Gate, GateContext};

    use super::super::contract::contract;
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        variables.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn judged(command: &str) -> ElsewhereVerdict {
        let call = serde_json::json!({ "command": command });
        Gate::new().judge_elsewhere(
            call.as_object().unwrap(),
            "/ws",
            &GateContext { workspace: "/ws".to_owned(), ..GateContext::default() },
        )
    }

    #[test]
    fn a_variable_counts_where_a_program_of_the_command_reads_it() {
        let (copilot, project) = (contract("copilot").unwrap(), Path::new("/home/me/project"));
        let counts = |variables: &[(&str, &str)], command: &str| {
            let all: Vec<_> = variables.iter().copied().chain([("PATH", "/usr/bin:/bin")]).collect();
            of_text(copilot, &environment(&all), project, &judged(command)).is_some()
        };
        let of_copilot = [
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "safe.bareRepository"),
            ("GIT_CONFIG_VALUE_0", "explicit"),
        ];
        let of_editor = [("GIT_ASKPASS", "/opt/code/askpass.sh"), ("GIT_EDITOR", "code --wait")];
        for variables in [&of_copilot[..], &of_editor, &[("GIT_PAGER", "cat")]] {
            for command in ["wc -l a.txt", "grep -rn x src", "git log", "bat a.txt"] {
                assert!(!counts(variables, command), "{variables:?}: {command}");
            }
        }
        let other = |place: &str, key: &str, value: &str| {
            let key_name = format!("GIT_CONFIG_KEY_{place}");
            let value_name = format!("GIT_CONFIG_VALUE_{place}");
            let variables = [("GIT_CONFIG_COUNT", "2"), (&*key_name, key), (&*value_name, value)];
            let all: Vec<_> = of_copilot[1..].iter().copied().chain(variables).collect();
            counts(&all, "git log")
        };
        assert!(other("1", "core.fsmonitor", "./evil"));
        assert!(other("1", "core.pager", "./evil"));
        assert!(other("1", "safe.bareRepository", "all"));
        assert!(other("2", "safe.bareRepository", "explicit"), "a setting that is counted is missing");
        assert!(!other("1", "SAFE.barerepository", "explicit"));
        for (variable, value, read_by, not_by) in [
            ("GIT_DIR", "/tmp/x", "git log", "wc -l a.txt"),
            ("GIT_CONFIG_GLOBAL", "/tmp/x", "git log", "wc -l a.txt"),
            ("GIT_CONFIG_PARAMETERS", "'core.pager'='x'", "git log", "cat a.txt"),
            ("GIT_EXTERNAL_DIFF", "./evil", "git diff", "diff a b"),
            ("GREP_OPTIONS", "-f/etc/passwd", "cat a | grep x", "cat a"),
            ("GREP_OPTIONS", "-f/etc/passwd", "zgrep x a.gz", "cat a"),
            ("TAR_OPTIONS", "--to-command=x", "tar tf a.tar", "cat a.txt"),
            ("RIPGREP_CONFIG_PATH", "x", "rg x", "grep x a"),
            ("AWKPATH", "x", "awk '{print}' a", "sed -n 1p a"),
            ("GZIP", "-k", "zcat a.gz", "wc -l a"),
            ("GZIP", "-k", "tar tzf a.tgz", "wc -l a"),
            ("OPENSSL_CONF", "./evil.cnf", "openssl version", "sha256sum a"),
            ("MAGIC", "x", "file a", "stat a"),
            ("BAT_CONFIG_PATH", "x", "bat a", "cat a"),
        ] {
            assert!(counts(&[(variable, value)], read_by), "{variable}: {read_by}");
            assert!(!counts(&[(variable, value)], not_by), "{variable}: {not_by}");
        }
        for (variable, value) in [
            ("BASH_ENV", "x"),
            ("LD_PRELOAD", "x.so"),
            ("BASH_FUNC_wc%%", "() { touch x; }"),
            ("PERL5OPT", "-Mx"),
            ("POSIXLY_CORRECT", "1"),
            ("IFS", "x"),
        ] {
            assert!(counts(&[(variable, value)], "wc -l a.txt"), "{variable}");
        }
    }

    #[test]
    fn what_changes_a_text_keeps_it_from_running_as_it_is() {
        let bash = [("PATH", "/usr/bin:/bin"), ("SHELL", "/bin/bash")];
        let (codex, qwen) = (contract("codex").unwrap(), contract("qwen-code").unwrap());
        let project = Path::new("/home/me/project");
        let judged = judged("grep -c x a.txt; tar tf a.tar; git log");
        assert_eq!(of_text(codex, &environment(&bash), project, &judged), None);
        for (name, value) in [
            ("BASH_ENV", "/home/me/.env.sh"),
            ("LD_PRELOAD", "x.so"),
            ("BASH_FUNC_awk%%", "() { touch x; }"),
            ("GIT_PAGER", "x"),
            ("GREP_OPTIONS", "-f/etc/passwd"),
            ("PERL5OPT", "-Mx"),
            ("TAR_OPTIONS", "--to-command=x"),
            ("PATH", "/home/me/project/node_modules/.bin:/usr/bin"),
            ("PATH", "/usr/bin:/home/me/project/.venv/bin"),
            ("PATH", "/usr/bin:/home/me/other/node_modules/.bin"),
            ("PATH", "bin:/usr/bin"),
            ("PATH", "/usr/bin::/bin"),
            ("SHELL", "/bin/zsh"),
            ("SHELL", "/usr/bin/fish"),
        ] {
            let others = bash.iter().filter(|(other, _)| *other != name).copied();
            let variables: Vec<_> = others.chain([(name, value)]).collect();
            assert!(of_text(codex, &environment(&variables), project, &judged).is_some(), "{name}={value}");
        }
        let zsh = [("PATH", "/usr/bin"), ("SHELL", "/bin/zsh")];
        assert_eq!(
            of_text(qwen, &environment(&zsh), project, &judged),
            None,
            "its shell is bash in any case"
        );
    }

    #[test]
    fn a_name_leads_to_its_program() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().as_os_str();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("manager"), b"\x7fELF").unwrap();
        std::fs::write(at("rg"), b"\x7fELF").unwrap();
        std::fs::write(at("python3.13"), b"\x7fELF").unwrap();
        std::fs::write(at("ruby"), b"#!/bin/sh\nexec ./evil\n").unwrap();
        std::os::unix::fs::symlink("manager", at("node")).unwrap();
        std::os::unix::fs::symlink("python3.13", at("python3")).unwrap();
        for (name, is_it) in
            [("rg", true), ("python3", true), ("ruby", false), ("node", false), ("no-such-program", true)]
        {
            assert_eq!(is_what_it_is_called(name, path, Path::new("/project")), is_it, "{name}");
        }
        assert!(is_what_it_is_called("sh", OsStr::new("/usr/bin:/bin"), Path::new("/project")));
    }

    #[test]
    fn a_link_does_not_lead_to_a_program_of_the_project() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (project, bin) = (folder.join("project"), folder.join("bin"));
        for made in [&project.join(".git"), &project.join("packages/app"), &project.join("bin"), &bin] {
            std::fs::create_dir_all(made).unwrap();
        }
        std::fs::write(project.join("rg"), b"\x7fELF").unwrap();
        std::fs::write(folder.join("fd"), b"\x7fELF").unwrap();
        symlink(project.join("rg"), bin.join("rg")).unwrap();
        symlink("../project/packages/../rg", bin.join("wc")).unwrap();
        // The project could direct the second of these links elsewhere.
        symlink("../project/fd", bin.join("fd")).unwrap();
        symlink("../fd", project.join("fd")).unwrap();
        symlink("loop", bin.join("loop")).unwrap();
        symlink("project", folder.join("other")).unwrap();
        let home = folder.to_str().unwrap();
        let environment = environment(&[("HOME", home)]);
        let workspace = project.join("packages/app");
        let root = project_root(&workspace, &environment);
        assert_eq!(root, project, "the whole repository is the project's");
        for name in ["rg", "wc", "fd"] {
            assert!(!is_what_it_is_called(name, bin.as_os_str(), root), "{name}");
        }
        for (filled, is_it) in [
            (project.join("bin"), true),
            (folder.join("other/bin"), true),
            (bin.join("loop/x"), true),
            (bin.join("../project/bin"), true),
            (bin.clone(), false),
            (project.join("../bin"), true),
        ] {
            assert_eq!(is_filled_by(&filled, root), is_it, "{}", filled.display());
        }
        std::fs::create_dir(folder.join(".git")).unwrap();
        assert_eq!(project_root(&workspace, &environment), project, "a home folder is nobody's project");
        assert_eq!(project_root(&workspace, &Environment::default()), folder);
        assert_eq!(project_root(Path::new("/usr"), &environment), Path::new("/usr"));
    }

    #[test]
    fn a_confined_command_is_started_by_nothing_of_the_project() {
        let project = Path::new("/home/me/project");
        let program = Path::new("/usr/bin/headstart");
        assert_eq!(of_confined(&environment(&[("LD_LIBRARY_PATH", "/opt/cuda")]), project, program), None);
        for (name, value) in [
            ("LD_PRELOAD", "/home/me/project/x.so"),
            ("LD_PRELOAD", "/usr/lib/y.so /home/me/project/x.so"),
            ("LD_LIBRARY_PATH", "lib:/usr/lib"),
            ("BASH_ENV", "x"),
            ("SHELLOPTS", "hashall:xtrace"),
        ] {
            assert!(of_confined(&environment(&[(name, value)]), project, program).is_some(), "{name}");
        }
        let own = Path::new("/home/me/project/target/headstart");
        assert!(of_confined(&environment(&[]), project, own).is_some());
    }
}
