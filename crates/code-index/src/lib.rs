//! What a project contains, found in milliseconds, with what is staged over it.
//!
//! A file's content is cut into chunks between its definitions ([`ContentFields`]), and both its text and its path
//! are split into tokens, identifiers into their parts. A [`Snapshot`] of an index answers which chunks
//! and files contain a term; [`MemoryIndex`] is one in memory. [`search`] compares a [`Query`] with a [`View`]: an
//! index and, over it, what one or more steps of work have [`Staged`]. A staged edit is found at once, a removed file
//! is not, and all scores are those of an index that would be made anew. The scorer is BM25 over weighted fields
//! ([`Weights`]): the text of the best chunk, the names of definitions in and around it, the file's path, and the
//! subjects of past commits that touched it.
//!
//! ```
//! use headstart_code_index::{Budget, MemoryIndex, Query, Staged, View, Weights, search};
//! use headstart_overlay_fs::WorkspacePath;
//!
//! let login = WorkspacePath::parse("src/auth/login.rs")?;
//! let cart = WorkspacePath::parse("src/cart.rs")?;
//! let base = MemoryIndex::of([(&login, &b"fn check_password() {}"[..]), (&cart, b"fn total() {}")]);
//!
//! // What runs ahead has staged another cart.
//! let staged = Staged { index: MemoryIndex::of([(&cart, &b"fn retry_payment() {}"[..])]), hidden: Vec::new() };
//! let view = View::new(&base, [&staged]);
//! let query = Query::parse("where are payments retried?", |path| view.has(path));
//! let hits = search(&view, &query, Budget::default(), &[], &Weights::default())?;
//! assert_eq!((hits[0].path.to_string(), hits[0].lines), ("src/cart.rs".to_owned(), (1, 1)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Other indexes, other ways to search
//!
//! [`Snapshot`] is all that a search needs of an index: a host that brings another engine implements it, as
//! [`MemoryIndex`] and the index on disk do. Writing is not part of it, because each engine keeps a batch whole in
//! its own way ([`MemoryIndex::apply`], `Store::apply`), and a search never writes. There is no registry of named
//! engines and no class to derive from: an engine is passed to [`View::new`] as a value, numbers as [`Weights`], and
//! a host that wants another order, more sources or a reranker writes a function that calls [`search`]. So what runs
//! is what the caller passed, whatever else is linked in.
//!
//! Answers are not cached here: a query takes less than a millisecond in memory, and only the caller knows when two
//! views are the same. [`Delta::key`] together with a generation of the index identifies a view; `codebase` in
//! `headstart-toolbox` caches answers by it.
//!
//! # Limitations
//!
//! - Words are compared, not meanings: a search for "sign in" does not find `login`, unless a comment or a commit
//!   contains both.
//! - Only English words are stemmed. Of the scripts without blanks between words, Chinese, Japanese and Korean are
//!   split.
//! - A file over 1 MiB, one that is mostly not UTF-8 text, or a generated one with endless lines is indexed by its
//!   path only. UTF-16 counts as binary.
//! - Without a grammar, a definition is a line that looks like one (`class Name`), and reaches to the next.
//!
//! # Features
//!
//! - `grammars` (off by default): chunks and definitions from syntax trees, for Bash, C, Go, Java, PHP, Python, Rust,
//!   TypeScript and JavaScript. Without it the crate is pure Rust and builds for `wasm32-unknown-unknown` without a C
//!   compiler.
//! - `grammars-more`: C++, C# and Ruby as well.
//! - `sqlite`: the index on disk.

mod catalogue;
mod chunk;
mod delta;
mod excerpt;
mod fields;
mod index;
mod language;
mod map;
mod memory;
mod outline;
mod ports;
mod query;
mod role;
mod score;
mod search;
#[cfg(feature = "sqlite")]
mod store;
mod symbol;
mod token;
#[cfg(feature = "sqlite")]
mod update;
mod vector;
mod view;
mod walk;

pub use catalogue::Catalogue;
pub use delta::{CutContents, Delta};
pub use fields::{ContentFields, Field, LARGEST_FILE};
pub use index::{ChunkPosting, FileChange, FilePosting, IndexError, Snapshot};
pub use language::Language;
pub use map::repo_map;
pub use memory::MemoryIndex;
pub use ports::{Embedder, ModelFailure, ModelLocation, Reranker, is_for_judges, order_of, passage};
pub use query::Query;
pub use score::Weights;
pub use search::{Budget, Hit, MatchReason, Recent, names_definition, search, search_files};
#[cfg(feature = "sqlite")]
pub use store::{Applied, Entry, HistoryPlace, Stamp, Store, StoreLimits, VectorStatus, WithoutVectors};
pub use symbol::{Symbol, SymbolKind};
pub use token::whole;
#[cfg(feature = "sqlite")]
pub use update::{Progress, Step, Updated, update, update_paths};
pub use vector::{NEAREST, NearChunk, TextVector, Vector, nearest};
pub use view::{Staged, View};
pub use walk::{is_rule_file, project_files};
