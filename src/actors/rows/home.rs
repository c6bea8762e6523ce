//! Where each kind of row belongs.

use domain::{BrowserFlow, BrowserFlowId, Elicitation, ElicitationId, Grant, Timestamp};

use super::keys;
use super::{LiveList, RepeatRow, Row, ServerKeyRow, ServerRow, SessionRow, UserRow, WrappedRow};

impl Row for Grant {
    fn belongs_at(&self, key: &[u8]) -> bool {
        keys::grant(&self.key()).key == key
    }
}

impl Row for Elicitation {
    fn belongs_at(&self, key: &[u8]) -> bool {
        keys::elicitation(self.id).key == key
    }
}

impl Row for BrowserFlow {
    fn belongs_at(&self, key: &[u8]) -> bool {
        keys::flow(self.id).key == key
    }
}

impl Row for WrappedRow {
    fn belongs_at(&self, key: &[u8]) -> bool {
        keys::wrapped(self.id).key == key
    }
}

/// Rows that are bound to their key by what is in them.
macro_rules! bound_otherwise {
    ($($row:ty: $how:literal),+ $(,)?) => {$(
        #[doc = $how]
        impl Row for $row {
            fn belongs_at(&self, _key: &[u8]) -> bool {
                true
            }
        }
    )+};
}

bound_otherwise! {
    UserRow: "The pseudonym that is the key is in the context of the sealed profile, and the person in that of every record.",
    SessionRow: "The keyed hash that is the key is in the context of the sealed session.",
    ServerKeyRow: "The keyed hash in it covers the whole key, its public id and its owner.",
    ServerRow: "Says only whether the server is disabled; whoever can write it can write that.",
    RepeatRow: "The ticket in it is sealed for its elicitation, and the elicitation is compared with who asks.",
    LiveList: "Counts elicitations and grants nothing.",
    ElicitationId: "A way from a ticket to an elicitation; the elicitation names its ticket.",
    BrowserFlowId: "A way from a `state` to a browser flow; the flow names its `state`.",
    Timestamp: "A used login, where that the row is there is all it says; or a last use, which only a person's own page shows.",
}
