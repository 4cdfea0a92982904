//! The index in memory: for the browser, for tests, and for what is staged.

use std::collections::HashMap;
use std::sync::Arc;

use headstart_overlay_fs::WorkspacePath;

use crate::catalogue::{ChunkEntry, FileEntry};
use crate::fields::{Field, PathFields};
use crate::{
    Catalogue, ChunkPosting, ContentFields, FileChange, FilePosting, IndexError, Snapshot, Symbol, whole,
};

/// An inverted index that lives as long as its value.
///
/// It has no limit of memory and is not shared with other processes. Removing a file leaves its number unused until
/// most numbers are, and then all are assigned anew.
#[derive(Debug, Clone, Default)]
pub struct MemoryIndex {
    catalogue: Catalogue,
    terms: HashMap<Box<str>, u32>,
    chunk_lists: Vec<Vec<ChunkPosting>>,
    file_lists: Vec<Vec<FilePosting>>,
    /// By the number of a file. Each file has a content of its own here.
    held: Vec<Option<IndexedFile>>,
    /// By the whole name: the file, and the index of the symbol in it.
    names: HashMap<String, Vec<(u32, u32)>>,
    history: HashMap<WorkspacePath, Field>,
}

/// What has to be known of a file to remove it.
#[derive(Debug, Clone)]
struct IndexedFile {
    content: Arc<ContentFields>,
    chunk_terms: Vec<u32>,
    file_terms: Vec<u32>,
}

impl MemoryIndex {
    /// An empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// An index of these files, without history.
    pub fn of<'a>(files: impl IntoIterator<Item = (&'a WorkspacePath, &'a [u8])>) -> Self {
        let mut index = Self::new();
        for (path, bytes) in files {
            index.put(path.clone(), Arc::new(ContentFields::of(path, bytes)));
        }
        index
    }

    /// Sets what past commits say about a path. Only the tokens of the text count.
    pub fn set_history(&mut self, path: &WorkspacePath, subjects: &str) {
        self.set_history_field(path, Field::of(subjects));
    }

    pub(crate) fn set_history_field(&mut self, path: &WorkspacePath, field: Field) {
        if field.len == 0 {
            self.history.remove(path);
        } else {
            self.history.insert(path.clone(), field);
        }
        if let Some(content) = self.content(path) {
            self.put(path.clone(), content);
        }
    }

    /// The content that the index has for a path.
    pub fn content(&self, path: &WorkspacePath) -> Option<Arc<ContentFields>> {
        let file = *self.catalogue.by_path.get(path)?;
        Some(Arc::clone(&self.held.get(file as usize)?.as_ref()?.content))
    }

    /// Makes all changes, in this order.
    pub fn apply(&mut self, changes: impl IntoIterator<Item = FileChange>) {
        for change in changes {
            match change {
                FileChange::Put { path, content } => self.put(path, content),
                FileChange::Remove { path } => self.remove(&path),
            }
        }
    }

    /// The path has this content now.
    pub fn put(&mut self, path: WorkspacePath, content: Arc<ContentFields>) {
        if let Some(file) = self.catalogue.by_path.get(&path).copied() {
            self.take_out(file);
        }
        self.renumber_if_sparse();
        let history = self.history.get(&path).cloned().unwrap_or_default();
        self.add(path, content, history);
    }

    /// Nothing is at the path or below it any more.
    pub fn remove(&mut self, path: &WorkspacePath) {
        let files: Vec<u32> = self.catalogue.at_or_below(path).collect();
        for file in files {
            self.take_out(file);
        }
        self.renumber_if_sparse();
    }

    fn add(&mut self, path: WorkspacePath, content: Arc<ContentFields>, history: Field) {
        let file = number(self.held.len());
        let of_path = PathFields::of(&path, history);
        let first_chunk = number(self.catalogue.chunks.len());
        self.catalogue.add_content(
            file,
            content.chunks.iter().map(|chunk| ChunkEntry {
                content: file,
                first: chunk.first,
                last: chunk.last,
                lengths: [chunk.body.len, chunk.header.len],
            }),
        );
        let mut chunk_terms = Vec::new();
        for (chunk, fields) in (first_chunk..).zip(&content.chunks) {
            for (term, counts) in self.count([&fields.body, &fields.header]) {
                self.chunk_lists[term as usize].push(ChunkPosting { chunk, counts });
                chunk_terms.push(term);
            }
        }
        chunk_terms.sort_unstable();
        chunk_terms.dedup();
        let fields = [&of_path.folder, &of_path.name, &content.definitions, &of_path.history];
        let mut file_terms = Vec::new();
        for (term, counts) in self.count(fields) {
            self.file_lists[term as usize].push(FilePosting { file, counts });
            file_terms.push(term);
        }
        for (symbol, at) in content.symbols.iter().zip(0..) {
            if symbol.defines() {
                self.names.entry(whole(&symbol.name)).or_default().push((file, at));
            }
        }
        let lengths = fields.map(|field| field.len);
        let digest = content.digest;
        self.catalogue.add_file(file, FileEntry { path, digest, content: file, lengths });
        self.held.push(Some(IndexedFile { content, chunk_terms, file_terms }));
    }

    /// Counts each term in each of the fields.
    fn count<const N: usize>(&mut self, fields: [&Field; N]) -> Vec<(u32, [u32; N])> {
        let mut occurrences = Vec::new();
        for (at, field) in fields.into_iter().enumerate() {
            for token in field.iter() {
                occurrences.push((self.term(token), at));
            }
        }
        occurrences.sort_unstable();
        let mut counted: Vec<(u32, [u32; N])> = Vec::with_capacity(occurrences.len());
        for (term, field) in occurrences {
            match counted.last_mut() {
                Some((last, counts)) if *last == term => counts[field] += 1,
                _ => {
                    let mut counts = [0; N];
                    counts[field] = 1;
                    counted.push((term, counts));
                }
            }
        }
        counted
    }

    fn term(&mut self, token: &str) -> u32 {
        if let Some(term) = self.terms.get(token) {
            return *term;
        }
        let term = number(self.chunk_lists.len());
        self.terms.insert(token.into(), term);
        self.chunk_lists.push(Vec::new());
        self.file_lists.push(Vec::new());
        term
    }

    fn take_out(&mut self, file: u32) {
        let Some(held) = self.held.get_mut(file as usize).and_then(Option::take) else { return };
        let chunks = self.catalogue.content(file).map(|content| content.chunks.clone()).unwrap_or_default();
        // Numbers only grow, so every list stays sorted.
        for term in held.chunk_terms {
            let list = &mut self.chunk_lists[term as usize];
            let start = list.partition_point(|posting| posting.chunk < chunks.start);
            let end = list.partition_point(|posting| posting.chunk < chunks.end);
            list.drain(start..end);
        }
        for term in held.file_terms {
            let list = &mut self.file_lists[term as usize];
            if let Ok(at) = list.binary_search_by_key(&file, |posting| posting.file) {
                list.remove(at);
            }
        }
        for symbol in held.content.symbols.iter().filter(|symbol| symbol.defines()) {
            let name = whole(&symbol.name);
            if let Some(places) = self.names.get_mut(&name) {
                places.retain(|(other, _)| *other != file);
                if places.is_empty() {
                    self.names.remove(&name);
                }
            }
        }
        self.catalogue.remove_file(file);
    }

    /// Assigns numbers anew, from 0, if most of them belong to removed files.
    fn renumber_if_sparse(&mut self) {
        let live = self.catalogue.by_path.len();
        if self.held.len() < 64 || self.held.len() < 4 * live {
            return;
        }
        let old = std::mem::take(self);
        self.history = old.history;
        for (path, file) in &old.catalogue.by_path {
            if let Some(Some(held)) = old.held.get(*file as usize) {
                let history = self.history.get(path).cloned().unwrap_or_default();
                self.add(path.clone(), Arc::clone(&held.content), history);
            }
        }
    }
}

impl Snapshot for MemoryIndex {
    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn chunk_postings(&self, term: &str, visit: &mut dyn FnMut(ChunkPosting)) -> Result<(), IndexError> {
        let list = self.terms.get(term).and_then(|term| self.chunk_lists.get(*term as usize));
        list.into_iter().flatten().for_each(|posting| visit(*posting));
        Ok(())
    }

    fn file_postings(&self, term: &str, visit: &mut dyn FnMut(FilePosting)) -> Result<(), IndexError> {
        let list = self.terms.get(term).and_then(|term| self.file_lists.get(*term as usize));
        list.into_iter().flatten().for_each(|posting| visit(*posting));
        Ok(())
    }

    fn definitions(&self, whole: &str, visit: &mut dyn FnMut(u32, Symbol)) -> Result<(), IndexError> {
        for (file, at) in self.names.get(whole).into_iter().flatten() {
            let held = self.held.get(*file as usize).and_then(Option::as_ref);
            if let Some(symbol) = held.and_then(|held| held.content.symbols.get(*at as usize)) {
                visit(*file, symbol.clone());
            }
        }
        Ok(())
    }

    fn symbols(&self, content: u32) -> Result<Vec<Symbol>, IndexError> {
        let held = self.held.get(content as usize).and_then(Option::as_ref);
        Ok(held.map(|held| held.content.symbols.clone()).unwrap_or_default())
    }

    fn history(&self, path: &WorkspacePath) -> Result<Field, IndexError> {
        Ok(self.history.get(path).cloned().unwrap_or_default())
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).expect("works because memory does not hold four thousand million documents")
}
