//! Permissions as rows: one line each, and grouped by deed once there are more than a person reads.

use crate::views::{Deed, Scope, Wording};

/// More lines than this are grouped, one row for each deed.
const MOST_LINES: usize = 7;

/// A row of the list: one tag and the permissions it stands for.
pub(crate) struct Row<'a> {
    /// Whether its tag says Change.
    pub(crate) change: bool,
    /// Plain words.
    pub(crate) words: Vec<&'a Wording>,
    /// Names of permissions nobody has put into words.
    pub(crate) unknown: Vec<&'a str>,
}

/// Rows in the order given, or grouped: what changes first, what we cannot explain before all.
pub(crate) fn rows<'a>(scopes: impl Iterator<Item = &'a Scope>) -> Vec<Row<'a>> {
    let scopes: Vec<_> = scopes.collect();
    if scopes.len() <= MOST_LINES {
        return scopes.iter().map(|scope| row(&[scope])).collect();
    }
    let of = |wanted: fn(&Scope) -> bool| {
        scopes
            .iter()
            .copied()
            .filter(|scope| wanted(scope))
            .collect::<Vec<_>>()
    };
    let groups = [
        of(|scope| scope.wording.is_none()),
        of(|scope| {
            scope
                .wording
                .as_ref()
                .is_some_and(|w| w.deed == Deed::Change)
        }),
        of(|scope| scope.wording.as_ref().is_some_and(|w| w.deed == Deed::See)),
    ];
    groups
        .iter()
        .filter(|group| !group.is_empty())
        .map(|group| row(group))
        .collect()
}

/// One row; a permission without words counts as a change.
fn row<'a>(scopes: &[&'a Scope]) -> Row<'a> {
    Row {
        change: scopes.iter().any(|scope| {
            scope
                .wording
                .as_ref()
                .is_none_or(|w| w.deed == Deed::Change)
        }),
        words: scopes
            .iter()
            .filter_map(|scope| scope.wording.as_ref())
            .collect(),
        unknown: scopes
            .iter()
            .filter(|scope| scope.wording.is_none())
            .map(|scope| scope.raw.as_str())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::rows;
    use crate::views::{Deed, Language, Scope, Wording};

    fn scope(raw: &str, deed: Option<Deed>) -> Scope {
        Scope {
            raw: raw.to_owned(),
            wording: deed.map(|deed| Wording {
                deed,
                words: format!("words of {raw}"),
                language: Language::English,
            }),
        }
    }

    #[test]
    fn few_keep_their_order_and_a_line_each() {
        let scopes = [
            scope("a", Some(Deed::See)),
            scope("b", None),
            scope("c", Some(Deed::Change)),
        ];
        let rows = rows(scopes.iter());
        assert_eq!(
            rows.iter().map(|r| r.change).collect::<Vec<_>>(),
            [false, true, true]
        );
        assert_eq!(rows[1].unknown, ["b"]);
    }

    #[test]
    fn many_are_grouped_and_none_is_lost() {
        let deeds = [Some(Deed::See), Some(Deed::Change), None, Some(Deed::See)];
        let scopes: Vec<_> = (0..9)
            .zip(deeds.iter().cycle())
            .map(|(n, deed)| scope(&n.to_string(), *deed))
            .collect();
        let rows = rows(scopes.iter());
        assert_eq!(rows.len(), 3);
        assert_eq!(
            rows.iter()
                .map(|r| r.words.len() + r.unknown.len())
                .sum::<usize>(),
            9
        );
        assert_eq!(
            rows.iter().map(|r| r.change).collect::<Vec<_>>(),
            [true, true, false]
        );
    }
}
