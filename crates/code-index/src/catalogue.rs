use std::collections::BTreeMap;
use std::ops::Range;

use headstart_overlay_fs::{ContentHash, WorkspacePath};

/// What an index holds, without its postings: files, their contents, and the chunks of those.
///
/// Each has a number here, which postings use. A content may be at several paths, and then has its chunks only once.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    pub(crate) files: Vec<Option<FileEntry>>,
    pub(crate) contents: Vec<ContentEntry>,
    pub(crate) chunks: Vec<ChunkEntry>,
    pub(crate) by_path: BTreeMap<WorkspacePath, u32>,
    pub(crate) totals: Totals,
}

/// A file of an index.
#[derive(Debug, Clone)]
pub(crate) struct FileEntry {
    pub(crate) path: WorkspacePath,
    pub(crate) digest: ContentHash,
    pub(crate) content: u32,
    /// The lengths of the fields folder, name, definitions and history, in tokens.
    pub(crate) lengths: [u32; 4],
}

/// A content of an index.
#[derive(Debug, Clone, Default)]
pub(crate) struct ContentEntry {
    /// Its chunks, in order.
    pub(crate) chunks: Range<u32>,
    /// The files with this content.
    pub(crate) files: Vec<u32>,
}

/// A chunk of an index.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ChunkEntry {
    pub(crate) content: u32,
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// The lengths of the fields body and header, in tokens.
    pub(crate) lengths: [u32; 2],
}

/// Sums over all files. A content that two files have counts twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) files: u64,
    pub(crate) chunks: u64,
    pub(crate) chunk_lengths: [u64; 2],
    pub(crate) file_lengths: [u64; 4],
}

impl Catalogue {
    /// The number of files.
    pub fn files(&self) -> u64 {
        self.totals.files
    }

    /// The number of chunks, counted for each file.
    pub fn chunks(&self) -> u64 {
        self.totals.chunks
    }

    /// The paths, sorted by their bytes.
    pub fn paths(&self) -> impl Iterator<Item = &WorkspacePath> {
        self.by_path.keys()
    }

    /// The digest of the content that the index has for a path.
    pub fn digest(&self, path: &WorkspacePath) -> Option<ContentHash> {
        Some(self.file(*self.by_path.get(path)?)?.digest)
    }

    /// The chunks of the content that the index has for a path: the number of each, and its first and last line.
    pub fn chunks_of(&self, path: &WorkspacePath) -> impl Iterator<Item = (u32, (u32, u32))> {
        let content = self.by_path.get(path).and_then(|file| self.content(self.file(*file)?.content));
        let chunks = content.map(|content| content.chunks.clone()).unwrap_or_default();
        chunks
            .map(|number| (number, self.chunk(number)))
            .map(|(number, chunk)| (number, (chunk.first, chunk.last)))
    }

    /// The paths at which a chunk is.
    pub fn files_of_chunk(&self, chunk: u32) -> impl Iterator<Item = &WorkspacePath> {
        let content = self.content(self.chunk(chunk).content);
        let files = content.map(|content| content.files.as_slice()).unwrap_or_default();
        files.iter().filter_map(|file| Some(&self.file(*file)?.path))
    }

    /// Whether something is at or below the path.
    pub(crate) fn has(&self, path: &WorkspacePath) -> bool {
        self.at_or_below(path).next().is_some()
    }

    /// The numbers of the files at or below the path.
    pub(crate) fn at_or_below<'a>(&'a self, path: &'a WorkspacePath) -> impl Iterator<Item = u32> + 'a {
        let from = self.by_path.range(path.clone()..);
        let same_start = from.take_while(|(at, _)| at.as_bytes().starts_with(path.as_bytes()));
        same_start.filter(|(at, _)| at.starts_with(path)).map(|(_, file)| *file)
    }

    pub(crate) fn file(&self, file: u32) -> Option<&FileEntry> {
        self.files.get(file as usize)?.as_ref()
    }

    pub(crate) fn content(&self, content: u32) -> Option<&ContentEntry> {
        self.contents.get(content as usize)
    }

    pub(crate) fn chunk(&self, chunk: u32) -> ChunkEntry {
        self.chunks.get(chunk as usize).copied().unwrap_or_default()
    }

    /// Adds a content with its chunks. `content` must be the next free number, or one whose content was removed.
    pub(crate) fn add_content(&mut self, content: u32, chunks: impl Iterator<Item = ChunkEntry>) {
        let start = next(&self.chunks);
        self.chunks.extend(chunks.map(|chunk| ChunkEntry { content, ..chunk }));
        let entry = ContentEntry { chunks: start..next(&self.chunks), files: Vec::new() };
        let at = content as usize;
        if self.contents.len() <= at {
            self.contents.resize_with(at + 1, ContentEntry::default);
        }
        self.contents[at] = entry;
    }

    /// Adds a file whose content was added before.
    pub(crate) fn add_file(&mut self, file: u32, entry: FileEntry) {
        let at = file as usize;
        if self.files.len() <= at {
            self.files.resize_with(at + 1, || None);
        }
        self.count(&entry, true);
        if let Some(content) = self.contents.get_mut(entry.content as usize) {
            content.files.push(file);
        }
        self.by_path.insert(entry.path.clone(), file);
        self.files[at] = Some(entry);
    }

    pub(crate) fn remove_file(&mut self, file: u32) -> Option<FileEntry> {
        let entry = self.files.get_mut(file as usize)?.take()?;
        self.count(&entry, false);
        if let Some(content) = self.contents.get_mut(entry.content as usize) {
            content.files.retain(|other| *other != file);
        }
        self.by_path.remove(&entry.path);
        Some(entry)
    }

    fn count(&mut self, entry: &FileEntry, adds: bool) {
        let of = self.totals_of(entry);
        self.totals.change(&of, adds);
    }

    /// What one file adds to the sums.
    pub(crate) fn totals_of(&self, entry: &FileEntry) -> Totals {
        let range = self.content(entry.content).map(|content| content.chunks.clone()).unwrap_or_default();
        let mut totals = Totals { files: 1, chunks: u64::from(range.end - range.start), ..Totals::default() };
        for chunk in range {
            let lengths = self.chunk(chunk).lengths;
            for (total, length) in totals.chunk_lengths.iter_mut().zip(lengths) {
                *total += u64::from(length);
            }
        }
        totals.file_lengths = entry.lengths.map(u64::from);
        totals
    }
}

impl Totals {
    pub(crate) fn change(&mut self, by: &Self, adds: bool) {
        let change =
            |value: &mut u64, by: u64| *value = if adds { *value + by } else { value.saturating_sub(by) };
        change(&mut self.files, by.files);
        change(&mut self.chunks, by.chunks);
        self.chunk_lengths.iter_mut().zip(by.chunk_lengths).for_each(|(value, by)| change(value, by));
        self.file_lengths.iter_mut().zip(by.file_lengths).for_each(|(value, by)| change(value, by));
    }
}

fn next<T>(list: &[T]) -> u32 {
    u32::try_from(list.len()).unwrap_or(u32::MAX)
}
