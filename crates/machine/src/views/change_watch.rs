//! Whether a kept view still shows the files on disk.
//!
//! The kernel does not define what an overlay shows of a file that was replaced below it: a file that a command has
//! already read may stay the old one. Before a further command in a view it is therefore checked whether the user has
//! changed anything since, and if so a new view is made. The first check reads the times of all files. From then on the
//! kernel reports each change, and as long as it reports none nothing has to be read. Where that may not be had
//! ([`WatchShare`]), the times are read each time.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use headstart_overlay_fs::file_times;

use super::changed_files::{has_changed_since, is_newer};
use super::closed_paths::keeps_times;
use super::lock;
use crate::watch_share::WatchShare;
use crate::workspace::unignored;

/// The state for one workspace.
pub(super) struct ChangeWatch {
    /// The state folder, by which processes share what the kernel reports.
    state: Option<PathBuf>,
    active: Mutex<Option<ActiveWatch>>,
}

/// The kernel has reported no change since this time, in nanoseconds of the clock of files.
struct ActiveWatch {
    events: ChangeEvents,
    from: i64,
}

impl ChangeWatch {
    pub(super) fn new(state: Option<&Path>) -> Self {
        Self { state: state.map(Path::to_owned), active: Mutex::default() }
    }

    /// The time until which it is known that nothing has changed since `since`; `None` if something has changed, or if
    /// that cannot be known. Both times are in nanoseconds of the clock of files. What git ignores and git's own folder
    /// do not count.
    pub(super) fn unchanged(&self, workspace: &Path, since: i64) -> Option<i64> {
        let mut quiet = lock(&self.active);
        let now = file_times::since_now_ns();
        if let Some(quiet) = quiet.as_ref().filter(|quiet| quiet.events.are_none()) {
            let is_old = since < quiet.from;
            return (!is_old || !has_changed_since(workspace, since)).then_some(now);
        }
        // The change may have created folders that are not watched.
        *quiet = None;
        if !keeps_times(workspace) {
            return None;
        }
        let mut events = self.state.as_deref().and_then(WatchShare::take).and_then(ChangeEvents::new);
        let mut folders = 0;
        for entry in unignored(workspace).filter_map(Result::ok) {
            if entry.file_type().is_some_and(|kind| kind.is_dir()) {
                folders += 1;
                // The folder is watched before it is listed, so that a name that appears meanwhile is either reported
                // or listed.
                events =
                    events.filter(|events| folders <= events.most_folders() && events.watch(entry.path()));
            }
            if is_newer(&entry, since) {
                return None;
            }
        }
        let from = file_times::since_now_ns();
        let Some(events) = events.filter(ChangeEvents::are_none) else { return Some(now) };
        *quiet = Some(ActiveWatch { events, from });
        Some(from)
    }
}

/// The kernel's reports of changes in folders.
#[cfg(target_os = "linux")]
struct ChangeEvents {
    reports: std::os::fd::OwnedFd,
    share: WatchShare,
}

#[cfg(target_os = "linux")]
impl ChangeEvents {
    /// `None` if this user has reached the kernel's limit.
    fn new(share: WatchShare) -> Option<Self> {
        use rustix::fs::inotify::{CreateFlags, init};
        let reports = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
        Some(Self { reports, share })
    }

    fn most_folders(&self) -> usize {
        self.share.folders
    }

    /// Reports changes in a folder from now on. Returns whether that works.
    fn watch(&self, folder: &Path) -> bool {
        use rustix::fs::inotify::{WatchFlags, add_watch};
        let flags = WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW;
        add_watch(&self.reports, folder, flags).is_ok()
    }

    /// Whether there are no reports.
    fn are_none(&self) -> bool {
        rustix::io::read(&self.reports, &mut [0; 4096]) == Err(rustix::io::Errno::AGAIN)
    }
}

/// Other systems have no views.
#[cfg(not(target_os = "linux"))]
enum ChangeEvents {}

#[cfg(not(target_os = "linux"))]
impl ChangeEvents {
    fn new(_: WatchShare) -> Option<Self> {
        None
    }

    fn most_folders(&self) -> usize {
        match *self {}
    }

    fn watch(&self, _: &Path) -> bool {
        match *self {}
    }

    fn are_none(&self) -> bool {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;

    const TICK: Duration = Duration::from_millis(12);

    struct TestWorkspace {
        folder: tempfile::TempDir,
        _state: tempfile::TempDir,
        change_watch: ChangeWatch,
        fresh: i64,
    }

    impl TestWorkspace {
        fn new() -> Self {
            let folder = tempfile::tempdir_in("/var/tmp").unwrap();
            fs::create_dir_all(folder.path().join("a/b/c")).unwrap();
            fs::write(folder.path().join(".gitignore"), "*.log\nout\n").unwrap();
            fs::write(folder.path().join("a/b/file"), "one").unwrap();
            std::thread::sleep(TICK);
            let state = tempfile::tempdir().unwrap();
            let change_watch = ChangeWatch::new(Some(state.path()));
            Self { folder, _state: state, change_watch, fresh: file_times::since_now_ns() }
        }

        fn at(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        /// Whether the view would still be up to date.
        fn is_fresh(&mut self) -> bool {
            let until = self.change_watch.unchanged(self.folder.path(), self.fresh);
            self.fresh = until.unwrap_or(self.fresh);
            until.is_some()
        }

        fn is_quiet(&self) -> bool {
            lock(&self.change_watch.active).as_ref().is_some_and(|quiet| quiet.from <= self.fresh)
        }

        /// Behaves as if a new view had been made.
        fn reset(&mut self) {
            std::thread::sleep(TICK);
            self.fresh = file_times::since_now_ns();
        }
    }

    #[test]
    fn each_change_is_seen_once_and_while_there_is_none_nothing_is_looked_at() {
        let mut place = TestWorkspace::new();
        assert!(place.is_fresh() && place.is_quiet(), "the first look");
        for (name, deed) in [
            ("in place", (|at| fs::write(at.join("a/b/file"), "two").unwrap()) as fn(&Path)),
            ("made", |at| fs::write(at.join("a/b/c/new"), "n").unwrap()),
            ("by rename", |at| fs::rename(at.join("a/b/c/new"), at.join("a/b/file")).unwrap()),
            ("a folder", |at| fs::create_dir_all(at.join("x/y/z")).unwrap()),
            ("in the new folder", |at| fs::write(at.join("x/y/z/deep"), "d").unwrap()),
            ("a folder that moves", |at| fs::rename(at.join("x/y"), at.join("a/y")).unwrap()),
            ("in the moved folder", |at| fs::write(at.join("a/y/z/deep"), "e").unwrap()),
            ("removed", |at| fs::remove_file(at.join("a/y/z/deep")).unwrap()),
            ("old times", |at| {
                let file = fs::File::options().write(true).open(at.join("a/b/file")).unwrap();
                file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
            }),
            ("a folder removed", |at| fs::remove_dir_all(at.join("a")).unwrap()),
        ] {
            deed(place.folder.path());
            assert!(!place.is_fresh(), "{name}");
            place.reset();
            assert!(place.is_fresh() && place.is_quiet(), "after {name}");
            assert!(place.is_fresh(), "long after {name}");
        }
    }

    #[test]
    fn what_git_ignores_and_its_own_folder_do_not_count() {
        let mut place = TestWorkspace::new();
        fs::create_dir_all(place.at("out/deep")).unwrap();
        fs::create_dir(place.at(".git")).unwrap();
        fs::write(place.at("a/b/c/x.log"), "one").unwrap();
        place.reset();
        assert!(place.is_fresh());
        for _ in 0..3 {
            fs::write(place.at("out/deep/file"), "o").unwrap();
            fs::write(place.at(".git/HEAD"), "h").unwrap();
            assert!(place.is_fresh() && place.is_quiet());
            // An ignored file changes in a folder with other files, so the kernel reports it and the folder is checked.
            fs::write(place.at("a/b/c/x.log"), "two").unwrap();
            assert!(place.is_fresh() && place.is_quiet());
        }
    }

    #[test]
    fn of_many_processes_few_watch_and_each_sees_every_change() {
        let mut place = TestWorkspace::new();
        let state = tempfile::tempdir().unwrap();
        let watches: Vec<_> = (0..40).map(|_| ChangeWatch::new(Some(state.path()))).collect();
        let all_see = |place: &TestWorkspace, expected: bool| {
            watches
                .iter()
                .all(|watch| watch.unchanged(place.folder.path(), place.fresh).is_some() == expected)
        };
        let watching = || watches.iter().filter(|watch| lock(&watch.active).is_some()).count();
        assert!(all_see(&place, true) && all_see(&place, true));
        assert!((1..=4).contains(&watching()), "{}", watching());
        fs::write(place.at("a/b/file"), "two").unwrap();
        assert!(all_see(&place, false));
        place.reset();
        assert!(all_see(&place, true));
        assert!((1..=4).contains(&watching()), "{}", watching());
    }

    #[test]
    fn a_view_that_is_older_than_the_watch_is_looked_at() {
        let mut place = TestWorkspace::new();
        let before = place.fresh;
        std::thread::sleep(TICK);
        fs::write(place.at("a/b/file"), "two").unwrap();
        place.reset();
        assert!(place.is_fresh() && place.is_quiet());
        assert_eq!(place.change_watch.unchanged(place.folder.path(), before), None);
        assert!(place.is_fresh());
    }

    #[test]
    #[ignore = "it only prints"]
    fn figures() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        for number in 0..50_000 {
            let at = folder.path().join(format!("d{}", number % 500));
            if number < 500 {
                fs::create_dir(&at).unwrap();
            }
            fs::write(at.join(format!("f{number}.txt")), "x").unwrap();
        }
        std::thread::sleep(TICK);
        let (since, mut first, mut later) = (file_times::since_now_ns(), Vec::new(), Vec::new());
        for _ in 0..11 {
            let state = tempfile::tempdir().unwrap();
            let watched = ChangeWatch::new(Some(state.path()));
            let look = |since, times: &mut Vec<Duration>| {
                let started = std::time::Instant::now();
                let until = watched.unchanged(folder.path(), since).unwrap();
                times.push(started.elapsed());
                until
            };
            let until = look(since, &mut first);
            look(until, &mut later);
        }
        println!("load {}", fs::read_to_string("/proc/loadavg").unwrap().trim());
        for (name, mut times) in [("the first look at 50,000 files", first), ("each later one", later)] {
            times.sort();
            println!("{name}: least {:.1?}, median {:.1?}", times[0], times[times.len() / 2]);
        }
    }
}
