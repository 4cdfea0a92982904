//! Decides which folder of the machine is shown where in a view's root, before anything is mounted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::folders::{EMPTY_FOLDERS, SYSTEM_FOLDERS, TOOL_FOLDERS};
use crate::{Beside, Options, ShadowError, Tier};

/// One entry of a view's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootEntry {
    /// The absolute path in the view. It is the path on the machine too, except for a workspace that is shown
    /// elsewhere.
    pub at: PathBuf,
    /// What is there.
    pub shown: Shown,
}

/// What a view shows at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// The machine's folder, read-only, with all that is mounted in it.
    ReadOnly,
    /// A symbolic link with this target.
    Link(PathBuf),
    /// An empty folder. What is written in it is discarded.
    Empty,
    /// The machine's folder, copy-on-write. What is written in it is discarded.
    Tool {
        /// Files in it that are not shown.
        masked: Vec<PathBuf>,
    },
    /// The machine's own folder or file: what is written in it stays.
    Shared,
    /// A copy of the machine's file. What is written to it is discarded.
    Copy,
    /// The workspace, copy-on-write. What is written in it is read back.
    Workspace {
        /// Where it is on the machine.
        folder: PathBuf,
    },
    /// A folder of the workspace, copy-on-write over finished layers. What is written in it is kept on a disk.
    Build {
        /// The folder on the disk in which it is kept.
        room: PathBuf,
        /// The layers, the topmost first. The machine's own folder, if it exists, lies below them.
        below: Vec<PathBuf>,
    },
}

/// What the machine has at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathKind {
    /// Nothing, or nothing that a view shows.
    Nothing,
    /// A folder.
    Folder,
    /// A regular file.
    File,
    /// A symbolic link with this target.
    Link(PathBuf),
}

/// Folders that a view makes by itself, so no workspace can be in them.
const MADE: [&str; 3] = ["/dev", "/proc", "/sys"];

/// Folders of git's in which it keeps contents without the names of their files, so that nothing tells what is closed:
/// those of conflicts, and of objects that a check found. A view shows them empty.
const WITHOUT_NAMES: [&str; 2] = ["rr-cache", "lost-found"];

/// The places of a view, each behind the one that contains it. `look` says what the machine has at a path, without
/// following links.
pub fn layout(options: &Options, look: &dyn Fn(&Path) -> PathKind) -> Result<Vec<RootEntry>, ShadowError> {
    let workspace = options.shown_at.as_deref().unwrap_or(&options.workspace);
    check_workspace(workspace, options.home.as_deref())?;
    let mut places = BTreeMap::new();
    let tool_place = |path: PathBuf, masked: &[&str]| {
        // Without an overlay the file is hidden by a mount over it, which cannot be done to a link.
        let leads_on = |masked: &&str| matches!(look(&path.join(masked)), PathKind::Link(_));
        let is_shown = !(options.tier.copies() && masked.iter().any(leads_on));
        let masked = masked.iter().map(PathBuf::from).collect();
        is_shown.then_some((path, Shown::Tool { masked }))
    };
    for path in SYSTEM_FOLDERS.map(Path::new) {
        match look(path) {
            PathKind::Nothing | PathKind::File => {}
            PathKind::Folder => drop(places.insert(path.to_owned(), Shown::ReadOnly)),
            PathKind::Link(target) => drop(places.insert(path.to_owned(), Shown::Link(target))),
        }
    }
    for path in EMPTY_FOLDERS.map(Path::new) {
        places.insert(path.to_owned(), Shown::Empty);
    }
    // A home folder of `/` is that of a user who has none.
    let home = options.home.as_deref().filter(|home| is_plain(home) && *home != Path::new("/"));
    if let Some(home) = home {
        places.insert(home.to_owned(), Shown::Empty);
        for row in TOOL_FOLDERS {
            let path = home.join(row.path);
            if look(&path) == PathKind::Folder {
                places.extend(tool_place(path, row.masked));
            }
        }
    }
    let holds_more = |path: &Path| {
        workspace.starts_with(path)
            || home.is_some_and(|home| home.starts_with(path))
            || EMPTY_FOLDERS.iter().any(|empty| Path::new(empty).starts_with(path))
            || MADE.iter().any(|made| Path::new(made).starts_with(path) || path.starts_with(made))
            || path.starts_with(workspace)
    };
    for path in options.tools.iter().filter(|path| is_plain(path)) {
        if look(path) == PathKind::Folder && !holds_more(path) {
            places.extend(tool_place(path.clone(), tool_named_like(path).unwrap_or_default()));
        }
    }
    for path in options.programs.iter().chain(&options.show).filter(|path| is_plain(path)) {
        let is_shown = places.iter().any(|(place, shown)| *shown != Shown::Empty && path.starts_with(place));
        if look(path) == PathKind::Folder && !holds_more(path) && !is_shown {
            places.insert(path.clone(), Shown::ReadOnly);
        }
    }
    let of_system = |path: &Path| SYSTEM_FOLDERS.iter().any(|system| path.starts_with(system));
    for path in options.shared.iter().filter(|path| is_plain(path)) {
        let is_in_home = home.is_some_and(|home| path.starts_with(home) && path != home);
        let is_there = match look(path) {
            PathKind::Folder => true,
            // A file is mounted over what a shared folder shows of it.
            PathKind::File => places
                .iter()
                .any(|(place, shown)| matches!(shown, Shown::Tool { .. }) && path.starts_with(place)),
            PathKind::Nothing | PathKind::Link(_) => false,
        };
        if is_in_home && is_there && !holds_more(path) && !of_system(path) {
            places.insert(path.clone(), Shown::Shared);
        }
    }
    for path in options.emptied.iter().filter(|path| is_plain(path)) {
        let is_in_home = home.is_some_and(|home| path.starts_with(home) && path != home);
        if is_in_home && look(path) == PathKind::Folder && !holds_more(path) {
            places.insert(path.clone(), Shown::Empty);
        }
    }
    for path in options.copied.iter().filter(|path| is_plain(path)) {
        let is_in_home = home.is_some_and(|home| path.parent() == Some(home));
        if is_in_home && !path.starts_with(workspace) {
            places.insert(path.clone(), Shown::Copy);
        }
    }
    for Beside { folder, masked } in options.beside.iter().filter(|beside| is_plain(&beside.folder)) {
        let is_shown =
            places.iter().any(|(place, shown)| *shown != Shown::Empty && folder.starts_with(place));
        let is_fit = check_workspace(folder, options.home.as_deref()).is_ok();
        if is_fit && look(folder) == PathKind::Folder && !folder.starts_with(workspace) && !is_shown {
            places.insert(folder.clone(), Shown::Tool { masked: masked.clone() });
        }
    }
    places.insert(workspace.to_owned(), Shown::Workspace { folder: options.workspace.clone() });
    places.extend(without_names(options, look).map(|folder| (workspace.join(folder), Shown::Empty)));
    // A clone is on the disk as a whole, so its build output needs no room of its own.
    let build = options.build.iter().filter(|_| options.tier != Tier::Clone);
    for (room, layer) in build.flat_map(crate::BuildRoom::rooms) {
        let Some(path) = layer.path.as_str().filter(|_| !layer.path.is_root()) else { continue };
        let on_disk = options.workspace.join(path);
        let mut above = on_disk.ancestors().skip(1).take_while(|above| *above != options.workspace);
        // A link on the way to it would lead to another folder.
        if above.all(|above| look(above) == PathKind::Folder) && !matches!(look(&on_disk), PathKind::Link(_))
        {
            let below = if options.tier.copies() { Vec::new() } else { layer.below.clone() };
            places.insert(workspace.join(path), Shown::Build { room, below });
        }
    }
    Ok(places.into_iter().map(|(at, shown)| RootEntry { at, shown }).collect())
}

/// The [folders without names](WITHOUT_NAMES) of the workspace's repository. In a copy nothing is mounted over them.
fn without_names(options: &Options, look: &dyn Fn(&Path) -> PathKind) -> impl Iterator<Item = PathBuf> {
    let is_folder = |below: &Path| look(&options.workspace.join(below)) == PathKind::Folder;
    let shows_them = !options.tier.copies() && is_folder(Path::new(".git"));
    let folders = WITHOUT_NAMES.iter().filter(move |_| shows_them).map(|name| Path::new(".git").join(name));
    folders.filter(move |folder| is_folder(folder))
}

/// The files that are masked in a folder with the name of a tool's folder, wherever it is.
fn tool_named_like(path: &Path) -> Option<&'static [&'static str]> {
    let name = path.file_name()?.to_str()?;
    let plain = |tool: &str| tool.trim_start_matches('.') == name.trim_start_matches('.');
    TOOL_FOLDERS.iter().find(|tool| plain(tool.path)).map(|tool| tool.masked)
}

fn check_workspace(workspace: &Path, home: Option<&Path>) -> Result<(), ShadowError> {
    let refuse = |reason: String| Err(ShadowError::Workspace { path: workspace.to_owned(), reason });
    if !is_plain(workspace) {
        return refuse("its path has to be absolute, without `.` and `..`".to_owned());
    }
    if home.is_some_and(|home| home.starts_with(workspace)) {
        return refuse(
            "it holds the home folder, which a view does not show; open a folder in it".to_owned(),
        );
    }
    let system = SYSTEM_FOLDERS.iter().chain(&EMPTY_FOLDERS).chain(&MADE);
    if let Some(folder) = system.map(Path::new).find(|folder| folder.starts_with(workspace)) {
        let folder = folder.display();
        return refuse(format!("it holds {folder}, which belongs to the system; open a folder in it"));
    }
    if let Some(made) = MADE.iter().find(|made| workspace.starts_with(made)) {
        return refuse(format!("it is in {made}, which a view makes anew; move it"));
    }
    Ok(())
}

/// Whether a path is absolute and has neither `.` nor `..` in it.
fn is_plain(path: &Path) -> bool {
    use std::path::Component;
    path.has_root() && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BuildLayer, BuildRoom};

    fn debian(path: &Path) -> PathKind {
        match path.to_str().unwrap() {
            "/bin" => PathKind::Link("usr/bin".into()),
            "/usr"
            | "/etc"
            | "/opt"
            | "/sys"
            | "/home/ada/.cargo"
            | "/home/ada/go"
            | "/home/ada/bin"
            | "/home"
            | "/srv/cargo"
            | "/"
            | "/home/ada"
            | "/usr/bin"
            | "/home/ada/p/bin"
            | "/home/ada/.cargo/bin" => PathKind::Folder,
            "/etc/passwd" | "/home/ada/.cargo/index.db" | "/home/ada/.bashrc" | "/home/ada/p/a" => {
                PathKind::File
            }
            _ => PathKind::Nothing,
        }
    }

    fn options(workspace: &str) -> Options {
        Options { home: Some("/home/ada".into()), ..Options::new(workspace) }
    }

    fn shown(options: &Options) -> Vec<(String, String)> {
        let word = |shown: &Shown| match shown {
            Shown::ReadOnly => "read-only".to_owned(),
            Shown::Link(target) => format!("-> {}", target.display()),
            Shown::Empty => "empty".to_owned(),
            Shown::Tool { masked } => format!("tool without {}", masked.len()),
            Shown::Shared => "the machine's".to_owned(),
            Shown::Copy => "a copy".to_owned(),
            Shown::Workspace { folder } => format!("workspace of {}", folder.display()),
            Shown::Build { room, below } => format!("{} over {}", room.display(), below.len()),
        };
        let places = layout(options, &debian).unwrap();
        places.iter().map(|place| (place.at.display().to_string(), word(&place.shown))).collect()
    }

    #[test]
    fn only_what_is_on_the_list_is_shown() {
        let expected = [
            ("/bin", "-> usr/bin"),
            ("/etc", "read-only"),
            ("/home/ada", "empty"),
            ("/home/ada/.cargo", "tool without 2"),
            ("/home/ada/go", "tool without 0"),
            ("/home/ada/p", "workspace of /home/ada/p"),
            ("/opt", "read-only"),
            ("/run", "empty"),
            ("/sys", "read-only"),
            ("/tmp", "empty"),
            ("/usr", "read-only"),
            ("/var/tmp", "empty"),
        ];
        assert_eq!(
            shown(&options("/home/ada/p")),
            expected.map(|(at, word)| (at.to_owned(), word.to_owned()))
        );
    }

    #[test]
    fn a_folder_of_programs_opens_nothing_else() {
        let before = shown(&options("/home/ada/p"));
        // None of these may be shared: they hold the home or the workspace, are shown already, do not exist or are
        // not plain paths.
        for path in [
            "/",
            "/home",
            "/home/ada",
            "/home/ada/p/bin",
            "/usr/bin",
            "/home/ada/.cargo/bin",
            "/gone",
            "bin",
            "/usr/../home",
        ] {
            let with =
                Options { programs: vec![path.into()], show: vec![path.into()], ..options("/home/ada/p") };
            assert_eq!(shown(&with), before, "{path}");
        }
        let with = Options { programs: vec!["/home/ada/bin".into()], ..options("/home/ada/p") };
        assert!(shown(&with).contains(&("/home/ada/bin".to_owned(), "read-only".to_owned())));
        let with = Options { tools: vec!["/srv/cargo".into()], ..options("/home/ada/p") };
        assert!(shown(&with).contains(&("/srv/cargo".to_owned(), "tool without 2".to_owned())));
    }

    #[test]
    fn only_what_is_in_the_home_is_shared_or_emptied() {
        let before = shown(&options("/home/ada/p"));
        for path in [
            "/",
            "/home",
            "/home/ada",
            "/etc",
            "/usr/bin",
            "/srv/cargo",
            "/home/ada/p",
            "/home/ada/p/bin",
            "/gone",
            "bin",
            "/home/ada/../bob",
            "/etc/passwd",
            "/home/ada/p/a",
            "/home/ada/.bashrc",
        ] {
            let with = Options { shared: vec![path.into()], ..options("/home/ada/p") };
            assert_eq!(shown(&with), before, "{path}");
        }
        for path in ["/", "/home", "/home/ada", "/home/ada/p", "/home/ada/p/bin", "/etc", "/home/ada/.bashrc"]
        {
            let with = Options { emptied: vec![path.into()], ..options("/home/ada/p") };
            assert_eq!(shown(&with), before, "{path}");
        }
        let with = Options { emptied: vec!["/home/ada/.cargo/bin".into()], ..options("/home/ada/p") };
        assert!(shown(&with).contains(&("/home/ada/.cargo/bin".to_owned(), "empty".to_owned())));
        let with = Options { shared: vec!["/home/ada/.cargo/index.db".into()], ..options("/home/ada/p") };
        assert!(shown(&with).contains(&("/home/ada/.cargo/index.db".to_owned(), "the machine's".to_owned())));
        let with = Options { shared: vec!["/home/ada/.cargo/bin".into()], ..options("/home/ada/p") };
        assert!(shown(&with).contains(&("/home/ada/.cargo/bin".to_owned(), "the machine's".to_owned())));
        // A workspace inside it would be written directly.
        let within = Options { shared: vec!["/home/ada/go".into()], ..options("/home/ada/go/src/p") };
        assert_eq!(shown(&within), shown(&options("/home/ada/go/src/p")));
        for path in ["/etc/passwd", "/home/ada/p/a", "/home/ada/.ssh/id", "/home/ada/../bob/.x"] {
            let with = Options { copied: vec![path.into()], ..options("/home/ada/p") };
            assert_eq!(shown(&with), before, "{path}");
        }
        let with = Options { copied: vec!["/home/ada/.tool.json".into()], ..options("/home/ada/p") };
        assert!(shown(&with).contains(&("/home/ada/.tool.json".to_owned(), "a copy".to_owned())));
    }

    #[test]
    fn a_copy_is_shown_where_its_workspace_is() {
        let path = headstart_workspace_path::WorkspacePath::parse("bin").unwrap();
        let build = BuildRoom {
            folder: "/room".into(),
            layers: vec![BuildLayer { path, below: Vec::new() }],
            bytes: 1,
            measured: "/room".into(),
        };
        let copy =
            Options { shown_at: Some("/srv/project".into()), build: Some(build), ..options("/home/ada/p") };
        let places = shown(&copy);
        for (at, word) in
            [("/srv/project", "workspace of /home/ada/p"), ("/srv/project/bin", "/room/0 over 0")]
        {
            assert!(places.contains(&(at.to_owned(), word.to_owned())), "{places:?}");
        }
        assert!(!places.iter().any(|(at, _)| at == "/home/ada/p"), "{places:?}");
        let elsewhere = Options { shown_at: Some("/etc".into()), ..options("/home/ada/p") };
        assert!(layout(&elsewhere, &debian).is_err());
    }

    #[test]
    fn a_workspace_in_a_tools_folder_comes_after_it() {
        let places = shown(&options("/home/ada/go/src/p"));
        let at = |path: &str| places.iter().position(|(at, _)| at == path).unwrap();
        assert!(at("/home/ada") < at("/home/ada/go") && at("/home/ada/go") < at("/home/ada/go/src/p"));
    }

    #[test]
    fn a_workspace_that_holds_what_a_view_makes_is_refused() {
        for workspace in [
            "/",
            "/home",
            "/home/ada",
            "/usr",
            "/etc",
            "/tmp",
            "/var",
            "/proc/1",
            "/sys/x",
            "/dev/shm/x",
            "p",
            "/a/../b",
        ] {
            let refused = layout(&options(workspace), &debian);
            assert!(matches!(refused, Err(ShadowError::Workspace { .. })), "{workspace}: {refused:?}");
        }
        for workspace in ["/work", "/tmp/p", "/opt/app", "/run/user/1000/p", "/home/bob/p"] {
            assert!(layout(&options(workspace), &debian).is_ok(), "{workspace}");
        }
    }
}
