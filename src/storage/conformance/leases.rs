//! The laws of leases: one holder at a time, an end by itself, fences that only grow.

use super::ONE;
use crate::engine::{Claim, Fence, Holder, KEY_MAX, Store, StoreError};

const TWO: Holder = Holder([2; 16]);

/// The fence of a claim that must succeed.
async fn held(store: &dyn Store, holder: Holder, now_ms: i64) -> Fence {
    let claim = store.claim(b"grant", holder, now_ms, 30).await;
    assert!(
        matches!(claim, Ok(Claim::Held(_))),
        "must be free at {now_ms}: {claim:?}"
    );
    match claim {
        Ok(Claim::Held(fence)) => fence,
        Ok(Claim::Busy { .. }) | Err(_) => Fence(0),
    }
}

pub(super) async fn a_lease_is_held_once(store: &dyn Store) {
    let first = held(store, ONE, 1_000).await;
    let busy = Ok(Claim::Busy { until_ms: 1_030 });
    assert_eq!(store.claim(b"grant", TWO, 1_000, 30).await, busy);
    assert_eq!(store.claim(b"grant", TWO, 1_029, 30).await, busy);
    let same = store.claim(b"grant", ONE, 1_029, 30).await;
    assert_eq!(same, busy, "not re-entrant");
    let other = store.claim(b"other", TWO, 1_000, 30).await;
    assert!(matches!(other, Ok(Claim::Held(_))), "names are apart");
    assert_eq!(store.release(b"grant", first).await, Ok(()));
    let second = held(store, TWO, 1_001).await;
    assert!(second > first, "fences grow");
}

pub(super) async fn a_late_release_frees_nobody_else(store: &dyn Store) {
    let first = held(store, ONE, 1_000).await;
    let second = held(store, TWO, 1_030).await;
    assert!(second > first, "taken over with the next fence");
    assert_eq!(store.release(b"grant", first).await, Ok(()), "harmless");
    let busy = store.claim(b"grant", ONE, 1_031, 30).await;
    assert_eq!(busy, Ok(Claim::Busy { until_ms: 1_060 }));
    assert_eq!(store.release(b"grant", second).await, Ok(()));
    assert_eq!(
        store.release(b"grant", second).await,
        Ok(()),
        "twice is once"
    );
    let third = held(store, ONE, 1_032).await;
    assert!(third > second, "fences grow over releases, too");
}

pub(super) async fn leases_have_limits(store: &dyn Store) {
    let long = vec![b'n'; KEY_MAX + 1];
    let claim = store.claim(&long, ONE, 0, 30).await;
    assert!(
        matches!(claim, Err(StoreError::TooLarge { .. })),
        "{claim:?}"
    );
    for nothing in [0, -1] {
        let claim = store.claim(b"grant", ONE, 0, nothing).await;
        assert!(
            matches!(claim, Err(StoreError::Malformed { .. })),
            "{claim:?}"
        );
    }
    let forever = store.claim(b"grant", ONE, i64::MAX - 1, i64::MAX).await;
    assert!(matches!(forever, Ok(Claim::Held(_))), "{forever:?}");
}
