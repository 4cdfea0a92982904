//! Builds the root folder of a view from an allow-list.
//!
//! It is built as a tree of mounts beside the machine's own. Then it becomes the root, and the machine's is detached,
//! so that no path reaches what is not attached here. All sources are opened first, because the folder at which the
//! tree is put together hides what is below it.

mod masked;

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
    mount_change, mount_remount, move_mount, open_tree, unmount,
};

use super::bounds::{bound_processes, bound_watches, no_more_user_namespaces};
use super::overlay::{folder, folder_in, make_folder, mounted, overlay};
use super::plan::{Plan, Separation};
use crate::folders::MASKED;
use crate::os::{mountinfo, refused, written};
use crate::{Limits, Network, Refusal, RootEntry, Shown};

/// What was built.
pub(super) struct Built {
    /// The file system that holds everything that is written.
    pub(super) written: OwnedFd,
    /// The root of the view of the workspace.
    pub(super) view: OwnedFd,
    /// The folders in which something can be written.
    pub(super) writable: Vec<PathBuf>,
}

/// The folder at which the tree is put together; every system has it. Its content stays as it is.
const BUILDING_SITE: &str = "/tmp";
/// Devices that keep no data.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
/// An address that belongs to nobody, so that a name lookup has no route, which the kernel counts.
const RESOLVER: &str = "nameserver 192.0.2.1\noptions timeout:1 attempts:1\n";
/// Where the kernel tells of the machine: no program has a socket, a pipe or a lock there.
const OF_KERNEL: &str = "/sys";
/// Folders that only the system's packages write to. Where no overlay can be made, they are not searched for sockets and
/// pipes, because that would take longer than all the rest.
const OF_SYSTEM: [&str; 8] = ["/bin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/sbin", "/usr"];
/// The most names among which sockets and pipes are looked for.
const MOST_NAMES: usize = 50_000;
/// Inodes for the root folder itself, besides those that commands may use.
const OWN_INODES: u64 = 1024;

/// The opened source of a place.
enum Source {
    /// A mount to attach.
    Mount(OwnedFd),
    /// A mount to attach, and its folder as the layer of an overlay that is attached in its place if it can be made.
    Folder { mount: OwnedFd, layer: Option<OwnedFd> },
    /// A layer under an overlay.
    Layer(OwnedFd),
    /// Layers under an overlay, and the folder in which its writes are kept.
    Kept { layers: Vec<OwnedFd>, room: OwnedFd },
    /// A mount for a tool's folder, shown read-only without an overlay.
    Closed(OwnedFd),
    /// A writable folder of the machine that was made for this view.
    Given(OwnedFd),
    /// A folder in memory that the caller fills.
    Filled,
    /// A copy of a file of the machine; `None` if it cannot be copied.
    Copied(Option<Vec<u8>>),
    /// Nothing of the machine's.
    Made,
}

/// What every root needs, whatever the plan says; not mounted yet.
pub(super) struct Parts {
    devices: [(&'static str, Result<OwnedFd, Refusal>); DEVICES.len()],
    terminals: OwnedFd,
    processes: OwnedFd,
}

impl Parts {
    pub(super) fn new() -> Result<Self, Refusal> {
        // A private copy of the mounts would keep a volume busy that is removed on the machine.
        mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
            .map_err(|error| refused("mount", "/, MS_SLAVE", error))?;
        let devices = DEVICES.map(|name| (name, copy(CWD, &Path::new("/dev").join(name), false)));
        let options = [("ptmxmode", Some("0666")), ("mode", Some("0620"))];
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let terminals = mounted("devpts", &options, attributes)?;
        let processes = mounted("proc", &[], own_attributes() | MountAttrFlags::MOUNT_ATTR_NOEXEC)
            .map_err(|refusal| Refusal { message: covered(&refusal.message), ..refusal })?;
        Ok(Self { devices, terminals, processes })
    }
}

/// The kernel gives no new `/proc` where parts of the machine's are covered.
fn covered(message: &str) -> String {
    format!(
        "{message}; a container that covers parts of /proc forbids it: start it with `--security-opt systempaths=unconfined` (podman: `unmask=ALL`)"
    )
}

/// Builds the root and enters it.
pub(super) fn build(plan: &Plan, parts: Parts, network: Network) -> Result<Built, Refusal> {
    let workspace = plan.places.iter().find_map(|place| match &place.shown {
        Shown::Workspace { folder } => Some((&*place.at, &**folder)),
        _ => None,
    });
    let machines = mounts()?;
    let source = |place| source(place, workspace, &plan.apart, &machines);
    let sources = plan.places.iter().map(source).collect::<Result<Vec<_>, _>>()?;
    let written = tmpfs(&plan.limits)?;
    attach(&written, CWD, Path::new(BUILDING_SITE))?;
    make_folder(&written, Path::new("root"))?;
    let root = copy(&written, Path::new("root"), false)?;
    attach(&root, CWD, Path::new(BUILDING_SITE))?;

    let mut site = TreeBuilder { root, written, writable: Vec::new(), machines: Vec::new() };
    site.nothing()?;
    let mut view = None;
    for (number, (place, source)) in plan.places.iter().zip(sources).enumerate() {
        let made = site.place(number, place, source)?;
        if matches!(place.shown, Shown::Workspace { .. }) {
            view = made;
        }
    }
    site.devices(parts.devices, &parts.terminals)?;
    site.attach_at(&parts.processes, Path::new("/proc"))?;
    let covered = site.mask()?;
    site.resolver(network)?;
    let TreeBuilder { root, written, writable, machines: _ } = site;
    enter(&root)?;
    drop(root);
    no_more_user_namespaces()?;
    bound_processes(&plan.limits);
    bound_watches();
    close_all_else(&writable, &covered)?;
    let view =
        view.ok_or_else(|| refused("plan", "the workspace", std::io::Error::other("it is missing")))?;
    Ok(Built { written, view, writable })
}

/// Opens the source of a place. `workspace` has its paths in the view and on the machine.
fn source(
    place: &RootEntry,
    workspace: Option<(&Path, &Path)>,
    apart: &Separation,
    machines: &[mountinfo::Mount],
) -> Result<Source, Refusal> {
    Ok(match (&place.shown, apart) {
        (Shown::Workspace { .. }, Separation::Memory) => Source::Filled,
        (Shown::Workspace { .. }, Separation::Disk(folder)) => Source::Given(copy(CWD, folder, false)?),
        (Shown::Build { room, .. }, Separation::Memory | Separation::Disk(_)) => {
            make_folder(&folder(room)?, Path::new(written::BUILD_UPPER))?;
            Source::Given(copy(CWD, &room.join(written::BUILD_UPPER), false)?)
        }
        (Shown::Tool { .. }, Separation::Memory | Separation::Disk(_)) => {
            Source::Closed(copy(CWD, &place.at, true)?)
        }
        (Shown::ReadOnly, _) if place.at.starts_with(OF_KERNEL) => Source::Mount(copy(CWD, &place.at, true)?),
        (Shown::ReadOnly, apart) => {
            // An overlay does not show what is mounted in its layers.
            let is_whole = mountinfo::below(machines, &place.at).next().is_none();
            let layer = (*apart == Separation::Overlay && is_whole).then(|| folder(&place.at)).transpose()?;
            Source::Folder { mount: copy(CWD, &place.at, true)?, layer }
        }
        (Shown::Shared, _) => Source::Given(copy(CWD, &place.at, false)?),
        (Shown::Copy, _) => Source::Copied(small_file(&place.at)),
        (Shown::Tool { .. }, Separation::Overlay) => Source::Layer(folder(&place.at)?),
        (Shown::Workspace { folder: on_disk }, Separation::Overlay) => Source::Layer(folder(on_disk)?),
        (Shown::Build { room, below }, Separation::Overlay) => {
            let room = folder(room)?;
            let mut layers = below.iter().map(|layer| folder(layer)).collect::<Result<Vec<_>, _>>()?;
            let path = workspace.and_then(|(at, on_disk)| Some((on_disk, place.at.strip_prefix(at).ok()?)));
            if let Some((workspace, path)) = path {
                layers.extend(folder_in(folder(workspace)?, path)?);
            }
            if layers.is_empty() {
                make_folder(&room, Path::new(written::BUILD_NOTHING))?;
                layers.extend(folder_in(&room, Path::new(written::BUILD_NOTHING))?);
            }
            Source::Kept { layers, room }
        }
        (Shown::Link(_) | Shown::Empty, _) => Source::Made,
    })
}

/// The content of a regular file that is small enough for a copy in memory.
fn small_file(path: &Path) -> Option<Vec<u8>> {
    const MOST: u64 = 16 << 20;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::File::from(rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?);
    let found = file.metadata().ok().filter(|found| found.is_file() && found.len() <= MOST)?;
    let mut content = Vec::new();
    let read = file.take(found.len()).read_to_end(&mut content);
    read.is_ok().then_some(content)
}

fn own_attributes() -> MountAttrFlags {
    MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV
}

fn tmpfs(limits: &Limits) -> Result<OwnedFd, Refusal> {
    let (bytes, files) = (limits.bytes.to_string(), limits.files.saturating_add(OWN_INODES).to_string());
    let options = [("size", Some(bytes.as_str())), ("nr_inodes", Some(&files)), ("mode", Some("700"))];
    mounted("tmpfs", &options, own_attributes())
}

/// A copy of the mount at this path; with `recursive`, including the mounts below it.
fn copy(at: impl AsFd, path: &Path, recursive: bool) -> Result<OwnedFd, Refusal> {
    let mut flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    flags.set(OpenTreeFlags::AT_RECURSIVE, recursive);
    open_tree(at, path, flags)
        .map_err(|error| refused("open_tree", path.as_os_str().as_encoded_bytes(), error))
}

fn attach(mount: &OwnedFd, at: impl AsFd, path: &Path) -> Result<(), Refusal> {
    move_mount(mount, "", at, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
        .map_err(|error| refused("move_mount", path.as_os_str().as_encoded_bytes(), error))
}

/// A path of the view relative to its root.
fn relative(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

struct TreeBuilder {
    root: OwnedFd,
    written: OwnedFd,
    writable: Vec<PathBuf>,
    /// The folders of the machine that are shown as they are, and in which programs may have sockets and pipes.
    machines: Vec<PathBuf>,
}

impl TreeBuilder {
    /// Attaches a source at its place; returns the mount if one was made.
    fn place(
        &mut self,
        number: usize,
        place: &RootEntry,
        source: Source,
    ) -> Result<Option<OwnedFd>, Refusal> {
        let RootEntry { at, shown } = place;
        match (source, shown) {
            (Source::Mount(mount), _) => {
                self.attach_at(&mount, at)?;
                Ok(None)
            }
            (Source::Folder { mount, layer }, _) => {
                let own = layer.map(|layer| {
                    overlay(&[layer], &self.written, &written::upper(number), &written::work(number))
                });
                // An overlay has inodes of its own, so nothing leads through it to a socket, a pipe or a lock of the
                // machine's. Nothing can be written in it either, because it is none of the folders for that.
                if let Some(Ok(own)) = own {
                    self.attach_at(&own, at)?;
                } else {
                    self.attach_at(&mount, at)?;
                    if !OF_SYSTEM.iter().any(|system| at.starts_with(system)) {
                        self.machines.push(at.clone());
                    }
                }
                Ok(None)
            }
            (Source::Layer(layer), shown) => {
                let (upper, work) = (written::upper(number), written::work(number));
                let mount = overlay(&[layer], &self.written, &upper, &work)?;
                let masked = if let Shown::Tool { masked } = shown { masked.as_slice() } else { &[] };
                let mut folders = Vec::new();
                for path in masked {
                    if !mask_in(&mount, path)? {
                        folders.push(at.join(path));
                    }
                }
                self.attach_at(&mount, at)?;
                folders.iter().try_for_each(|folder| self.mask_file(folder))?;
                self.writable.push(at.clone());
                Ok(Some(mount))
            }
            (Source::Kept { layers, room }, _) => {
                let mount = overlay(&layers, &room, written::BUILD_UPPER, written::BUILD_WORK)?;
                self.attach_at(&mount, at)?;
                self.writable.push(at.clone());
                Ok(None)
            }
            (Source::Closed(mount), shown) => {
                self.attach_at(&mount, at)?;
                self.machines.push(at.clone());
                let masked = if let Shown::Tool { masked } = shown { masked.as_slice() } else { &[] };
                for path in masked {
                    self.mask_file(&at.join(path))?;
                }
                Ok(None)
            }
            (Source::Given(mount), _) => {
                self.attach_at(&mount, at)?;
                self.writable.push(at.clone());
                Ok(Some(mount))
            }
            (Source::Filled, _) => {
                let name = written::upper(number);
                make_folder(&self.written, Path::new(&name))?;
                let mount = copy(&self.written, Path::new(&name), false)?;
                self.attach_at(&mount, at)?;
                self.writable.push(at.clone());
                Ok(Some(mount))
            }
            (Source::Copied(content), _) => {
                let Some(content) = content else { return Ok(None) };
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                let file = rustix::fs::openat(&self.root, relative(at), flags, Mode::from_raw_mode(0o600))
                    .map_err(|error| refused("openat", at.as_os_str().as_encoded_bytes(), error))?;
                fs::File::from(file)
                    .write_all(&content)
                    .map_err(|error| refused("write", at.as_os_str().as_encoded_bytes(), error))?;
                Ok(None)
            }
            (Source::Made, Shown::Link(target)) => {
                self.make_way(at)?;
                rustix::fs::symlinkat(target, &self.root, relative(at))
                    .map_err(|error| refused("symlinkat", at.as_os_str().as_encoded_bytes(), error))?;
                Ok(None)
            }
            (Source::Made, _) => {
                self.empty(&written::empty(number), at, 0o700)?;
                Ok(None)
            }
        }
    }

    /// Makes a folder in which everything that is written is discarded.
    fn empty(&mut self, name: &str, at: &Path, mode: u32) -> Result<(), Refusal> {
        make_folder(&self.written, Path::new(name))?;
        // Folders that everybody may write have the same mode here, because programs check it.
        let mode = if at.starts_with("/tmp") || at.starts_with("/var/tmp") { 0o1777 } else { mode };
        rustix::fs::chmodat(&self.written, name, Mode::from_raw_mode(mode), AtFlags::empty())
            .map_err(|error| refused("fchmodat", name, error))?;
        let mount = copy(&self.written, Path::new(name), false)?;
        self.attach_at(&mount, at)?;
        self.writable.push(at.to_owned());
        Ok(())
    }

    /// Makes the folders up to a path, unless what is shown there has them: a folder of the machine must not be
    /// changed.
    fn make_way(&self, at: &Path) -> Result<(), Refusal> {
        let above = at.parent().unwrap_or(at);
        if rustix::fs::statat(&self.root, relative(above), AtFlags::empty()).is_err() {
            make_folder(&self.root, relative(above))?;
        }
        Ok(())
    }

    fn attach_at(&self, mount: &OwnedFd, at: &Path) -> Result<(), Refusal> {
        if rustix::fs::statat(&self.root, relative(at), AtFlags::SYMLINK_NOFOLLOW).is_err() {
            self.make_way(at)?;
            make_folder(&self.root, relative(at))?;
        }
        attach(mount, &self.root, relative(at))
    }

    fn devices(
        &mut self,
        devices: [(&str, Result<OwnedFd, Refusal>); DEVICES.len()],
        terminals: &OwnedFd,
    ) -> Result<(), Refusal> {
        make_folder(&self.root, Path::new("dev"))?;
        for (name, device) in devices {
            let at = Path::new("dev").join(name);
            self.empty_file(&at)?;
            attach(&device?, &self.root, &at)?;
        }
        for (name, target) in DEVICE_LINKS {
            rustix::fs::symlinkat(target, &self.root, Path::new("dev").join(name))
                .map_err(|error| refused("symlinkat", name, error))?;
        }
        self.attach_at(terminals, Path::new("/dev/pts"))?;
        self.writable.push("/dev/pts".into());
        self.empty("shm", Path::new("/dev/shm"), 0o1777)
    }

    fn empty_file(&self, at: &Path) -> Result<OwnedFd, Refusal> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        rustix::fs::openat(&self.root, at, flags, Mode::from_raw_mode(0o644))
            .map_err(|error| refused("openat", at.as_os_str().as_encoded_bytes(), error))
    }

    /// Makes the empty file and folder that cover what no command may read.
    fn nothing(&self) -> Result<(), Refusal> {
        make_folder(&self.written, Path::new("nothing"))?;
        let file = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
        rustix::fs::openat(&self.written, "no-file", file, Mode::from_raw_mode(0o444))
            .map(drop)
            .map_err(|error| refused("openat", "no-file", error))
    }

    /// Covers a path with an empty file or folder, if it exists.
    fn mask_file(&self, path: &Path) -> Result<(), Refusal> {
        let at = relative(path);
        let Ok(found) = rustix::fs::statat(&self.root, at, AtFlags::SYMLINK_NOFOLLOW) else { return Ok(()) };
        let over = match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => "nothing",
            FileType::Symlink => return Ok(()),
            _ => "no-file",
        };
        attach(&copy(&self.written, Path::new(over), false)?, &self.root, at)
    }

    /// Covers what no command may read with empty files and folders; returns the covered paths.
    fn mask(&self) -> Result<Vec<PathBuf>, Refusal> {
        let mut masked: Vec<PathBuf> = MASKED.iter().map(PathBuf::from).collect();
        self.network_devices(&mut masked);
        if rustix::process::getuid().is_root() {
            // Root may read files that nobody else may; in a view it must not.
            self.private_files(Path::new("etc"), 2, &mut masked);
        }
        let mut left = MOST_NAMES;
        for folder in &self.machines {
            self.doors(relative(folder), &mut left, &mut masked);
        }
        masked.sort();
        // Of two mounts at one place only the upper one would be remounted.
        masked.dedup();
        close_covered(&masked)?;
        masked.iter().try_for_each(|path| self.mask_file(path))?;
        Ok(masked)
    }

    /// Has name lookups ask the machine's resolver, or an address to which there is no route.
    fn resolver(&self, network: Network) -> Result<(), Refusal> {
        let machines = match network {
            Network::Own => None,
            // The file that the machine's link leads to may not be shown in the view, so it is copied.
            Network::Machine => Some(fs::read("/etc/resolv.conf").unwrap_or_default()),
        };
        let text = machines.as_deref().unwrap_or(RESOLVER.as_bytes());
        let named = Path::new("/etc/resolv.conf");
        let Some(at) = self.led_to(named) else { return Ok(()) };
        let is_there = rustix::fs::statat(&self.root, relative(&at), AtFlags::SYMLINK_NOFOLLOW).is_ok();
        let write = |file: OwnedFd| {
            fs::File::from(file).write_all(text).map_err(|error| refused("write", "resolv.conf", error))
        };
        if !is_there && self.writable.iter().any(|folder| at.starts_with(folder)) {
            self.make_way(&at)?;
            return write(self.empty_file(relative(&at))?);
        }
        if is_there {
            let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
            let file = rustix::fs::openat(&self.written, "resolver", flags, Mode::from_raw_mode(0o444));
            write(file.map_err(|error| refused("openat", "resolver", error))?)?;
            attach(&copy(&self.written, Path::new("resolver"), false)?, &self.root, relative(&at))?;
        }
        Ok(())
    }

    /// Where a path in the view leads, judging by the text of links at its end; `None` for a circle.
    fn led_to(&self, path: &Path) -> Option<PathBuf> {
        let mut at = path.to_owned();
        for _ in 0..8 {
            let Ok(target) = rustix::fs::readlinkat(&self.root, relative(&at), Vec::new()) else {
                return Some(at);
            };
            let target = PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(
                target.into_bytes(),
            ));
            let mut next = PathBuf::from("/");
            for part in at.parent()?.join(target).components() {
                match part {
                    std::path::Component::ParentDir => drop(next.pop()),
                    std::path::Component::Normal(name) => next.push(name),
                    _ => {}
                }
            }
            at = next;
        }
        None
    }
}

/// Removes a file from an overlay, so that commands do not see it. The answer is `false` for a folder.
fn mask_in(mount: &OwnedFd, path: &Path) -> Result<bool, Refusal> {
    match rustix::fs::unlinkat(mount, path, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT | Errno::NOTDIR) => Ok(true),
        Err(Errno::ISDIR) => Ok(false),
        Err(error) => Err(refused("unlinkat", path.as_os_str().as_encoded_bytes(), error)),
    }
}

/// Makes this the root, and detaches the machine's.
fn enter(root: &OwnedFd) -> Result<(), Refusal> {
    rustix::process::fchdir(root).map_err(|error| refused("fchdir", "the new root", error))?;
    rustix::process::pivot_root(".", ".").map_err(|error| refused("pivot_root", "", error))?;
    unmount(".", UnmountFlags::DETACH).map_err(|error| refused("umount2", "the old root", error))?;
    rustix::process::chdir("/").map_err(|error| refused("chdir", "/", error))
}

/// Remounts read-only what is mounted at and below paths that will be covered, while the tree is put together,
/// because no path leads there later.
fn close_covered(covered: &[PathBuf]) -> Result<(), Refusal> {
    for mount in mounts()? {
        let Ok(at) = mount.at.strip_prefix(BUILDING_SITE) else { continue };
        if !covered.iter().any(|covered| at.starts_with(relative(covered))) {
            continue;
        }
        match close(&mount, false) {
            // This user cannot reach it anyway.
            Err(Errno::ACCESS | Errno::NOENT) => {}
            done => done.map_err(|error| not_closed(&mount, error))?,
        }
    }
    Ok(())
}

/// Remounts everything read-only except what is to be written. This goes by a list of what is written, because
/// `/proc/sys` in a view that root started would otherwise change the machine. What is mounted below covered paths is
/// left out, because no path leads there.
fn close_all_else(writable: &[PathBuf], covered: &[PathBuf]) -> Result<(), Refusal> {
    let is_covered = |at: &Path| covered.iter().any(|covered| at != covered && at.starts_with(covered));
    for mount in mounts()?.iter().filter(|mount| !is_covered(&mount.at)) {
        close(mount, writable.contains(&mount.at)).map_err(|error| not_closed(mount, error))?;
    }
    Ok(())
}

fn mounts() -> Result<Vec<mountinfo::Mount>, Refusal> {
    let path = "/proc/self/mountinfo";
    let text = fs::read(path).map_err(|error| refused("read", path, error))?;
    Ok(mountinfo::mounts(&text))
}

fn not_closed(mount: &mountinfo::Mount, error: Errno) -> Refusal {
    refused("mount", format!("{}, read-only", mount.at.display()), error)
}

/// Remounts a mount that is not restricted yet.
fn close(mount: &mountinfo::Mount, is_writable: bool) -> Result<(), Errno> {
    let least = if is_writable { MountFlags::NOSUID } else { MountFlags::RDONLY | MountFlags::NOSUID };
    if mount.flags.contains(least) {
        return Ok(());
    }
    // A writable folder of the machine must not provide devices either.
    let more = if is_writable { MountFlags::NODEV } else { MountFlags::RDONLY };
    let times = MountFlags::NOATIME | MountFlags::NODIRATIME | MountFlags::RELATIME;
    // A remount that names no flag for access times keeps the current one, which may not be changed.
    let flags = (mount.flags - times) | MountFlags::BIND | MountFlags::NOSUID | more;
    mount_remount(&mount.at, flags, "")
}
