//! Writes every page in every state, its assets and the snapshots into a folder, for the browser check and for people to look at.
//!
//! `cargo run -p strongroom-pages --example render_all -- <folder>`

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use strongroom_pages::{Language, assets, stylesheet_path};

mod samples;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os()
        .nth(1)
        .map(PathBuf::from)
        .ok_or("name a folder to write into")?;
    for language in Language::ALL {
        let ending = samples::ending(language);
        for cast in &samples::CASTS {
            for sample in samples::samples(cast, language)? {
                write(
                    &folder.join("pages").join(format!("{}{ending}", cast.label)),
                    &format!("{}.html", sample.name),
                    sample.html.as_bytes(),
                )?;
            }
        }
        // As the tests compare them: without the hash, so that a change of style is no change of every page.
        let ordinary = samples::CASTS.first().ok_or("no cast")?;
        for sample in samples::samples(ordinary, language)? {
            let html = sample
                .html
                .replace(stylesheet_path(), "/assets/strongroom.css");
            write(
                &folder.join("snapshots"),
                &format!("{}{ending}.html", sample.name),
                html.as_bytes(),
            )?;
        }
    }
    for asset in assets() {
        write(&folder, asset.path.trim_start_matches('/'), &asset.bytes)?;
    }
    Ok(())
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap_or(folder))?;
    fs::write(path, bytes)?;
    Ok(())
}
