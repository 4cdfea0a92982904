use std::iter::Peekable;
use std::mem::take;
use std::str::Chars;

/// The most alternatives that the braces of one pattern may expand to. Their number is the product of all groups, so
/// a short pattern could otherwise fill the memory.
const MAX_ALTERNATIVES: usize = 256;

/// A pattern of paths: `*` and `?` stay within one name, `**` as a whole name matches any number of folders, `[a-z]`,
/// `[!a]` and `[[:digit:]]` choose a character, `{a,b}` chooses a text, and a backslash takes the next character
/// literally.
///
/// The time for a match is not exponential: it is at most the length of the path times the length of the pattern, for
/// each of the at most 256 alternatives of the braces. A byte of a path that is not UTF-8 counts as a character that
/// only a wildcard matches.
///
/// ```
/// use headstart_workspace_path::Glob;
///
/// let sources = Glob::new("src/**/*.{rs,toml}")?;
/// assert!(sources.is_match(b"src/a/b/lib.rs") && sources.is_match(b"src/lib.rs"));
/// assert!(!sources.is_match(b"src/lib.c"));
/// # Ok::<(), headstart_workspace_path::GlobError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob(Vec<Vec<Name>>);

/// Why a text is not a valid pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GlobError {
    /// A `[` without its `]`.
    #[error("a `[` is never closed; write `\\[` for the character itself")]
    OpenClass,
    /// A range such as `[z-a]`.
    #[error("a range in brackets ends before it begins")]
    EmptyRange,
    /// A `{` without its `}`, or a `}` without its `{`.
    #[error("a brace has no partner; write `\\{{` or `\\}}` for the character itself")]
    OpenBrace,
    /// A backslash at the end.
    #[error("the backslash at the end has nothing to escape")]
    OpenEscape,
    /// The braces expand to too many alternatives.
    #[error("the braces come to more than {MAX_ALTERNATIVES} alternatives")]
    TooManyAlternatives,
}

/// The pattern for one name of a path, which is the text between two slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    /// `**`: any number of names, at the end of the pattern at least one.
    Any,
    /// A name without special characters, compared byte by byte.
    Plain(Vec<u8>),
    Wild(Vec<Piece>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    One(char),
    /// `?`
    Some,
    /// `*`
    Star,
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Glob {
    /// Reads a pattern in which `{a,b}` lists alternatives.
    pub fn new(pattern: &str) -> Result<Self, GlobError> {
        Self::read(pattern, true)
    }

    /// Reads a pattern in which braces stand for themselves, as in `.gitignore`.
    pub fn without_braces(pattern: &str) -> Result<Self, GlobError> {
        Self::read(pattern, false)
    }

    /// Whether the pattern matches `path`, which is relative to the folder that the pattern belongs to.
    pub fn is_match(&self, path: &[u8]) -> bool {
        self.0.iter().any(|pattern| path_matches(pattern, path))
    }

    fn read(pattern: &str, with_braces: bool) -> Result<Self, GlobError> {
        let mut open = Vec::new();
        let mut group = Group::default();
        let mut characters = pattern.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '*' => group.push(&Piece::Star),
                '?' => group.push(&Piece::Some),
                '\\' => group.push(&Piece::One(characters.next().ok_or(GlobError::OpenEscape)?)),
                '[' => group.push(&class(&mut characters)?),
                '{' if with_braces => open.push(take(&mut group)),
                ',' if !open.is_empty() => group.next_alternative(),
                '}' if with_braces => {
                    let outer: Group = open.pop().ok_or(GlobError::OpenBrace)?;
                    group = outer.then(&group.finish())?;
                }
                other => group.push(&Piece::One(other)),
            }
        }
        if !open.is_empty() {
            return Err(GlobError::OpenBrace);
        }
        Ok(Self(group.finish().iter().map(|pieces| names(pieces)).collect()))
    }
}

/// The alternatives between a `{` and its `}` while they are read. The outermost group is the whole pattern.
struct Group {
    alternatives: Vec<Vec<Piece>>,
    /// The beginnings of the alternative that is being read: one, or several after braces within it were closed.
    current: Vec<Vec<Piece>>,
}

impl Default for Group {
    fn default() -> Self {
        Self { alternatives: Vec::new(), current: vec![Vec::new()] }
    }
}

impl Group {
    fn push(&mut self, piece: &Piece) {
        for pieces in &mut self.current {
            pieces.push(piece.clone());
        }
    }

    /// Appends each of `ends` to each beginning of the current alternative.
    fn then(mut self, ends: &[Vec<Piece>]) -> Result<Self, GlobError> {
        if MAX_ALTERNATIVES < self.current.len() * ends.len() {
            return Err(GlobError::TooManyAlternatives);
        }
        let starts = self.current.iter();
        self.current =
            starts.flat_map(|start| ends.iter().map(|end| [start.as_slice(), end].concat())).collect();
        Ok(self)
    }

    fn next_alternative(&mut self) {
        self.alternatives.append(&mut self.current);
        self.current.push(Vec::new());
    }

    fn finish(mut self) -> Vec<Vec<Piece>> {
        self.alternatives.append(&mut self.current);
        self.alternatives
    }
}

/// Reads a bracket expression whose `[` has been read.
fn class(characters: &mut Peekable<Chars<'_>>) -> Result<Piece, GlobError> {
    let negated = characters.next_if(|next| matches!(next, '!' | '^')).is_some();
    let mut ranges = Vec::new();
    loop {
        let low = match characters.next().ok_or(GlobError::OpenClass)? {
            ']' if !ranges.is_empty() => return Ok(Piece::Class { negated, ranges }),
            '[' => match named_class(characters) {
                Some(named) => {
                    ranges.extend(named);
                    continue;
                }
                None => '[',
            },
            other => unescaped(other, characters)?,
        };
        let mut ahead = characters.clone();
        let mut high = low;
        if ahead.next() == Some('-') && ahead.next().is_some_and(|end| end != ']') {
            characters.next();
            high = unescaped(characters.next().ok_or(GlobError::OpenClass)?, characters)?;
        }
        if high < low {
            return Err(GlobError::EmptyRange);
        }
        ranges.push((low, high));
    }
}

fn unescaped(character: char, characters: &mut Peekable<Chars<'_>>) -> Result<char, GlobError> {
    match character {
        '\\' => characters.next().ok_or(GlobError::OpenClass),
        other => Ok(other),
    }
}

/// Reads the rest of a class such as `[:digit:]` whose `[` has been read; `None` if it is not one.
fn named_class(characters: &mut Peekable<Chars<'_>>) -> Option<&'static [(char, char)]> {
    let rest: String = characters.clone().take("[:xdigit:]".len()).collect();
    let name = rest.strip_prefix(':')?.split_once(":]")?.0;
    let ranges: &[(char, char)] = match name {
        "alnum" => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
        "alpha" => &[('A', 'Z'), ('a', 'z')],
        "blank" => &[(' ', ' '), ('\t', '\t')],
        "cntrl" => &[('\0', '\x1f'), ('\x7f', '\x7f')],
        "digit" => &[('0', '9')],
        "graph" => &[('!', '~')],
        "lower" => &[('a', 'z')],
        "print" => &[(' ', '~')],
        "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "space" => &[(' ', ' '), ('\t', '\r')],
        "upper" => &[('A', 'Z')],
        "xdigit" => &[('0', '9'), ('A', 'F'), ('a', 'f')],
        _ => return None,
    };
    characters.nth(name.len() + ":".len() + ":]".len() - 1);
    Some(ranges)
}

fn names(pieces: &[Piece]) -> Vec<Name> {
    let mut names: Vec<Name> = pieces.split(|piece| *piece == Piece::One('/')).map(name).collect();
    // Two `**` in a row match the same paths as one. This also holds at the end, where the last of them needs a name.
    names.dedup_by(|a, b| *a == Name::Any && *b == Name::Any);
    names
}

fn name(pieces: &[Piece]) -> Name {
    if matches!(pieces, [Piece::Star, Piece::Star]) {
        return Name::Any;
    }
    let plain: Option<String> =
        pieces.iter().map(|piece| if let Piece::One(c) = piece { Some(*c) } else { None }).collect();
    if let Some(text) = plain {
        return Name::Plain(text.into_bytes());
    }
    let mut pieces = pieces.to_vec();
    pieces.dedup_by(|a, b| *a == Piece::Star && *b == Piece::Star);
    Name::Wild(pieces)
}

/// Compares name by name. If a name does not match, only the last `**` that was passed takes one more name, and the
/// rest is tried again. This is enough because everything before that `**` has matched already, and would leave less of
/// the path for the rest if it took more.
fn path_matches(pattern: &[Name], path: &[u8]) -> bool {
    let mut rest = Some(path);
    let mut at = 0;
    let mut retry: Option<(usize, &[u8])> = None;
    loop {
        match (pattern.get(at), rest) {
            (None, None) => return true,
            (Some(Name::Any), Some(path)) => {
                if at + 1 == pattern.len() {
                    return true;
                }
                retry = Some((at + 1, path));
                at += 1;
                continue;
            }
            (Some(name), Some(path)) => {
                let (first, behind) = split(path);
                if name.matches(first) {
                    at += 1;
                    rest = behind;
                    continue;
                }
            }
            _ => {}
        }
        let Some((start, path)) = retry else { return false };
        let (_, Some(behind)) = split(path) else { return false };
        retry = Some((start, behind));
        at = start;
        rest = Some(behind);
    }
}

/// The first name of the path, and the rest behind its slash.
fn split(path: &[u8]) -> (&[u8], Option<&[u8]>) {
    match path.iter().position(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], Some(&path[slash + 1..])),
        None => (path, None),
    }
}

impl Name {
    fn matches(&self, name: &[u8]) -> bool {
        match self {
            Self::Any => true,
            Self::Plain(text) => text == name,
            Self::Wild(pieces) => name_matches(pieces, name),
        }
    }
}

/// Whether the pieces match a name. Backtracks as [`path_matches`] does: only the last `*` that was passed may have to
/// take one more character.
fn name_matches(pieces: &[Piece], name: &[u8]) -> bool {
    let mut rest = name;
    let mut at = 0;
    let mut retry: Option<(usize, &[u8])> = None;
    loop {
        match pieces.get(at) {
            None if rest.is_empty() => return true,
            Some(Piece::Star) => {
                if at + 1 == pieces.len() {
                    return true;
                }
                at += 1;
                retry = Some((at, rest));
                continue;
            }
            Some(piece) if !rest.is_empty() => {
                let (character, behind) = next_character(rest);
                if piece.matches(character) {
                    at += 1;
                    rest = behind;
                    continue;
                }
            }
            _ => {}
        }
        match retry {
            Some((start, from)) if !from.is_empty() => {
                let (_, behind) = next_character(from);
                retry = Some((start, behind));
                at = start;
                rest = behind;
            }
            _ => return false,
        }
    }
}

impl Piece {
    fn matches(&self, found: Option<char>) -> bool {
        match self {
            Self::One(character) => found == Some(*character),
            Self::Some | Self::Star => true,
            Self::Class { negated, ranges } => {
                let is_in = found
                    .is_some_and(|found| ranges.iter().any(|(low, high)| (*low..=*high).contains(&found)));
                is_in != *negated
            }
        }
    }
}

/// The first character, `None` for a byte that is not UTF-8, and the rest of the text.
fn next_character(text: &[u8]) -> (Option<char>, &[u8]) {
    let first = text[0];
    if first.is_ascii() {
        return (Some(char::from(first)), &text[1..]);
    }
    let longest = text.len().min(4);
    let character = (2..=longest).find_map(|len| std::str::from_utf8(&text[..len]).ok());
    match character.and_then(|text| text.chars().next()) {
        Some(character) => (Some(character), &text[character.len_utf8()..]),
        None => (None, &text[1..]),
    }
}
