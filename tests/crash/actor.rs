//! Whoever takes steps, remembers what was acknowledged, and looks whether it holds.

use crate::step::Step;
use crate::world::World;

/// A person (with the server that asks for them), or the operator.
pub(crate) trait Actor {
    /// What has to be so before the step, and what may be so once it begins.
    fn prepare(&mut self, world: &mut World, step: Step);

    /// Takes a step; panics when it does not succeed. What is learnt on the way is kept.
    async fn try_to(&mut self, world: &World, step: Step);

    /// The step was acknowledged.
    fn took(&mut self, step: Step);

    /// Looks at everything that was acknowledged, and at everything that must not be there.
    async fn check(&mut self, world: &mut World);

    /// Takes a step while nothing disturbs it.
    async fn act(&mut self, world: &mut World, step: Step) {
        self.prepare(world, step);
        self.try_to(world, step).await;
        self.took(step);
    }
}
