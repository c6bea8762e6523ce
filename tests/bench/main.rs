//! What `scripts/bench hot` runs: `POST /v1/ensure` on connected grants beside a plain actix-web hello, in turn, in one run,
//! on the same cores.
//!
//! This process is the practice issuer and the client. The two servers are processes of their own, so that the time each
//! spends on a processor is known without the client's: hello is this program again, the vault is `strongroom serve` as it is
//! released, between a filled store and its audit log. The figures are those of this machine; the ratio is what can be
//! compared.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "it measures real time and prints what it measured"
)]

mod client;
mod hello;
mod process;
mod vault;

use std::time::Duration;

use client::{Load, Seen};

/// How the measurement is done.
struct Plan {
    program: String,
    grants: usize,
    seconds: u64,
    connections: usize,
}

/// People who ask, each with a live subject token. All others only lie in the store.
const ASKING: usize = 1000;
/// How often each server is measured.
const ROUNDS: usize = 3;

type Fault = Box<dyn std::error::Error>;

fn main() -> Result<(), Fault> {
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().ok_or(USAGE)?;
    if program == "hello" {
        return actix_rt::System::new().block_on(hello::serve());
    }
    let mut plan = Plan {
        program,
        grants: 100_000,
        seconds: 10,
        connections: 32,
    };
    while let Some(option) = arguments.next() {
        let number: usize = arguments.next().ok_or(USAGE)?.parse()?;
        match option.as_str() {
            "--grants" => plan.grants = number.clamp(1, 1_000_000),
            "--seconds" => plan.seconds = u64::try_from(number)?.clamp(1, 60),
            "--connections" => plan.connections = number.clamp(1, 256),
            _ => return Err(USAGE.into()),
        }
    }
    actix_rt::System::new().block_on(measure(&plan))
}

const USAGE: &str = "usage: bench PROGRAM [--grants N] [--seconds N] [--connections N]";

async fn measure(plan: &Plan) -> Result<(), Fault> {
    let hello = process::Server::hello()?;
    let (mut vault, requests) = vault::filled(plan).await?;
    println!(
        "{} grants stored; ready {:.0} ms after the start; {} MiB resident then",
        plan.grants,
        vault.ready.as_secs_f64() * 1e3,
        vault.server.resident_mib()?,
    );
    let load = |address, requests| Load {
        address,
        requests,
        connections: plan.connections,
        life: Duration::from_secs(plan.seconds),
    };
    let plain = vec![client::hello()];
    // Once through everything first: connections, keys and tokens that are remembered are those of a vault at work.
    let warm = Load {
        life: Duration::from_secs(plan.seconds.min(3)),
        ..load(vault.server.address, requests.clone())
    };
    warm.run()?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        theirs.push(round(&hello, &load(hello.address, plain.clone()))?);
        ours.push(round(
            &vault.server,
            &load(vault.server.address, requests.clone()),
        )?);
    }
    println!(
        "\n{:8} {:>10} {:>9} {:>9} {:>9} {:>16}",
        "", "requests/s", "p50 ms", "p99 ms", "p99.9 ms", "CPU µs/request"
    );
    let hello_cpu = tell("hello", &theirs);
    let ensure_cpu = tell("ensure", &ours);
    println!(
        "\n{} MiB resident after the load",
        vault.server.resident_mib()?
    );
    vault.server.stop()?;
    hello.kill();
    println!(
        "ratio by server CPU: {:.1} % of hello",
        100.0 * hello_cpu / ensure_cpu
    );
    Ok(())
}

/// One load on one server: what the client saw, and what it cost the server per request in µs.
fn round(server: &process::Server, load: &Load) -> Result<(Seen, f64), Fault> {
    let before = server.cpu()?;
    let seen = load.run()?;
    let spent = server.cpu()?.saturating_sub(before);
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 requests")]
    let each = spent.as_secs_f64() * 1e6 / seen.times.len() as f64;
    Ok((seen, each))
}

/// Prints the middle round, by CPU, of one server; gives its CPU per request.
fn tell(name: &str, rounds: &[(Seen, f64)]) -> f64 {
    let mut order: Vec<_> = rounds.iter().collect();
    order.sort_by(|one, other| one.1.total_cmp(&other.1));
    let Some((seen, cpu)) = order.get(order.len() / 2) else {
        return f64::NAN;
    };
    let ms = |share| seen.time(share).as_secs_f64() * 1e3;
    println!(
        "{name:8} {:>10.0} {:>9.2} {:>9.2} {:>9.2} {cpu:>16.1}",
        seen.per_second(),
        ms(0.5),
        ms(0.99),
        ms(0.999),
    );
    *cpu
}
