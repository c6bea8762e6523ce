//! Guesses what someone meant who mistyped a name.

/// The name that someone who wrote `wrong` most likely meant.
pub(super) fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (wrong.len() / 3).clamp(1, 3);
    if wrong.len() > 40 {
        return None;
    }
    names
        .map(|name| (distance(wrong, name), name))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, name)| name)
}

/// Edits (insert, remove, replace) between two texts.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, a) in one.chars().enumerate() {
        let mut diagonal = index;
        let mut left = index + 1;
        for (cell, b) in row.iter_mut().skip(1).zip(&other) {
            let cost = usize::from(a != *b);
            let best = (diagonal + cost).min(left + 1).min(*cell + 1);
            diagonal = *cell;
            *cell = best;
            left = best;
        }
        if let Some(first) = row.first_mut() {
            *first = index + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_understood_and_a_different_word_is_not() {
        let names = ["public_url", "leaving_page", "listen"];
        for (wrong, meant) in [
            ("publik_url", Some("public_url")),
            ("leavingpage", Some("leaving_page")),
            ("lissten", Some("listen")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(wrong, names.into_iter()), meant, "{wrong}");
        }
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
