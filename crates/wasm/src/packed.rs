//! A verdict in the form in which it crosses to JavaScript: one text, which `npm/src/packed.ts` reads. JSON is not
//! used, because making and reading it would take longer than the verdict itself.
//!
//! | what | how |
//! |---|---|
//! | number | a character for each six bits, the highest first; all but the last have 64 added |
//! | text | how many UTF-16 units it has, and the text |
//! | list | how many there are, and each |
//! | what may be missing | 0, or 1 and it |
//! | verdict | decision, reason, detail, effects, reads, writes, hardened |
//! | effect | kind, detail, span; behind a span its two places in UTF-16 units if the command was given |
//! | hardened | environment as a text that is a list of names and values, command, git |
//! | git | version, folders, hides, and 1 if the command may show settings |

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use headstart_tool_gate::{Effect, GitNeeds, Hardened, Verdict};
use headstart_workspace_path::WorkspacePath;

/// Packs a verdict; `command` is the text in which its effects lie, if JavaScript wants to know their places.
pub(crate) fn verdict(verdict: &Verdict, command: Option<&str>) -> String {
    let units = command.map(Utf16Offsets::of);
    let Verdict { decision, reason, detail, effects, reads, writes, hardened } = verdict;
    let mut packed = Packed(String::with_capacity(256));
    packed.text(decision.as_str());
    packed.text(reason.as_str());
    packed.text(detail);
    packed.list(effects, |packed, effect| packed.effect(effect, units.as_ref()));
    packed.paths(reads);
    packed.paths(writes);
    packed.optional(hardened.as_ref(), Packed::hardened);
    packed.0
}

#[derive(Default)]
struct Packed(String);

impl Packed {
    fn number(&mut self, number: usize) {
        let mut shift = 0;
        while 63 < number >> shift {
            shift += 6;
        }
        loop {
            #[expect(clippy::cast_possible_truncation, reason = "six bits")]
            let bits = (number >> shift) as u8 & 63;
            self.0.push(char::from(if shift == 0 { bits } else { bits | 64 }));
            if shift == 0 {
                return;
            }
            shift -= 6;
        }
    }

    fn text(&mut self, text: &str) {
        self.number(if text.is_ascii() { text.len() } else { text.encode_utf16().count() });
        self.0.push_str(text);
    }

    fn list<'a, T: 'a>(
        &mut self,
        items: impl IntoIterator<Item = &'a T, IntoIter: ExactSizeIterator>,
        mut pack: impl FnMut(&mut Self, &'a T),
    ) {
        let items = items.into_iter();
        self.number(items.len());
        items.for_each(|item| pack(self, item));
    }

    fn paths(&mut self, paths: &[WorkspacePath]) {
        self.list(paths, |packed, path| packed.text(&path.to_string()));
    }

    fn texts(&mut self, texts: &[String]) {
        self.list(texts, |packed, text| packed.text(text));
    }

    fn optional<T>(&mut self, item: Option<T>, pack: impl FnOnce(&mut Self, T)) {
        self.number(usize::from(item.is_some()));
        if let Some(item) = item {
            pack(self, item);
        }
    }

    fn effect(&mut self, effect: &Effect, units: Option<&Utf16Offsets>) {
        self.text(effect.kind.as_str());
        self.text(&effect.detail);
        self.optional(effect.span, |packed, (from, to)| {
            packed.number(from);
            packed.number(to);
            if let Some(units) = units {
                packed.number(units.at(from));
                packed.number(units.at(to));
            }
        });
    }

    fn environment(&mut self, environment: &Arc<BTreeMap<String, String>>) {
        thread_local! {
            /// An environment that several verdicts share, and its packed text. It is kept because the environment of
            /// git is large.
            static SHARED: RefCell<(Arc<BTreeMap<String, String>>, String)> = RefCell::default();
        }
        SHARED.with_borrow_mut(|(shared, text)| {
            if Arc::ptr_eq(shared, environment) {
                return self.text(text);
            }
            let mut packed = Packed::default();
            packed.number(environment.len());
            for (name, value) in &**environment {
                packed.text(name);
                packed.text(value);
            }
            self.text(&packed.0);
            if 1 < Arc::strong_count(environment) {
                (*shared, *text) = (Arc::clone(environment), packed.0);
            }
        });
    }

    fn hardened(&mut self, hardened: &Hardened) {
        self.environment(&hardened.environment);
        self.optional(hardened.shown(), Self::text);
        self.optional(hardened.git(), |packed, git| {
            let GitNeeds { version: (major, minor), folders, hides, shows_settings } = git;
            for number in [*major, *minor] {
                packed.number(usize::try_from(number).unwrap_or(usize::MAX));
            }
            packed.texts(folders);
            packed.texts(hides);
            packed.number(usize::from(*shows_settings));
        });
    }
}

/// Converts offsets in UTF-8 to offsets in UTF-16, in which JavaScript counts.
struct Utf16Offsets {
    /// For each character with different numbers of units and bytes: where it ends, and by how much the offsets behind
    /// it differ.
    shifts: Vec<(usize, usize)>,
}

impl Utf16Offsets {
    fn of(text: &str) -> Self {
        let mut shift = 0;
        let mut shifts = Vec::new();
        if !text.is_ascii() {
            for (start, character) in text.char_indices().filter(|(_, character)| !character.is_ascii()) {
                shift += character.len_utf8() - character.len_utf16();
                shifts.push((start + character.len_utf8(), shift));
            }
        }
        Self { shifts }
    }

    /// The offset in UTF-16; `byte` must be at the border of a character.
    fn at(&self, byte: usize) -> usize {
        let before = self.shifts.partition_point(|(end, _)| *end <= byte);
        byte - before.checked_sub(1).map_or(0, |last| self.shifts[last].1)
    }
}

#[cfg(test)]
mod tests {
    use headstart_tool_gate::{Decision, EffectKind, Reason};

    use super::*;

    #[test]
    fn offsets_count_as_javascript_does() {
        let text = "a语b😀c\u{e9}";
        let units = Utf16Offsets::of(text);
        for (byte, _) in text.char_indices().chain([(text.len(), ' ')]) {
            assert_eq!(units.at(byte), text[..byte].encode_utf16().count(), "{byte}");
        }
    }

    #[test]
    fn a_number_is_its_digits_to_the_base_of_64() {
        for (number, expected) in
            [(0, "\0"), (63, "\u{3f}"), (64, "\u{41}\0"), (4095, "\u{7f}\u{3f}"), (4096, "\u{41}\u{40}\0")]
        {
            let mut packed = Packed(String::new());
            packed.number(number);
            assert_eq!(packed.0, expected, "{number}");
        }
    }

    #[test]
    fn texts_are_counted_in_units_and_spans_in_both() {
        let effect = Effect { kind: EffectKind::Network, detail: "😀".to_owned(), span: Some((5, 6)) };
        let packed_of = |command| {
            let what = Verdict {
                effects: vec![effect.clone()],
                reads: vec![WorkspacePath::parse("é").unwrap()],
                ..Verdict::boundary(Reason::Network, "x")
            };
            assert_eq!(what.decision, Decision::Boundary);
            verdict(&what, command)
        };
        let start = "\u{8}boundary\u{7}network\u{1}x\u{1}\u{7}network\u{2}😀\u{1}\u{5}\u{6}";
        let end = "\u{1}\u{1}é\0\0";
        assert_eq!(packed_of(None), format!("{start}{end}"));
        assert_eq!(packed_of(Some("é é x")), format!("{start}\u{3}\u{4}{end}"));
    }
}
