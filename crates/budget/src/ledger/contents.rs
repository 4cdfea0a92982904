use super::Entry;

/// What the lines of a ledger contain.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LedgerContents {
    /// The entries, in the order of the lines.
    pub entries: Vec<Entry>,
    /// Lines that are not entries; they are left out.
    pub damaged: Vec<DamagedLine>,
    /// Whether the last line is incomplete because a process was killed while it wrote. That line is left out.
    pub torn: bool,
}

/// A line that is not an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedLine {
    /// The number of the line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

/// Reads the lines of a ledger. There are no errors: what cannot be understood is reported and left out.
pub fn read(bytes: &[u8]) -> LedgerContents {
    let mut contents = LedgerContents::default();
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let Some(line) = line.strip_suffix(b"\n") else {
            contents.torn = true;
            break;
        };
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice(line) {
            Ok(entry) => contents.entries.push(entry),
            Err(error) => contents.damaged.push(DamagedLine { line: index + 1, message: error.to_string() }),
        }
    }
    contents
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ledger::{Outcome, OutcomeEntry, SpeculationEntry, SuggestionEntry, WorkCost};
    use headstart_forked_query::Money;

    fn entries() -> Vec<Entry> {
        let work =
            WorkCost { at: 7, model: "openai:m".into(), work_ms: 9, unmeasured: 1, ..WorkCost::default() };
        let speculated: SpeculationEntry = serde_json::from_str(r#"{"id":"a","status":"boundary"}"#).unwrap();
        let suggested: SuggestionEntry =
            serde_json::from_str(r#"{"id":"a","suppressed":"error","code":"unauthorized"}"#).unwrap();
        vec![
            Entry::Turn(WorkCost { money: Money::new(0.25), ..work.clone() }),
            Entry::Suggestion(SuggestionEntry { work: work.clone(), ..suggested }),
            Entry::Speculation(SpeculationEntry { work, prompt: Some("run it".into()), ..speculated }),
            Entry::Outcome(OutcomeEntry {
                id: "a".into(),
                at: 8,
                outcome: Outcome::Joined,
                saved_ms: 3,
                skip_code: Some("row".into()),
                taken_by: Some(crate::ledger::TakenBy::Typed),
                changes: Some(headstart_overlay_fs::ContentHash::of(b"changes")),
            }),
        ]
    }

    fn lines() -> String {
        entries().iter().map(Entry::to_line).collect()
    }

    #[test]
    fn a_line_is_a_promise() {
        insta::assert_snapshot!(lines());
    }

    #[test]
    fn what_is_no_entry_is_reported_and_the_rest_is_read() {
        let text = format!("{{}}\n{}\n\n{{\"type\":\"song\"}}\n\u{fffd}\n", lines());
        let contents = read(text.as_bytes());
        assert_eq!(contents.entries, entries());
        let damaged: Vec<_> = contents.damaged.iter().map(|damage| damage.line).collect();
        assert_eq!(damaged, [1, 8, 9]);
        assert!(!contents.torn);
    }

    proptest! {
        /// Wherever a ledger is cut, all whole lines are read, and a line that was cut is reported.
        #[test]
        fn a_ledger_that_was_cut_holds_its_whole_lines(cut in 0..=1_000_usize) {
            let text = lines();
            let kept = &text.as_bytes()[..cut.min(text.len())];
            let contents = read(kept);
            let whole = kept.split(|byte| *byte == b'\n').count() - 1;
            prop_assert_eq!(&contents.entries[..], &entries()[..whole]);
            prop_assert_eq!(contents.torn, !kept.is_empty() && !kept.ends_with(b"\n"));
            prop_assert!(contents.damaged.is_empty());
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            read(&bytes);
        }
    }
}
