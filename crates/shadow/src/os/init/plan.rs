//! Encodes the plan of a view, for the way from the caller to the first process.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use crate::os::channel::Message;
use crate::{Limits, RootEntry, Shown};

/// How the workspace is kept apart from the one on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::os) enum Separation {
    /// By an overlay over it. Tools and build output have overlays too.
    Overlay,
    /// By an empty folder in memory, which the caller fills. Tools are shown read-only, because there are no
    /// overlays.
    Memory,
    /// By this empty folder, which the caller fills. Tools are shown read-only.
    Disk(PathBuf),
}

/// What the first process is to build.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) apart: Separation,
    pub(super) limits: Limits,
    pub(super) places: Vec<RootEntry>,
}

/// The plan as fields of a message: how the workspace is kept apart, the limits, and for each place its path, a word
/// for its kind, how many fields follow, and those fields.
pub(in crate::os) fn encode(apart: &Separation, limits: &Limits, places: &[RootEntry]) -> Vec<Vec<u8>> {
    let apart = match apart {
        Separation::Overlay => &b"overlay"[..],
        Separation::Memory => b"memory",
        Separation::Disk(folder) => folder.as_os_str().as_bytes(),
    };
    let mut fields = vec![b"plan".to_vec(), apart.to_vec()];
    fields.extend(numbers(limits).map(|number| number.to_string().into_bytes()));
    for RootEntry { at, shown } in places {
        let (word, more) = match shown {
            Shown::ReadOnly => ("read-only", Vec::new()),
            Shown::Link(target) => ("link", vec![target]),
            Shown::Empty => ("empty", Vec::new()),
            Shown::Tool { masked } => ("tool", masked.iter().collect()),
            Shown::Shared => ("shared", Vec::new()),
            Shown::Copy => ("copy", Vec::new()),
            Shown::Workspace { folder } => ("workspace", vec![folder]),
            Shown::Build { room, below } => ("build", [room].into_iter().chain(below).collect()),
        };
        fields.push(at.as_os_str().as_bytes().to_vec());
        fields.push(word.as_bytes().to_vec());
        fields.push(more.len().to_string().into_bytes());
        fields.extend(more.into_iter().map(|path| path.as_os_str().as_bytes().to_vec()));
    }
    fields
}

fn numbers(limits: &Limits) -> [u64; 8] {
    let Limits { bytes, files, processes, memory, address_space, file_bytes, open_files, processors } =
        *limits;
    [bytes, files, processes, memory, address_space, file_bytes, open_files, processors]
}

impl Plan {
    pub(super) fn decode(message: &Message) -> Option<Self> {
        let mut fields = message.fields.iter();
        if fields.next()? != b"plan" {
            return None;
        }
        let apart = match fields.next()?.as_slice() {
            b"overlay" => Separation::Overlay,
            b"memory" => Separation::Memory,
            folder if folder.starts_with(b"/") => Separation::Disk(OsStr::from_bytes(folder).into()),
            _ => return None,
        };
        let mut number = || -> Option<u64> { std::str::from_utf8(fields.next()?).ok()?.parse().ok() };
        let limits = Limits {
            bytes: number()?,
            files: number()?,
            processes: number()?,
            memory: number()?,
            address_space: number()?,
            file_bytes: number()?,
            open_files: number()?,
            processors: number()?,
        };
        let mut places = Vec::new();
        while let Some(at) = fields.next() {
            let word = fields.next()?;
            let count: usize = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
            let mut more: Vec<PathBuf> = Vec::new();
            for _ in 0..count {
                more.push(OsStr::from_bytes(fields.next()?).into());
            }
            let shown = match word.as_slice() {
                b"read-only" => Shown::ReadOnly,
                b"link" => Shown::Link(more.pop()?),
                b"empty" => Shown::Empty,
                b"tool" => Shown::Tool { masked: more },
                b"shared" => Shown::Shared,
                b"copy" => Shown::Copy,
                b"workspace" => Shown::Workspace { folder: more.pop()? },
                b"build" if !more.is_empty() => Shown::Build { room: more.remove(0), below: more },
                _ => return None,
            };
            places.push(RootEntry { at: std::ffi::OsString::from_vec(at.clone()).into(), shown });
        }
        Some(Self { apart, limits, places })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_arrives_as_it_was_sent() {
        let place = |at: &[u8], shown| RootEntry { at: OsStr::from_bytes(at).into(), shown };
        let places = vec![
            place(b"/bin", Shown::Link("usr/bin".into())),
            place(b"/home/a:b,\\\n \xff", Shown::Workspace { folder: "/home/copy".into() }),
            place(b"/srv/cargo", Shown::Tool { masked: vec!["credentials".into(), "x/y".into()] }),
            place(
                b"/srv/p/target",
                Shown::Build { room: "/state/0".into(), below: vec!["/state/warm".into()] },
            ),
            place(b"/home/ada/.tool/kept", Shown::Shared),
            place(b"/home/ada/.tool.json", Shown::Copy),
            place(b"/tmp", Shown::Empty),
            place(b"/usr", Shown::ReadOnly),
        ];
        let limits = Limits { bytes: 1, files: 2, ..Limits::default() };
        for apart in
            [Separation::Overlay, Separation::Memory, Separation::Disk("/state/view/workspace".into())]
        {
            let message = Message { fields: encode(&apart, &limits, &places), descriptors: Vec::new() };
            assert_eq!(Plan::decode(&message), Some(Plan { apart, limits, places: places.clone() }));
        }
        let message =
            Message { fields: encode(&Separation::Overlay, &limits, &places), descriptors: Vec::new() };
        for end in 0..message.fields.len() - 1 {
            let cut = Message { fields: message.fields[..end].to_vec(), descriptors: Vec::new() };
            assert!(Plan::decode(&cut).is_none_or(|plan| plan.places.len() < 8), "{end}");
        }
    }
}
