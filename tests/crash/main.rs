//! kill -9: the real program is killed at seeded moments of every step that stores something, over a hundred times over
//! one store, and started again. What was acknowledged must be there, what was not acknowledged must never be half there.
//!
//! `STRONGROOM_CRASH_CYCLES` says how many kills (default 114: each of the 57 points twice; fewer than 57 leave points out),
//! `STRONGROOM_CRASH_SEED` which ones.
//!
//! kill -9 shows the order of writes and the reading back of them; what a power cut does is the store's own examination.

#[cfg(test)]
mod actor;
#[cfg(test)]
#[path = "../support/audit.rs"]
mod audit;
#[cfg(test)]
#[path = "../it/support/browser.rs"]
#[expect(dead_code, reason = "the attack tests use more of it")]
mod browser;
#[cfg(test)]
#[path = "../support/canary.rs"]
#[expect(
    dead_code,
    reason = "the search itself is the last step of scripts/test"
)]
mod canary;
#[cfg(test)]
#[path = "../support/configuration.rs"]
mod configuration;
#[cfg(test)]
#[path = "../support/encoding.rs"]
#[expect(dead_code, reason = "the attack tests use more of it")]
mod encoding;
#[cfg(test)]
#[path = "../support/lab_remains.rs"]
mod lab_remains;
#[cfg(test)]
mod operator;
#[cfg(test)]
mod person;
#[cfg(test)]
mod point;
#[cfg(test)]
#[path = "../support/program.rs"]
#[expect(dead_code, reason = "the command tests use more of it")]
mod program;
#[cfg(test)]
#[path = "../support/remains.rs"]
#[expect(dead_code, reason = "the program's log comes with the program here")]
mod remains;
#[cfg(test)]
mod seals;
#[cfg(test)]
#[path = "../it/support/server.rs"]
#[expect(dead_code, reason = "the attack tests use more of it")]
mod server;
#[cfg(test)]
mod setup;
#[cfg(test)]
mod step;
#[cfg(test)]
mod world;

#[cfg(test)]
mod tests {
    use crate::actor::Actor;
    use crate::operator::Operator;
    use crate::person::Person;
    use crate::point::{Dice, POINTS, Point};
    use crate::world::World;

    #[actix_web::test]
    async fn kills_at_every_step_lose_nothing_acknowledged_and_leave_nothing_half_made() {
        let cycles = number("STRONGROOM_CRASH_CYCLES").unwrap_or(ROUNDS * POINTS.len() as u64);
        let seed = number("STRONGROOM_CRASH_SEED").unwrap_or(1);
        println!("{cycles} kills from seed {seed}");
        let mut dice = Dice::new(seed);
        let mut world = World::start(cycles);
        let mut operator = Operator::new(&world);
        let mut people: Vec<Person> = Vec::new();
        for cycle in 0..cycles {
            let point = &POINTS[usize::try_from(cycle).unwrap() % POINTS.len()];
            println!("cycle {cycle}: killed at {point:?}");
            let mut person = Person::new(cycle);
            if point.step.is_operators() {
                kill_during(&mut world, point, &mut dice, &mut operator).await;
            } else {
                kill_during(&mut world, point, &mut dice, &mut person).await;
            }
            for _ in 0..2.min(people.len()) {
                let earlier = dice.below(people.len() as u64);
                people[usize::try_from(earlier).unwrap()]
                    .check(&mut world)
                    .await;
            }
            person.go_on(&mut world).await;
            world.examine_audit(people.iter().chain([&person]), &operator);
            people.push(person);
        }
        world.restart();
        operator.check(&mut world).await;
        for person in &mut people {
            person.check(&mut world).await;
        }
        world.examine_audit(people.iter(), &operator);
        let revoked = people.iter().filter(|person| person.is_revoked()).count();
        println!(
            "{cycles} kills, {} of them before the answer; {revoked} grants ended",
            world.cut_off
        );
        world.stop().await;
    }

    /// How often each point comes.
    const ROUNDS: u64 = 2;

    /// One kill, and a look at what the restart makes of it.
    async fn kill_during(
        world: &mut World,
        point: &Point,
        dice: &mut Dice,
        actor: &mut impl Actor,
    ) {
        for step in point.step.path() {
            actor.act(world, *step).await;
        }
        world.kill_at(point, dice, actor).await;
        world.restart();
        actor.check(world).await;
    }

    fn number(name: &str) -> Option<u64> {
        #[expect(
            clippy::disallowed_methods,
            reason = "the size of the run is chosen outside"
        )]
        let text = std::env::var(name).ok()?;
        Some(
            text.parse()
                .unwrap_or_else(|_| panic!("{name} is not a number")),
        )
    }
}
