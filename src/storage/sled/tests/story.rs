//! Generated histories: sled, reopened at any point, answers what the reference answers.

use proptest::prelude::*;

use super::*;
use crate::memory::MemoryStore;

#[derive(Clone, Debug)]
enum Step {
    Commit(Vec<Write>),
    Scan(Table, Vec<u8>, Option<Vec<u8>>, usize),
    Reopen,
}

fn any_step() -> impl Strategy<Value = Step> {
    let table = || prop::sample::select(vec![Table::Grants, Table::GrantIds, Table::Expiry]);
    // Few keys, so that histories meet; 0xff and 0x00 for the edges.
    let key = || prop::collection::vec(prop::sample::select(vec![0_u8, b'a', 0xff]), 0..3);
    let body = prop::collection::vec(any::<u8>(), 0..20);
    let write =
        (0..4_u8, table(), key(), 0..4_u64, body).prop_map(|(verb, table, key, expected, body)| {
            match verb {
                0 => delete(table, &key, expected),
                1 => check(table, &key, expected),
                _ => put(table, &key, expected, &body),
            }
        });
    prop_oneof![
        12 => prop::collection::vec(write, 0..4).prop_map(Step::Commit),
        4 => (table(), key(), prop::option::of(key()), 0..9_usize)
            .prop_map(|(table, prefix, after, limit)| Step::Scan(table, prefix, after, limit)),
        1 => Just(Step::Reopen),
    ]
}

async fn same_history(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let root = tempfile::tempdir().expect("folder");
    let (dir, mut sled) = fresh(root.path());
    let memory = MemoryStore::new();
    for step in steps {
        match step {
            Step::Commit(writes) => {
                prop_assert_eq!(
                    sled.commit(writes.clone()).await,
                    memory.commit(writes).await
                );
            }
            Step::Scan(table, prefix, after, limit) => {
                let ours = sled.scan(table, &prefix, after.as_deref(), limit).await;
                let theirs = memory.scan(table, &prefix, after.as_deref(), limit).await;
                prop_assert_eq!(ours, theirs);
            }
            Step::Reopen => {
                drop(sled);
                sled = reopen(&dir).expect("open");
            }
        }
        prop_assert_eq!(sled.commit_number(), memory.commit_number());
    }
    for table in Table::ALL {
        let ours = sled.scan(table, b"", None, 1000).await;
        prop_assert_eq!(ours, memory.scan(table, b"", None, 1000).await);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sled_and_the_reference_tell_the_same_story(steps in prop::collection::vec(any_step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("runtime");
        runtime.block_on(same_history(steps))?;
    }
}
