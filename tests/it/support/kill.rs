//! Switches one named check off before the first vault of this process starts, for the kill table. Only with the feature
//! `kill-switch`; in every other build this does nothing.

/// Switches off the check that `STRONGROOM_KILL` names, such as `C4`. The first call counts.
#[cfg(feature = "kill-switch")]
pub(crate) fn arm() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        if let Some(name) = std::env::var_os("STRONGROOM_KILL") {
            let name = name.to_string_lossy();
            assert!(domain::switch_off(&name), "there is no check {name}");
        }
    });
}

/// There is no switch in this build.
#[cfg(not(feature = "kill-switch"))]
pub(crate) const fn arm() {}
