//! A path below a workspace root, in one spelling, that cannot leave the root.
//!
//! [`WorkspacePath`] is a sequence of names: no `.`, no `..`, no empty name, no NUL. An empty sequence is the workspace
//! itself. `..` is resolved by the text alone, and a path that would step above the root is refused, so code that has a
//! value of this type need not check again. Two spellings of one path (`src//./a.rs`, `src/x/../a.rs`) are equal.
//!
//! ```
//! use headstart_workspace_path::{PathError, WorkspacePath};
//!
//! let path = WorkspacePath::resolve("/home/ada/project/src/../README.md", "/home/ada/project")?;
//! assert_eq!(path.to_string(), "README.md");
//! assert!(matches!(WorkspacePath::parse("../secret"), Err(PathError::Outside { .. })));
//! # Ok::<(), PathError>(())
//! ```
//!
//! A [`Glob`] is a pattern of such paths.
//!
//! # Limitations
//!
//! The crate only sees text. Whether a name is a symbolic link, and where that leads, must be found out by the tree
//! that opens the path (`headstart-overlay-fs` opens it below a directory handle). Names are separated by `/`; case and
//! Unicode form are kept as they are.

mod glob;

use std::fmt;

pub use glob::{Glob, GlobError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why a text is not a path inside the workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The path steps above the root, or is absolute and not below it.
    #[error("{path:?} is outside the workspace; use a path inside it")]
    Outside {
        /// The path as it was given.
        path: String,
    },
    /// The path holds a NUL byte, which no file name can.
    #[error("{path:?} contains a NUL byte")]
    Nul {
        /// The path as it was given.
        path: String,
    },
    /// The path is the empty string.
    #[error("the path is empty; use \".\" for the workspace itself")]
    Empty,
}

/// A normalised path below a workspace root. Names are bytes, as on Unix; most are UTF-8.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct WorkspacePath(Vec<u8>);

impl WorkspacePath {
    /// The workspace itself.
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// A path relative to the root.
    pub fn parse(relative: &str) -> Result<Self, PathError> {
        Self::from_bytes(relative.as_bytes())
    }

    /// A path relative to the root, of any bytes.
    pub fn from_bytes(relative: &[u8]) -> Result<Self, PathError> {
        Self::root().join_bytes(relative)
    }

    /// A path as a model writes it: relative to `root`, or absolute and below `root`.
    ///
    /// `root` is an absolute path without `.` or `..`. If it is relative or contains `..`, every absolute `path` is
    /// refused. If it begins with a drive of Windows (`C:/`), `\` separates names in both, as there.
    pub fn resolve(path: &str, root: &str) -> Result<Self, PathError> {
        if let Some((drive, below)) = split_drive(root) {
            return Self::resolve_on_drive(path, drive, below);
        }
        if !path.starts_with('/') {
            return Self::parse(path);
        }
        let outside = || PathError::Outside { path: path.to_owned() };
        let absolute = Self::parse(path.trim_start_matches('/')).or_else(|error| match error {
            PathError::Empty => Ok(Self::root()),
            _ => Err(error),
        })?;
        let root = Self::parse_root(root).ok_or_else(outside)?;
        let rest = absolute.strip_prefix(&root).ok_or_else(outside)?;
        Ok(rest)
    }

    /// A path as [`resolve`](Self::resolve) takes it, for the root `below` on a drive.
    fn resolve_on_drive(path: &str, drive: char, below: &str) -> Result<Self, PathError> {
        let outside = || PathError::Outside { path: path.to_owned() };
        let is_drive = path.as_bytes().get(1) == Some(&b':');
        let path = path.replace('\\', "/");
        if !is_drive {
            return Self::parse(&path);
        }
        // `C:a` is relative to a folder that only the process with that drive knows.
        let (of_path, absolute) = split_drive(&path).ok_or_else(outside)?;
        if !of_path.eq_ignore_ascii_case(&drive) {
            return Err(outside());
        }
        Self::resolve(absolute, &below.replace('\\', "/")).map_err(|error| match error {
            PathError::Outside { .. } => outside(),
            error => error,
        })
    }

    /// The root as a path below `/`. `None` for a root with a `..`, because only the disk knows where that leads (the
    /// name before it may be a symbolic link).
    fn parse_root(root: &str) -> Option<Self> {
        let below = root.strip_prefix('/').filter(|below| !below.split('/').any(|name| name == ".."))?;
        match Self::parse(below.trim_start_matches('/')) {
            Err(PathError::Empty) => Some(Self::root()),
            parsed => parsed.ok(),
        }
    }

    /// This path followed by `relative`. A `..` in it may step up, at most to the root.
    pub fn join(&self, relative: &str) -> Result<Self, PathError> {
        self.join_bytes(relative.as_bytes())
    }

    /// As [`join`](Self::join), of any bytes.
    pub fn join_bytes(&self, relative: &[u8]) -> Result<Self, PathError> {
        let shown = || String::from_utf8_lossy(relative).into_owned();
        if relative.is_empty() {
            return Err(PathError::Empty);
        }
        if relative.contains(&0) {
            return Err(PathError::Nul { path: shown() });
        }
        if relative.starts_with(b"/") {
            return Err(PathError::Outside { path: shown() });
        }
        let mut joined = self.0.clone();
        for name in relative.split(|byte| *byte == b'/') {
            match name {
                b"" | b"." => {}
                b".." if joined.is_empty() => return Err(PathError::Outside { path: shown() }),
                b".." => joined.truncate(joined.iter().rposition(|byte| *byte == b'/').unwrap_or(0)),
                name => {
                    if !joined.is_empty() {
                        joined.push(b'/');
                    }
                    joined.extend_from_slice(name);
                }
            }
        }
        Ok(Self(joined))
    }

    /// Whether this is the workspace itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path of the folder that holds this one; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        let cut = self.0.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        Some(Self(self.0[..cut].to_vec()))
    }

    /// The last name; `None` for the root.
    pub fn file_name(&self) -> Option<&[u8]> {
        self.0.rsplit(|byte| *byte == b'/').next().filter(|name| !name.is_empty())
    }

    /// The names from the root down.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.0.split(|byte| *byte == b'/').filter(|name| !name.is_empty())
    }

    /// Whether this path is `folder` or below it.
    pub fn starts_with(&self, folder: &Self) -> bool {
        folder.is_root()
            || (self.0.starts_with(&folder.0) && matches!(self.0.get(folder.0.len()), None | Some(b'/')))
    }

    /// What follows `folder`, if this path is `folder` or below it.
    pub fn strip_prefix(&self, folder: &Self) -> Option<Self> {
        if !self.starts_with(folder) {
            return None;
        }
        let rest = &self.0[folder.0.len()..];
        Some(Self(rest.strip_prefix(b"/").unwrap_or(rest).to_vec()))
    }

    /// The bytes, names separated by `/`; empty for the root.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text, if every name is UTF-8; empty for the root.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }
}

/// The letter of the drive with which an absolute path of Windows begins, and what follows the `:`.
fn split_drive(path: &str) -> Option<(char, &str)> {
    let (drive, below) = path.split_once(':')?;
    let mut letters = drive.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) if letter.is_ascii_alphabetic() && below.starts_with(['/', '\\']) => {
            Some((letter, below))
        }
        _ => None,
    }
}

/// `.` for the root; bytes that are not UTF-8 show as U+FFFD.
impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str(".");
        }
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

/// A string if the path is UTF-8 (`.` for the root), otherwise an array of bytes.
impl Serialize for WorkspacePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.as_str() {
            Some("") => serializer.serialize_str("."),
            Some(text) => serializer.serialize_str(text),
            None => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for WorkspacePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "must be a path: a string, or an array of its bytes")]
        enum Spelling {
            Text(String),
            Bytes(Vec<u8>),
        }
        match Spelling::deserialize(deserializer)? {
            Spelling::Text(text) => Self::parse(&text),
            Spelling::Bytes(bytes) => Self::from_bytes(&bytes),
        }
        .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spellings_of_one_path_are_equal() {
        for spelling in ["a/b", "./a/b", "a//b", "a/./b/", "a/x/../b", "x/../a/b"] {
            assert_eq!(WorkspacePath::parse(spelling).unwrap().as_bytes(), b"a/b", "{spelling}");
        }
        for spelling in [".", "./", "a/..", "a/b/../.."] {
            assert!(WorkspacePath::parse(spelling).unwrap().is_root(), "{spelling}");
        }
    }

    #[test]
    fn a_path_that_leaves_the_root_is_refused() {
        for path in ["..", "../a", "a/../..", "a/../../b", "/etc/passwd", "/"] {
            assert!(matches!(WorkspacePath::parse(path), Err(PathError::Outside { .. })), "{path}");
        }
        assert_eq!(WorkspacePath::parse(""), Err(PathError::Empty));
        assert!(matches!(WorkspacePath::parse("a\0b"), Err(PathError::Nul { .. })));
    }

    #[test]
    fn on_a_drive_of_windows_paths_are_taken_below_the_root_only() {
        let cases = [
            (r"C:\w\p\src\a.rs", Some("src/a.rs")),
            ("c:/w/p/a", Some("a")),
            (r"C:\w\p", Some("")),
            (r"C:\w\p\..\p\a", Some("a")),
            (r"src\..\a", Some("a")),
            ("src/a", Some("src/a")),
            (r"C:\w\pa", None),
            (r"C:\w\p\..\q", None),
            (r"D:\w\p\a", None),
            ("C:a", None),
            ("C:", None),
            (r"..\a", None),
            (r"\w\p\a", None),
            ("/w/p/a", None),
            (r"\\server\share\a", None),
            (r"\\?\C:\w\p\a", None),
        ];
        for root in ["C:/w/p", r"C:\w\p", "C:/w/p/"] {
            for (path, expected) in cases {
                let resolved = WorkspacePath::resolve(path, root);
                let resolved = resolved.as_ref().map(|path| path.as_str().unwrap()).ok();
                assert_eq!(resolved, expected, "{path} in {root}");
            }
        }
        assert!(WorkspacePath::resolve(r"C:\w\p\a", r"C:\w\..\p").is_err());
        // On other systems these are names like others.
        assert_eq!(WorkspacePath::resolve(r"a\b", "/w").unwrap().as_str(), Some(r"a\b"));
    }

    #[test]
    fn absolute_paths_are_taken_below_the_root_only() {
        let cases = [
            ("/w/p", Some("")),
            ("/w/p/", Some("")),
            ("/w/p/a", Some("a")),
            ("//w//p/./a", Some("a")),
            ("/w/p/../p/a", Some("a")),
            ("/w/pa", None),
            ("/w/p/../q", None),
            ("/w", None),
            ("/", None),
            ("/../../w/p", None),
        ];
        for (path, expected) in cases {
            let resolved = WorkspacePath::resolve(path, "/w/p");
            assert_eq!(resolved.as_ref().ok().and_then(WorkspacePath::as_str), expected, "{path}");
        }
        assert_eq!(WorkspacePath::resolve("/etc", "/").unwrap().as_bytes(), b"etc");
    }

    #[test]
    fn under_a_root_that_steps_up_or_is_not_absolute_there_is_nothing() {
        for root in ["/..", "/a/..", "/a/../../w", "/w/../w", "", "w", "../w", "/w\0"] {
            for path in ["/etc/passwd", "/w/a", "/w", "/"] {
                let resolved = WorkspacePath::resolve(path, root);
                assert!(
                    matches!(resolved, Err(PathError::Outside { .. })),
                    "{path} under {root:?}: {resolved:?}"
                );
            }
            assert!(WorkspacePath::resolve("a", root).is_ok(), "{root:?}");
        }
    }

    #[test]
    fn a_folder_is_no_prefix_of_its_neighbour() {
        let path = WorkspacePath::parse("src/lib.rs").unwrap();
        assert!(path.starts_with(&WorkspacePath::parse("src").unwrap()));
        assert!(!path.starts_with(&WorkspacePath::parse("sr").unwrap()));
        assert!(path.starts_with(&WorkspacePath::root()));
        assert_eq!(path.parent().unwrap().as_bytes(), b"src");
        assert_eq!(path.file_name().unwrap(), b"lib.rs");
        assert_eq!(path.parent().unwrap().parent().unwrap(), WorkspacePath::root());
        assert_eq!(WorkspacePath::root().parent(), None);
    }

    proptest! {
        #[test]
        fn no_name_of_a_path_is_special(bytes in proptest::collection::vec(prop_oneof![Just(b'/'), Just(b'.'), Just(b'a'), any::<u8>()], 0..24)) {
            if let Ok(path) = WorkspacePath::from_bytes(&bytes) {
                for name in path.names() {
                    prop_assert!(!name.is_empty() && name != b"." && name != b".." && !name.contains(&0));
                }
                let json = serde_json::to_string(&path).unwrap();
                prop_assert_eq!(serde_json::from_str::<WorkspacePath>(&json).unwrap(), path.clone());
                if !path.is_root() {
                    prop_assert_eq!(WorkspacePath::from_bytes(path.as_bytes()).unwrap(), path);
                }
            }
        }
    }
}
