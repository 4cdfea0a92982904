//! What is known about the user from all projects, in one small file in the state folder.
//!
//! ```text
//! STATE/user/habits.json   numbers and names of models, no text from any project; replaced as a whole by one rename
//!            lock          held by the process that replaces it
//! ```
//!
//! Any number of processes may write. Each one reads the file under the lock, adds what it has learned, and writes the
//! file.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use headstart_budget::policy::{HabitUpdate, Habits};

use crate::error::CliError;
use crate::file_lock::FileLock;
use crate::store::{Store, create_private_folder};

/// How long to wait for the lock. Replacing the file takes less than a millisecond, and a process that stops in the
/// middle of it must not stop this one.
const PATIENCE: Duration = Duration::from_millis(200);

/// The location of the habits, and the lessons that are not in the file yet.
#[derive(Debug)]
pub struct HabitsFile {
    /// `None` without a state folder, in which case nothing is stored.
    folder: Option<PathBuf>,
    pending: Vec<HabitUpdate>,
}

impl HabitsFile {
    /// The file in this store's state folder. Touches no file.
    pub fn of(store: Option<&Store>) -> Self {
        Self { folder: store.map(|store| store.state_folder().join("user")), pending: Vec::new() }
    }

    /// The stored habits; empty if there is no file.
    pub fn read(&self) -> Result<Habits, CliError> {
        let Some(path) = self.path() else { return Ok(Habits::default()) };
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Habits::default()),
            Err(error) => return Err(CliError::io("read", &path)(error)),
        };
        let damaged = |reason: String| CliError::Record { file: path.clone(), reason };
        let habits: Habits = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        if habits.is_valid() { Ok(habits) } else { Err(damaged("a number is out of range".to_owned())) }
    }

    /// Adds a lesson to the stored habits, and returns them. A lesson that cannot be written now is written with the
    /// next one.
    pub(crate) fn record(&mut self, update: HabitUpdate) -> Result<Option<Habits>, CliError> {
        let (Some(folder), Some(path)) = (self.folder.clone(), self.path()) else { return Ok(None) };
        self.pending.push(update);
        create_private_folder(&folder)?;
        let lock = folder.join("lock");
        let held = File::options()
            .create(true)
            .write(true)
            .truncate(false)
            .open(&lock)
            .map_err(CliError::io("open", &lock))?;
        let _held = FileLock::exclusive_within(held, PATIENCE)
            .map_err(|error| CliError::io("lock", &lock)(error.into()))?;
        let mut habits = match self.read() {
            Err(CliError::Record { .. }) => {
                // The problem was already reported by an earlier read.
                let aside = folder.join("habits.json.damaged");
                fs::rename(&path, &aside).map_err(CliError::io("move", &path))?;
                Habits::default()
            }
            read => read?,
        };
        self.pending.iter().for_each(|update| habits.apply(update));
        let written = tempfile::NamedTempFile::new_in(&folder).and_then(|mut file| {
            file.write_all(&serde_json::to_vec(&habits)?)?;
            file.persist(&path).map_err(|error| error.error)
        });
        written.map_err(CliError::io("write", &path))?;
        self.pending.clear();
        Ok(Some(habits))
    }

    fn path(&self) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join("habits.json"))
    }
}

#[cfg(test)]
mod tests {
    use headstart_budget::ledger::Entry;
    use headstart_budget::policy::{Experience, Tariff};
    use headstart_forked_query::Prices;

    use super::*;
    use crate::environment::Environment;

    /// The lesson that a suggestion was seen and not taken.
    fn update() -> HabitUpdate {
        let tariff = Tariff::new("m", Prices::default());
        let mut experience = Experience::of(tariff, Habits::default(), &[]);
        let lines = [
            r#"{"type":"suggestion","id":"a","at":1,"model":"m"}"#,
            r#"{"type":"outcome","id":"a","at":1,"outcome":"ignored"}"#,
        ];
        let entries = lines.map(|line| serde_json::from_str::<Entry>(line).unwrap());
        let [_, update] = entries.map(|entry| experience.observe(&entry));
        update
    }

    fn file() -> (tempfile::TempDir, HabitsFile) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::locate(Some(folder.path()), &Environment::default()).unwrap();
        let file = HabitsFile::of(Some(&store));
        (folder, file)
    }

    #[test]
    fn what_many_processes_tell_is_all_learned() {
        let (folder, file) = file();
        assert_eq!(file.read().unwrap(), Habits::default());
        let store = Store::locate(Some(folder.path()), &Environment::default()).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let mut file = HabitsFile::of(Some(&store));
                scope.spawn(move || {
                    for _ in 0..25 {
                        // On a busy machine a process may wait too long. Then this lesson is written with the next one.
                        let _ = file.record(update());
                    }
                    while let Some(last) = file.pending.pop() {
                        let _ = file.record(last);
                    }
                });
            }
        });
        assert_eq!(file.read().unwrap().row, 100);
    }

    #[test]
    fn a_damaged_file_is_told_and_put_aside() {
        let (folder, mut file) = file();
        file.record(update()).unwrap();
        let path = folder.path().join("user/habits.json");
        for damaged in ["", "{", "[1,", r#"{"row":1,"lost":-3}"#, r#"{"row":-1}"#] {
            fs::write(&path, damaged).unwrap();
            let error = file.read().unwrap_err().to_string();
            assert!(error.contains("user/habits.json: "), "{error}");
            assert_eq!(file.record(update()).unwrap().unwrap().row, 1, "{damaged}");
            assert_eq!(file.read().unwrap().row, 1);
            assert_eq!(fs::read_to_string(path.with_extension("json.damaged")).unwrap(), damaged);
        }
    }

    #[test]
    fn without_a_state_folder_nothing_is_kept() {
        let mut file = HabitsFile::of(None);
        assert_eq!((file.read().unwrap(), file.record(update()).unwrap()), (Habits::default(), None));
    }
}
