//! What a host has to know about a command that another program's shell would run.
#![cfg(feature = "shell")]
#![expect(clippy::unwrap_used, reason = "a test that fails stops")]

mod support;

use headstart_tool_gate::{Decision, ElsewhereVerdict, Extent, Gate, GateContext, ReadNames, Reason};
use serde_json::{Value, json};

fn judge(args: &Value, directory: &str) -> ElsewhereVerdict {
    let context = GateContext { workspace: "/home/ada/project".to_owned(), ..GateContext::default() };
    Gate::new().judge_elsewhere(args.as_object().unwrap(), directory, &context)
}

fn command(command: &str) -> ElsewhereVerdict {
    judge(&json!({ "command": command }), "/home/ada/project")
}

#[test]
fn a_command_that_takes_its_shell_elsewhere_says_so() {
    for line in
        ["cd src", "cd src && ls", "(cd src && ls)", "pushd src", "ls; cd -", "cd", "popd", "cd src; cd .."]
    {
        assert!(command(line).leaves_folder, "{line}");
    }
    for line in
        ["ls src", "cd .", "cd /home/ada/project && git status", "git -C src log -1", "find src -name cd"]
    {
        let judged = command(line);
        assert_eq!((judged.verdict.decision, judged.leaves_folder), (Decision::Allow, false), "{line}");
    }
}

#[test]
fn every_program_is_named() {
    for (line, programs) in [
        ("ls | grep x | grep y", &["ls", "grep"][..]),
        ("find . -name '*.c' -exec wc -l {} +", &["find", "wc"]),
        ("for f in *; do awk '{print}' \"$f\"; done", &["awk"]),
        ("/usr/bin/sort a", &["sort"]),
        ("git log | xargs -n1 echo", &["git", "xargs", "echo"]),
        ("echo $(timeout 3 stat a)", &["timeout", "stat", "echo"]),
    ] {
        let mut programs = programs.to_vec();
        programs.sort_unstable();
        assert_eq!(command(line).programs, programs, "{line}");
    }
}

#[test]
fn a_call_that_names_no_folder_runs_where_the_other_shell_is() {
    let up = json!({ "command": "cat ../notes" });
    assert_eq!(support::texts(&judge(&up, "/home/ada/project/src").verdict.reads), ["notes"]);
    assert_eq!(judge(&up, "/home/ada/project").verdict.reason, Reason::ReadsOutside);
    assert_eq!(judge(&up, "/home/ada").verdict.reason, Reason::OutsideWorkspace);
    let named = json!({ "command": "cat ../notes", "directory": "src" });
    assert_eq!(support::texts(&judge(&named, "/home/ada/project").verdict.reads), ["notes"]);
    let background = json!({ "command": "ls", "run_in_background": true });
    assert_eq!(judge(&background, "/home/ada/project").verdict.reason, Reason::NonTerminating);
}

/// What is read as more than a name: the path, how much of it, and the pattern of names below it (`?` if there is none).
fn reads(line: &str) -> Vec<String> {
    let judged = command(line);
    assert_eq!(judged.verdict.decision, Decision::Allow, "{line}: {}", judged.verdict.detail);
    let reads = judged.reads.iter().filter(|read| read.extent != Extent::Names);
    let shown = reads.map(|read| match &read.names {
        ReadNames::Path => format!("{} {:?}", read.path, read.extent),
        ReadNames::Matching(pattern) => format!("{} {:?} {pattern}", read.path, read.extent),
        ReadNames::Unknown => format!("{} {:?} ?", read.path, read.extent),
    });
    let mut shown: Vec<String> = shown.collect();
    shown.dedup();
    shown
}

#[test]
fn what_a_wildcard_reads_is_told_as_the_pattern_that_it_is() {
    for (line, expected) in [
        ("cat a.txt", &["a.txt File"][..]),
        // If a name began with a dash, what follows could be more than a file.
        ("cat *.txt", &[". Below *.txt", ". File *.txt"]),
        ("cat .e*", &[". File .e*"]),
        ("head -2 src/*/[ab].txt", &["src File */[ab].txt"]),
        ("grep -r x src", &["src Below"]),
        ("grep -r x sr*", &[". Below sr*"]),
        (
            "for f in *.txt src/*.rs; do cat \"$f\"; done",
            &[". Below *.txt", ". Below src/*.rs", ". File *.txt", ". File src/*.rs"],
        ),
        ("for f in *.txt; do cat $f; done", &[". Below", ". File ?"]),
        ("for f in *.txt; do cat \"src/$f\"; done", &["src File ?"]),
        ("for f in *.txt; do f=a; cat \"$f\"; done", &["a File"]),
        ("for f in *.txt; do (cd src && cat \"$f\"); done", &["src Below", "src File ?"]),
        ("find src -exec cat {} +", &["src File ?"]),
        ("shopt -s dotglob; cat *", &[". Below", ". File ?"]),
        ("ls | xargs cat", &[". Below", ". File ?"]),
    ] {
        assert_eq!(reads(line), expected, "{line}");
    }
}

#[test]
fn the_variables_are_told_that_may_come_from_elsewhere() {
    let uses = |line: &str| -> Vec<(String, bool)> {
        let variables = command(line).variables.into_iter();
        variables.map(|variable| (variable.name, variable.is_assigned)).collect()
    };
    for (line, expected) in [
        ("echo $HOME $PWD $? $1 ${#LANG}", &[][..]),
        ("echo $https_proxy", &[("https_proxy", false)]),
        ("echo \"$COMPOSER_AUTH\"", &[("COMPOSER_AUTH", false)]),
        ("x=1; echo $x", &[("x", true)]),
        ("for i in 1 2; do echo $i; done", &[("i", true)]),
        ("false && x=1; echo $x", &[("x", false)]),
        ("x+=1; echo $x", &[("x", false)]),
        ("x=a; x+=b; echo $x", &[("x", true)]),
        ("echo $((n + 1))", &[("n", false)]),
        ("n=1; echo $((n + 1))", &[("n", true)]),
        ("while read -r line; do echo \"$line\"; done < a.txt", &[("line", true)]),
        ("for f in *.none; do :; done; echo $f", &[("f", false)]),
        ("if [ -f a ]; then x=1; else x=2; fi; echo $x", &[("x", true)]),
        ("cat <<< \"$http_proxy\"", &[("http_proxy", false)]),
    ] {
        let expected: Vec<_> = expected.iter().map(|(name, own)| ((*name).to_owned(), *own)).collect();
        assert_eq!(uses(line), expected, "{line}");
    }
}
