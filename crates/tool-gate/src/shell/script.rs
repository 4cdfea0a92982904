//! A command's text as a typed tree.

/// Byte offsets into the text: start, and end (not included).
pub(crate) type Span = (usize, usize);

/// Commands in the order of the text.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) items: Vec<Item>,
}

/// A list joined by `&&` and `||`, and how it ends.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) first: Pipeline,
    /// Further pipelines, each with whether `&&` (and not `||`) stands before it.
    pub(crate) rest: Vec<(bool, Pipeline)>,
    pub(crate) background: bool,
}

/// Commands joined by `|`.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) stages: Vec<Command>,
    /// Whether `!` stands before it.
    pub(crate) negated: bool,
}

/// A command and its redirections.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) kind: CommandKind,
    pub(crate) redirects: Vec<Redirect>,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) enum CommandKind {
    Simple {
        assignments: Vec<Assignment>,
        words: Vec<Word>,
    },
    Subshell(Script),
    Group(Script),
    If {
        branches: Vec<(Script, Script)>,
        otherwise: Option<Script>,
    },
    While {
        condition: Script,
        body: Script,
    },
    /// `for ((start; condition; step))`
    Counted {
        start: Arithmetic,
        condition: Arithmetic,
        step: Arithmetic,
        body: Script,
    },
    For {
        name: String,
        words: Vec<Word>,
        body: Script,
    },
    Case {
        subject: Word,
        arms: Vec<(Vec<Word>, Script)>,
    },
    Test(Vec<Word>),
    Arithmetic(Arithmetic),
}

/// `name=value`, `name+=value` or `name=(values)`.
#[derive(Debug)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    pub(crate) append: bool,
    pub(crate) values: Vec<Word>,
    pub(crate) array: bool,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) struct Redirect {
    pub(crate) kind: RedirectKind,
    /// Whether it redirects only the standard error: `2>`.
    pub(crate) errors: bool,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) enum RedirectKind {
    /// `<`
    Read(Word),
    /// `>`, `>>`, `>|`, `&>`, `&>>`
    Write(Word),
    /// `>&` with a descriptor or `-`.
    Duplicate,
    /// `<&` with a descriptor or `-`.
    DuplicateInput,
    /// `>&` with anything else, `<>`, `{name}>`.
    Other,
    /// A here-string.
    Text(Word),
    /// A here-document, by its place in [`Reading::documents`](super::read::Reading).
    Document(usize),
}

/// A word, which becomes none, one or several arguments.
#[derive(Debug, Clone, Default)]
pub(crate) struct Word {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum Piece {
    /// Bytes as the program gets them, with quotes and escapes resolved.
    Literal {
        bytes: Vec<u8>,
        quoted: bool,
    },
    /// An unquoted `*`, `?` or `[`.
    Glob(u8),
    /// An unquoted `~` where bash may expand it.
    Tilde,
    /// A brace expansion that the reader did not spell out.
    Braces,
    Parameter(Box<Parameter>),
    /// `$(…)` or backquotes.
    Substitution {
        script: std::rc::Rc<Script>,
        quoted: bool,
    },
    /// `<(…)`
    ProcessInput(std::rc::Rc<Script>),
    Arithmetic(Arithmetic),
}

/// `$name` and `${name…}`.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// Whether it is all elements of an array, or all positional parameters.
    pub(crate) all: bool,
    /// The index of an array's element, if it is more than a number.
    pub(crate) subscript: Option<Arithmetic>,
    pub(crate) operator: Operator,
    pub(crate) quoted: bool,
    pub(crate) span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum Operator {
    None,
    /// `${#name}`
    Length,
    /// `${!name[@]}`
    Places,
    /// `${name:-word}`, `:+`, `:?`
    Default(Word),
    /// `${name%word}`, `%%`
    CutEnd(Word),
    /// Any other operator that only makes another text of the value.
    Other(Word),
}

/// The tokens of an arithmetic expression.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arithmetic {
    pub(crate) tokens: Vec<ArithmeticToken>,
    pub(crate) span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum ArithmeticToken {
    Number,
    Name(String),
    /// An operator that assigns to the name before it (or after it).
    Assign,
    Operator,
    Value(Piece),
}

impl Word {
    /// Whether an expansion in it may depend on a variable.
    pub(crate) fn expands(&self) -> bool {
        self.pieces.iter().any(|piece| match piece {
            Piece::Literal { .. } | Piece::Glob(_) | Piece::Tilde | Piece::Braces => false,
            Piece::Parameter(_)
            | Piece::Substitution { .. }
            | Piece::ProcessInput(_)
            | Piece::Arithmetic(_) => true,
        })
    }

    /// Whether expanding it changes a variable, because an arithmetic expression in it assigns.
    pub(crate) fn assigns(&self) -> bool {
        self.pieces.iter().any(Piece::assigns)
    }

    /// The bytes, if the word is fixed: no expansion, no wildcard.
    pub(crate) fn literal(&self) -> Option<Vec<u8>> {
        let mut all = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Literal { bytes, .. } => all.extend_from_slice(bytes),
                _ => return None,
            }
        }
        Some(all)
    }

    /// The text of a word without any quotes: only such a word can be a keyword.
    pub(crate) fn bare(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Literal { bytes, quoted: false }] => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }
}

impl Piece {
    fn assigns(&self) -> bool {
        match self {
            // A substitution runs in a shell of its own, which changes nothing here.
            Self::Literal { .. }
            | Self::Glob(_)
            | Self::Tilde
            | Self::Braces
            | Self::Substitution { .. }
            | Self::ProcessInput(_) => false,
            Self::Arithmetic(arithmetic) => arithmetic.assigns(),
            Self::Parameter(parameter) => {
                let of_operator = match &parameter.operator {
                    Operator::None | Operator::Length | Operator::Places => false,
                    Operator::Default(word) | Operator::CutEnd(word) | Operator::Other(word) => {
                        word.assigns()
                    }
                };
                of_operator || parameter.subscript.as_ref().is_some_and(Arithmetic::assigns)
            }
        }
    }
}

impl Arithmetic {
    fn assigns(&self) -> bool {
        self.tokens.iter().any(|token| match token {
            ArithmeticToken::Assign => true,
            ArithmeticToken::Number | ArithmeticToken::Name(_) | ArithmeticToken::Operator => false,
            ArithmeticToken::Value(piece) => piece.assigns(),
        })
    }
}
