//! Records which paths are read.

use headstart_workspace_path::WorkspacePath;

use super::{Folder, Judge, PATH_WORK};
use crate::EffectKind;
use crate::shell::script::Span;
use crate::shell::value::Arg;
use crate::shell::{Access, Extent};

impl Judge<'_> {
    /// Records that the file `arg` is read.
    pub(crate) fn read_file(&mut self, arg: &Arg) {
        self.read(arg, Extent::File);
    }

    /// Records that everything below the current folder is read.
    pub(crate) fn read_here(&mut self, extent: Extent, span: Span) {
        self.read(&Arg::exact(*b".", span), extent);
    }

    /// Records that the whole workspace is read.
    pub(crate) fn read_workspace(&mut self, extent: Extent, span: Span) {
        self.read_here(extent, span);
        self.access(WorkspacePath::root(), extent, span);
    }

    fn access(&mut self, path: WorkspacePath, extent: Extent, span: Span) {
        if self.spend(PATH_WORK, span) && self.known_paths.insert((path.clone(), extent)) {
            self.accesses.push(Access { path, extent, span });
        }
    }

    /// Records that the path `arg` is read.
    pub(crate) fn read(&mut self, arg: &Arg, extent: Extent) {
        if arg.exact && (arg.prefix.is_empty() || is_device(&arg.prefix)) {
            return;
        }
        self.settle(arg);
        if arg.escapes {
            return self.refuse(
                EffectKind::ReadsOutside,
                "reads a path that is not known before it runs",
                arg.span,
            );
        }
        let (path, extent) = if arg.exact {
            (arg.prefix.clone(), extent)
        } else {
            let folder = arg.prefix.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
            let mut path = arg.prefix[..folder].to_vec();
            path.push(b'.');
            (path, if extent == Extent::Names { Extent::Names } else { Extent::Below })
        };
        for place in 0..self.state.folders.len() {
            let resolved = self.resolve(&path, &self.state.folders[place]);
            if let Some(path) = resolved {
                self.access(path, extent, arg.span);
            } else {
                let shown = String::from_utf8_lossy(&arg.prefix);
                let detail = format!("reads {shown:?}, outside the workspace");
                self.refuse(EffectKind::ReadsOutside, detail, arg.span);
            }
        }
    }

    /// Remembers the words that name what a deny rule covers, alone or as the value of an option. A program that the
    /// gate does not let run might write or send it, so a question about the command has to say so. Only paths are
    /// noted that the text alone determines.
    pub(crate) fn note_closed(&mut self, args: &[Arg]) {
        if self.context.deny.is_empty() {
            return;
        }
        for arg in args {
            let Some(bytes) = arg.bytes() else { continue };
            let value = bytes.iter().position(|byte| *byte == b'=').map(|at| &bytes[at + 1..]);
            let attached = bytes.strip_prefix(b"-").and_then(|rest| rest.get(1..));
            for text in [Some(bytes), value, attached].into_iter().flatten() {
                self.note_closed_path(text.strip_prefix(b"@").unwrap_or(text), arg.span);
            }
        }
    }

    /// Remembers the words that name a secret among what git keeps in a repository: `HEAD:.env`, `-- .env`,
    /// `:(top).env`.
    pub(crate) fn note_kept(&mut self, args: &[Arg]) {
        // These subcommands disclose names only.
        let tells_names =
            |command: &[u8]| matches!(command, b"check-ignore" | b"ls-files" | b"ls-tree" | b"status");
        if args.first().and_then(Arg::bytes).is_some_and(tells_names) {
            return;
        }
        for arg in args {
            let bytes = arg.readings().and_then(|mut readings| readings.pop());
            let Some(bytes) = bytes.as_deref() else { continue };
            let start = bytes.iter().rposition(|byte| matches!(byte, b':' | b')')).map_or(0, |at| at + 1);
            let mut path = &bytes[start..];
            while let [b'/' | b'!' | b'^', rest @ ..] = path {
                path = rest;
            }
            let Ok(path) = WorkspacePath::root().join_bytes(path) else { continue };
            if self.context.deny.secret(&path).is_some() {
                self.judged.kept.push(Access { path, extent: Extent::File, span: arg.span });
            }
        }
    }

    pub(crate) fn note_closed_path(&mut self, path: &[u8], span: Span) {
        for place in 0..self.state.folders.len() {
            let Some(path) = self.resolve(path, &self.state.folders[place]) else { continue };
            if self.context.deny.matching(&path).is_some() {
                self.judged.closed.push(Access { path, extent: Extent::File, span });
            }
        }
    }

    pub(crate) fn resolve(&self, path: &[u8], folder: &Folder) -> Option<WorkspacePath> {
        // Where a `..` behind a name leads depends on whether the name is a link.
        let mut named = false;
        for name in path.split(|byte| *byte == b'/') {
            match name {
                b".." if named => return None,
                b"" | b"." | b".." => {}
                _ => named = true,
            }
        }
        if path.starts_with(b"/") {
            return self.context.resolve(std::str::from_utf8(path).ok()?).ok();
        }
        match folder {
            Folder::Inside(folder) => folder.join_bytes(path).ok(),
            Folder::Outside => None,
        }
    }
}

/// Whether reading this path reads no file: it is empty, or what the command was given.
fn is_device(path: &[u8]) -> bool {
    matches!(path, b"/dev/null" | b"/dev/stdin")
        || path
            .strip_prefix(b"/dev/fd/")
            .is_some_and(|fd| !fd.is_empty() && fd.len() < 4 && fd.iter().all(u8::is_ascii_digit))
}
