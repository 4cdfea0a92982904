use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use headstart_forked_query::Message;
use headstart_machine::error::CliError;
use serde_json::Value;

use super::formats::{JsonLine, Product};
use super::recorded_conversation::RecordedConversation;

/// The most bytes of a file. A longer one is not a conversation that a model could be asked about.
const MAX_LENGTH: u64 = 512 * 1024 * 1024;
/// The most levels of folders, which is more than any product uses for its sessions.
const MAX_DEPTH: usize = 12;

/// What was found in files.
#[derive(Debug, Default)]
pub(crate) struct SessionScan {
    /// The files that hold conversations.
    pub(crate) files: Vec<RecordedFile>,
    /// The prompts that could have been suggested, the oldest first.
    pub(crate) prompts: Vec<PromptPosition>,
    /// How many prompts were sent in total.
    pub(crate) sent: usize,
    pub(crate) skipped: Vec<SkippedFile>,
    pub(crate) damaged: Vec<DamagedLine>,
}

/// A file with a conversation.
#[derive(Debug)]
pub(crate) struct RecordedFile {
    pub(crate) path: PathBuf,
    pub(crate) product: Product,
}

/// A prompt's place: the index of the file, and of the prompt within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PromptPosition {
    pub(crate) file: usize,
    pub(crate) prompt: usize,
}

/// A file that is not read, with the reason.
#[derive(Debug)]
pub(crate) struct SkippedFile {
    pub(crate) path: PathBuf,
    pub(crate) reason: String,
}

/// A line that cannot be read. The other lines of its file are still used.
#[derive(Debug)]
pub(crate) struct DamagedLine {
    pub(crate) path: PathBuf,
    pub(crate) line: usize,
    pub(crate) problem: String,
}

/// Reads all files, and those below all folders.
pub(crate) fn scan(named: &[PathBuf]) -> Result<SessionScan, CliError> {
    let mut scan = SessionScan::default();
    let mut paths = Vec::new();
    for path in named {
        // A path that the user names has to exist.
        let metadata = fs::metadata(path).map_err(CliError::io("read", path))?;
        if metadata.is_dir() {
            below(path, MAX_DEPTH, &mut paths, &mut scan.skipped);
        } else {
            paths.push(path.clone());
        }
    }
    let mut seen = HashSet::new();
    // A session that was resumed in another file has the same prompts in both files, in one of them without their
    // times.
    let mut prompts = HashSet::new();
    let mut contexts = HashSet::new();
    let mut found = BTreeSet::new();
    for path in paths {
        if !seen.insert(fs::canonicalize(&path).unwrap_or_else(|_| path.clone())) {
            continue;
        }
        let (product, recorded) = match read(&path) {
            Ok(ParsedFile { product, recorded, damaged }) => {
                scan.damaged.extend(damaged);
                (product, recorded)
            }
            Err(reason) => {
                scan.skipped.push(SkippedFile { path, reason });
                continue;
            }
        };
        let file = scan.files.len();
        scan.files.push(RecordedFile { path, product });
        for (number, prompt) in recorded.prompts.iter().enumerate() {
            let answer = recorded.before(prompt).last().map(Message::to_text);
            let is_new = contexts.insert((prompt.typed.clone(), answer));
            let is_known = if prompt.at.is_some() {
                !prompts.insert((prompt.at, prompt.typed.clone()))
            } else {
                !is_new
            };
            if is_known {
                continue;
            }
            scan.sent += 1;
            if RecordedConversation::follows_a_turn(prompt) {
                found.insert((prompt.at, PromptPosition { file, prompt: number }));
            }
        }
    }
    scan.prompts = found.into_iter().map(|(_, place)| place).collect();
    Ok(scan)
}

/// At most `limit` of the prompts, evenly chosen from the first to the last.
pub(crate) fn evenly_spaced(prompts: &[PromptPosition], limit: usize) -> Vec<PromptPosition> {
    let number = prompts.len();
    if number <= limit {
        return prompts.to_vec();
    }
    (0..limit).filter_map(|nth| prompts.get(nth * number / limit)).copied().collect()
}

impl SessionScan {
    /// Reads the conversation of a file again.
    pub(crate) fn recorded(&self, file: usize) -> Option<RecordedConversation> {
        // A file that is gone or has changed since the scan may no longer contain what was found in it.
        read(&self.files.get(file)?.path).ok().map(|read| read.recorded)
    }

    /// How many files of each product there are.
    pub(crate) fn products(&self) -> BTreeMap<Product, usize> {
        self.files.iter().fold(BTreeMap::new(), |mut products, file| {
            *products.entry(file.product).or_default() += 1;
            products
        })
    }
}

/// Finds the files below a folder whose names end like those of sessions, in the order of their names. Links are not
/// followed.
fn below(folder: &Path, depth: usize, found: &mut Vec<PathBuf>, skipped: &mut Vec<SkippedFile>) {
    let mut skip = |reason: String| skipped.push(SkippedFile { path: folder.to_owned(), reason });
    let Some(deeper) = depth.checked_sub(1) else { return skip("folders are too deep here".to_owned()) };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return skip(format!("cannot be read: {error}")),
    };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        let is_session = path.extension().is_some_and(|end| end == "jsonl" || end == "json");
        if kind.is_dir() {
            below(&path, deeper, found, skipped);
        } else if kind.is_file() && is_session {
            found.push(path);
        }
    }
}

struct ParsedFile {
    product: Product,
    recorded: RecordedConversation,
    damaged: Vec<DamagedLine>,
}

/// Reads a file, or returns why it cannot be read.
fn read(path: &Path) -> Result<ParsedFile, String> {
    let cannot = |error: std::io::Error| format!("cannot be read: {error}");
    let metadata = fs::metadata(path).map_err(cannot)?;
    if !metadata.is_file() {
        return Err("is no file".to_owned());
    }
    if MAX_LENGTH < metadata.len() {
        return Err(format!("is longer than {} MiB", MAX_LENGTH / 1024 / 1024));
    }
    // What is no text costs only the line that it is in.
    let bytes = fs::read(path).map_err(cannot)?;
    let is_cut = !bytes.ends_with(b"\n");
    let (mut lines, mut damaged, mut last) = (Vec::new(), Vec::new(), 0);
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        last = index + 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Value>(line) {
            Ok(value) if value.is_object() => lines.push(JsonLine { number: index + 1, value }),
            Ok(_) => damaged.push((index + 1, "is no object".to_owned())),
            Err(error) => damaged.push((index + 1, error.to_string())),
        }
    }
    // The file is one JSON object over several lines.
    if !damaged.is_empty()
        && let Ok(value) = serde_json::from_slice::<Value>(&bytes)
        && value.is_object()
    {
        (lines, damaged) = (vec![JsonLine { number: 1, value }], Vec::new());
    }
    let product = Product::of(&lines).ok_or("holds no session of a format that is known here")?;
    let damaged = damaged.into_iter().map(|(line, problem)| {
        let problem = if is_cut && line == last {
            "has no end: whoever wrote it was stopped".to_owned()
        } else {
            // The position is within this line, which the parser counted as line 1.
            problem.replace(" at line 1 column", " at column")
        };
        DamagedLine { path: path.to_owned(), line, problem }
    });
    Ok(ParsedFile {
        product,
        damaged: damaged.collect(),
        recorded: RecordedConversation::of(product.events(lines)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_over_all_of_it() {
        let place = |prompt| PromptPosition { file: 0, prompt };
        let all: Vec<_> = (0..10).map(place).collect();
        let numbers = |limit| evenly_spaced(&all, limit).iter().map(|place| place.prompt).collect::<Vec<_>>();
        assert_eq!(numbers(3), [0, 3, 6]);
        assert_eq!(numbers(10), numbers(99));
        assert_eq!(numbers(9).len(), 9);
        assert_eq!(numbers(0), [0; 0]);
    }
}
