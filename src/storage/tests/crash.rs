//! Kills the writing process at seeded moments and looks for acknowledged operations that are gone.
//!
//! SIGKILL leaves the page cache whole: this shows that order and atomicity hold, not what a power cut does.

use std::{
    collections::BTreeMap,
    error::Error,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

type Outcome<T> = Result<T, Box<dyn Error>>;
/// The last operation of each lane.
type Lanes = BTreeMap<u8, u64>;

const CYCLES: u64 = 20;
const SEED: u64 = 0x5eed_0001;

#[test]
fn no_acknowledged_operation_is_lost_when_the_process_is_killed() -> Outcome<()> {
    let root = tempfile::tempdir()?;
    let dir = root.path().join("store");
    let mut acknowledged = Lanes::new();
    let mut total = 0;
    for cycle in 0..CYCLES {
        // Some kills hit the opening of the store or the very first commits, some the middle of a run.
        let acks = match mix(SEED ^ cycle) % 5 {
            0 if cycle > 0 => 0,
            1 => 1 + mix(SEED ^ cycle) % 7,
            _ => 1 + mix(SEED ^ cycle) % 90,
        };
        total += write_and_kill(&dir, acks, &mut acknowledged)?;
        let found = check(&dir)?;
        for (lane, number) in &acknowledged {
            let kept = found.get(lane).copied().unwrap_or(0);
            assert!(
                kept >= *number,
                "cycle {cycle}, lane {lane}: {number} acknowledged, {kept} kept"
            );
        }
    }
    assert!(
        total > 200,
        "only {total} operations were acknowledged: nothing was tried"
    );
    Ok(())
}

#[test]
fn a_folder_served_by_another_process_is_refused() -> Outcome<()> {
    let root = tempfile::tempdir()?;
    let dir = root.path().join("store");
    let mut writer = Command::new(program()?)
        .arg("write")
        .arg(&dir)
        .stdout(Stdio::piped())
        .spawn()?;
    // Two lines: it is opening, and it acknowledged something. The pipe stays open until the end.
    let mut output = BufReader::new(writer.stdout.take().ok_or("no output")?);
    let mut line = String::new();
    output.read_line(&mut line)?;
    line.clear();
    output.read_line(&mut line)?;
    let second = Command::new(program()?).arg("check").arg(&dir).output()?;
    writer.kill()?;
    writer.wait()?;
    assert!(!line.is_empty() && !second.status.success());
    drop(output);
    let said = String::from_utf8(second.stderr)?;
    assert!(
        said.contains("another strongroom has this folder open"),
        "{said}"
    );
    Ok(())
}

/// Lets a writer run until it acknowledged `acks` operations, kills it, and notes everything it acknowledged.
fn write_and_kill(dir: &Path, acks: u64, acknowledged: &mut Lanes) -> Outcome<u64> {
    let mut writer = Command::new(program()?)
        .arg("write")
        .arg(dir)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut output = BufReader::new(writer.stdout.take().ok_or("no output")?);
    let mut opening = String::new();
    output.read_line(&mut opening)?;
    let mut seen = 0;
    if acks == 0 {
        writer.kill()?;
    }
    for line in output.lines() {
        // Lines still in the pipe after the kill were acknowledged as well.
        let (lane, number) = parse(&line?)?;
        acknowledged.insert(lane, number);
        seen += 1;
        if seen == acks {
            writer.kill()?;
        }
    }
    let status = writer.wait()?;
    assert!(
        status.code().is_none(),
        "the writer failed by itself: {status}"
    );
    Ok(seen)
}

/// Opens the store in a process of its own, as a restart would.
fn check(dir: &Path) -> Outcome<Lanes> {
    let checked = Command::new(program()?).arg("check").arg(dir).output()?;
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "the store is not whole: {said}");
    String::from_utf8(checked.stdout)?
        .lines()
        .map(parse)
        .collect()
}

fn parse(line: &str) -> Outcome<(u8, u64)> {
    let (lane, number) = line.split_once(' ').ok_or("not a line of ours")?;
    Ok((lane.parse()?, number.parse()?))
}

/// The example `crash_writer`, which cargo builds beside the tests.
fn program() -> Outcome<PathBuf> {
    let tests = std::env::current_exe()?;
    let target = tests.ancestors().nth(2).ok_or("no target folder")?;
    let program = target.join("examples").join("crash_writer");
    if !program.exists() {
        return Err("crash_writer is missing: cargo build -p strongroom-storage --examples".into());
    }
    Ok(program)
}

/// SplitMix64: the same moments in every run.
fn mix(seed: u64) -> u64 {
    let mut z = seed
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
