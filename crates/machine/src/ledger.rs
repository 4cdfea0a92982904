//! The ledger of a project on disk: one file of JSON Lines in the state folder, to which lines are only appended.
//!
//! ```text
//! STATE/ledgers/NAME-HASH.jsonl   NAME: the last part of the workspace's path; HASH: of the whole path
//! ```
//!
//! Any number of processes may write. Each line is one write under a lock. If a process was killed and left a line
//! without an end, the next writer ends the line, and every reader reports it.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use headstart_budget::ledger::{self, Bill, Costs, Day, Entry, LedgerContents};
use xxhash_rust::xxh3::xxh3_64;

use crate::config::LedgerDetail;
use crate::error::CliError;
use crate::file_lock::FileLock;
use crate::output;
use crate::store::{self, Store};
use crate::system::PrivateFile as _;

/// How long to wait for the lock. Writing a line takes microseconds, and a process that stops in the middle of it must
/// not stop this one.
const PATIENCE: Duration = Duration::from_millis(200);

/// The file for the entries of one project.
#[derive(Debug, Clone)]
pub struct Ledger {
    file: PathBuf,
    detail: LedgerDetail,
}

impl Ledger {
    /// The ledger of a workspace, which is named by its absolute path. Touches no file.
    pub fn of(store: &Store, workspace: &str, detail: LedgerDetail) -> Self {
        let name: String = Path::new(workspace)
            .file_name()
            .map(|name| {
                name.to_string_lossy()
                    .chars()
                    .filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c))
                    .take(40)
                    .collect()
            })
            .unwrap_or_default();
        let file = format!("{name}-{:016x}.jsonl", xxh3_64(workspace.as_bytes()));
        Self { file: store.state_folder().join("ledgers").join(file), detail }
    }

    /// A ledger without a state folder, which records nothing.
    pub(crate) fn without_file() -> Self {
        Self { file: PathBuf::new(), detail: LedgerDetail::Nothing }
    }

    /// The path of the file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Appends entries.
    pub(crate) fn append(&self, entries: &[Entry]) -> Result<(), CliError> {
        if self.detail == LedgerDetail::Nothing || entries.is_empty() {
            return Ok(());
        }
        let folder = self.file.parent().expect("works because the file is in a folder of the state folder");
        store::create_private_folder(folder)?;
        let lines: String = entries.iter().map(Entry::to_line).collect();
        append(&self.file, lines).map_err(CliError::io("write", &self.file))
    }

    /// Like `append`, for a command that has already done its work: an error is only reported as a
    /// remark.
    pub fn note(&self, entries: &[Entry]) {
        if let Err(error) = self.append(entries) {
            output::note(&format!("nothing of this is in the ledger: {error}"));
        }
    }

    /// All entries; none if there is no file.
    pub fn read(&self) -> Result<LedgerContents, CliError> {
        match fs::read(&self.file) {
            Ok(bytes) => Ok(ledger::read(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(LedgerContents::default()),
            Err(error) => Err(CliError::io("read", &self.file)(error)),
        }
    }
}

impl Ledger {
    /// What was spent in all projects from the beginning of the day up to this moment. `None` if a ledger cannot be
    /// read, or if the user wants none, because what they spend is not known then.
    pub fn spent_today(&self, now_ms: u64) -> Option<Bill> {
        let day = Day::of(now_ms);
        if self.detail == LedgerDetail::Nothing {
            return None;
        }
        let files = match fs::read_dir(self.file.parent()?) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(Bill::default()),
            Err(_) => return None,
        };
        let mut spent = Bill::default();
        for file in files {
            let file = file.ok()?;
            // A file that was not written since has no entries of that day.
            let written =
                file.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
            let written = Day::of(u64::try_from(written.as_millis()).unwrap_or(u64::MAX));
            if written < day || file.path().extension().is_none_or(|ending| ending != "jsonl") {
                continue;
            }
            let mut entries = ledger::read(&fs::read(file.path()).ok()?).entries;
            entries.retain(|entry| Day::of(entry.at()) == day && entry.at() <= now_ms);
            spent = spent.and(Costs::of(&entries).total());
        }
        Some(spent)
    }
}

/// Appends whole lines to a file that several processes write to.
pub fn append(path: &Path, lines: String) -> io::Result<()> {
    let open = || File::options().read(true).append(true).create(true).private().open(path);
    let mut text = lines;
    let mut add = |file: &mut File| {
        if ends_in_a_line(file)? {
            text.insert(0, '\n');
        }
        file.write_all(text.as_bytes())
    };
    // On Windows a lock keeps others from reading, so there a file beside it is locked.
    if cfg!(windows) {
        let lock =
            File::options().write(true).create(true).truncate(false).open(path.with_extension("lock"))?;
        let _locked = FileLock::exclusive_within(lock, PATIENCE);
        return add(&mut open()?);
    }
    match FileLock::exclusive_within(open()?, PATIENCE) {
        Ok(mut locked) => add(&mut locked),
        // Even without the lock a line is one write at the end of the file.
        Err(_) => add(&mut open()?),
    }
}

/// Whether the last line has no line end.
fn ends_in_a_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(test)]
mod tests {
    use headstart_budget::ledger::{Outcome, OutcomeEntry};

    use super::*;
    use crate::environment::Environment;

    fn ledger(detail: LedgerDetail) -> (tempfile::TempDir, Ledger) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::locate(Some(folder.path()), &Environment::default()).unwrap();
        let ledger = Ledger::of(&store, "/home/me/my project", detail);
        (folder, ledger)
    }

    fn entry(id: &str) -> Entry {
        Entry::Outcome(OutcomeEntry {
            id: id.into(),
            at: 1,
            outcome: Outcome::Accepted,
            saved_ms: 2,
            skip_code: None,
            taken_by: None,
            changes: None,
        })
    }

    #[test]
    fn projects_of_the_same_name_have_ledgers_of_their_own() {
        let (_folder, ledger) = ledger(LedgerDetail::Figures);
        let name = |ledger: &Ledger| ledger.file().file_name().unwrap().to_str().unwrap().to_owned();
        // The name must be the same in every version, because with a different hash the existing file would not be
        // found.
        assert_eq!(name(&ledger), "myproject-ed1da9a7891a756d.jsonl");
        let store = Store::locate(Some(Path::new("/s")), &Environment::default()).unwrap();
        let others = ["/srv/my project", "/", "/../.."]
            .map(|path| name(&Ledger::of(&store, path, LedgerDetail::Figures)));
        for other in &others {
            assert!(!other.contains('/') && *other != name(&ledger), "{other}");
        }
    }

    #[test]
    fn many_writers_tear_no_line() {
        let (_folder, ledger) = ledger(LedgerDetail::Figures);
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let ledger = &ledger;
                scope.spawn(move || {
                    for number in 0..50 {
                        let id = format!("{writer}-{number}-{}", "x".repeat(number * 20));
                        ledger.append(&[entry(&id)]).unwrap();
                    }
                });
            }
        });
        let book = ledger.read().unwrap();
        assert_eq!((book.entries.len(), book.damaged.len(), book.torn), (200, 0, false));
    }

    #[test]
    fn a_line_that_a_killed_process_tore_is_reported_and_costs_no_other() {
        let (_folder, ledger) = ledger(LedgerDetail::Figures);
        ledger.append(&[entry("a"), entry("b")]).unwrap();
        let text = fs::read_to_string(ledger.file()).unwrap();
        fs::write(ledger.file(), &text[..text.len() - 9]).unwrap();
        let book = ledger.read().unwrap();
        assert_eq!((book.entries, book.torn), (vec![entry("a")], true));
        ledger.append(&[entry("c")]).unwrap();
        let book = ledger.read().unwrap();
        assert_eq!((book.entries, book.torn), (vec![entry("a"), entry("c")], false));
        assert_eq!(book.damaged[0].line, 2);
    }

    #[test]
    fn what_was_spent_on_a_day_is_that_of_all_projects_and_of_no_other_day() {
        let (folder, ledger) = ledger(LedgerDetail::Figures);
        let now = crate::clock::unix_ms();
        assert_eq!(ledger.spent_today(now), Some(Bill::default()));
        let turn = |at: u64, money: &str| {
            let line = format!(r#"{{"type":"turn","at":{at},"model":"m","inputTokens":9{money}}}"#);
            ledger::read((line + "\n").as_bytes()).entries
        };
        ledger.append(&turn(now, r#","money":0.5"#)).unwrap();
        ledger.append(&turn(now + 1, r#","money":8"#)).unwrap();
        ledger.append(&turn(now - 48 * 60 * 60 * 1_000, r#","money":7"#)).unwrap();
        let store = Store::locate(Some(folder.path()), &Environment::default()).unwrap();
        let other = Ledger::of(&store, "/srv/other", LedgerDetail::Figures);
        other.append(&turn(now, r#","money":0.25"#)).unwrap();
        // This one was not written since, so it is not read, whatever it says.
        let old = Ledger::of(&store, "/srv/old", LedgerDetail::Figures);
        old.append(&turn(now, r#","money":9"#)).unwrap();
        let before = std::time::SystemTime::now() - Duration::from_secs(48 * 60 * 60);
        File::options().append(true).open(old.file()).unwrap().set_modified(before).unwrap();
        let spent = |ledger: &Ledger| ledger.spent_today(now).and_then(|bill| bill.amount());
        assert_eq!(spent(&ledger), headstart_forked_query::Money::new(0.75));
        other.append(&turn(now, "")).unwrap();
        assert_eq!(spent(&ledger), None, "one price is unknown");
        let none = Ledger::of(&store, "/srv/other", LedgerDetail::Nothing);
        assert_eq!(none.spent_today(now), None);
    }

    #[test]
    fn nothing_is_kept_where_the_user_wants_nothing_kept() {
        let (folder, ledger) = ledger(LedgerDetail::Nothing);
        ledger.append(&[entry("a")]).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(ledger.read().unwrap(), LedgerContents::default());
    }
}
