//! What is known of a text before the command runs.

mod template;

use super::script::Span;
pub(crate) use template::{Template, is_plain_word};

/// The longest text that is kept exactly, in bytes; no path is longer.
const MAX_EXACT: usize = 4 * 1024;

/// The texts that an expansion may give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// Exactly these bytes.
    Exact(Vec<u8>),
    /// Any text with these properties.
    Some(Shape),
}

/// What a text may look like. `true` means "possibly", so that joining two shapes is `or`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent properties of one text, each used alone")]
pub(crate) struct Shape {
    pub(crate) empty: bool,
    pub(crate) dash_first: bool,
    /// The text, or a word of it, may start with a dash even in the hardened form.
    pub(crate) really_dash: bool,
    pub(crate) slash_first: bool,
    /// It may contain a `..` component.
    pub(crate) climbs: bool,
    pub(crate) dot_first: bool,
    /// Its last component may be `.` alone.
    pub(crate) dot_last: bool,
    /// It may be something other than digits or an empty text, which arithmetic reads as zero.
    pub(crate) not_number: bool,
    /// It may be something other than an empty text or a plain word (digits, the name of an object, a revision:
    /// [`is_plain_word`]).
    pub(crate) not_word: bool,
    /// Without quotes it may become several words, or none.
    pub(crate) splits: bool,
    /// It is one of several texts that are ended by a NUL, not by a newline.
    pub(crate) nul: bool,
    /// It may begin with the path of the workspace, which is no `slash_first`.
    pub(crate) rooted: bool,
    /// The insertions on which the other fields depend, as a bit set; [`Judge::fix`](super::analyse::Judge::fix)
    /// numbers them.
    pub(crate) fixes: u32,
}

impl Shape {
    pub(crate) const ANY: Self = Self {
        empty: true,
        dash_first: true,
        really_dash: true,
        slash_first: true,
        climbs: true,
        dot_first: true,
        dot_last: true,
        not_number: true,
        not_word: true,
        splits: true,
        nul: true,
        rooted: true,
        fixes: 0,
    };
    /// Digits.
    pub(crate) const NUMBER: Self = Self {
        empty: false,
        dash_first: false,
        really_dash: false,
        slash_first: false,
        climbs: false,
        dot_first: false,
        dot_last: false,
        not_number: false,
        not_word: false,
        splits: false,
        nul: false,
        rooted: false,
        fixes: 0,
    };
    /// Digits, or nothing, as printed by a program that may fail.
    pub(crate) const COUNT: Self = Self { empty: true, ..Self::NUMBER };
    /// Several lines of digits, which are not one word.
    pub(crate) const COUNTS: Self = Self { splits: true, not_word: true, ..Self::COUNT };
    /// Digits, perhaps with a sign.
    pub(crate) const SIGNED: Self = Self { dash_first: true, ..Self::NUMBER };
    /// The name of an object or a revision, or nothing.
    pub(crate) const WORD: Self = Self { empty: true, not_number: true, ..Self::NUMBER };
    /// What a wildcard stands for: part of a name.
    pub(crate) const WILD: Self = Self {
        empty: true,
        dash_first: true,
        really_dash: true,
        not_number: true,
        not_word: true,
        splits: true,
        ..Self::NUMBER
    };
    /// A path from a listing of the workspace, once lines that lead elsewhere are removed.
    pub(crate) const LISTED: Self =
        Self { really_dash: false, dot_first: true, dot_last: true, ..Self::WILD };

    pub(crate) fn of(bytes: &[u8]) -> Self {
        let blank = bytes.iter().any(|byte| b" \t\n".contains(byte));
        let wild = bytes.iter().any(|byte| b"*?[\\".contains(byte));
        Self {
            empty: bytes.is_empty(),
            dash_first: bytes.first() == Some(&b'-'),
            really_dash: bytes.first() == Some(&b'-') || (blank && bytes.contains(&b'-')) || wild,
            slash_first: bytes.first() == Some(&b'/'),
            climbs: bytes.windows(2).any(|pair| pair == b".."),
            dot_first: bytes.first() == Some(&b'.'),
            dot_last: bytes == b"." || bytes.ends_with(b"/."),
            not_number: bytes.len() > 15
                || !bytes.iter().all(u8::is_ascii_digit)
                || (bytes.len() > 1 && bytes[0] == b'0'),
            not_word: !bytes.is_empty() && !is_plain_word(bytes),
            splits: bytes.is_empty() || blank || wild,
            nul: false,
            rooted: false,
            fixes: 0,
        }
    }

    pub(crate) fn join(self, other: Self) -> Self {
        Self {
            empty: self.empty | other.empty,
            dash_first: self.dash_first | other.dash_first,
            really_dash: self.really_dash | other.really_dash,
            slash_first: self.slash_first | other.slash_first,
            climbs: self.climbs | other.climbs,
            dot_first: self.dot_first | other.dot_first,
            dot_last: self.dot_last | other.dot_last,
            not_number: self.not_number | other.not_number,
            not_word: self.not_word | other.not_word,
            splits: self.splits | other.splits,
            nul: self.nul | other.nul,
            rooted: self.rooted | other.rooted,
            fixes: self.fixes | other.fixes,
        }
    }
}

impl Value {
    pub(crate) const ANY: Self = Self::Some(Shape::ANY);
    pub(crate) const NUMBER: Self = Self::Some(Shape::NUMBER);
    pub(crate) const COUNT: Self = Self::Some(Shape::COUNT);

    pub(crate) fn empty() -> Self {
        Self::Exact(Vec::new())
    }

    pub(crate) fn shape(&self) -> Shape {
        match self {
            Self::Exact(bytes) => Shape::of(bytes),
            Self::Some(shape) => *shape,
        }
    }

    pub(crate) fn join(&self, other: &Self) -> Self {
        if self == other { self.clone() } else { Self::Some(self.shape().join(other.shape())) }
    }
}

/// An argument of a command, or several if their number is not known.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent properties of one argument, each used alone")]
pub(crate) struct Arg {
    /// The whole text, or its start.
    pub(crate) prefix: Vec<u8>,
    /// Whether `prefix` is the whole text.
    pub(crate) exact: bool,
    /// Whether it may become no argument or several, each starting with `prefix`.
    pub(crate) many: bool,
    /// Whether it may start with a dash.
    pub(crate) dash: bool,
    /// Whether it may start with a dash even in the hardened form.
    pub(crate) really_dash: bool,
    /// Whether, as a path, it may leave the folder that `prefix` names (or the current folder if `prefix` names
    /// none).
    pub(crate) escapes: bool,
    /// Whether it is certainly a number, or, with `many`, a number or no argument.
    pub(crate) number: bool,
    /// Whether it may be empty, if it is not exact.
    pub(crate) empty: bool,
    /// Whether it may begin with the path of the workspace, if it is not exact.
    pub(crate) rooted: bool,
    /// The insertions on which all this depends, as a bit set; 0 once they are made.
    pub(crate) fixes: u32,
    /// The text, known except for words at known offsets; `None` if it is exact, or if less is known.
    pub(crate) template: Option<Box<Template>>,
    pub(crate) span: Span,
}

impl Arg {
    pub(crate) fn exact(bytes: impl Into<Vec<u8>>, span: Span) -> Self {
        let prefix = bytes.into();
        let shape = Shape::of(&prefix);
        Self {
            exact: true,
            many: false,
            dash: shape.dash_first,
            really_dash: shape.really_dash,
            escapes: false,
            number: !shape.not_number,
            empty: false,
            rooted: false,
            fixes: 0,
            template: None,
            prefix,
            span,
        }
    }

    /// Names from a listing of the workspace: any number, possibly looking like options, never outside.
    pub(crate) fn listed(span: Span) -> Self {
        Self {
            prefix: Vec::new(),
            exact: false,
            many: true,
            dash: true,
            really_dash: true,
            escapes: false,
            number: false,
            empty: true,
            rooted: false,
            fixes: 0,
            template: None,
            span,
        }
    }

    /// The bytes, if they are known and form one argument.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        (self.exact && !self.many).then_some(self.prefix.as_slice())
    }

    /// The text, if it is known and forms one argument.
    pub(crate) fn text(&self) -> Option<&str> {
        self.bytes().and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    /// The value of a variable to which the argument is assigned.
    pub(crate) fn to_value(&self) -> Value {
        if let Some(bytes) = self.bytes() {
            // A longer text would cost time and memory with each copy of the state.
            let long = MAX_EXACT < bytes.len();
            return if long { Value::Some(Shape::of(bytes)) } else { Value::Exact(bytes.to_vec()) };
        }
        if self.number {
            let shape = if self.dash { Shape::SIGNED } else { Shape::NUMBER };
            return Value::Some(Shape { empty: self.many || self.empty, ..shape });
        }
        if self.template.as_ref().is_some_and(|template| template.is_one_word()) && !self.dash {
            return Value::Some(Shape { empty: self.many || self.empty, ..Shape::WORD });
        }
        let prefix = Shape::of(&self.prefix);
        Value::Some(Shape {
            empty: self.empty || self.many,
            dash_first: self.dash,
            really_dash: self.really_dash,
            slash_first: (prefix.slash_first && !self.rooted) || (prefix.empty && self.escapes),
            climbs: self.escapes || prefix.climbs,
            dot_first: prefix.empty || prefix.dot_first,
            dot_last: prefix.dot_last || self.escapes || self.prefix.is_empty(),
            not_number: true,
            not_word: true,
            splits: true,
            nul: false,
            rooted: self.rooted,
            fixes: self.fixes,
        })
    }

    /// Whether the program may take it for the standard input.
    pub(crate) fn may_be_input(&self) -> bool {
        let device = |path: &[u8]| path.starts_with(b"/dev/") || path.starts_with(b"/proc/");
        if self.exact { self.prefix == b"-" || device(&self.prefix) } else { self.really_dash }
    }

    /// Whether, as an operand, it certainly exists and is not the standard input.
    pub(crate) fn is_a_file(&self) -> bool {
        !self.many && !self.may_be_input()
    }

    pub(crate) fn is(&self, text: &str) -> bool {
        self.bytes() == Some(text.as_bytes())
    }

    /// The argument without its first bytes, for a value that is attached to an option.
    pub(crate) fn without(&self, count: usize) -> Self {
        let prefix = self.prefix.get(count..).unwrap_or_default().to_vec();
        let shape = Shape::of(&prefix);
        Self {
            dash: shape.dash_first,
            really_dash: shape.really_dash,
            number: self.exact && !shape.not_number,
            template: None,
            prefix,
            ..self.clone()
        }
    }
}

/// Joins the parts of an argument.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent properties of one text, each used alone")]
pub(crate) struct Builder {
    prefix: Vec<u8>,
    exact: bool,
    many: bool,
    dash: bool,
    really_dash: bool,
    escapes: bool,
    number: bool,
    /// Whether all parts so far may be empty.
    maybe_empty: bool,
    /// Whether the last path component may still be empty.
    name_start: bool,
    /// Whether the last path component may be `.` alone.
    dot: bool,
    split: bool,
    /// Whether bash drops the argument if all its parts are empty.
    vanishes: bool,
    rooted: bool,
    fixes: u32,
    /// `None` once a part is neither bytes nor a word.
    template: Option<Template>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            prefix: Vec::new(),
            exact: true,
            many: false,
            dash: false,
            really_dash: false,
            escapes: false,
            number: true,
            maybe_empty: true,
            name_start: true,
            dot: false,
            split: false,
            vanishes: false,
            rooted: false,
            fixes: 0,
            template: Some(Template::default()),
        }
    }

    pub(crate) fn literal(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if let Some(template) = &mut self.template {
            template.literal(bytes);
        }
        if self.exact {
            self.prefix.extend_from_slice(bytes);
        } else {
            let shape = Shape::of(bytes);
            self.dash |= self.maybe_empty && shape.dash_first;
            // Behind a blank at the end of a part that is split, this begins a word of its own.
            self.dash |= self.split && shape.dash_first;
            self.really_dash |= (self.maybe_empty || self.split) && shape.dash_first;
            self.escapes |= (self.maybe_empty || self.split) && shape.slash_first;
            self.escapes |= shape.climbs;
            // Right behind the path of the workspace this would make the name of another folder.
            self.escapes |= self.rooted && !shape.slash_first;
        }
        self.number &= bytes.iter().all(u8::is_ascii_digit);
        self.maybe_empty = false;
        for byte in bytes {
            // In an exact text a `..` is found when the path is resolved.
            self.escapes |= !self.exact && self.dot && *byte == b'.';
            self.dot = self.name_start && *byte == b'.';
            self.name_start = *byte == b'/';
        }
    }

    pub(crate) fn value(&mut self, value: &Value, quoted: bool) {
        let shape = match value {
            Value::Exact(bytes) if quoted || !Shape::of(bytes).splits => return self.literal(bytes),
            // Which words and names come of such a text is not spelled out.
            Value::Exact(bytes) if !bytes.is_empty() => Shape::ANY,
            value => value.shape(),
        };
        match &mut self.template {
            Some(template) if !shape.not_word && (!shape.splits || quoted) => template.word(shape),
            template => *template = None,
        }
        self.fixes |= shape.fixes;
        self.escapes |= self.rooted;
        self.rooted |= shape.rooted;
        self.vanishes |= shape.empty && !quoted;
        self.dash |= self.maybe_empty && self.prefix.is_empty() && shape.dash_first;
        self.really_dash |= self.maybe_empty && self.prefix.is_empty() && shape.really_dash;
        self.escapes |= self.maybe_empty && self.prefix.is_empty() && shape.slash_first;
        self.escapes |= shape.climbs || (self.dot && shape.dot_first);
        if shape.splits && !quoted {
            // The text may be split: what follows a blank begins another argument, which `prefix` does not describe.
            self.many = true;
            self.dash = true;
            self.split = true;
            // Only a filter takes away the names with blanks, behind which another word may start with a dash.
            self.really_dash |= shape.really_dash || (shape.fixes == 0 && shape.not_number);
            self.escapes |= shape.slash_first;
        }
        self.number &= !shape.not_number;
        self.exact = false;
        self.dot = shape.dot_last || (self.dot && shape.empty);
        // The part may end with a separator.
        self.name_start |= shape.not_number;
        self.maybe_empty &= shape.empty && self.prefix.is_empty();
    }

    /// Adds a wildcard: part of a name that exists, or the pattern itself.
    pub(crate) fn wild(&mut self) {
        // `.*` and `..?` may match the parent folder.
        let dots = self.exact && self.prefix.rsplit(|byte| *byte == b'/').next() == Some(b"..");
        self.escapes |= self.dot || dots;
        let start = self.name_start;
        self.value(&Value::Some(Shape::WILD), true);
        self.name_start = start;
        self.many = true;
        // Bash matches names, which are not empty; without a match the pattern stays.
        self.maybe_empty = false;
    }

    pub(crate) fn all(&mut self) {
        self.many = true;
        // The elements are several arguments, or joined by blanks.
        self.template = None;
    }

    /// Whether a part with something in it was added.
    pub(crate) fn has_begun(&self) -> bool {
        !(self.exact && self.prefix.is_empty())
    }

    /// Elements of an array were added behind another part: only the first of them is joined to it, and the others begin
    /// arguments of their own.
    pub(crate) fn part(&mut self, element: &Value) {
        let shape = element.shape();
        self.split = true;
        self.exact = false;
        self.number = false;
        self.dash |= shape.dash_first;
        self.really_dash |= shape.really_dash;
        self.escapes |= shape.slash_first;
    }

    pub(crate) fn finish(self, span: Span) -> Arg {
        let dash = if self.exact {
            self.prefix.first() == Some(&b'-')
        } else {
            self.dash || self.prefix.first() == Some(&b'-')
        };
        let Self { mut prefix, exact, mut escapes, number, split, rooted, fixes, template, .. } = self;
        let template = template.filter(|_| !exact && !split).map(Box::new);
        let empty = self.maybe_empty && !exact;
        let many = self.many || (self.vanishes && empty);
        let really_dash = prefix.first() == Some(&b'-') || (!exact && self.really_dash);
        if split {
            // The first of the words still starts with this.
            let shape = Shape::of(&prefix);
            escapes |= shape.slash_first || shape.climbs;
            prefix.clear();
        }
        let number = number && (!exact || !Shape::of(&prefix).not_number);
        Arg { prefix, exact, many, dash, really_dash, escapes, number, empty, rooted, fixes, template, span }
    }
}
