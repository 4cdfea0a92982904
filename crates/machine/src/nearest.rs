//! The known word that somebody may have meant who mistyped one.

/// The known word that needs the fewest edits, if they are few; of several the one that is as long.
pub fn nearest<'a>(mistyped: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = mistyped.trim_start_matches('-').chars().count();
    let most = (length / 3).max(1);
    // Two neighbours that changed places count as one edit.
    let edits = |word: &str| (strsim::osa_distance(mistyped, word), word.len().abs_diff(mistyped.len()));
    let all = known.into_iter().map(|word| (edits(word), word));
    all.filter(|((edits, _), _)| *edits <= most).min().map(|(_, word)| word)
}
