//! Views that are copies of a project in temporary folders, in which programs of this machine run.
//!
//! Several things are not modelled: the view is at another path than the project; nothing keeps a program from writing
//! elsewhere, from using the network or from taking memory; a change of the project after the copy only shows after the
//! view is refreshed; and times of files are those of the disk.

#![allow(dead_code, reason = "each test uses its part")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_process::{Command, Stdio};
use async_trait::async_trait;
use headstart_code_intel::{CodeIntel, LanguageHost, LanguageView, Process, Program, Settings, SpawnError};
use headstart_overlay_fs::{ChangeKind, ChangeSet, MemoryTree, Overlay, Quota, WorkspacePath};

pub(crate) fn path(path: &str) -> WorkspacePath {
    WorkspacePath::parse(path).unwrap()
}

/// A project, its tree, and code intelligence that is driven by a thread.
pub(crate) struct TestProject {
    pub files: BTreeMap<String, String>,
    pub tree: Arc<MemoryTree>,
    pub copies: Arc<CopyingHost>,
    pub intel: CodeIntel,
}

impl TestProject {
    pub(crate) fn new(files: &[(&str, &str)], settings: Settings) -> Self {
        let files: BTreeMap<String, String> =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let tree = Arc::new(MemoryTree::from_files(files.clone()).unwrap());
        let copies = Arc::new(CopyingHost {
            files: Arc::new(Mutex::new(files.clone())),
            programs: Vec::new(),
            start: Instant::now(),
            roots: Mutex::default(),
            ended: Arc::default(),
        });
        let (intel, driver) = CodeIntel::new(copies.clone(), tree.clone(), settings);
        std::thread::spawn(move || futures::executor::block_on(driver));
        Self { files, tree, copies, intel }
    }

    pub(crate) fn overlay(&self) -> Arc<Overlay> {
        Arc::new(Overlay::new(self.tree.clone(), Quota::default()))
    }

    /// The user saves this text to a file of the project, or removes the file (`None`). The tree stays as it was.
    pub(crate) fn user_saves(&self, file: &str, text: Option<&str>) {
        let mut files = self.copies.files.lock().unwrap();
        match text {
            Some(text) => files.insert(file.to_owned(), text.to_owned()),
            None => files.remove(file),
        };
    }

    /// What is staged if these files get these texts; `None` removes a file.
    pub(crate) fn staged(&self, edits: &[(&str, Option<&str>)]) -> ChangeSet {
        let overlay = self.overlay();
        async_io::block_on(async {
            for (file, text) in edits {
                match text {
                    Some(text) => overlay.write(&path(file), text.as_bytes().to_vec()).await.unwrap(),
                    None => overlay.remove(&path(file)).await.unwrap(),
                }
            }
        });
        overlay.change_set()
    }
}

/// Makes a copy of the project for each view.
pub(crate) struct CopyingHost {
    /// The files of the project as they are now.
    files: Arc<Mutex<BTreeMap<String, String>>>,
    pub programs: Vec<PathBuf>,
    start: Instant,
    /// The folders of all views that were made.
    pub roots: Mutex<Vec<PathBuf>>,
    /// The reason that the view gives when the next program ends.
    pub ended: Arc<Mutex<Option<String>>>,
}

#[async_trait]
impl LanguageHost for CopyingHost {
    async fn view(&self) -> Result<Box<dyn LanguageView>, SpawnError> {
        let folder = tempfile::tempdir().unwrap();
        // The path has no links in it, because the port promises that.
        let root = fs::canonicalize(folder.path()).unwrap().join("my project");
        fs::create_dir(&root).unwrap();
        self.roots.lock().unwrap().push(root.clone());
        let base = self.files.lock().unwrap().clone();
        for (path, text) in &base {
            write(&root.join(path), text.as_bytes());
        }
        let copy = CopiedView {
            text: root.to_str().unwrap().to_owned(),
            root,
            base,
            project: self.files.clone(),
            ended: self.ended.clone(),
            shown: BTreeMap::new(),
            groups: Vec::new(),
            _folder: folder,
        };
        Ok(Box::new(copy))
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    async fn sleep(&self, time: Duration) {
        async_io::Timer::after(time).await;
    }
}

struct CopiedView {
    root: PathBuf,
    text: String,
    base: BTreeMap<String, String>,
    project: Arc<Mutex<BTreeMap<String, String>>>,
    ended: Arc<Mutex<Option<String>>>,
    shown: BTreeMap<WorkspacePath, Option<Vec<u8>>>,
    groups: Vec<i32>,
    _folder: tempfile::TempDir,
}

#[async_trait]
impl LanguageView for CopiedView {
    fn root(&self) -> &str {
        &self.text
    }

    async fn show(&mut self, changes: &ChangeSet) -> Result<(), SpawnError> {
        let wanted: BTreeMap<WorkspacePath, Option<Vec<u8>>> = changes
            .changes
            .iter()
            .filter_map(|change| match &change.kind {
                ChangeKind::Write { content, .. } => Some((change.path.clone(), Some(content.to_vec()))),
                ChangeKind::Delete => Some((change.path.clone(), None)),
                _ => None,
            })
            .collect();
        let paths: BTreeSet<&WorkspacePath> = self.shown.keys().chain(wanted.keys()).collect();
        for path in paths {
            let name = path.to_string();
            let base = || self.base.get(&name).map(|text| text.clone().into_bytes());
            let now = wanted.get(path).cloned().unwrap_or_else(base);
            if self.shown.get(path).cloned().unwrap_or_else(base) == now {
                continue;
            }
            let file = self.root.join(&name);
            match now {
                Some(content) => write(&file, &content),
                None if file.is_dir() => fs::remove_dir_all(&file).unwrap(),
                None => fs::remove_file(&file).unwrap(),
            }
        }
        self.shown = wanted;
        Ok(())
    }

    async fn refresh(&mut self) -> Result<Vec<WorkspacePath>, SpawnError> {
        let now = self.project.lock().unwrap().clone();
        let was = std::mem::replace(&mut self.base, now);
        let all: BTreeSet<&String> = was.keys().chain(self.base.keys()).collect();
        let mut changed = Vec::new();
        for name in all.into_iter().filter(|name| was.get(*name) != self.base.get(*name)) {
            changed.push(path(name));
            let file = self.root.join(name);
            let failed = |error: std::io::Error| SpawnError::of(error);
            match self.base.get(name) {
                _ if self.shown.contains_key(&path(name)) => {}
                Some(text) => fs::write(&file, text).map_err(failed)?,
                None => fs::remove_file(&file).map_err(failed)?,
            }
        }
        Ok(changed)
    }

    async fn start(&mut self, program: &Program) -> Result<Process, SpawnError> {
        let Some(found) = find(&program.name) else {
            return Err(SpawnError::NoProgram { name: program.name.clone() });
        };
        let mut command = Command::from(new_group(&found));
        let folder = program.folder.as_str().unwrap_or_default();
        command.args(&program.args).envs(&program.environment).current_dir(self.root.join(folder));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let failed = |error: std::io::Error| SpawnError::of(error);
        let mut child = command.spawn().map_err(failed)?;
        let group = i32::try_from(child.id()).unwrap();
        self.groups.push(group);
        Ok(Process {
            stdin: Box::new(child.stdin.take().unwrap()),
            stdout: Box::new(child.stdout.take().unwrap()),
            stderr: Some(Box::new(child.stderr.take().unwrap())),
            guard: Box::new(ProcessGroup { group, _child: child }),
        })
    }

    async fn resident(&mut self) -> Option<u64> {
        Some(self.groups.iter().map(|group| resident(*group)).sum())
    }

    async fn why_ended(&mut self) -> Option<String> {
        self.ended.lock().unwrap().take()
    }
}

/// A process group, killed when it is dropped: a program and everything that it started.
struct ProcessGroup {
    group: i32,
    _child: async_process::Child,
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(group) = rustix::process::Pid::from_raw(self.group) {
            let _gone_already = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

fn new_group(program: &Path) -> std::process::Command {
    use std::os::unix::process::CommandExt as _;
    let mut command = std::process::Command::new(program);
    command.process_group(0);
    command
}

fn write(file: &Path, content: &[u8]) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, content).unwrap();
}

/// The memory of all processes of a group, in bytes.
fn resident(group: i32) -> u64 {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let of_group = processes.filter(|process| {
        let stat = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        let rest = stat.rsplit(") ").next().unwrap_or_default();
        rest.split(' ').nth(2) == Some(&group.to_string())
    });
    let pages = of_group.filter_map(|process| {
        let statm = fs::read_to_string(process.path().join("statm")).ok()?;
        statm.split(' ').nth(1)?.parse::<u64>().ok()
    });
    pages.sum::<u64>() * 4096
}

/// The folder of the servers that `.ci/install programs` installs beside the build.
pub(crate) fn servers_folder() -> PathBuf {
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    std::env::var_os("CARGO_TARGET_DIR").map_or(build, PathBuf::from).join("servers")
}

/// Finds a program by its path, or by its name in the test's own folder of servers and then in `PATH`.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name));
    }
    let own = ["node_modules/.bin", "venv/bin"].map(|folder| servers_folder().join(folder));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = own.into_iter().chain(std::env::split_paths(&path).collect::<Vec<_>>());
    all.map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Fails if a program is missing, and says what installs it.
pub(crate) fn require(program: &str) {
    assert!(find(program).is_some(), "this test needs {program}: .ci/install programs installs it");
}
