//! The letters of vi's normal mode in the prompt.

use super::keymap::EditorCommand;

/// Whether the prompt has the modes of vi, and the current mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Vi {
    #[default]
    Off,
    /// Letters are typed.
    Insert,
    /// Letters are commands. `operator` is a d or c that waits for what it cuts.
    Normal { operator: Option<char> },
}

/// A movement of the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Motion {
    Left,
    Right,
    NextWord,
    PreviousWord,
    WordEnd,
    LineStart,
    LineEnd,
}

/// A step of what a letter does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ViStep {
    Move(Motion),
    /// Cuts the text between the cursor and the target of the motion.
    Cut(Motion),
    /// Cuts the line with its end.
    CutLine,
    /// What a key does without the modes of vi.
    Do(EditorCommand),
    /// Changes to insert mode.
    Insert,
}

use Motion::{Left, LineEnd, LineStart, NextWord, PreviousWord, Right, WordEnd};
use ViStep::{Cut, CutLine, Do, Insert, Move};

const MOTIONS: [(char, Motion); 8] = [
    ('h', Left),
    ('l', Right),
    ('w', NextWord),
    ('b', PreviousWord),
    ('e', WordEnd),
    ('0', LineStart),
    ('^', LineStart),
    ('$', LineEnd),
];

const COMMANDS: [(char, &[ViStep]); 17] = [
    ('i', &[Insert]),
    ('a', &[Move(Right), Insert]),
    ('I', &[Move(LineStart), Insert]),
    ('A', &[Move(LineEnd), Insert]),
    ('o', &[Move(LineEnd), Do(EditorCommand::NewLine), Insert]),
    ('O', &[Move(LineStart), Do(EditorCommand::NewLine), Do(EditorCommand::Up), Insert]),
    ('x', &[Cut(Right)]),
    ('X', &[Cut(Left)]),
    ('s', &[Cut(Right), Insert]),
    ('D', &[Cut(LineEnd)]),
    ('C', &[Cut(LineEnd), Insert]),
    ('S', &[Move(LineStart), Cut(LineEnd), Insert]),
    ('p', &[Move(Right), Do(EditorCommand::Yank)]),
    ('P', &[Do(EditorCommand::Yank)]),
    ('u', &[Do(EditorCommand::Undo)]),
    // As with the arrows: the next line, then the history.
    ('j', &[Do(EditorCommand::Down)]),
    ('k', &[Do(EditorCommand::Up)]),
];

impl Vi {
    /// What a letter does in normal mode; empty if it does nothing, or is the first of two letters.
    pub(super) fn steps(&mut self, letter: char) -> Vec<ViStep> {
        let Self::Normal { operator } = self else { return Vec::new() };
        let motion = MOTIONS.iter().find(|(known, _)| *known == letter).map(|(_, motion)| *motion);
        match (operator.take(), letter, motion) {
            (None, 'd' | 'c', _) => {
                *operator = Some(letter);
                Vec::new()
            }
            (None, _, Some(motion)) => vec![Move(motion)],
            (None, ..) => {
                let found = COMMANDS.iter().find(|(known, _)| *known == letter);
                found.map_or_else(Vec::new, |(_, steps)| steps.to_vec())
            }
            (Some('d'), 'd', _) => vec![CutLine],
            (Some('d'), _, Some(motion)) => vec![Cut(motion)],
            (Some(_), 'c', _) => vec![Move(LineStart), Cut(LineEnd), Insert],
            // Changing a word keeps the blanks behind it.
            (Some(_), _, Some(NextWord)) => vec![Cut(WordEnd), Insert],
            (Some(_), _, Some(motion)) => vec![Cut(motion), Insert],
            (Some(_), _, None) => Vec::new(),
        }
    }

    /// The mode's name.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Self::Off => None,
            Self::Insert => Some("INSERT"),
            Self::Normal { .. } => Some("NORMAL"),
        }
    }
}
