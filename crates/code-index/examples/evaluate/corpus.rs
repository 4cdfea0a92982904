use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use headstart_code_index::{ContentFields, LARGEST_FILE, MemoryIndex};
use headstart_overlay_fs::WorkspacePath;

use crate::{Failure, cpu_milliseconds};

/// How many queries are made of the commits of one repository.
const QUERIES: usize = 300;
/// How many past commits give their subjects to the index, which has them as a field of each file.
const HISTORY: usize = 6_000;
/// A commit that touches more files than this is not used, because its subject says little about each of them.
const MOST_TOUCHED: usize = 20;
/// How many names are asked for; every other one is reported.
const NAMES: usize = 200;

/// A query and the files that answer it.
pub(crate) struct Case {
    pub(crate) text: String,
    pub(crate) relevant: Vec<String>,
}

/// A repository as it was before the commits that the queries are made of.
pub(crate) struct Corpus {
    pub(crate) name: String,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    pub(crate) index: MemoryIndex,
    pub(crate) index_milliseconds: f64,
    pub(crate) recent: Vec<(WorkspacePath, f32)>,
    /// The subjects of the past commits that touched each file.
    pub(crate) history: Vec<(WorkspacePath, String)>,
    cases: Vec<Case>,
    names: Vec<Case>,
}

struct Commit {
    id: String,
    subject: String,
    files: Vec<String>,
}

impl Corpus {
    /// Reads the commits up to `newest`. Without history the index knows no commit, as in a folder without git.
    pub(crate) fn read(repository: &str, newest: &str, with_history: bool) -> Result<Self, Failure> {
        let newest = log(repository, newest, 3_000)?;
        let queries: Vec<(usize, &Commit)> =
            newest.iter().enumerate().filter(|(_, commit)| is_query(commit)).take(QUERIES).collect();
        let oldest = queries.last().map_or(0, |(at, _)| *at);
        let snapshot =
            newest.get(oldest + 1).map(|commit| commit.id.clone()).ok_or("the history is too short")?;
        let files = read_files(repository, &snapshot)?;
        let past = if with_history { log(repository, &snapshot, HISTORY)? } else { Vec::new() };

        let history = history(&past);
        let start = cpu_milliseconds();
        let mut index = MemoryIndex::new();
        for (path, subjects) in &history {
            index.set_history(path, subjects);
        }
        for (name, bytes) in &files {
            let path = WorkspacePath::parse(name)?;
            index.put(path.clone(), Arc::new(ContentFields::of(&path, bytes)));
        }
        let index_milliseconds = cpu_milliseconds() - start;

        let mut cases: Vec<Case> = Vec::new();
        for (_, commit) in queries {
            let relevant: Vec<String> =
                commit.files.iter().filter(|file| files.contains_key(*file)).cloned().collect();
            if (1..=8).contains(&relevant.len()) {
                cases.push(Case { text: without_number(&commit.subject), relevant });
            }
        }
        // Every other query chose the weights and is not reported, because queries of one week are alike.
        let cases = halves(cases);
        let names = halves(names(&files, &index));
        let recent = recent(&past);
        let name = Path::new(repository).canonicalize()?;
        let name = name.ancestors().find_map(|folder| {
            let name = folder.file_name()?.to_str()?;
            (!["repo", ".git"].contains(&name)).then(|| name.replace('+', "/"))
        });
        let name = name.unwrap_or_default();
        Ok(Self { name, files, index, index_milliseconds, recent, history, cases, names })
    }

    pub(crate) fn names(&self) -> &[Case] {
        &self.names[self.names.len().div_ceil(2)..]
    }

    pub(crate) fn held_out(&self) -> &[Case] {
        &self.cases[self.cases.len().div_ceil(2)..]
    }
}

/// Puts every other case first and the rest behind.
fn halves(cases: Vec<Case>) -> Vec<Case> {
    let (one, other): (Vec<_>, Vec<_>) = cases.into_iter().enumerate().partition(|(at, _)| at % 2 == 0);
    one.into_iter().chain(other).map(|(_, case)| case).collect()
}

/// The subjects of the commits that touched each file, including files that no longer exist.
fn history(past: &[Commit]) -> Vec<(WorkspacePath, String)> {
    let mut subjects: BTreeMap<&str, String> = BTreeMap::new();
    for commit in past.iter().filter(|commit| commit.files.len() <= MOST_TOUCHED) {
        for file in &commit.files {
            let text = subjects.entry(file).or_default();
            text.push_str(&commit.subject);
            text.push('\n');
        }
    }
    subjects.into_iter().filter_map(|(file, text)| Some((WorkspacePath::parse(file).ok()?, text))).collect()
}

/// Files that the last commits touched, weighted higher the newer the commit is.
fn recent(past: &[Commit]) -> Vec<(WorkspacePath, f32)> {
    let mut recent: Vec<(WorkspacePath, f32)> = Vec::new();
    for (commit, age) in past.iter().filter(|commit| commit.files.len() <= MOST_TOUCHED).take(80).zip(0_u8..)
    {
        for path in commit.files.iter().filter_map(|file| WorkspacePath::parse(file).ok()) {
            if !recent.iter().any(|(known, _)| *known == path) {
                recent.push((path, (-f32::from(age) / 20.0).exp()));
            }
        }
    }
    recent
}

fn is_query(commit: &Commit) -> bool {
    let subject = without_number(&commit.subject);
    let routine = [
        "bump",
        "merge",
        "release",
        "revert",
        "prepare",
        "update dependency",
        "upgrade to",
        "start building against",
        "switch to",
        "chore(deps",
        "fix(deps",
        "next development",
    ];
    let lower = subject.to_lowercase();
    (1..=8).contains(&commit.files.len())
        && 3 <= subject.split_whitespace().count()
        && !routine.iter().any(|start| lower.starts_with(start))
}

/// The subject without the number of its pull request: `Fix it (#123)` becomes `Fix it`.
fn without_number(subject: &str) -> String {
    let end = subject.rfind(" (#").filter(|_| subject.ends_with(')')).unwrap_or(subject.len());
    subject[..end].to_owned()
}

/// Queries for names that exactly one file defines, asked in three forms: the name alone, and two questions with it.
fn names(files: &BTreeMap<String, Vec<u8>>, index: &MemoryIndex) -> Vec<Case> {
    let mut definers: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for name in files.keys() {
        let Some(content) = WorkspacePath::parse(name).ok().and_then(|path| index.content(&path)) else {
            continue;
        };
        for symbol in content.symbols.iter().filter(|symbol| symbol.defines() && 5 <= symbol.name.len()) {
            definers.entry(symbol.name.clone()).or_default().insert(name);
        }
    }
    let unique: Vec<_> = definers.into_iter().filter(|(_, files)| files.len() == 1).collect();
    let step = (unique.len() / NAMES).max(1);
    let cases = unique.into_iter().step_by(step).take(NAMES).enumerate().map(|(at, (name, files))| {
        let text = match at / 2 % 3 {
            0 => name,
            1 => format!("where is {name} defined"),
            _ => format!("how does the {name} function work"),
        };
        Case { text, relevant: files.into_iter().map(str::to_owned).collect() }
    });
    cases.collect()
}

fn git(repository: &str, arguments: &[&str]) -> Result<Command, Failure> {
    let path = std::fs::canonicalize(repository)?;
    let mut command = Command::new("git");
    // No program that the configuration of the repository names is run.
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_NO_LAZY_FETCH", "1").env("HOME", "/nonexistent");
    command.args(["-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false"]);
    command.arg("-C").arg(path).args(arguments);
    Ok(command)
}

/// Commits without merges, the newest first, with the files that they modify.
fn log(repository: &str, from: &str, count: usize) -> Result<Vec<Commit>, Failure> {
    let count = format!("-n{count}");
    let arguments = [
        "log",
        "--no-merges",
        "--no-renames",
        "--name-only",
        "-z",
        "--format=%x01%H%x02%s%x02",
        &count,
        from,
    ];
    let output = git(repository, &arguments)?.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let commits = text.split('\u{1}').filter_map(|commit| {
        let mut parts = commit.splitn(3, '\u{2}');
        let (id, subject, files) = (parts.next()?, parts.next()?, parts.next()?);
        let files =
            files.split('\0').map(|file| file.trim_start_matches('\n')).filter(|file| !file.is_empty());
        Some(Commit {
            id: id.to_owned(),
            subject: subject.to_owned(),
            files: files.map(str::to_owned).collect(),
        })
    });
    Ok(commits.collect())
}

fn read_files(repository: &str, commit: &str) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    let listed = git(repository, &["ls-tree", "-r", "-z", "--long", commit])?.output()?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mut wanted = Vec::new();
    for line in listed.split('\0').filter(|line| line.starts_with("100")) {
        let Some((head, name)) = line.split_once('\t') else { continue };
        let fields: Vec<&str> = head.split_whitespace().collect();
        if let [_, "blob", id, size] = fields[..]
            && size.parse::<u64>().is_ok_and(|size| size <= LARGEST_FILE)
        {
            wanted.push((id.to_owned(), name.to_owned()));
        }
    }
    let mut child =
        git(repository, &["cat-file", "--batch"])?.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut asks = child.stdin.take().ok_or("no pipe to git")?;
    let ids: Vec<String> = wanted.iter().map(|(id, _)| id.clone()).collect();
    let asking = std::thread::spawn(move || ids.iter().try_for_each(|id| writeln!(asks, "{id}")));
    let mut answers = std::io::BufReader::new(child.stdout.take().ok_or("no pipe from git")?);
    let mut files = BTreeMap::new();
    for (_, name) in wanted {
        let mut head = String::new();
        std::io::BufRead::read_line(&mut answers, &mut head)?;
        let size: usize = head.split_whitespace().nth(2).ok_or("git does not have a file")?.parse()?;
        let mut bytes = vec![0; size + 1];
        answers.read_exact(&mut bytes)?;
        bytes.pop();
        files.insert(name, bytes);
    }
    asking.join().map_err(|_| "the thread that asks git died")??;
    child.wait()?;
    Ok(files)
}
