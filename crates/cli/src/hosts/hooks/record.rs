//! The record of what hooks answered: one file of JSON Lines in the folder of the ledgers, for all projects.
//!
//! ```text
//! STATE/ledgers/hooks.jsonl       one line per answer
//! STATE/ledgers/hooks.old.jsonl   earlier lines, once the file has become large
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use headstart_budget::ledger::Day;
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::{ledger, store};
use headstart_tool_gate::{Decision, Reason};
use serde::{Deserialize, Serialize};

/// The size in bytes from which on the file is renamed to the old one; some 40,000 answers.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// The record below one state folder.
pub(crate) struct AnswerRecord {
    file: PathBuf,
}

/// An answer, as a line of the record.
#[derive(Serialize)]
pub(crate) struct AnswerLine<'a> {
    /// When the answer was given, in milliseconds since 1970.
    pub(crate) at: u64,
    pub(crate) host: &'a str,
    pub(crate) answer: &'a str,
    pub(crate) verdict: Decision,
    pub(crate) reason: Reason,
    /// How long the answer took, in milliseconds.
    pub(crate) ms: u64,
    /// Only present if the user wants commands recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<&'a str>,
}

/// The fields of a line that the statistics need.
#[derive(Deserialize)]
struct RecordedAnswer {
    at: u64,
    host: String,
    answer: String,
}

/// How many questions a hook made unnecessary.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SavedQuestions {
    /// On this day, in universal time, as for all days of the statistics.
    pub(crate) today: u64,
    /// On this day and the six before it.
    pub(crate) week: u64,
    /// The number of the week by product.
    pub(crate) by_host: BTreeMap<String, u64>,
}

impl AnswerRecord {
    pub(crate) fn of(context: &Context) -> Result<Self, CliError> {
        Ok(Self { file: context.store()?.state_folder().join("ledgers/hooks.jsonl") })
    }

    /// Appends an answer.
    pub(crate) fn add(&self, line: &AnswerLine<'_>) -> Result<(), CliError> {
        let folder = self.file.parent().expect("works because the file is in a folder of the state folder");
        store::create_private_folder(folder)?;
        let line =
            serde_json::to_string(line).expect("works because a line is an object of plain values") + "\n";
        if fs::metadata(&self.file).is_ok_and(|file| MAX_BYTES < file.len()) {
            fs::rename(&self.file, self.old()).map_err(CliError::io("rename", &self.file))?;
        }
        ledger::append(&self.file, line).map_err(CliError::io("write", &self.file))
    }

    /// Counts the questions that were not asked in the week that ends at `now`. Lines that cannot be read are skipped.
    pub(crate) fn saved_questions(&self, now: u64) -> Result<SavedQuestions, CliError> {
        let mut unasked = SavedQuestions::default();
        for file in [&self.old(), &self.file] {
            for line in read(file)?.lines() {
                let Ok(line) = serde_json::from_str::<RecordedAnswer>(line) else { continue };
                if line.answer == "allow" {
                    unasked.count(&line, now);
                }
            }
        }
        Ok(unasked)
    }

    fn old(&self) -> PathBuf {
        self.file.with_file_name("hooks.old.jsonl")
    }
}

impl SavedQuestions {
    fn count(&mut self, line: &RecordedAnswer, now: u64) {
        let first = Day::of(now.saturating_sub(6 * DAY_MS));
        if Day::of(line.at) < first || Day::of(now) < Day::of(line.at) {
            return;
        }
        self.week += 1;
        self.today += u64::from(Day::of(line.at) == Day::of(now));
        *self.by_host.entry(line.host.clone()).or_default() += 1;
    }
}

fn read(file: &Path) -> Result<String, CliError> {
    let bytes = super::or_empty(fs::read(file), file)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
