//! Reads one table of the configuration, layer over layer, and turns every surprise into a fault with its place.
//!
//! A table is read from the operator's file first, then from a preset if one is named, then from the compiled-in
//! defaults. A reader returns `None` when there is nothing or when a fault was recorded; whoever assembles a
//! declaration reads everything first and gives up only then, so that no fault hides another.

use std::ops::RangeInclusive;

use toml_edit::{Item, TableLike};

use super::keys::{Keys, hint};
use super::near::nearest;
use super::reading::{Place, Reading};
use super::source::{Author, Source};

/// One text's part of a table.
#[derive(Clone, Copy)]
struct Layer<'a> {
    table: &'a dyn TableLike,
    source: &'a Source,
    line: Option<usize>,
}

/// A table of the configuration.
pub(super) struct Section<'a> {
    reading: &'a Reading<'a>,
    keys: Keys,
    path: String,
    /// Where the operator wrote the table, or the nearest one around it.
    place: Place,
    layers: Vec<Layer<'a>>,
}

impl<'a> Section<'a> {
    /// The whole file over the defaults.
    pub(super) fn root(
        reading: &'a Reading<'a>,
        keys: Keys,
        operator: &'a Source,
        defaults: &'a Source,
    ) -> Self {
        let layers = [operator, defaults].map(|source| Layer {
            table: source.table(),
            source,
            line: None,
        });
        Self {
            reading,
            keys,
            path: String::new(),
            place: reading.whole_file(),
            layers: layers.into(),
        }
        .opened()
    }

    /// Another table of the same reading.
    fn inner(&self, keys: Keys, path: String, place: Place, layers: Vec<Layer<'a>>) -> Self {
        let reading = self.reading;
        reading.remember(path.clone(), place.clone());
        Self {
            reading,
            keys,
            path,
            place,
            layers,
        }
        .opened()
    }

    fn opened(self) -> Self {
        self.layers
            .iter()
            .for_each(|layer| self.refuse_unknown(*layer));
        self
    }

    /// Puts a preset between the operator's table and the defaults.
    pub(super) fn with_preset(mut self, source: &'a Source) -> Self {
        let layer = Layer {
            table: source.table(),
            source,
            line: None,
        };
        self.refuse_unknown(layer);
        self.layers.insert(1.min(self.layers.len()), layer);
        self
    }

    fn refuse_unknown(&self, layer: Layer<'a>) {
        for (name, item) in layer.table.iter() {
            if item.is_none() || self.keys.iter().any(|key| key.name == name) {
                continue;
            }
            let names = self.keys.iter().map(|key| key.name);
            let write = match nearest(name, names.clone()) {
                Some(near) => format!("Write `{near}`, or remove it."),
                None => format!(
                    "Remove it; the keys here are {}.",
                    names.collect::<Vec<_>>().join(", ")
                ),
            };
            let place = place_of(layer, name);
            // A key is shown only when it looks like one: a secret pasted in front of `=` must not reach a terminal.
            let plain = name.len() <= 40
                && name
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
            let path = self.join(if plain { name } else { "?" });
            self.reading.record(&place, &path, "unknown key", &write);
        }
    }

    /// What the reading may touch, and its mode.
    pub(super) fn reading(&self) -> &'a Reading<'a> {
        self.reading
    }

    /// Records a fault about a key, with the standing advice for that key.
    pub(super) fn fault(&self, key: &str, what: &str) {
        self.fault_with(key, what, hint(self.keys, key));
    }

    /// Records a fault about a key.
    pub(super) fn fault_with(&self, key: &str, what: &str, write: &str) {
        let place = self
            .layers
            .iter()
            .find(|layer| layer.source.author == Author::Operator && has(**layer, key))
            .map_or_else(|| self.place.clone(), |layer| place_of(*layer, key));
        self.reading.record(&place, &self.join(key), what, write);
    }

    /// Whether the operator wrote the key, rather than a preset or the defaults.
    pub(super) fn own(&self, key: &str) -> bool {
        self.depth(key)
            .and_then(|depth| self.layers.get(depth))
            .is_some_and(|layer| layer.source.author == Author::Operator)
    }

    /// Which layer a key comes from, counted from the operator's.
    pub(super) fn depth(&self, key: &str) -> Option<usize> {
        self.layers.iter().position(|layer| has(*layer, key))
    }

    fn find(&self, key: &str) -> Option<&'a Item> {
        let layer = self.layers.iter().find(|layer| has(**layer, key))?;
        let place = match layer.source.author {
            Author::Operator => place_of(*layer, key),
            Author::Preset | Author::Default => self.place.clone(),
        };
        self.reading.remember(self.join(key), place);
        layer.table.get(key)
    }

    fn typed<T>(&self, key: &str, wanted: &str, read: impl Fn(&'a Item) -> Option<T>) -> Option<T> {
        let item = self.find(key)?;
        let value = read(item);
        if value.is_none() {
            let got = item.type_name();
            self.fault(key, &format!("is of type {got}, not {wanted}"));
        }
        value
    }

    /// A text.
    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.typed(key, "string", Item::as_str)
    }

    /// A text that must be there.
    pub(super) fn required(&self, key: &str) -> Option<&'a str> {
        if self.depth(key).is_none() {
            self.fault(key, "is missing");
        }
        self.text(key)
    }

    /// True or false.
    pub(super) fn boolean(&self, key: &str) -> Option<bool> {
        self.typed(key, "boolean", Item::as_bool)
    }

    /// A whole number within bounds.
    pub(super) fn integer(&self, key: &str, bounds: RangeInclusive<u32>) -> Option<u32> {
        let number = self.typed(key, "integer", Item::as_integer)?;
        let fits = u32::try_from(number).ok().filter(|n| bounds.contains(n));
        if fits.is_none() {
            let (least, most) = (bounds.start(), bounds.end());
            self.fault(key, &format!("is not between {least} and {most}"));
        }
        fits
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(key)?;
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let known: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            let one_of = if known.len() == 1 { "" } else { "one of " };
            self.fault(key, &format!("is not {one_of}{}", known.join(", ")));
        }
        found.map(|(_, value)| *value)
    }

    /// A list of texts.
    pub(super) fn texts(&self, key: &str) -> Option<Vec<&'a str>> {
        self.typed(key, "array of strings", |item| {
            item.as_array()?
                .iter()
                .map(toml_edit::Value::as_str)
                .collect()
        })
    }

    /// A table of texts, in the order of the file.
    pub(super) fn pairs(&self, key: &str) -> Option<Vec<(&'a str, &'a str)>> {
        self.typed(key, "table of strings", |item| {
            item.as_table_like()?
                .iter()
                .map(|(name, value)| Some((name, value.as_str()?)))
                .collect()
        })
    }

    /// Whether the operator or a preset wrote this key.
    pub(super) fn written(&self, key: &str) -> bool {
        let layers = self.layers.iter();
        layers
            .filter(|layer| layer.source.author != Author::Default)
            .any(|layer| layer.table.get(key).is_some_and(|item| !item.is_none()))
    }

    /// The table below `key`, each layer's over the next one's; empty when there is none.
    pub(super) fn table(&self, key: &str, keys: Keys) -> Section<'a> {
        let mut layers = Vec::new();
        let mut place = self.place.clone();
        for layer in &self.layers {
            let Some(item) = layer.table.get(key) else {
                continue;
            };
            if layer.source.author == Author::Operator {
                place = place_of(*layer, key);
            }
            match item.as_table_like() {
                Some(table) => layers.push(Layer {
                    table,
                    line: place_of(*layer, key).line,
                    source: layer.source,
                }),
                None => self.fault(key, &format!("is of type {}, not table", item.type_name())),
            }
        }
        self.inner(keys, self.join(key), place, layers)
    }

    /// The tables of the list below `key`, of every text but the defaults, which stand under each of them. Texts that
    /// are covered by others come first. Each is called by what its `name_key` says, or by its number.
    pub(super) fn tables(&self, key: &str, keys: Keys, name_key: &str) -> Vec<Section<'a>> {
        let of_defaults = self
            .layers
            .iter()
            .filter(|layer| layer.source.author == Author::Default)
            .find_map(|layer| self.entries(*layer, key).into_iter().next());
        let mut sections = Vec::new();
        for layer in self.layers.iter().rev() {
            if layer.source.author == Author::Default {
                continue;
            }
            for (index, entry) in self.entries(*layer, key).into_iter().enumerate() {
                let name = entry.table.get(name_key).and_then(Item::as_str);
                let path = match name.filter(|name| presentable(name)) {
                    Some(name) => format!("{}.{name}", self.join(key)),
                    None => format!("{}[{}]", self.join(key), index + 1),
                };
                let place = Place {
                    file: entry.source.name.clone(),
                    line: entry.line,
                };
                let layers = [Some(entry), of_defaults].into_iter().flatten().collect();
                sections.push(self.inner(keys, path, place, layers));
            }
        }
        sections
    }

    /// The entries that one text has in the list below `key`, written as `[[key]]` or as an array of inline tables.
    fn entries(&self, layer: Layer<'a>, key: &str) -> Vec<Layer<'a>> {
        let Some(item) = layer.table.get(key) else {
            return Vec::new();
        };
        let at = |table: &'a dyn TableLike, line| Layer {
            table,
            line,
            source: layer.source,
        };
        if let Some(tables) = item.as_array_of_tables() {
            let entry = |table: &'a toml_edit::Table| at(table, layer.source.line(table.span()));
            return tables.iter().map(entry).collect();
        }
        let line = place_of(layer, key).line;
        let inline = item.as_array().and_then(|array| {
            let entry = |value: &'a toml_edit::Value| Some(at(value.as_inline_table()?, line));
            array.iter().map(entry).collect::<Option<Vec<_>>>()
        });
        inline.unwrap_or_else(|| {
            let got = item.type_name();
            self.fault(key, &format!("is of type {got}, not array of tables"));
            Vec::new()
        })
    }

    fn join(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }
}

fn has(layer: Layer<'_>, key: &str) -> bool {
    layer.table.get(key).is_some_and(|item| !item.is_none())
}

fn place_of(layer: Layer<'_>, key: &str) -> Place {
    let of_key = layer.table.key(key).and_then(toml_edit::Key::span);
    let of_item = || layer.table.get(key).and_then(Item::span);
    Place {
        file: layer.source.name.clone(),
        line: layer.source.line(of_key.or_else(of_item)).or(layer.line),
    }
}

/// Whether a name may stand in a path as it is.
fn presentable(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic())
}
