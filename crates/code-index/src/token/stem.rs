/// Removes the endings of an English word: plural, `ing`, `ed`, the last `e`; `y` becomes `i`. There is no
/// dictionary, so a stem need not be a word; what matters is that the forms of one word have the same stem.
pub(super) fn stem(word: &mut String) {
    if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return;
    }
    if word.ends_with("ies") || word.ends_with("sses") {
        word.truncate(word.len() - 2);
    } else if word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        word.pop();
    }
    for ending in ["ing", "ed"] {
        if let Some(rest) = word.strip_suffix(ending)
            && 3 <= rest.len()
            && rest.bytes().any(|byte| b"aeiouy".contains(&byte))
        {
            word.truncate(rest.len());
            without_double(word);
            break;
        }
    }
    if 4 <= word.len() && word.ends_with('e') {
        word.pop();
    }
    if 4 <= word.len() && word.ends_with('y') {
        word.pop();
        word.push('i');
    }
}

/// `runn` becomes `run`; `add`, `call` and `pass` stay.
fn without_double(word: &mut String) {
    let bytes = word.as_bytes();
    if let [.., _, _, one, other] = bytes
        && one == other
        && !b"aeiouylsz".contains(one)
    {
        word.pop();
    }
}
