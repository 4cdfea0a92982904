//! Writes what the filter knows as data into one JSON file. The npm package has the rules a second time, in
//! TypeScript, and reads its words and characters there, so that no list is written twice.
//!
//! After a change, `UPDATE_FIXTURES=1 cargo test -p headstart-followup-state tables` writes it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::filter::{MAX_CHARACTERS, MAX_UNSPACED, MAX_UNSPACED_LONG, commands, invisible, script};
use crate::lexicon::{LANGUAGES, english};
use crate::{FilterReason, MAX_BYTES, MAX_CANDIDATES, MAX_WORDS};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tables.json");

fn tables() -> Value {
    let reasons: Map<String, Value> =
        FilterReason::ALL.iter().map(|reason| (reason.as_str().into(), reason.to_string().into())).collect();
    json!({
        "maxBytes": MAX_BYTES,
        "maxCharacters": MAX_CHARACTERS,
        "maxWords": MAX_WORDS,
        "maxUnspaced": MAX_UNSPACED,
        "maxUnspacedLong": MAX_UNSPACED_LONG,
        "maxCandidates": MAX_CANDIDATES,
        "reasons": reasons,
        "characters": {
            "cjk": ranges(script::is_cjk),
            "longUnspaced": ranges(script::is_long_unspaced),
            "latin": ranges(script::is_latin),
            "mark": ranges(script::is_mark),
            "joinsLetters": ranges(script::joins_letters),
            "pictograph": ranges(script::is_pictograph),
            "invisible": ranges(|c| invisible::is_invisible(c, None, None)),
        },
        "commands": {
            "glued": commands::GLUED,
            "shells": commands::SHELLS,
            "devices": commands::DEVICES,
            "wrappers": commands::WRAPPERS,
            "gitVerbs": commands::GIT_VERBS,
        },
        "english": english_lists(),
        "languages": LANGUAGES.iter().map(|language| known(json!(language))).collect::<Vec<_>>(),
    })
}

fn english_lists() -> Value {
    json!(BTreeMap::from([
        ("errorMessages", english::ERROR_MESSAGES),
        ("labelNouns", english::LABEL_NOUNS),
        ("labelAdjectives", english::LABEL_ADJECTIVES),
        ("commitTypes", english::COMMIT_TYPES),
        ("tools", english::TOOLS),
        ("htmlTags", english::HTML_TAGS),
        ("titles", english::TITLES),
        ("abbreviations", english::ABBREVIATIONS),
        ("sentenceStarters", english::SENTENCE_STARTERS),
        ("praiseLeadIns", english::PRAISE_LEAD_INS),
        ("praiseWords", english::PRAISE_WORDS),
        ("praiseCompounds", english::PRAISE_COMPOUNDS),
        ("weakPraiseWords", english::WEAK_PRAISE_WORDS),
        ("praisedNouns", english::PRAISED_NOUNS),
        ("subjects", english::SUBJECTS),
        ("copulas", english::COPULAS),
        ("adverbs", english::ADVERBS),
        ("predicates", english::PREDICATES),
        ("worksHow", english::WORKS_HOW),
        ("beforeANoun", english::BEFORE_A_NOUN),
        ("destroyVerbs", english::DESTROY_VERBS),
        ("discardVerbs", english::DISCARD_VERBS),
        ("eraseDiskVerbs", english::ERASE_DISK_VERBS),
        ("disks", english::DISKS),
        ("determiners", english::DETERMINERS),
        ("quantifiers", english::QUANTIFIERS),
        ("everything", english::EVERYTHING),
        ("precious", english::PRECIOUS),
        ("mildVerbs", english::MILD_VERBS),
        ("mostPrecious", english::MOST_PRECIOUS),
        ("whenAll", english::WHEN_ALL),
        ("afterAnObject", english::AFTER_AN_OBJECT),
    ]))
}

/// The lists of a language that have entries.
fn known(language: Value) -> Value {
    let Value::Object(lists) = language else { return language };
    let is_empty = |list: &Value| *list == json!("") || *list == json!([]);
    lists.into_iter().filter(|(_, list)| !is_empty(list)).collect()
}

/// The characters that pass a test, as the first and last of each run, in hexadecimal.
fn ranges(test: impl Fn(char) -> bool) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for code in ('\0'..=char::MAX).filter(|c| test(*c)).map(u32::from) {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == code => *last = code,
            _ => runs.push((code, code)),
        }
    }
    let written = |(first, last): &(u32, u32)| {
        if first == last { format!("{first:x}") } else { format!("{first:x}-{last:x}") }
    };
    runs.iter().map(written).collect::<Vec<_>>().join(" ")
}

/// The npm package reads its word lists from `tables.json`, so the file must hold what the filter uses.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads and writes its file")]
fn the_file_holds_what_the_filter_knows() {
    let tables = tables();
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        std::fs::write(FILE, serde_json::to_string_pretty(&tables).unwrap() + "\n").unwrap();
    }
    let written: Value = serde_json::from_str(&std::fs::read_to_string(FILE).unwrap()).unwrap();
    assert!(
        written == tables,
        "tables.json is stale: UPDATE_FIXTURES=1 cargo test -p headstart-followup-state tables"
    );
}
