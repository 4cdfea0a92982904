//! Compares what a search leaves out because of `.gitignore` with what git leaves out.

#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "git reads a real folder")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use headstart_overlay_fs::OsTree;
use proptest::prelude::*;
use serde_json::json;

use crate::session::Session;

const FILES: [&str; 14] = [
    "a", "b.x", "ab", "{a,b}", "#a", "a ", "!b", "d/a", "d/b.x", "d/e/a", "d/e/ab", "d/ab/a", "e/d/b.x",
    "ad/7/A",
];

/// The files that git does not ignore.
fn git_lists(root: &Path) -> BTreeSet<String> {
    let output = Command::new("git")
        .args(["ls-files", "--others", "--exclude-standard", "-z"])
        .current_dir(root)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git has to be installed for this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).expect("the names of this test");
    names.split_terminator('\0').map(str::to_owned).collect()
}

fn we_list(root: &Path) -> BTreeSet<String> {
    let mut session = Session::over(Arc::new(OsTree::open(root).expect("a folder")));
    session
        .ok("glob", json!({"pattern": "**"}))
        .lines()
        .filter(|line| !line.starts_with("[no file") && !line.starts_with("[the pattern"))
        .map(str::to_owned)
        .collect()
}

fn line() -> impl Strategy<Value = String> {
    let piece = "[ab]|d|e|\\.x|\\*|\\*\\*|\\?|/|/\\*\\*/|\\[[!^]?[ab]-?[de]?\\]|\\[[[:alpha:]]\\]|\\[\\[:digit:\\]\\]|\\{a,b\\}|\\\\[#! ab*]| ";
    ("!?#?/?", prop::collection::vec(piece, 1..5), "/? ?")
        .prop_map(|(start, pieces, end)| start + &pieces.concat() + &end)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_git_leaves_out_is_left_out(
        top in prop::collection::vec(line(), 0..5),
        nested in prop::collection::vec(line(), 0..3),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in FILES {
            let file = root.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        fs::write(root.join(".gitignore"), top.join("\n")).unwrap();
        fs::write(root.join("d/.gitignore"), nested.join("\n")).unwrap();
        let made = Command::new("git").args(["init", "-q"]).current_dir(&root).status();
        prop_assert!(made.is_ok_and(|status| status.success()), "git has to be installed for this test");
        prop_assert_eq!(we_list(&root), git_lists(&root), "{:?} and in d {:?}", top, nested);
    }
}
