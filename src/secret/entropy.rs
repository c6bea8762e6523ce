//! Where random bytes come from: a small trait, so that tests and golden vectors can bring their own.

/// A source of random bytes.
///
/// Everything unguessable in the product (keys, salts, nonces, tickets, ids) is drawn through this trait. The product
/// passes [`OsEntropy`]; anything else belongs to tests and vectors.
pub trait Entropy: Send + Sync {
    /// Overwrites every byte of `out`.
    fn fill(&self, out: &mut [u8]);
}

/// The operating system's generator, asked directly on each call.
///
/// No generator of our own stands between: one in user space can repeat itself after a fork, a snapshot or a clone of
/// the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsEntropy;

impl Entropy for OsEntropy {
    #[expect(
        clippy::expect_used,
        reason = "without random bytes nothing may be sealed or handed out; going on would be worse than stopping"
    )]
    fn fill(&self, out: &mut [u8]) {
        getrandom::fill(out).expect("the operating system gives random bytes");
    }
}
