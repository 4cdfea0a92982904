//! Brace expansion: finds it, and spells it out if it is simple.

use crate::shell::script::{Piece, Word};

/// Replaces the text around a possible brace expansion that is not simple by [`Piece::Braces`].
///
/// A brace expansion is simple if it is the only pair of unquoted braces in the word, with commas and without `..`
/// between them. It is left as it is, for [`expand`].
pub(super) fn mark(pieces: &mut Vec<Piece>) {
    let (mut opened, mut separated, mut closed) = (0, false, 0);
    let mut previous_dot = false;
    for piece in pieces.iter() {
        let Piece::Literal { bytes, quoted: false } = piece else {
            previous_dot = false;
            continue;
        };
        for byte in bytes {
            match byte {
                b'{' => opened += 1,
                b'}' if 0 < opened => closed += 1,
                b',' if 0 < opened => separated = true,
                b'.' if 0 < opened && previous_dot => separated = true,
                _ => {}
            }
            previous_dot = *byte == b'.';
        }
    }
    // Without both braces, or without a comma or `..` between them, bash leaves the text as it is.
    if opened == 0 || closed == 0 || !separated {
        return;
    }
    let simple = opened == 1 && closed == 1 && split(pieces).is_some();
    if !simple {
        // What the text becomes is not known, but every expansion in it still happens.
        pieces.retain(|piece| !matches!(piece, Piece::Literal { .. } | Piece::Tilde));
        pieces.insert(0, Piece::Braces);
    }
}

/// The words that a word with a simple brace expansion stands for; `None` if it has none.
pub(crate) fn expand(word: &Word) -> Option<Vec<Word>> {
    let (before, alternatives, after) = split(&word.pieces)?;
    let join = |middle: &Vec<Piece>| {
        let pieces = before.iter().chain(middle).chain(&after).cloned().collect();
        Word { pieces, span: word.span }
    };
    Some(alternatives.iter().map(join).collect())
}

type Split = (Vec<Piece>, Vec<Vec<Piece>>, Vec<Piece>);

fn split(pieces: &[Piece]) -> Option<Split> {
    let opens =
        |piece: &Piece| matches!(piece, Piece::Literal { bytes, quoted: false } if bytes.contains(&b'{'));
    if !pieces.iter().any(opens) {
        return None;
    }
    let (mut before, mut alternatives, mut after) = (Vec::new(), vec![Vec::new()], Vec::new());
    let (mut opened, mut closed, mut commas) = (false, false, false);
    // Bash expands braces before variables, so that `$x{a,b}` is `$xa $xb`.
    if pieces.iter().any(|piece| matches!(piece, Piece::Parameter(_))) {
        return None;
    }
    for piece in pieces {
        let Piece::Literal { bytes, quoted: false } = piece else {
            match (opened, closed) {
                (false, _) => before.push(piece.clone()),
                (true, false) => alternatives.last_mut()?.push(piece.clone()),
                (true, true) => after.push(piece.clone()),
            }
            continue;
        };
        for byte in bytes {
            match (byte, opened, closed) {
                (b'{', false, _) => opened = true,
                (b'{', true, _) | (b'}', true, true) => return None,
                (b'}', true, false) => closed = true,
                (b',', true, false) => {
                    commas = true;
                    alternatives.push(Vec::new());
                }
                (_, false, _) => super::word::push(&mut before, *byte, false),
                (_, true, false) => super::word::push(alternatives.last_mut()?, *byte, false),
                (_, true, true) => super::word::push(&mut after, *byte, false),
            }
        }
    }
    let dots = alternatives.iter().flatten().any(
        |piece| matches!(piece, Piece::Literal { bytes, quoted: false } if bytes.windows(2).any(|pair| pair == b"..")),
    );
    // An empty alternative with nothing around it is no argument.
    let bare = before.is_empty() && after.is_empty() && alternatives.iter().any(Vec::is_empty);
    (!bare && opened && closed && commas && !dots && alternatives.len() <= 64).then_some((
        before,
        alternatives,
        after,
    ))
}
