//! Checks the declarations against each other and gives every contradiction the line it stands on.

use std::collections::BTreeSet;

use domain::{Declarations, Registry, RegistryFault, TenantSlug};

use super::near::nearest;
use super::reading::Reading;

/// What was declared at all, faulty or not, so that one fault does not cause others.
#[derive(Default)]
pub(super) struct Declared(BTreeSet<(&'static str, Box<str>)>);

impl Declared {
    /// Remembers a declaration by the slug it was written with.
    pub(super) fn add(&mut self, kind: &'static str, slug: Option<&str>) {
        if let Some(slug) = slug {
            self.0.insert((kind, slug.into()));
        }
    }

    fn has(&self, kind: &'static str, slug: &str) -> bool {
        self.0.contains(&(kind, slug.into()))
    }

    /// Declarations of one kind whose slugs can stay as they are; all kinds of slug have one rule.
    fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(other, slug)| *other == kind && TenantSlug::parse(slug).is_ok())
            .map(|(_, slug)| &**slug)
    }
}

/// The registry, or the contradictions recorded.
pub(super) fn registry(
    reading: &Reading<'_>,
    parts: Declarations,
    declared: &Declared,
) -> Option<Registry> {
    let faults = match Registry::new(parts) {
        Ok(registry) => return Some(registry),
        Err(faults) => faults,
    };
    for fault in faults {
        if let RegistryFault::Missing {
            missing_kind,
            missing,
            ..
        } = &fault
            && declared.has(missing_kind, missing)
        {
            continue; // it is there, with faults of its own
        }
        let (path, write) = place_and_advice(&fault, declared);
        reading.fault_at(&path, &fault.to_string(), &write);
    }
    None
}

fn place_and_advice(fault: &RegistryFault, declared: &Declared) -> (String, String) {
    match fault {
        RegistryFault::Twice { kind, slug } => (
            format!("{kind}.{slug}.slug"),
            "Give one of the two another slug.".into(),
        ),
        RegistryFault::Missing {
            kind,
            slug,
            missing_kind,
            missing,
        } => {
            let path = if *missing_kind == "provider" {
                format!("{kind}.{slug}.allow.{missing}.provider")
            } else {
                format!("{kind}.{slug}.{missing_kind}")
            };
            (path, missing_advice(missing_kind, missing, declared))
        }
        RegistryFault::OtherTenant {
            server,
            kind,
            other,
        } => {
            let path = if *kind == "provider" {
                format!("server.{server}.allow.{other}.provider")
            } else {
                format!("server.{server}.{kind}")
            };
            (
                path,
                format!("Move one of them, or declare the {kind} again in the server's tenant."),
            )
        }
        RegistryFault::SameIssuer { other, .. } => (
            format!("issuer.{other}.url"),
            "Keep one of the two, or put them into different tenants.".into(),
        ),
        RegistryFault::SameResource { other, .. } => (
            format!("server.{other}.resource"),
            "Give each server the resource identifier that is its own, or declare it once.".into(),
        ),
        RegistryFault::Claims(slug) => (
            format!("issuer.{slug}.subject_claims"),
            "Write as many ID token claims as subject claims, in the same order.".into(),
        ),
        RegistryFault::UnknownScope {
            server,
            provider,
            scope,
        } => (
            format!("server.{server}.allow.{provider}.scopes"),
            format!(
                "Declare it at the provider: `[[provider.scope]]` with `name = \"{scope}\"` and `effect`, or remove it here."
            ),
        ),
    }
}

fn missing_advice(kind: &str, missing: &str, declared: &Declared) -> String {
    let declare = format!("declare `[[{kind}]]` with `slug = \"{missing}\"`");
    let known: Vec<_> = declared
        .of_kind(kind)
        .map(|slug| format!("`{slug}`"))
        .collect();
    match nearest(missing, declared.of_kind(kind)) {
        Some(near) => format!("Write `{near}`, or {declare}."),
        None if (1..=8).contains(&known.len()) => {
            format!("Write {}, or {declare}.", known.join(" or "))
        }
        None => format!("Write a `[[{kind}]]` that there is, or {declare}."),
    }
}
