//! Writes to a sled store until it is killed, or checks what such a writer left behind.
//!
//! `crash_writer write DIR` prints `opening`, then `LANE NUMBER` once operation NUMBER of a lane was acknowledged;
//! `crash_writer check DIR` opens the store, verifies it, and prints the last operation of every lane.
//! Both end with exit code 1 and a line on standard error when something is wrong. Each operation
//! touches four tables, so a torn one shows: see [`operation`] and [`check_lane`].

use std::{
    error::Error,
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
    sync::Arc,
};

use strongroom_storage::{OpenError, Revision, Row, Settings, SledStore, Store, Table, Write};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Writers at the same time, so that groups form.
const LANES: u8 = 4;
/// Token records per lane.
const RECORDS: u64 = 8;
const FORMAT: &str = "crash-writer-1";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", dir] => run(write(Path::new(dir))),
        ["check", dir] => run(check(Path::new(dir))),
        _ => Err("usage: crash_writer write|check DIR".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            writeln!(io::stderr(), "{error}").ok();
            ExitCode::FAILURE
        }
    }
}

fn run(task: impl Future<Output = Outcome<()>>) -> Outcome<()> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()?
        .block_on(task)
}

/// Every lane continues where it was, for ever.
async fn write(dir: &Path) -> Outcome<()> {
    // Tells whoever wants to kill it that the store is being opened from here on.
    io::stdout().write_all(b"opening\n")?;
    let settings = Settings::default();
    let store = match SledStore::open(dir, FORMAT, settings) {
        Err(OpenError::Missing { .. }) => SledStore::create(dir, FORMAT, b"crash", settings)?,
        other => other?,
    };
    let store: Arc<dyn Store> = Arc::new(store);
    let mut lanes = Vec::new();
    for lane in 0..LANES {
        let store = Arc::clone(&store);
        lanes.push(tokio::spawn(async move {
            loop {
                let number = operation(&*store, lane).await?;
                // One write of one line: a kill leaves whole lines, or none.
                io::stdout().write_all(format!("{lane} {number}\n").as_bytes())?;
            }
        }));
    }
    for lane in lanes {
        let stopped: Outcome<()> = lane.await?;
        stopped?;
    }
    Ok(())
}

/// Operation n of a lane: the lane's row counts to n, record n mod 8 gets a body made from n,
/// the index entry moves from n-1 to n.
async fn operation(store: &dyn Store, lane: u8) -> Outcome<u64> {
    let before = store.read(Table::Grants, &[lane]).await?;
    let revision = before.map_or(Revision::NONE, |row| row.revision);
    let number = revision.next().0;
    let record = record_key(lane, number);
    let kept = store.read(Table::Records, &record).await?;
    let mut writes = vec![
        Write::Put {
            table: Table::Grants,
            key: vec![lane],
            expected: revision,
            body: number.to_be_bytes().to_vec(),
        },
        Write::Put {
            table: Table::Records,
            key: record,
            expected: kept.map_or(Revision::NONE, |row| row.revision),
            body: body(lane, number),
        },
        Write::Put {
            table: Table::Expiry,
            key: index_key(lane, number),
            expected: Revision::NONE,
            body: Vec::new(),
        },
    ];
    if revision != Revision::NONE {
        writes.push(Write::Delete {
            table: Table::Expiry,
            key: index_key(lane, revision.0),
            expected: Revision(1),
        });
    }
    store.commit(writes).await?;
    Ok(number)
}

async fn check(dir: &Path) -> Outcome<()> {
    let store = SledStore::open(dir, FORMAT, Settings::default())?;
    let mut sum = 0;
    for lane in 0..LANES {
        let number = check_lane(&store, lane).await?;
        sum += number;
        writeln!(io::stdout(), "{lane} {number}")?;
    }
    if store.commit_number() != sum {
        return Err(format!("commit {} after {sum} operations", store.commit_number()).into());
    }
    store.close().await?;
    Ok(())
}

/// Verifies that the lane's last operation is there whole and none after it in part.
async fn check_lane(store: &dyn Store, lane: u8) -> Outcome<u64> {
    let row = store.read(Table::Grants, &[lane]).await?;
    let number = row.as_ref().map_or(0, |row| row.revision.0);
    if row.is_some_and(|row| row.body != number.to_be_bytes()) {
        return Err(format!("lane {lane}: the row does not count").into());
    }
    let index = store.scan(Table::Expiry, &[lane], None, 9).await?;
    let index: Vec<_> = index.into_iter().map(|row| row.key).collect();
    let expected: Vec<_> = (number > 0)
        .then(|| index_key(lane, number))
        .into_iter()
        .collect();
    if index != expected {
        return Err(format!("lane {lane}: index and row disagree at {number}").into());
    }
    let oldest = number.saturating_sub(RECORDS).saturating_add(1).max(1);
    for number in oldest..=number {
        let kept = store
            .read(Table::Records, &record_key(lane, number))
            .await?;
        let written = Some(Row {
            key: record_key(lane, number),
            revision: Revision(number.div_ceil(RECORDS)),
            body: body(lane, number),
        });
        if kept != written {
            return Err(format!("lane {lane}: record {number} is {kept:?}").into());
        }
    }
    Ok(number)
}

fn index_key(lane: u8, number: u64) -> Vec<u8> {
    [&[lane][..], &number.to_be_bytes()].concat()
}

fn record_key(lane: u8, number: u64) -> Vec<u8> {
    [
        &[lane][..],
        &(number.saturating_sub(1) % RECORDS).to_be_bytes(),
    ]
    .concat()
}

/// About two kilobytes that name their operation throughout.
fn body(lane: u8, number: u64) -> Vec<u8> {
    index_key(lane, number).repeat(230)
}
