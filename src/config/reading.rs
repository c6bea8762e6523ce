//! One reading of a configuration: what it may touch outside, where things stood, and what it found wrong so far.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Mode;
use super::faults::{ConfigFaults, Fault};
use super::outside::Outside;

/// A place in a file.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) file: Box<str>,
    pub(super) line: Option<usize>,
}

/// One reading of a configuration: what it may touch outside, and what it found wrong so far.
pub(super) struct Reading<'a> {
    pub(super) outside: Outside<'a>,
    pub(super) mode: Mode,
    /// Whether loopback addresses may be called; known once `[danger]` was read.
    pub(super) loopback: Cell<bool>,
    file: Box<str>,
    base: PathBuf,
    faults: RefCell<Vec<Fault>>,
    places: RefCell<BTreeMap<String, Place>>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(file_name: &str, mode: Mode, outside: Outside<'a>) -> Self {
        Self {
            outside,
            mode,
            loopback: Cell::new(mode == Mode::Dev),
            file: file_name.into(),
            base: Path::new(file_name)
                .parent()
                .map(Path::to_path_buf)
                .unwrap_or_default(),
            faults: RefCell::default(),
            places: RefCell::default(),
        }
    }

    /// A path of the file: relative ones start at the folder of the configuration.
    pub(super) fn resolve(&self, path: &str) -> PathBuf {
        self.base.join(path)
    }

    /// The place of the file as a whole.
    pub(super) fn whole_file(&self) -> Place {
        Place {
            file: self.file.clone(),
            line: None,
        }
    }

    /// Remembers where a path stood, for faults that are found later.
    pub(super) fn remember(&self, path: String, place: Place) {
        self.places.borrow_mut().insert(path, place);
    }

    /// Records a fault about a path that was read before; the line is that of the longest part of it that was.
    pub(super) fn fault_at(&self, path: &str, what: &str, write: &str) {
        let places = self.places.borrow();
        let mut known = path;
        let place = loop {
            match (places.get(known), known.rsplit_once('.')) {
                (Some(place), _) => break place.clone(),
                (None, Some((parent, _))) => known = parent,
                (None, None) => break self.whole_file(),
            }
        };
        self.record(&place, path, what, write);
    }

    /// Records a fault.
    pub(super) fn record(&self, place: &Place, path: &str, what: &str, write: &str) {
        self.faults.borrow_mut().push(Fault {
            file: place.file.clone(),
            line: place.line,
            path: path.into(),
            what: what.into(),
            write: write.into(),
        });
    }

    /// The checked value, if nothing was wrong.
    ///
    /// # Errors
    /// Everything that was.
    pub(super) fn finish<T>(self, checked: Option<T>) -> Result<T, ConfigFaults> {
        let faults = self.faults.into_inner();
        match checked {
            Some(value) if faults.is_empty() => Ok(value),
            None if faults.is_empty() => Err(ConfigFaults::one(Fault {
                file: self.file,
                line: None,
                path: "".into(),
                what: "it could not be read whole".into(),
                write: "Please report this file, without its secrets, as a fault of strongroom."
                    .into(),
            })),
            _ => Err(ConfigFaults::new(faults)),
        }
    }
}
