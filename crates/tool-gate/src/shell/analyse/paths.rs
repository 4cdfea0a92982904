//! Records which paths are read.

use headstart_workspace_path::WorkspacePath;

use super::{Folder, Judge, PATH_WORK};
use crate::environment::is_public_variable;
use crate::shell::script::Span;
use crate::shell::value::Arg;
use crate::shell::{Access, Extent};
use crate::{EffectKind, ReadNames};

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
        self.access(Access::exact(WorkspacePath::root(), extent, span));
    }

    fn access(&mut self, access: Access) {
        let in_git = || access.path.names().any(|name| name.eq_ignore_ascii_case(b".git"));
        let covers_settings = access.extent == Extent::Below && (access.path.is_root() || in_git());
        self.judged.shows_settings |= covers_settings && !self.judged.is_git;
        let key = (access.path.clone(), access.of_each, access.names.clone());
        if self.spend(PATH_WORK, access.span) && self.known_paths.insert(key) {
            self.accesses.push(access);
        }
    }

    /// Records that the path `arg` is read.
    pub(crate) fn read(&mut self, arg: &Arg, extent: Extent) {
        if arg.exact && (arg.prefix.is_empty() || is_device(&arg.prefix)) {
            return;
        }
        if arg.exact && is_endless(&arg.prefix) {
            // A view limits what this can use up.
            let detail = format!("reads {}, which has no end", String::from_utf8_lossy(&arg.prefix));
            return self.refuse(EffectKind::Executes, detail, arg.span);
        }
        self.settle(arg);
        if arg.escapes {
            return self.refuse(
                EffectKind::ReadsOutside,
                "reads a path that is not known before it runs",
                arg.span,
            );
        }
        let of_each = extent;
        let (path, extent, names) = if arg.exact {
            (arg.prefix.clone(), extent, vec![ReadNames::Path])
        } else {
            let folder = arg.prefix.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
            let mut path = arg.prefix[..folder].to_vec();
            path.push(b'.');
            let extent = if extent == Extent::Names { Extent::Names } else { Extent::Below };
            (path, extent, self.names_of(arg, folder))
        };
        if arg.rooted && !arg.prefix.starts_with(b"/") {
            // It may begin with the path of the workspace.
            let root = Access::exact(WorkspacePath::root(), extent, arg.span);
            self.access(Access { of_each, names: ReadNames::Unknown, ..root });
        }
        for place in 0..self.state.folders.len() {
            let resolved = self.resolve(&path, &self.state.folders[place]);
            if let Some(path) = resolved {
                for names in &names {
                    let (path, names) = (path.clone(), names.clone());
                    self.access(Access { path, extent, of_each, names, span: arg.span });
                }
            } else {
                let shown = String::from_utf8_lossy(&arg.prefix);
                let detail = format!("reads {shown:?}, outside the workspace");
                self.refuse(EffectKind::ReadsOutside, detail, arg.span);
            }
        }
    }

    /// Records that everything below the current folder may be read if a name that `arg` stands for is an option.
    pub(crate) fn read_as_option(&mut self, arg: &Arg) {
        let names = self.names_of(arg, 0);
        if names == [ReadNames::Unknown] {
            return self.read_here(Extent::Below, arg.span);
        }
        for folder in self.state.folders.clone() {
            let Folder::Inside(folder) = folder else { return self.read_here(Extent::Below, arg.span) };
            for names in names.clone() {
                let access = Access::exact(folder.clone(), Extent::Below, arg.span);
                self.access(Access { names, ..access });
            }
        }
    }

    /// Which names behind the first `folder` bytes of an argument it stands for: those that its pattern matches, if it
    /// is a whole word of literal characters and wildcards, or those of the loop whose variable it is.
    fn names_of(&self, arg: &Arg, folder: usize) -> Vec<ReadNames> {
        let text = self.source(arg.span);
        if let Some(pattern) = self.as_pattern(text)
            && text.as_bytes().starts_with(&arg.prefix)
            && text[arg.prefix.len()..].starts_with(['*', '?', '['])
        {
            return vec![ReadNames::Matching(pattern[folder..].to_owned())];
        }
        // Without quotes, a blank in a name would part it.
        let name = text.strip_prefix("\"$").and_then(|text| text.strip_suffix('"'));
        match name.and_then(|name| self.state.patterns(name)) {
            Some(patterns) if arg.prefix.is_empty() => {
                patterns.iter().map(|pattern| ReadNames::Matching(pattern.clone())).collect()
            }
            _ => vec![ReadNames::Unknown],
        }
    }

    /// A word as a pattern of names below the current folder, if nothing of it is expanded but wildcards. With a
    /// setting of `shopt`, those match other names.
    pub(super) fn as_pattern<'t>(&self, word: &'t str) -> Option<&'t str> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./*?[]^!@+,:%=".contains(&byte);
        let is_pattern = word.bytes().all(plain) && !self.judged.programs.contains("shopt");
        is_pattern.then_some(word)
    }

    /// Remembers that the value of a variable is used.
    pub(crate) fn note_variable(&mut self, name: &str) {
        if !is_public_variable(name) {
            let is_assigned = self.state.is_assigned(name);
            let known = self.judged.variables.entry(name.to_owned()).or_insert(true);
            *known &= is_assigned;
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
        // What `git grep` looks for is no pattern of paths.
        let mut is_sought = args.first().is_some_and(|command| command.is("grep"));
        for (place, arg) in args.iter().enumerate() {
            // The shell puts the names that wildcards match in their place, and git would take them for the same.
            let as_written = || self.source(arg.span).replace(['\'', '"', '\\'], "").into_bytes();
            let bytes = arg.readings().and_then(|mut readings| readings.pop()).unwrap_or_else(as_written);
            let bytes = bytes.as_slice();
            let is_operand = 0 < place && !bytes.starts_with(b"-");
            let is_pathspec = is_operand && !is_sought;
            is_sought &= !is_operand;
            let start = bytes.iter().rposition(|byte| matches!(byte, b':' | b')')).map_or(0, |at| at + 1);
            let mut path = &bytes[start..];
            while let [b'/' | b'!' | b'^', rest @ ..] = path {
                path = rest;
            }
            let Ok(path) = WorkspacePath::root().join_bytes(path) else { continue };
            let wild = if is_pathspec { self.context.deny.wild_secret(&path) } else { None };
            if let Some(path) = self.context.deny.secret(&path).map(|_| path).or(wild) {
                self.judged.kept.push(Access::exact(path, Extent::File, arg.span));
            }
        }
    }

    pub(crate) fn note_closed_path(&mut self, path: &[u8], span: Span) {
        for place in 0..self.state.folders.len() {
            let Some(path) = self.resolve(path, &self.state.folders[place]) else { continue };
            if self.context.deny.matching(&path).is_some() {
                self.judged.closed.push(Access::exact(path, Extent::File, span));
            }
        }
    }

    /// Whether an argument certainly begins with an absolute path that lies in the workspace.
    pub(crate) fn is_below_root(&self, arg: &Arg) -> bool {
        let folder = arg.prefix.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
        let known = if arg.exact { &arg.prefix[..] } else { &arg.prefix[..folder] };
        known.starts_with(b"/") && self.resolve(known, &Folder::Outside).is_some()
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

/// Whether this is a device that hands out bytes without end, which are nobody's.
fn is_endless(path: &[u8]) -> bool {
    matches!(path, b"/dev/urandom" | b"/dev/random" | b"/dev/zero")
}

/// Whether reading this path reads no file: it is empty, or what the command was given.
fn is_device(path: &[u8]) -> bool {
    matches!(path, b"/dev/null" | b"/dev/stdin")
        || path
            .strip_prefix(b"/dev/fd/")
            .is_some_and(|fd| !fd.is_empty() && fd.len() < 4 && fd.iter().all(u8::is_ascii_digit))
}
