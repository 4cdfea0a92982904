//! Repositories that make git start a program or fetch something, read with every git of this machine.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use headstart_overlay_fs::WorkspacePath;
use headstart_tool_gate::{ConditionalCommand, Decision, DenyRules, Gate, GateContext};
use headstart_toolbox::{CommandEnvironment, CommandRequest, CommandRunner as _, SecretAccess};

use super::super::BashRunner;

/// A repository of an attacker. `run` is a program that leaves a mark.
struct Attack {
    name: &'static str,
    /// Lines for bash in the repository's folder, which has one commit; `$run` is the program.
    makes: &'static str,
}

const ATTACKS: &[Attack] = &[
    Attack {
        name: "a filter of the configuration, named by a file of the work tree",
        makes: "echo '* filter=x' >.gitattributes; git config filter.x.clean $run; git config filter.x.process $run",
    },
    Attack {
        name: "a diff driver",
        makes: "echo '* diff=x' >.gitattributes; git config diff.x.command $run",
    },
    Attack {
        name: "a text conversion",
        makes: "echo '* diff=x' >.gitattributes; git config diff.x.textconv $run",
    },
    Attack {
        name: "a filter of an included file that is committed",
        makes: "echo '* filter=x' >.gitattributes; git config -f part filter.x.clean $run; git config include.path ../part",
    },
    Attack {
        name: "a filter of the work tree's own configuration",
        makes: "echo '* filter=x' >.gitattributes; git config extensions.worktreeConfig true; \
                git config -f .git/config.worktree filter.x.clean $run",
    },
    Attack {
        name: "a filter of the user's own configuration",
        makes: "echo '* filter=x' >.gitattributes; git config --global filter.x.clean $run",
    },
    Attack {
        name: "a filter, named in the repository's folder",
        makes: "mkdir -p .git/info; echo '* filter=x' >.git/info/attributes; git config filter.x.clean $run",
    },
    Attack { name: "a file system monitor", makes: "git config core.fsmonitor $run" },
    Attack {
        name: "hooks",
        makes: "mkdir -p .git/hooks; for hook in post-index-change fsmonitor-watchman pre-commit reference-transaction; \
                do cp $run .git/hooks/$hook; done; mkdir h; cp $run h/post-index-change; git config core.hooksPath h",
    },
    Attack {
        name: "an external diff, a pager and the rest",
        makes: "git config diff.external $run; git config core.pager $run; git config pager.log $run; \
                git config core.sshCommand $run; git config gpg.program $run; git config log.showSignature true; \
                git config interactive.diffFilter $run; git config core.alternateRefsCommand $run",
    },
    Attack {
        name: "a remote that is fetched from by a program",
        makes: "git config remote.x.promisor true; git config remote.x.url ext::$run; git config protocol.ext.allow always; \
                rm -rf .git/objects/??",
    },
    Attack {
        name: "a remote on this disk with a program of its own",
        makes: "git init -q --bare other; git config remote.x.partialCloneFilter blob:none; git config remote.x.url other; \
                git config remote.x.uploadpack $run; git config extensions.partialClone x; \
                git config core.repositoryFormatVersion 1; rm -rf .git/objects/??",
    },
    Attack {
        name: "a remote that is reached through ssh",
        makes: "git config remote.x.promisor true; git config remote.x.url ssh://host/x; git config core.sshCommand $run; \
                rm -rf .git/objects/??",
    },
    Attack {
        name: "a folder of committed files that looks like a repository",
        makes: "mv .git sub/kept; mv sub/kept/* sub; rmdir sub/kept; cd sub; git config core.fsmonitor $run; \
                git config core.bare false; git config core.worktree .; git config filter.x.clean $run; \
                echo '* filter=x' >.gitattributes; git add a.txt; echo more >>a.txt; cd ..; git init -q .",
    },
    Attack {
        name: "a repository behind a file",
        makes: "git init -q other; git -C other config filter.x.clean $run; git -C other config core.fsmonitor $run; \
                echo '* filter=x' >sub/.gitattributes; echo 'gitdir: ../other/.git' >sub/.git; \
                git -C sub add a.txt; echo more >>sub/a.txt",
    },
    Attack {
        name: "a submodule",
        makes: "git init -q module; cd module; echo a >a.txt; git add .; git commit -qm a; git config core.fsmonitor $run; \
                echo '* filter=x' >.gitattributes; git config filter.x.clean $run; echo more >>a.txt; cd ..; \
                git -c advice.addEmbeddedRepo=false add module; git commit -qm module; git config submodule.recurse true; \
                git config diff.submodule log; git config status.submoduleSummary true",
    },
];

/// What is read in each of them.
const READS: &[&str] = &[
    "git status",
    "git status --short --branch",
    "git diff",
    "git diff HEAD --stat",
    "git log -p -3",
    "git log --oneline --all --graph",
    "git show HEAD",
    "git blame a.txt",
    "git grep -n one",
    "git ls-files -m",
    "git cat-file -p HEAD",
    "git cat-file -p HEAD:a.txt",
    "git rev-list --objects HEAD",
    "git stash list -p",
    "git branch -vv",
    "git -C sub status",
    "git -C sub diff",
    "cd sub && git log -p",
];

/// What a user types, who trusts the repository.
const BY_HAND: &str = "touch a.txt sub/a.txt; git status; git diff; git diff --cached; git log -p --show-signature; git cat-file -p HEAD^{tree}; \
    git -C sub status; git -C sub diff; git add a.txt; git --paginate log; git status";

struct Place {
    folder: tempfile::TempDir,
    path: OsString,
}

impl Place {
    fn new(path: OsString) -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap(), path };
        fs::create_dir_all(place.work().join("sub")).unwrap();
        let program = place.program();
        let mark = place.mark();
        fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >>'{}'\nexit 1\n", mark.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        place.shell(
            "git init -q -b main .; echo one >a.txt; \
             echo one >sub/a.txt; git add .; git commit -qm one; echo two >a.txt",
        );
        place
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn program(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    fn mark(&self) -> PathBuf {
        self.folder.path().join("ran")
    }

    fn variables(&self) -> BTreeMap<OsString, OsString> {
        let named = |name: &str, value: OsString| (OsString::from(name), value);
        BTreeMap::from([
            named("PATH", self.path.clone()),
            named("HOME", self.folder.path().into()),
            named("GIT_CONFIG_NOSYSTEM", "1".into()),
            named("run", self.program().into()),
        ])
    }

    fn shell(&self, script: &str) -> Output {
        let mut shell = Command::new("bash");
        shell.args(["-c", script]).current_dir(self.work()).env_clear().envs(self.variables());
        for role in ["AUTHOR", "COMMITTER"] {
            shell.env(format!("GIT_{role}_NAME"), "a").env(format!("GIT_{role}_EMAIL"), "a@example.org");
        }
        shell.output().unwrap()
    }

    /// Reads as work ahead does, but for the confinement, so that a mark can be left.
    async fn reads(&self, command: &str) -> bool {
        let root = self.work().canonicalize().unwrap();
        let rules = GateContext { workspace: root.to_str().unwrap().to_owned(), ..GateContext::default() };
        let verdict = Gate::new().judge_command(command, &rules);
        assert_eq!(verdict.decision, Decision::Allow, "{command}: {}", verdict.detail);
        let mut runner = BashRunner::with_environment(root, self.variables());
        runner.clean.insert("PATH".into(), self.path.clone());
        let request = CommandRequest {
            command: ConditionalCommand::allowed(command, verdict.hardened.as_ref()),
            directory: WorkspacePath::root(),
            environment: CommandEnvironment::Clean,
            secrets: SecretAccess::Closed,
            deny: DenyRules::default(),
            time_limit: Duration::from_secs(60),
            output_limit: 100_000,
        };
        let Ok(done) = runner.run(request).await else { return false };
        assert!(!done.timed_out, "{command}");
        done.exit_code == Some(0)
    }
}

/// The search paths with which each git of this machine comes first.
fn gits() -> Vec<OsString> {
    let usual = ["/usr/bin", "/bin"].map(PathBuf::from);
    let named = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&named).chain(usual.clone()).collect();
    let has_git = |folder: &&PathBuf| folder.is_absolute() && folder.join("git").is_file();
    let mut known = Vec::new();
    let mut gits = Vec::new();
    for folder in folders.iter().filter(has_git) {
        let real = folder.join("git").canonicalize().unwrap();
        if !known.contains(&real) {
            known.push(real);
            gits.push(std::env::join_paths([folder].into_iter().chain(&usual)).unwrap());
        }
    }
    assert!(!gits.is_empty(), "this test needs git");
    gits
}

#[tokio::test]
async fn no_git_starts_a_program_that_a_repository_names_nor_fetches_with_one() {
    for path in gits() {
        for attack in ATTACKS {
            let place = Place::new(path.clone());
            let made = place.shell(&format!("set -eu; {}", attack.makes));
            let name = format!("{} with {}: {made:?}", attack.name, path.display());
            assert!(made.status.success(), "{name}");
            // Making it may have run the program.
            let _ = fs::remove_file(place.mark());
            for command in READS {
                place.reads(command).await;
                let ran = fs::read_to_string(place.mark());
                assert!(ran.is_err(), "{name}: {command} ran {ran:?}");
            }
            let done = place.shell(BY_HAND);
            assert!(place.mark().exists(), "{name}: by hand nothing runs either: {done:?}");
        }
    }
}

#[tokio::test]
async fn every_git_reads_an_ordinary_repository() {
    for path in gits() {
        let place = Place::new(path.clone());
        let made = place.shell(
            "set -eu; echo '*.txt text' >.gitattributes; git config remote.origin.url https://example.org/a.git; \
             git config remote.origin.fetch +refs/heads/*:refs/remotes/origin/*; git config core.sshCommand 'ssh -i key'; \
             git config merge.tool vimdiff; git config diff.colorMoved true; git config pull.rebase true",
        );
        assert!(made.status.success(), "{made:?}");
        for command in READS {
            assert!(place.reads(command).await, "{command} with {}", path.display());
        }
    }
}
