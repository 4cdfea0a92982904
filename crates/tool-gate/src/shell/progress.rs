//! Whether a counter reaches the end of a loop: what a round does to a number, and how a comparison then turns out.
//!
//! Everything here proves that a loop does *not* end. What is not understood counts as ending, because the executor
//! has a limit of time as well.

/// A loop with more rounds than this counts as endless.
const MAX_ROUNDS: i128 = 1_000_000_000_000;

/// What one round of a loop does to a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// This number is added.
    Add(i128),
    /// It grows or falls by an unknown amount: `1` or `-1`.
    Toward(i128),
    /// It has this value afterwards.
    Set(i128),
    Unknown,
}

impl Change {
    pub(crate) const NONE: Self = Self::Add(0);

    /// This change followed by `next`.
    pub(crate) fn then(self, next: Self) -> Self {
        match (self, next) {
            (_, Self::Set(value)) => Self::Set(value),
            (Self::Add(first), Self::Add(second)) => Self::Add(first.saturating_add(second)),
            (Self::Set(value), Self::Add(more)) => Self::Set(value.saturating_add(more)),
            _ => Self::Unknown,
        }
    }

    /// This change, possibly followed by `other`.
    pub(crate) fn perhaps(self, other: Self) -> Self {
        match (self.sign(), other.sign()) {
            (_, Some(0)) => self,
            (Some(first), Some(second)) if first == 0 || first == second => Self::Toward(second),
            _ => Self::Unknown,
        }
    }

    fn sign(self) -> Option<i128> {
        match self {
            Self::Add(number) | Self::Toward(number) => Some(number.signum()),
            Self::Set(_) | Self::Unknown => None,
        }
    }

    fn times(self, factor: i128) -> Self {
        match self {
            Self::Add(number) => Self::Add(number.saturating_mul(factor)),
            Self::Toward(number) => Self::Toward(number.saturating_mul(factor).signum()),
            Self::Set(number) => Self::Set(number.saturating_mul(factor)),
            Self::Unknown => Self::Unknown,
        }
    }
}

/// How a loop compares two numbers to decide whether it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compare {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

impl Compare {
    /// The comparison with this operator.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "-lt" | "<" => Self::Less,
            "-le" | "<=" => Self::LessOrEqual,
            "-gt" | ">" => Self::Greater,
            "-ge" | ">=" => Self::GreaterOrEqual,
            "-eq" | "==" => Self::Equal,
            "-ne" | "!=" => Self::NotEqual,
            _ => return None,
        })
    }

    pub(crate) const fn negated(self) -> Self {
        match self {
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
        }
    }

    const fn holds(self, difference: i128) -> bool {
        match self {
            Self::Less => difference < 0,
            Self::LessOrEqual => difference <= 0,
            Self::Greater => 0 < difference,
            Self::GreaterOrEqual => 0 <= difference,
            Self::Equal => difference == 0,
            Self::NotEqual => difference != 0,
        }
    }
}

/// A sum of a number and of variables with factors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    number: i128,
    terms: Vec<(String, i128)>,
}

impl Sum {
    /// Reads a sum as the shell, awk and jq write one. Names may have a `$`, and `.` is a name.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let bytes: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let mut reader = SumReader { bytes: &bytes, at: 0, depth: 0 };
        let sum = reader.sum()?;
        (reader.at == bytes.len()).then_some(sum)
    }

    /// What assigning this sum to `name` does to it. `known` gives the values of variables that do not change.
    pub(crate) fn assigned_to(&self, name: &str, known: &dyn Fn(&str) -> Option<i128>) -> Change {
        let mut rest = self.clone();
        let own = rest.terms.iter().position(|(term, _)| term == name).map(|at| rest.terms.remove(at).1);
        match (own, rest.value(known)) {
            (Some(1), Some(number)) => Change::Add(number),
            (None, Some(number)) => Change::Set(number),
            _ => Change::Unknown,
        }
    }

    fn value(&self, known: &dyn Fn(&str) -> Option<i128>) -> Option<i128> {
        self.terms
            .iter()
            .try_fold(self.number, |sum, (name, factor)| sum.checked_add(known(name)?.checked_mul(*factor)?))
    }

    fn plus(mut self, other: Self, factor: i128) -> Option<Self> {
        self.number = self.number.checked_add(other.number.checked_mul(factor)?)?;
        for (name, count) in other.terms {
            let count = count.checked_mul(factor)?;
            match self.terms.iter_mut().find(|(term, _)| *term == name) {
                Some((_, sum)) => *sum = sum.checked_add(count)?,
                None => self.terms.push((name, count)),
            }
        }
        self.terms.retain(|(_, count)| *count != 0);
        Some(self)
    }
}

/// The comparison in an expression. A number alone is compared with zero.
pub(crate) fn compared(expression: &str) -> Option<(Sum, Compare, Sum)> {
    for operator in ["<=", ">=", "==", "!=", "<", ">"] {
        if let Some((left, right)) = expression.split_once(operator) {
            let side = |text: &str| Sum::read(&text.replace("++", "").replace("--", ""));
            return Some((side(left)?, Compare::named(operator)?, side(right)?));
        }
    }
    let alone = expression.replace("++", "").replace("--", "");
    Some((Sum::read(&alone)?, Compare::NotEqual, Sum::default()))
}

/// Why a loop that goes on while `left` compares so with `right` does not end; `None` if it may.
///
/// `change` tells what a round does to a variable, `start` its value before the first round, if that is known.
pub(crate) fn never_ends(
    left: &Sum,
    compare: Compare,
    right: &Sum,
    change: &dyn Fn(&str) -> Change,
    start: &dyn Fn(&str) -> Option<i128>,
) -> Option<&'static str> {
    const SAME: &str = "a loop whose condition is the same after each round";
    const AWAY: &str = "a loop whose counter moves away from where it would end";
    const PAST: &str = "a loop whose counter steps past where it would end";
    let difference = left.clone().plus(right.clone(), -1)?;
    let changes = difference.terms.iter().map(|(name, factor)| change(name).times(*factor));
    let mut round = Change::NONE;
    for change in changes {
        round = match (round, change) {
            (round, Change::Add(0)) => round,
            (Change::Add(first), Change::Add(second)) => Change::Add(first.saturating_add(second)),
            (Change::Add(0), change) => change,
            _ => Change::Unknown,
        };
    }
    let begins = difference.value(start);
    match (round, compare) {
        (Change::Add(0), _) => Some(SAME),
        // The value it is set to decides only if no other variable is in the comparison.
        (Change::Set(value), _) => match difference.terms.as_slice() {
            [_] => compare.holds(value.saturating_add(difference.number)).then_some(SAME),
            _ => None,
        },
        (Change::Add(step) | Change::Toward(step), Compare::Less | Compare::LessOrEqual) if step < 0 => {
            Some(AWAY)
        }
        (Change::Add(step) | Change::Toward(step), Compare::Greater | Compare::GreaterOrEqual)
            if 0 < step =>
        {
            Some(AWAY)
        }
        (Change::Add(step), Compare::NotEqual) => {
            let begins = begins?;
            if begins % step != 0 {
                return Some(PAST);
            }
            (0 < begins.signum() * step.signum()).then_some(AWAY)
        }
        (
            Change::Add(step),
            Compare::Less | Compare::LessOrEqual | Compare::Greater | Compare::GreaterOrEqual,
        ) => {
            let rounds = begins?.checked_div(step)?;
            (rounds < -MAX_ROUNDS).then_some("a loop that takes too many rounds")
        }
        _ => None,
    }
}

struct SumReader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
}

impl SumReader<'_> {
    fn take(&mut self, byte: u8) -> bool {
        let found = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn sum(&mut self) -> Option<Sum> {
        let mut sum = Sum::default();
        let mut factor = if self.take(b'-') { -1 } else { 1 };
        loop {
            sum = sum.plus(self.product()?, factor)?;
            factor = match self.bytes.get(self.at) {
                Some(b'+') => 1,
                Some(b'-') => -1,
                _ => return Some(sum),
            };
            self.at += 1;
        }
    }

    fn product(&mut self) -> Option<Sum> {
        let mut product = self.operand()?;
        while self.bytes.get(self.at) == Some(&b'*') && self.bytes.get(self.at + 1) != Some(&b'*') {
            self.at += 1;
            let next = self.operand()?;
            product = match (product.terms.is_empty(), next.terms.is_empty()) {
                (true, _) => Sum::default().plus(next, product.number)?,
                (_, true) => Sum::default().plus(product, next.number)?,
                _ => return None,
            };
        }
        Some(product)
    }

    fn operand(&mut self) -> Option<Sum> {
        if self.take(b'(') {
            self.depth += 1;
            if 8 < self.depth {
                return None;
            }
            let sum = self.sum()?;
            self.depth -= 1;
            return self.take(b')').then_some(sum);
        }
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if 0 < digits {
            self.at += digits;
            // An octal number, one of another base, or a fraction is not understood.
            let plain = (digits == 1 || rest[0] != b'0') && digits < 19;
            let other = rest
                .get(digits)
                .is_some_and(|next| next.is_ascii_alphanumeric() || matches!(next, b'#' | b'.' | b'_'));
            let number = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
            return (plain && !other).then_some(Sum { number, terms: Vec::new() });
        }
        let braced = rest.starts_with(b"${");
        self.at += if braced { 2 } else { usize::from(rest.first() == Some(&b'$')) };
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = match rest.first()? {
            b'.' => 1,
            first if first.is_ascii_alphabetic() || *first == b'_' => {
                rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count()
            }
            _ => return None,
        };
        self.at += length;
        let name = std::str::from_utf8(&rest[..length]).ok()?.to_owned();
        let next = self.bytes.get(self.at);
        // An element, a call or a field is not a variable.
        let other = matches!(next, Some(b'[' | b'(' | b'.')) && !(name == "." && next == Some(&b'('))
            || (name == "."
                && next.is_some_and(|next| next.is_ascii_alphanumeric() || *next == b'_' || *next == b'"'));
        if other || (braced && !self.take(b'}')) {
            return None;
        }
        Some(Sum { number: 0, terms: vec![(name, 1)] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(left: &str, compare: &str, right: &str, step: Change, start: Option<i128>) -> bool {
        let change = |name: &str| if name == "i" { step } else { Change::NONE };
        let start = |name: &str| if name == "i" { start } else { None };
        let (left, right) = (Sum::read(left).unwrap(), Sum::read(right).unwrap());
        never_ends(&left, Compare::named(compare).unwrap(), &right, &change, &start).is_none()
    }

    #[test]
    fn a_counter_that_gets_there_ends() {
        assert!(ends("i", "-lt", "5", Change::Add(1), Some(0)));
        assert!(ends("i", "<=", "n", Change::Add(2), None));
        assert!(ends("n", ">", "i", Change::Add(1), None));
        assert!(ends("i", "-ne", "6", Change::Add(2), Some(0)));
        assert!(ends("i", "-ne", "0", Change::Add(-1), None));
        assert!(ends("i", "-eq", "0", Change::Add(5), None));
        assert!(ends("i", "<", "5", Change::Set(5), None));
        assert!(ends("i", "<", "5", Change::Toward(1), None));
        assert!(ends("i", "<", "5", Change::Unknown, None));
    }

    #[test]
    fn one_that_does_not_is_seen() {
        assert!(!ends("i", "-lt", "5", Change::NONE, Some(0)));
        assert!(!ends("i", "-lt", "5", Change::Add(-1), Some(0)));
        assert!(!ends("i+3", "-gt", "n", Change::Add(1), None));
        assert!(!ends("n", "<", "i", Change::Add(1), None));
        assert!(!ends("i", "-ne", "5", Change::Add(2), Some(0)));
        assert!(!ends("i", "-ne", "6", Change::Add(2), Some(8)));
        assert!(!ends("i", "<", "5", Change::Set(3), None));
        assert!(!ends("i", "<", "i+1", Change::Add(1), None));
        assert!(!ends("i", "<", "9000000000000000", Change::Add(1), Some(0)));
        assert!(!ends("i", "<", "5", Change::NONE.perhaps(Change::Add(-2)), None));
    }

    #[test]
    fn a_sum_is_read_or_not() {
        let known = |name: &str| (name == "k").then_some(3);
        let change = |text: &str| Sum::read(text).map(|sum| sum.assigned_to("i", &known));
        assert_eq!(change("$i + 1"), Some(Change::Add(1)));
        assert_eq!(change("1 + ${i} - 1"), Some(Change::Add(0)));
        assert_eq!(change("i * 1 + 0 * i"), Some(Change::Add(0)));
        assert_eq!(change("(i - (k - 1))"), Some(Change::Add(-2)));
        assert_eq!(change("k * 2"), Some(Change::Set(6)));
        assert_eq!(change("i * 2"), Some(Change::Unknown));
        for text in
            ["", "i+", "010", "0x1", "i[1]", "i**2", "i++", "f(i)", ".a", "1.5", "${i:-1}", "((((((((((i"]
        {
            assert_eq!(Sum::read(text), None, "{text}");
        }
    }
}
