//! A file as the fields that a query is compared with.

use headstart_overlay_fs::{ContentHash, WorkspacePath};

use crate::outline::{Lines, Outline};
use crate::token::tokens;
use crate::{Language, Query, Symbol, SymbolKind, chunk};

/// The size in bytes above which only a file's path is indexed.
pub const LARGEST_FILE: u64 = 1 << 20;
/// A file with a longer line, or with longer lines on average, was generated.
const LONGEST_LINE: usize = 20_000;
const MEAN_LINE: usize = 500;
/// How many bytes are looked at to tell text from binary, as in git.
const SNIFFED_BYTES: usize = 8_000;
/// The most names in the header of one chunk.
const MOST_NAMES: usize = 64;

/// A text as tokens, separated by blanks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Field {
    /// The tokens.
    pub tokens: String,
    /// The number of tokens.
    pub len: u32,
}

impl Field {
    pub(crate) fn of(text: &str) -> Self {
        let mut field = Self::default();
        field.add(text);
        field
    }

    pub(crate) fn add(&mut self, text: &str) {
        tokens(text, |token| self.push(token));
    }

    fn push(&mut self, token: &str) {
        if !self.tokens.is_empty() {
            self.tokens.push(' ');
        }
        self.tokens.push_str(token);
        self.len += 1;
    }

    /// The names of these definitions.
    pub(crate) fn of_definitions(symbols: &[Symbol]) -> Self {
        let mut field = Self::default();
        for symbol in symbols.iter().filter(|symbol| symbol.defines()) {
            field.add(&symbol.name);
        }
        field
    }

    /// A field from its stored tokens.
    #[cfg(feature = "sqlite")]
    pub(crate) fn of_tokens(tokens: String) -> Self {
        let len = u32::try_from(tokens.split_ascii_whitespace().count()).unwrap_or(u32::MAX);
        Self { tokens, len }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.tokens.split_ascii_whitespace()
    }
}

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkFields {
    /// Its first line, from 1.
    pub first: u32,
    /// Its last line.
    pub last: u32,
    /// The text of the lines.
    pub body: Field,
    /// The names of the definitions around it and in it.
    pub header: Field,
}

/// Why only the path of a file is indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PathOnly {
    /// It is not text.
    Binary,
    /// It is larger than [`LARGEST_FILE`].
    Large,
    /// Its lines are so long that it was generated.
    Minified,
}

/// A content, cut into chunks and split into tokens; the same for every path that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentFields {
    /// What identifies it.
    pub digest: ContentHash,
    /// Decided by the name of the file that was read first.
    pub language: Language,
    /// Its chunks, in order; empty if only the path is indexed.
    pub chunks: Vec<ChunkFields>,
    /// Its definitions, sorted by their first line.
    pub symbols: Vec<Symbol>,
    /// The names of its definitions.
    pub definitions: Field,
    /// Why it has no chunks.
    pub path_only: Option<PathOnly>,
}

impl ContentFields {
    /// Reads a file's content. This never fails: what is not text is indexed by its path only.
    pub fn of(path: &WorkspacePath, bytes: &[u8]) -> Self {
        Self::cut(path, bytes, None)
    }

    /// As [`of`](Self::of), with definitions that came from elsewhere, such as an editor's language server. Invalid
    /// ones (an empty name, a line that the content does not have) are left out.
    pub fn with_definitions(path: &WorkspacePath, bytes: &[u8], definitions: Vec<Symbol>) -> Self {
        Self::cut(path, bytes, Some(definitions))
    }

    fn cut(path: &WorkspacePath, bytes: &[u8], definitions: Option<Vec<Symbol>>) -> Self {
        let digest = ContentHash::of(bytes);
        let language = Language::of_name(path.file_name().unwrap_or_default());
        let text = match text(bytes) {
            Ok(text) => text,
            Err(why) => return Self::path_only(digest, language, why),
        };
        let lines = Lines::of(&text);
        let outline = match definitions {
            None => Outline::of(language, &lines),
            Some(definitions) => Outline::with_definitions(language, &lines, definitions),
        };
        let chunks = chunk::cut(&lines, &outline);
        let symbols = outline.symbols;
        let definitions = Field::of_definitions(&symbols);
        let chunks = chunks.into_iter().map(|(first, last)| {
            let (first_line, last_line) = (line_number(first), line_number(last));
            ChunkFields {
                first: first_line,
                last: last_line,
                body: Field::of(lines.range(first, last + 1)),
                header: header(&symbols, first_line, last_line),
            }
        });
        let chunks = chunks.collect();
        Self { digest, language, chunks, symbols, definitions, path_only: None }
    }

    /// A file that is too large to be read.
    pub fn too_large(path: &WorkspacePath, digest: ContentHash) -> Self {
        let language = Language::of_name(path.file_name().unwrap_or_default());
        Self::path_only(digest, language, PathOnly::Large)
    }

    fn path_only(digest: ContentHash, language: Language, why: PathOnly) -> Self {
        Self {
            digest,
            language,
            chunks: Vec::new(),
            symbols: Vec::new(),
            definitions: Field::default(),
            path_only: Some(why),
        }
    }
}

/// What a path says about a file, and what past commits say about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PathFields {
    /// The folders above it.
    pub folder: Field,
    /// The file's own name.
    pub name: Field,
    /// The subjects of commits that touched it.
    pub history: Field,
}

impl PathFields {
    pub(crate) fn of(path: &WorkspacePath, history: Field) -> Self {
        let text = String::from_utf8_lossy(path.as_bytes());
        let (folder, name) = text.rsplit_once('/').unwrap_or(("", &text));
        let mut field = Field::of(name);
        // Such a file is known by the name of its folder.
        if ["mod", "__init__", "index"].contains(&name.split('.').next().unwrap_or_default()) {
            field.add(folder.rsplit('/').next().unwrap_or_default());
        }
        Self { folder: Field::of(folder), name: field, history }
    }
}

fn text(bytes: &[u8]) -> Result<std::borrow::Cow<'_, str>, PathOnly> {
    if LARGEST_FILE < bytes.len() as u64 {
        return Err(PathOnly::Large);
    }
    if bytes[..bytes.len().min(SNIFFED_BYTES)].contains(&0) {
        return Err(PathOnly::Binary);
    }
    let text = String::from_utf8_lossy(bytes);
    let (mut lines, mut longest) = (0, 0);
    for line in text.split('\n') {
        lines += 1;
        longest = longest.max(line.len());
    }
    if LONGEST_LINE < longest || (MEAN_LINE < text.len() / lines && 4 * MEAN_LINE < text.len()) {
        return Err(PathOnly::Minified);
    }
    Ok(text)
}

fn header(symbols: &[Symbol], first: u32, last: u32) -> Field {
    let mut field = Field::default();
    let touching =
        symbols.iter().take_while(|symbol| symbol.first <= last).filter(|symbol| first <= symbol.last);
    for symbol in touching.take(MOST_NAMES) {
        field.add(&symbol.name);
    }
    field
}

/// The definition under which a chunk is shown: of those that begin in it the one whose name has most of the query's
/// words, otherwise the innermost around it.
pub(crate) fn symbol_of<'a>(
    symbols: &'a [Symbol],
    first: u32,
    last: u32,
    query: &Query,
) -> Option<&'a Symbol> {
    let inside = |symbol: &&Symbol| first <= symbol.first && symbol.first <= last;
    let around = |symbol: &&Symbol| symbol.first < first && last <= symbol.last;
    let large = |symbol: &&Symbol| matches!(symbol.kind, SymbolKind::Constant | SymbolKind::Module);
    let begins = || symbols.iter().filter(inside).filter(|symbol| symbol.defines());
    let named = begins().rev().map(|symbol| (query.words_in(&symbol.name), symbol));
    let named = named.filter(|(words, _)| 0.0 < *words).max_by(|(one, _), (other, _)| one.total_cmp(other));
    let begins = named.map(|(_, symbol)| symbol).or_else(|| begins().find(|symbol| !large(symbol)));
    begins.or_else(|| symbols.iter().rfind(around)).or_else(|| symbols.iter().find(inside))
}

fn line_number(line: usize) -> u32 {
    u32::try_from(line + 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, text: &[u8]) -> ContentFields {
        ContentFields::of(&WorkspacePath::parse(name).unwrap(), text)
    }

    #[test]
    fn definitions_are_found_in_every_language() {
        let cases: [(&str, &str, &[&str]); 12] = [
            (
                "a.rs",
                "pub struct Tree { x: u8 }\nimpl<T> Tree<T> {\n    pub fn grow(&mut self) {\n        let x = 1;\n    }\n}\n\
                 const MAX: u8 = 1;\nmacro_rules! leaf { () => {} }\nmod inner { fn deep() {} }\n",
                &["Tree", "grow", "MAX", "leaf", "inner", "deep"],
            ),
            (
                "a.ts",
                "export class Tree {\n  grow(): void { const x = 1; }\n}\nexport const plant = () => {\n  const y = 2;\n};\n\
                 interface Leaf { a: string }\ntype Id = string;\nenum Color { Red }\nexport default function main() {}\n",
                &["Tree", "grow", "plant", "Leaf", "Id", "Color", "main"],
            ),
            (
                "a.js",
                "exports.limit = 3;\nmodule.exports.load = load;\nmodule.exports = function create() {\n  var x = 1;\n};\n\
                 Tree.prototype.grow = function () {\n  this.age = 1;\n};\napp.use =\napp.mount = function use(fn) {\n};\n\
                 app.name = 'x';\nconst api = {\n  get: function () {\n    return { no: () => {\n    } };\n  },\n  put() {\n  },\n\
                 \x20 'two words': () => {},\n  size: 3,\n};\ngetter(app, 'port', function port() {\n  var options = {\n    f: () => 1,\n\
                 \x20 };\n});\n",
                &["limit", "load", "create", "grow", "use", "mount", "use", "api", "get", "put", "port"],
            ),
            ("a.jsx", "function App() {\n  return <div>hi</div>;\n}\n", &["App"]),
            (
                "a.py",
                "LIMIT = 3\n\n@cached\ndef load(x):\n    y = 2\n    def inner(): pass\n\nclass User(Base):\n    async def save(self): ...\n",
                &["LIMIT", "load", "inner", "User", "save"],
            ),
            (
                "a.go",
                "package a\n\ntype Tree struct {\n\tx int\n}\n\nfunc (t *Tree) Grow() {\n\tvar y int\n}\n\nfunc New() *Tree { return nil }\n\nconst Max = 1\n",
                &["Tree", "Grow", "New", "Max"],
            ),
            (
                "A.java",
                "package a;\n\n@Service\npublic class Tree {\n    @Override\n    public void grow() { int x; }\n    Tree() {}\n}\ninterface Leaf {}\n",
                &["Tree", "grow", "Tree", "Leaf"],
            ),
            (
                "a.c",
                "#define MAX 3\nstruct tree { int x; };\nstatic struct tree *grow(int by)\n{\n    struct tree t;\n    return 0;\n}\ntypedef int id_t;\n",
                &["MAX", "tree", "grow", "id_t"],
            ),
            (
                "a.php",
                "<?php\nclass Tree {\n  public function grow() {}\n}\nfunction plant() {}\n",
                &["Tree", "grow", "plant"],
            ),
            ("a.sh", "grow() {\n  local x=1\n}\nfunction plant { :; }\n", &["grow", "plant"]),
            ("a.kt", "class Tree {\n    fun grow() {}\n}\n", &["Tree", "grow"]),
            ("a.txt", "function of the class\nclass Tree\n", &[]),
        ];
        for (name, text, expected) in cases {
            if cfg!(not(feature = "grammars")) && !["a.kt", "a.txt"].contains(&name) {
                continue;
            }
            let found = of(name, text.as_bytes());
            let mut names: Vec<_> =
                found.symbols.iter().filter(|it| it.defines()).map(|it| it.name.as_str()).collect();
            let mut expected = expected.to_vec();
            names.sort_unstable();
            expected.sort_unstable();
            assert_eq!(names, expected, "{name}");
        }
    }

    /// What a script assigns to a member has its own first and last line, and is known by what it is a member of.
    #[cfg(feature = "grammars")]
    #[test]
    fn a_member_that_is_assigned_is_a_definition() {
        use SymbolKind::{Constant, Function, Scope};
        let text = "var res = {};\n\n/** Sends. */\nres.send = function send(body) {\n  var chunk = {\n    body,\n  };\n};\n\n\
                    View.prototype.render = async () => {\n};\n";
        let found = of("a.js", text.as_bytes());
        let symbols = found.symbols.iter().map(|it| (it.name.as_str(), it.kind, it.first, it.last));
        let expected = [
            ("res", Constant, 1, 1),
            ("res", Scope, 4, 8),
            ("send", Function, 4, 8),
            ("View", Scope, 10, 11),
            ("render", Function, 10, 11),
        ];
        assert_eq!(symbols.collect::<Vec<_>>(), expected);
    }

    /// A caller may give the definitions of a language without a grammar. Those with an impossible name or place are
    /// left out, and the end of a definition is kept within the text.
    #[test]
    fn definitions_of_somebody_else_are_taken_where_they_can_be_some() {
        let symbol = |name: &str, first, last| Symbol {
            name: name.to_owned(),
            kind: SymbolKind::Function,
            first,
            last,
        };
        let given = vec![
            symbol("later", 3, 900),
            symbol("Whole", 1, 3),
            symbol("", 1, 1),
            symbol("two words", 1, 1),
            symbol("nowhere", 0, 1),
            symbol("behind", 4, 4),
            symbol("backwards", 2, 1),
        ];
        let path = WorkspacePath::parse("a.zig").unwrap();
        let found = ContentFields::with_definitions(&path, b"one\ntwo\nthree\n", given);
        let places: Vec<_> = found.symbols.iter().map(|it| (it.name.as_str(), it.first, it.last)).collect();
        assert_eq!(places, [("Whole", 1, 3), ("backwards", 2, 2), ("later", 3, 3)]);
        assert_eq!(found.definitions.tokens, "whole backward later");
        assert_eq!(found.digest, of("a.zig", b"one\ntwo\nthree\n").digest);
    }

    /// A binary or too large file has no chunks. It is only found by its path.
    #[test]
    fn what_is_no_text_is_known_by_its_path() {
        let long = "x ".repeat(5 << 20);
        let cases: [(&str, &[u8], Option<PathOnly>); 6] = [
            ("a.png", b"\x89PNG\0\0", Some(PathOnly::Binary)),
            ("a.js", long.as_bytes(), Some(PathOnly::Large)),
            ("a.min.js", &long.as_bytes()[..30_000], Some(PathOnly::Minified)),
            ("a.csv", &long.as_bytes()[..2_001], Some(PathOnly::Minified)),
            ("a.txt", b"", None),
            ("latin1.c", b"/* caf\xe9 */ int main;\n", None),
        ];
        for (name, bytes, expected) in cases {
            let found = of(name, bytes);
            assert_eq!(found.path_only, expected, "{name}");
            assert_eq!(found.chunks.is_empty(), expected.is_some() || bytes.is_empty(), "{name}");
        }
    }

    /// The name that is shown with a chunk is that of the definition in it that the query names, or else of the first
    /// that begins in it, or of the last one before.
    #[test]
    fn a_chunk_is_shown_by_what_begins_in_it() {
        let text = "impl A {\n    fn one() {}\n    fn two() {}\n}\n";
        let symbols = crate::symbol::by_lines(text);
        let asked = |text: &str| Query::parse(text, |_| false);
        let named = symbol_of(&symbols, 1, 4, &asked("what is two")).map(|it| it.name.as_str());
        assert_eq!(named, Some("two"));
        let shown = |first, last| symbol_of(&symbols, first, last, &asked("x")).map(|it| it.name.as_str());
        assert_eq!(shown(1, 4), Some("one"));
        assert_eq!(shown(3, 4), Some("two"));
        assert_eq!(shown(4, 4), Some("A"));
    }
}
