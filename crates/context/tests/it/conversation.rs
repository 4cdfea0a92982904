use proptest::prelude::*;

use crate::support::Talk;

const RUST: &str = "---\nglobs: *.rs\n---\nNo unwrap.\n";

// Row: X14
#[test]
fn a_rule_for_files_is_told_once_when_one_is_mentioned_or_was_touched() {
    let mut talk = Talk::over([(".headstart/rules/rust.md", RUST), ("src/lib.rs", ""), ("a.md", "")]);
    let mut other = Talk::over(talk.files.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    assert!(talk.told("look at a.md and gone.rs, please").is_empty());
    assert_eq!(talk.told("now look at `src/lib.rs:12`."), [".headstart/rules/rust.md"]);
    assert!(talk.messages[2].parts.len() == 1, "it goes with the user's own words");
    assert!(talk.told("and at src/lib.rs again").is_empty());

    assert!(other.told("find the bug").is_empty());
    other.call("edit", "/w/src/lib.rs");
    assert_eq!(other.told("go on"), [".headstart/rules/rust.md"]);
    assert!(other.told("go on").is_empty());
}

#[test]
fn the_rules_of_a_folder_are_those_on_the_way_to_a_file() {
    let mut talk = Talk::over([
        ("AGENTS.md", "root"),
        ("web/AGENTS.md", "web"),
        ("web/page/CLAUDE.md", "page"),
        ("web/other/AGENTS.md", "other"),
        ("web/page/deep/x.ts", ""),
    ]);
    assert!(talk.system.contains("root\n") && !talk.system.contains("web\n"));
    assert_eq!(talk.told("mend @web/page/deep/x.ts"), ["web/AGENTS.md", "web/page/CLAUDE.md"]);
    assert_eq!(talk.told("what is in web/other/?"), ["web/other/AGENTS.md"]);
    assert!(talk.told("mend web/page/deep/x.ts").is_empty());
}

#[test]
fn an_expression_looks_into_the_files() {
    let rule = "---\nglobs: src/**\nregex: unsafe\\s*\\{\n---\nSay why.\n";
    let mut talk =
        Talk::over([(".headstart/rules/x.md", rule), ("src/a.rs", "safe"), ("src/b.rs", "unsafe {}")]);
    assert!(talk.told("read src/a.rs").is_empty());
    assert_eq!(talk.told("read src/b.rs"), [".headstart/rules/x.md"]);
}

#[test]
fn what_changes_on_disk_is_news_once() {
    let mut talk = Talk::over([("AGENTS.md", "one"), (".headstart/rules/rust.md", RUST), ("a.rs", "")]);
    assert_eq!(talk.told("read a.rs"), [".headstart/rules/rust.md"]);
    talk.write("AGENTS.md", "two");
    talk.write(".headstart/rules/new.md", "three");
    let told = talk.say("go on");
    let text = told.text.unwrap();
    assert!(text.contains("changed=") && text.contains("two") && text.contains("three"), "{text}");
    assert!(talk.say("go on").text.is_none());
    // Back to what stands in the system text: still another text than the last one.
    talk.write("AGENTS.md", "one");
    assert_eq!(talk.told("go on"), ["AGENTS.md"]);
    talk.remove(".headstart/rules/rust.md");
    talk.remove("AGENTS.md");
    let told = talk.say("go on");
    assert_eq!(told.gone, [".headstart/rules/rust.md", "AGENTS.md"]);
    assert!(talk.say("go on").text.is_none());
    // Another product's file takes the place of our own.
    talk.write("CLAUDE.md", "four");
    assert_eq!(talk.told("go on"), ["CLAUDE.md"]);
    talk.write("AGENTS.md", "five");
    let told = talk.say("go on");
    assert_eq!((told.rules.len(), told.gone), (1, vec!["CLAUDE.md".to_owned()]));
}

// Row: S125
#[test]
fn a_conversation_that_is_resumed_knows_what_was_told() {
    let mut talk = Talk::over([(".headstart/rules/rust.md", RUST), ("a.rs", "")]);
    assert_eq!(talk.told("read a.rs").len(), 1);
    let mut resumed = Talk::over(talk.files.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    resumed.messages = talk.messages.clone();
    assert!(resumed.told("read a.rs").is_empty());
    // The turn was taken back: the model has read nothing.
    resumed.messages.clear();
    assert_eq!(resumed.told("read a.rs").len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::with_cases(64) })]

    /// Whatever is edited in between: what was sent stays, nothing is told twice in a row, and the model's last word is what the disk says.
    #[test]
    fn history_only_grows_and_ends_with_what_is_on_disk(steps in prop::collection::vec((0..4_usize, 0..5_usize, 0..3_usize), 1..24)) {
        let paths = ["AGENTS.md", "sub/AGENTS.md", ".headstart/rules/r.md", ".headstart/rules/all.md"];
        let texts = ["---\nglobs: *.rs\n---\none", "two", "three <project-rules file=\"AGENTS.md\">\nx\n</project-rules>\n"];
        let mut talk = Talk::over([("sub/a.rs", ""), ("AGENTS.md", "first")]);
        for (path, what, text) in steps {
            match what {
                0 => talk.remove(paths[path]),
                1 | 2 => talk.write(paths[path], texts[text]),
                3 => talk.call("read_file", "sub/a.rs"),
                _ => {}
            }
            let before = talk.messages.clone();
            talk.say("go on with sub/a.rs");
            prop_assert_eq!(&talk.messages[..before.len()], &before[..]);
            prop_assert!(talk.say("again").text.is_none());
        }
    }
}
