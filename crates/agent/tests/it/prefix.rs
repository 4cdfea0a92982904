//! How much of a conversation a provider finds in its cache if the conversation has project rules, mentions, an edited
//! rule and summaries.

use std::sync::atomic::Ordering;

use headstart_agent::{Compaction, Item};
use headstart_budget::policy::Mode;
use headstart_context::Window;
use headstart_forked_query::{Message, ModelRequest, Role};

use crate::harness::{Harness, HarnessOptions, lock, text_of};

const SEES: u64 = 8_000;
const PROJECT: [(&str, &str); 4] = [
    ("AGENTS.md", "Write in verse.\n"),
    (".headstart/rules/text.md", "---\nglobs: *.txt\n---\nEnd each line.\n"),
    ("src/AGENTS.md", "Scripts are small.\n"),
    ("src/run.sh", "echo run\n"),
];
fn compactions(harness: &Harness) -> Vec<&Compaction> {
    let items = harness.known.values().filter_map(|item| match item {
        Item::Compacted(compacted) => Some(compacted),
        _ => None,
    });
    items.collect()
}

/// The requests of turns. They are told apart by `thinking`, which requests for summaries do not ask for.
fn turns(harness: &Harness) -> Vec<ModelRequest> {
    lock(&harness.model.turns).iter().filter(|request| request.thinking).cloned().collect()
}

/// Whether the cache for the shorter request serves the longer one: same system instruction, same tools, and all
/// messages of the shorter one at the beginning.
fn begins_with(longer: &ModelRequest, shorter: &ModelRequest) -> bool {
    longer.system == shorter.system
        && longer.tools == shorter.tools
        && longer.messages.get(..shorter.messages.len()) == Some(&shorter.messages[..])
}

fn said_by_user(messages: &[Message]) -> Vec<String> {
    messages.iter().filter(|message| message.role == Role::User).map(text_of).collect()
}

/// Each request begins with the previous one, except once for each time the conversation is shortened. With any other
/// difference the provider would not find the conversation in its cache.
#[test]
fn each_request_begins_with_the_one_before_but_for_each_compaction_once() {
    let window = Some(Window { tokens: SEES, ..Window::default() });
    let setting =
        HarnessOptions { window, background: Mode::Always, project: &PROJECT, ..HarnessOptions::default() };
    let mut harness = Harness::new(&setting);
    harness.model.sees.store(SEES, Ordering::SeqCst);
    let words = "of this and that ".repeat(60);
    let (mut asked, mut ahead, mut compacted) = (0, 0, 0);
    // For each turn, whether its last request contains the rule for texts.
    let mut reads_rule = Vec::new();
    for turn in 0..60 {
        match turn {
            21 => harness.write("AGENTS.md", "Write in prose.\n"),
            41 => harness.write(".headstart/rules/text.md", "---\nglobs: '*.txt'\n---\nEnd no line.\n"),
            _ => {}
        }
        harness.model.suggest("talk about @other.txt");
        harness.say(&match turn % 4 {
            0 => "read notes.txt".to_owned(),
            1 => format!("talk about @src/run.sh and @notes.txt {words}"),
            2 => "edit made.txt".to_owned(),
            _ => format!("talk {words}"),
        });
        harness.advance(1_000);

        let requests = turns(&harness);
        let new = &requests[asked..];
        let last = new.last().expect("a turn asks");
        let pairs = requests[asked.saturating_sub(1)..].windows(2);
        let losses = pairs.filter(|pair| !begins_with(&pair[1], &pair[0])).count();
        let compactions = compactions(&harness).len();
        assert!(losses <= compactions - compacted, "turn {turn}: {losses} losses");
        assert_eq!((&last.system, &last.tools), (&requests[0].system, &requests[0].tools), "turn {turn}");
        // A request of work ahead must begin with the whole last request of the turn.
        for request in &lock(&harness.model.ahead)[ahead..] {
            assert!(begins_with(request, last), "turn {turn}");
            let prompt = said_by_user(&request.messages).pop().unwrap_or_default();
            assert!(prompt.contains("<mentioned file=\"other.txt\">\nother\n"), "{prompt}");
        }
        let said = said_by_user(&last.messages).concat();
        let rule = if turn < 41 { "End each line." } else { "End no line." };
        reads_rule.push(said.contains(rule));
        // This also holds for the rule that was edited before the first summary.
        assert!(
            turn < 21 || said.contains("Write in prose.") || compacted < compactions,
            "turn {turn}: {said}"
        );
        let compacted_before = compacted;
        (asked, ahead, compacted) = (requests.len(), lock(&harness.model.ahead).len(), compactions);
        // A summary may remove the rule from the conversation. Then the next prompt must bring it again.
        assert!(reads_rule[turn] || compacted_before < compacted, "turn {turn}: {said}");
    }
    let summaries = compactions(&harness).iter().filter(|compacted| compacted.summary.is_some()).count();
    assert!(1 < summaries, "{:?}", compactions(&harness));
    assert!(40 < ahead, "{ahead}");
    assert!(reads_rule.contains(&false), "the rule was cut away");
}
