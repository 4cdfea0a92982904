use proptest::prelude::*;

use crate::support::Conversation;

const RUST: &str = "---\nglobs: *.rs\n---\nNo unwrap.\n";

/// A rule for some files is told with the first prompt after such a file was mentioned or touched, and only once.
#[test]
fn a_rule_for_files_is_told_once_when_one_is_mentioned_or_was_touched() {
    let mut talk = Conversation::over([(".headstart/rules/rust.md", RUST), ("src/lib.rs", ""), ("a.md", "")]);
    let mut other = Conversation::over(talk.files.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    assert!(talk.rules_sent("look at a.md and gone.rs, please").is_empty());
    assert_eq!(talk.rules_sent("now look at `src/lib.rs:12`."), [".headstart/rules/rust.md"]);
    assert!(talk.messages[2].parts.len() == 1, "it goes with the user's own words");
    assert!(talk.rules_sent("and at src/lib.rs again").is_empty());

    assert!(other.rules_sent("find the bug").is_empty());
    other.call("edit", "/w/src/lib.rs");
    assert_eq!(other.rules_sent("go on"), [".headstart/rules/rust.md"]);
    assert!(other.rules_sent("go on").is_empty());
}

/// The rules of folders apply from the root down to the file. The root's rules are in the system text already.
#[test]
fn the_rules_of_a_folder_are_those_on_the_way_to_a_file() {
    let mut talk = Conversation::over([
        ("AGENTS.md", "root"),
        ("web/AGENTS.md", "web"),
        ("web/page/CLAUDE.md", "page"),
        ("web/other/AGENTS.md", "other"),
        ("web/page/deep/x.ts", ""),
    ]);
    assert!(talk.system.contains("root\n") && !talk.system.contains("web\n"));
    assert_eq!(talk.rules_sent("mend @web/page/deep/x.ts"), ["web/AGENTS.md", "web/page/CLAUDE.md"]);
    assert_eq!(talk.rules_sent("what is in web/other/?"), ["web/other/AGENTS.md"]);
    assert!(talk.rules_sent("mend web/page/deep/x.ts").is_empty());
}

/// A rule with an expression only applies to files whose content matches it.
#[test]
fn an_expression_looks_into_the_files() {
    let rule = "---\nglobs: src/**\nregex: unsafe\\s*\\{\n---\nSay why.\n";
    let mut talk = Conversation::over([
        (".headstart/rules/x.md", rule),
        ("src/a.rs", "safe"),
        ("src/b.rs", "unsafe {}"),
    ]);
    assert!(talk.rules_sent("read src/a.rs").is_empty());
    assert_eq!(talk.rules_sent("read src/b.rs"), [".headstart/rules/x.md"]);
}

/// A rule that changes on the disk is told again once, and a rule that disappears is reported as gone once.
#[test]
fn what_changes_on_disk_is_news_once() {
    let mut talk =
        Conversation::over([("AGENTS.md", "one"), (".headstart/rules/rust.md", RUST), ("a.rs", "")]);
    assert_eq!(talk.rules_sent("read a.rs"), [".headstart/rules/rust.md"]);
    talk.write("AGENTS.md", "two");
    talk.write(".headstart/rules/new.md", "three");
    let told = talk.send_prompt("go on");
    let text = told.text.unwrap();
    assert!(text.contains("changed=") && text.contains("two") && text.contains("three"), "{text}");
    assert!(talk.send_prompt("go on").text.is_none());
    // The text is the one of the system text again, but it still differs from the last one that was told, so it is
    // told.
    talk.write("AGENTS.md", "one");
    assert_eq!(talk.rules_sent("go on"), ["AGENTS.md"]);
    talk.remove(".headstart/rules/rust.md");
    talk.remove("AGENTS.md");
    let told = talk.send_prompt("go on");
    assert_eq!(told.gone, [".headstart/rules/rust.md", "AGENTS.md"]);
    assert!(talk.send_prompt("go on").text.is_none());
    // The file of another product counts if the project has none of our own.
    talk.write("CLAUDE.md", "four");
    assert_eq!(talk.rules_sent("go on"), ["CLAUDE.md"]);
    talk.write("AGENTS.md", "five");
    let told = talk.send_prompt("go on");
    assert_eq!((told.rules.len(), told.gone), (1, vec!["CLAUDE.md".to_owned()]));
}

/// A resumed conversation finds in its own messages which rules the model has read.
#[test]
fn a_conversation_that_is_resumed_knows_what_was_told() {
    let mut talk = Conversation::over([(".headstart/rules/rust.md", RUST), ("a.rs", "")]);
    assert_eq!(talk.rules_sent("read a.rs").len(), 1);
    let mut resumed =
        Conversation::over(talk.files.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    resumed.messages = talk.messages.clone();
    assert!(resumed.rules_sent("read a.rs").is_empty());
    // The turn was taken back, so the model has not read the rule and is told it again.
    resumed.messages.clear();
    assert_eq!(resumed.rules_sent("read a.rs").len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::with_cases(64) })]

    /// For every sequence of edits: messages that were sent are never changed, nothing is told twice in a row, and the
    /// last text that the model was told is the one on disk.
    #[test]
    fn history_only_grows_and_ends_with_what_is_on_disk(steps in prop::collection::vec((0..4_usize, 0..5_usize, 0..3_usize), 1..24)) {
        let paths = ["AGENTS.md", "sub/AGENTS.md", ".headstart/rules/r.md", ".headstart/rules/all.md"];
        let texts = ["---\nglobs: *.rs\n---\none", "two", "three <project-rules file=\"AGENTS.md\">\nx\n</project-rules>\n"];
        let mut talk = Conversation::over([("sub/a.rs", ""), ("AGENTS.md", "first")]);
        for (path, what, text) in steps {
            match what {
                0 => talk.remove(paths[path]),
                1 | 2 => talk.write(paths[path], texts[text]),
                3 => talk.call("read_file", "sub/a.rs"),
                _ => {}
            }
            let before = talk.messages.clone();
            talk.send_prompt("go on with sub/a.rs");
            prop_assert_eq!(&talk.messages[..before.len()], &before[..]);
            prop_assert!(talk.send_prompt("again").text.is_none());
        }
    }
}
