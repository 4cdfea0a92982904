use std::collections::BTreeMap;

use super::*;

/// What becomes of a command in `folder` over a machine with a new git and these files.
fn proven(folder: &str, files: &[(&str, &str)]) -> Result<(), UnmetNeed> {
    proven_by((2, 45), folder, files).map(drop)
}

/// The variables of a command in `folder` over a machine with this git and these files.
fn proven_by(
    version: (u32, u32),
    folder: &str,
    files: &[(&str, &str)],
) -> Result<BTreeMap<String, String>, UnmetNeed> {
    let files: BTreeMap<&str, &str> = files.iter().copied().collect();
    let git = GitNeeds {
        version: (2, 45),
        folders: vec![folder.to_owned()],
        hides: vec!["info/attributes".to_owned()],
        shows_settings: false,
    };
    let form = Hardened {
        environment: Arc::new(BTreeMap::from([("A".to_owned(), "1".to_owned())])),
        git: Some(git),
        ..Hardened::default()
    };
    let look = |probe: &Probe| match probe {
        Probe::GitVersion => Probed::Version(version.0, version.1),
        Probe::Folder(path) if path.starts_with('/') => Probed::Outside,
        // Only these two are asked for that need not exist.
        Probe::Folder(path) if path.ends_with("objects") || path.ends_with("refs") => {
            let is_there = files.keys().any(|file| file.starts_with(&format!("{path}/")));
            if is_there { Probed::Folder(path.clone()) } else { Probed::Absent }
        }
        Probe::Folder(path) => Probed::Folder(path.clone()),
        Probe::File(path) => {
            files.get(path.as_str()).map_or(Probed::Absent, |text| Probed::File(text.as_bytes().to_vec()))
        }
    };
    ConditionalCommand::allowed("git log", Some(&form))
        .prove_by(look)
        .map(|proven| proven.environment.clone())
}

#[test]
fn a_database_is_read_only_where_all_of_it_is_in_its_file() {
    let form = Hardened { absent: vec!["a.db-wal".to_owned()], ..Hardened::default() };
    let command = ConditionalCommand::allowed("sqlite3 a.db .tables", Some(&form));
    assert!(command.is_conditional() && !command.starts_git());
    let by = |answer: Probed| {
        command.prove_by(|probe| {
            assert_eq!(*probe, Probe::File("a.db-wal".to_owned()));
            answer.clone()
        })
    };
    let path = "a.db-wal".to_owned();
    for nothing in [Probed::Absent, Probed::File(Vec::new())] {
        assert_eq!(by(nothing).map(|proven| proven.line), Ok("sqlite3 a.db .tables"));
    }
    for newer in [Probed::File(b"x".to_vec()), Probed::Unknown] {
        assert_eq!(by(newer).err(), Some(UnmetNeed::DatabaseInUse { path: path.clone() }));
    }
}

#[test]
fn the_line_comes_after_the_last_answer() {
    let form = Hardened {
        environment: Arc::new(BTreeMap::from([("A".to_owned(), "1".to_owned())])),
        command: Some("git --x log".to_owned()),
        git: Some(GitNeeds {
            version: (2, 45),
            folders: vec!["sub".to_owned()],
            hides: Vec::new(),
            shows_settings: false,
        }),
        ..Hardened::default()
    };
    let command = ConditionalCommand::allowed("git log", Some(&form));
    let mut probes = Probes::default();
    assert_eq!(command.prove(&probes), Err(Unproven::Look(Probe::GitVersion)));
    probes.add(Probe::GitVersion, Probed::Version(2, 45));
    assert_eq!(command.prove(&probes), Err(Unproven::Look(Probe::Folder("sub".to_owned()))));
    probes.add(Probe::Folder("sub".to_owned()), Probed::Absent);
    let proven = command.prove(&probes).map(|proven| (proven.line, proven.environment["A"].as_str()));
    assert_eq!(proven, Ok(("git --x log", "1")));
    assert_eq!(
        ConditionalCommand::approved("make").prove(&Probes::default()).map(|proven| proven.line),
        Ok("make")
    );
}

#[test]
fn a_folder_above_and_one_within_git_are_looked_at() {
    let attributes = "* filter=x\n";
    assert_eq!(proven("a/b", &[("other/.git/info/attributes", attributes)]), Ok(()));
    for path in [".git/info/attributes", "a/.git/info/attributes", "a/b/.git/info/attributes"] {
        let refused = UnmetNeed::NamesPrograms { path: path.to_owned() };
        assert_eq!(proven("a/b", &[(path, attributes)]), Err(refused));
    }
    assert!(proven(".git/modules/x", &[(".git/modules/x/info/attributes", attributes)]).is_err());
}

#[test]
fn what_leads_round_for_ever_or_cannot_be_told_is_refused() {
    let deep = vec!["a"; 400].join("/");
    assert!(matches!(proven(&deep, &[]), Err(UnmetNeed::Unknown { .. })));
    let command = |answer: Probed| {
        let git = GitNeeds {
            version: (2, 45),
            folders: vec![".".to_owned()],
            hides: Vec::new(),
            shows_settings: false,
        };
        let form = Hardened { git: Some(git), ..Hardened::default() };
        let command = ConditionalCommand::allowed("", Some(&form));
        let look =
            |probe: &Probe| if *probe == Probe::GitVersion { Probed::Version(3, 0) } else { answer.clone() };
        command.prove_by(look).map(drop)
    };
    assert!(command(Probed::Unknown).is_err());
    assert!(command(Probed::Version(1, 1)).is_err());
    assert_eq!(command(Probed::Absent), Ok(()));
}

/// A newer git is told by variables what an older one does not know, so the configuration must be harmless by itself.
#[test]
fn what_an_old_git_cannot_be_kept_from_is_refused_by_the_configuration() {
    let plain = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = x\n";
    let filter = "[filter \"x\"]\n\tclean = ./x\n";
    let promisor = "[remote \"x\"]\n\tpromisor = true\n";
    let refused =
        |path: &str, found, least| Err(UnmetNeed::OldGitWithPrograms { path: path.to_owned(), found, least });
    for minor in [34, 39, 40, 41, 43, 44, 45, 47] {
        let version = (2, minor);
        assert!(proven_by(version, "sub", &[(".git/config", plain)]).is_ok(), "{minor}");
        for path in [".git/config", "sub/.git/config", ".git/config.worktree"] {
            let of_filter = proven_by(version, "sub", &[(path, filter)]).map(drop);
            let of_promisor = proven_by(version, "sub", &[(path, promisor)]).map(drop);
            assert_eq!(of_filter, if minor < 41 { refused(path, version, (2, 41)) } else { Ok(()) });
            assert_eq!(of_promisor, if minor < 45 { refused(path, version, (2, 45)) } else { Ok(()) });
        }
    }
    assert_eq!(proven_by((2, 33), ".", &[]), Err(UnmetNeed::OldGit { found: (2, 33), least: (2, 34) }));
}

/// Attributes of the work tree could name a filter that the user or the system has defined.
#[test]
fn an_old_git_reads_no_configuration_but_the_repositorys() {
    let names =
        |minor| proven_by((2, minor), ".", &[]).map(|variables| variables.into_keys().collect::<Vec<_>>());
    assert_eq!(names(40), Ok(["A", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"].map(str::to_owned).to_vec()));
    assert_eq!(names(41), Ok(vec!["A".to_owned()]));
}

/// Before `safe.bareRepository`, git takes a folder for a repository that looks like one, as committed files may.
#[test]
fn a_folder_that_looks_like_a_repository_is_looked_at_where_git_would_take_it_for_one() {
    let filter = "[filter \"x\"]\n\tclean = ./x\n";
    let own = [("a/objects/x", ""), ("a/refs/x", ""), ("a/config", filter)];
    let behind = [("a/commondir", "../b\n"), ("a/../b/config", filter)];
    for files in [&own[..], &behind] {
        assert!(proven_by((2, 37), "a/sub", files).is_err(), "{files:?}");
        assert!(proven_by((2, 38), "a/sub", files).is_ok(), "{files:?}");
        assert!(proven_by((2, 37), "c", files).is_ok(), "{files:?}");
    }
    assert!(proven_by((2, 37), "a", &own[1..]).is_ok());
}

#[test]
fn a_configuration_with_a_token_is_shown_to_nobody() {
    let with =
        |url: &str| format!("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = {url}\n").into_bytes();
    let said = |line: &str, config: Vec<u8>| {
        let context = crate::GateContext { workspace: "/w".to_owned(), ..crate::GateContext::default() };
        let verdict = crate::Gate::new().judge_command(line, &context);
        assert_eq!(verdict.decision, crate::Decision::Allow, "{line}: {}", verdict.detail);
        let command = ConditionalCommand::allowed(line, verdict.hardened.as_ref());
        let answer = command.prove_by(|probe| match probe {
            Probe::File(path) if path == ".git/config" => Probed::File(config.clone()),
            probe => no_repository(probe),
        });
        answer.map(drop)
    };
    let held = || UnmetNeed::HoldsToken { path: ".git/config".to_owned() };
    let token = || with("https://ada:x7f9@example.org/x.git");
    for line in [
        "git remote -v",
        "git remote get-url origin",
        "git config -l",
        "git config --get remote.origin.url",
        "git ls-remote --get-url",
        "git status; git remote -v",
        "git log -1; grep -r url .",
        "git log -1 && grep -rn url .git",
        "git log -1; find . -name config -exec cat {} +",
    ] {
        assert_eq!(said(line, token()), Err(held()), "{line}");
        assert_eq!(said(line, with("https://example.org/x.git")), Ok(()), "{line}");
    }
    for line in [
        "git status",
        "git log --oneline | head -3",
        "git diff --stat; wc -l src/main.rs",
        "git branch; grep -r x src",
    ] {
        assert_eq!(said(line, token()), Ok(()), "{line}");
    }
}
