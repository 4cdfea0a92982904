use std::collections::BTreeMap;

use super::*;

/// What becomes of a command in `folder` over a machine with these files.
fn proven(folder: &str, files: &[(&str, &str)]) -> Result<(), UnmetNeed> {
    let files: BTreeMap<&str, &str> = files.iter().copied().collect();
    let git = GitNeeds {
        version: (2, 45),
        folders: vec![folder.to_owned()],
        hides: vec!["info/attributes".to_owned()],
    };
    let command =
        ConditionalCommand { line: "git log".to_owned(), environment: Arc::default(), git: Some(git) };
    let look = |probe: &Probe| match probe {
        Probe::GitVersion => Probed::Version(2, 45),
        Probe::Folder(path) if path.starts_with('/') => Probed::Outside,
        Probe::Folder(path) => Probed::Folder(path.clone()),
        Probe::File(path) => {
            files.get(path.as_str()).map_or(Probed::Absent, |text| Probed::File(text.as_bytes().to_vec()))
        }
    };
    command.prove_by(look).map(drop)
}

#[test]
fn the_line_comes_after_the_last_answer() {
    let form = Hardened {
        environment: Arc::new(BTreeMap::from([("A".to_owned(), "1".to_owned())])),
        command: Some("git --x log".to_owned()),
        git: Some(GitNeeds { version: (2, 45), folders: vec!["sub".to_owned()], hides: Vec::new() }),
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
        let git = GitNeeds { version: (2, 45), folders: vec![".".to_owned()], hides: Vec::new() };
        let command = ConditionalCommand { line: String::new(), environment: Arc::default(), git: Some(git) };
        let look =
            |probe: &Probe| if *probe == Probe::GitVersion { Probed::Version(3, 0) } else { answer.clone() };
        command.prove_by(look).map(drop)
    };
    assert!(command(Probed::Unknown).is_err());
    assert!(command(Probed::Version(1, 1)).is_err());
    assert_eq!(command(Probed::Absent), Ok(()));
}
