//! Gates: a request stands still until the test opens the gate, so that races are staged and not
//! slept for.

use tokio::sync::watch;

/// Where in a request the gate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before the lab does anything but record the request.
    BeforeActing,
    /// After the lab did its work (the refresh token is rotated) and before it answers.
    BeforeAnswering,
}

/// The test's side of a gate. Dropping it opens the gate.
#[derive(Debug)]
pub struct Gate {
    arrived: watch::Receiver<usize>,
    open: watch::Sender<bool>,
}

impl Gate {
    /// Waits until `count` requests in all have reached the gate.
    pub async fn arrived(&self, count: usize) {
        // The only error is a lab that is gone, and then nothing more will arrive.
        let mut arrived = self.arrived.clone();
        drop(arrived.wait_for(|so_far| *so_far >= count).await);
    }

    /// How many requests have reached the gate so far.
    pub fn count(&self) -> usize {
        *self.arrived.borrow()
    }

    /// Lets everything through, now and later.
    pub fn open(&self) {
        self.open.send_replace(true);
    }
}

/// The lab's side of a gate.
#[derive(Clone)]
pub(crate) struct GatePost {
    path: String,
    moment: Moment,
    arrived: watch::Sender<usize>,
    open: watch::Receiver<bool>,
}

impl GatePost {
    pub(crate) fn new(path: &str, moment: Moment) -> (Gate, Self) {
        let (arrived, arrived_view) = watch::channel(0);
        let (open, open_view) = watch::channel(false);
        let post = Self {
            path: path.to_owned(),
            moment,
            arrived,
            open: open_view,
        };
        (
            Gate {
                arrived: arrived_view,
                open,
            },
            post,
        )
    }

    pub(crate) fn stands_at(&self, path: &str, moment: Moment) -> bool {
        self.path == path && self.moment == moment
    }

    pub(crate) fn is_shut(&self) -> bool {
        !*self.open.borrow() && self.open.has_changed().is_ok()
    }

    pub(crate) async fn pass(mut self) {
        self.arrived.send_modify(|count| *count += 1);
        // An error means that the test dropped its side, which counts as open.
        drop(self.open.wait_for(|open| *open).await);
    }
}
