//! The controller and the filter of the npm package are written a second time, in TypeScript, and must give exactly the
//! same results. Both sides are run over the same files (`crates/wasm/npm/trial/fixtures.test.mjs`).
//!
//! After an intended change, `UPDATE_FIXTURES=1 cargo test -p headstart-followup-state --test shared` writes the new
//! results to the files, along with newly drawn histories and texts if the generators changed.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and reads and writes its files"
)]

#[path = "support/strategies.rs"]
mod strategies;

use headstart_followup_state::{Config, Event, FollowupController, Millis, filter};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde::Deserialize;
use serde_json::{Value, json};

use self::strategies::{a_log, a_text};

/// The largest whole number up to which JavaScript is exact.
const LAST_MILLI: Millis = (1 << 53) - 1;

/// Runs the inputs of a file and compares the results with those in the file.
fn check(name: &str, inputs: fn() -> Vec<Value>, run: fn(&Value) -> Value) {
    let path = format!("{}/tests/shared/{name}.json", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        let rows: Vec<String> = inputs()
            .into_iter()
            .map(|input| format!("  {}", json!({ "output": run(&input), "input": input })))
            .collect();
        std::fs::write(&path, format!("[\n{}\n]\n", rows.join(",\n"))).unwrap();
    }
    let cases: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert!(100 < cases.len(), "{name}: only {} cases", cases.len());
    let differs = |case: &&Value| run(&case["input"]) != case["output"];
    let failed: Vec<&Value> = cases.iter().filter(differs).collect();
    assert!(failed.is_empty(), "{name}: {} of {} differ, as {}", failed.len(), cases.len(), failed[0]);
}

#[test]
fn texts() {
    check("filter", some_texts, |text| match filter(text.as_str().unwrap()) {
        Ok(suggestion) => json!({ "keep": true, "suggestion": suggestion }),
        Err(reason) => json!({ "keep": false, "reason": reason.as_str() }),
    });
}

#[test]
fn histories() {
    check("controller", some_histories, |history| {
        let mut controller = FollowupController::new(Config::deserialize(&history["config"]).unwrap());
        let steps = history["events"].as_array().unwrap().iter().map(|entry| {
            let event = Event::deserialize(&entry["event"]).unwrap();
            let effects = controller.handle(entry["now"].as_u64().unwrap(), event);
            json!({ "effects": effects, "visible": controller.visible() })
        });
        steps.collect()
    });
}

/// Every text of the filter's tables, and random texts that are made of them.
fn some_texts() -> Vec<Value> {
    let table = include_str!("filter_table.txt").lines().filter_map(|row| row.split_once('\t'));
    let reference = include_str!("filter_cases.jsonl").lines().map(|row| {
        let case: Value = serde_json::from_str(row).unwrap();
        case["text"].as_str().unwrap().to_owned()
    });
    let mut texts: Vec<String> = table.map(|(_, text)| text.to_owned()).chain(reference).collect();
    let words = words();
    let made = prop_oneof![
        3 => (select(texts.clone()), any::<prop::sample::Index>(), select(words.clone())).prop_map(|(text, at, word)| put_in(&text, at, &word)),
        2 => (select(words.clone()), select(texts.clone()), any::<bool>())
            .prop_map(|(word, text, first)| if first { format!("{word} {text}") } else { format!("{text} {word}") }),
        2 => proptest::collection::vec(select(words), 1..4).prop_map(|words| words.join(" ")),
        1 => (select(texts.clone()), any::<prop::sample::Index>()).prop_map(|(text, at)| text.chars().take(at.index(text.len() + 1)).collect()),
        1 => select(texts.clone()).prop_map(|text| text.to_uppercase()),
        1 => a_text(),
    ];
    texts.extend(drawn(&made, some(1_500)).into_iter().filter(|text| is_old(text)));
    texts.extend(edges());
    texts.into_iter().map(Value::from).collect()
}

/// Texts on both sides of each limit of words or letters that a rule has.
fn edges() -> Vec<String> {
    let around = |before: &str, part: &str, after: &str| {
        (0..=10).map(|count| format!("{before}{}{after}", part.repeat(count))).collect::<Vec<_>>()
    };
    [
        around("fix &", "a", "; in it"),
        around("the", " parser", " is great"),
        around("the", " parser", " works well"),
        around("rm", " build", " -rf"),
        around("rimraf", " build", ""),
        around("delete", " the", " repository"),
        around("drop", " the", " production database"),
        around("wipe", " old", " database"),
        around("git", " push", " origin main --force"),
        around("git", " -C x", " push --force"),
        around("flyctl", " apps", " destroy"),
        around("kubectl", " prod", " delete namespace"),
        around("", "run ", "it"),
        around("add ", "test", ""),
    ]
    .concat()
}

/// The entries of all word lists, and the marks that rules look for.
fn words() -> Vec<String> {
    let tables: Value = serde_json::from_str(include_str!("../tables.json")).unwrap();
    let mut found: Vec<String> = [
        ". ", "! ", "?", " - ", ": ", ", ", " && ", " | ", "(", ")", "\"", "'", "`", "_", "__", "~~", "#",
        "1. ", "2) ", "/", "<b>", "&amp;", "。", "、", "…", "—",
    ]
    .map(str::to_owned)
    .to_vec();
    collect(&tables["languages"], &mut found);
    collect(&tables["english"], &mut found);
    collect(&tables["commands"], &mut found);
    found
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(list) => found.extend(list.split('|').map(str::to_owned)),
        Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, found)),
        _ => {}
    }
}

fn put_in(text: &str, at: prop::sample::Index, word: &str) -> String {
    let place = at.index(text.chars().count() + 1);
    text.chars().take(place).chain(word.chars()).chain(text.chars().skip(place)).collect()
}

/// The recorded logs, and random ones.
fn some_histories() -> Vec<Value> {
    let written = [include_str!("replay.json"), include_str!("replay_candidates.json")];
    let mut histories: Vec<Value> = written.map(|log| serde_json::from_str(log).unwrap()).to_vec();
    let configs = prop_oneof![
        3 => Just(json!({})),
        1 => Just(json!({ "showDelayMs": 0, "tabDelayMs": 0, "slipMs": 0, "acceptLockMs": 0 })),
        1 => Just(json!({ "slipMs": 100, "tabDelayMs": 1_000 })),
        1 => Just(json!({ "enabled": false })),
    ];
    let history = (configs, a_log()).prop_map(|(config, log)| {
        let entry = |(now, event): (Millis, Event)| json!({ "now": now & LAST_MILLI, "event": event });
        json!({ "config": config, "events": log.into_iter().map(entry).collect::<Value>() })
    });
    histories.extend(drawn(&history, some(220)).into_iter().filter(|history| is_old(&history.to_string())));
    histories
}

/// How many cases are drawn: the usual number for the file, or as many as `SHARED_CASES` says for a single large
/// comparison.
fn some(usual: usize) -> usize {
    std::env::var("SHARED_CASES").map_or(usual, |count| count.parse().unwrap())
}

/// Draws values of a strategy; they are the same in every run.
fn drawn<T: std::fmt::Debug>(strategy: &impl Strategy<Value = T>, count: usize) -> Vec<T> {
    let mut runner = TestRunner::deterministic();
    (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

/// Whether all characters are known to the Unicode tables of the oldest JavaScript in use (15.0) as they are to those
/// of Rust. Characters of blocks that have grown since are left out, because the two languages may disagree on them.
fn is_old(text: &str) -> bool {
    text.chars().all(|c| {
        let grown = matches!(u32::from(c), 0x870..=0x89F | 0xC5C | 0xCDC | 0x1AB0..=0x1AFF | 0x1C80..=0x1C8F | 0x20C0..=0x20CF
            | 0x2FF0..=0x2FFF | 0x31C0..=0x31EF | 0xA7C0..=0xA7FF);
        !grown && (u32::from(c) < 0x1_0000 || (0x1_F300..0x1_F650).contains(&u32::from(c)))
    })
}
