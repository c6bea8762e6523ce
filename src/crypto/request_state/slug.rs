//! Slugs in 22 bytes: three characters to a 16-bit number, so that four of them fit into one padded block.

/// The length of every packed slug.
pub(super) const PACKED: usize = 22;
const BASE: u16 = 38;

/// Packs a slug of up to 32 characters: digits 1–26 for `a–z`, 27–36 for `0–9`, 37 for `-`, 0 after the end; three
/// digits to a big-endian number.
pub(super) fn pack(slug: &str) -> [u8; PACKED] {
    let mut digits = slug.bytes().map(digit).chain(std::iter::repeat(0));
    let mut packed = [0; PACKED];
    for pair in packed.as_chunks_mut::<2>().0 {
        let number = digits
            .by_ref()
            .take(3)
            .fold(0, |number, digit| number * BASE + digit);
        *pair = number.to_be_bytes();
    }
    packed
}

/// Reads a packed slug back; nothing when the bytes are not the one packing of a slug.
pub(super) fn unpack(packed: &[u8; PACKED]) -> Option<String> {
    let mut slug = String::with_capacity(33);
    for pair in packed.as_chunks::<2>().0 {
        let number = u16::from_be_bytes(*pair);
        for digit in [number / (BASE * BASE), number / BASE % BASE, number % BASE] {
            slug.extend(character(digit));
        }
    }
    if pack(&slug) == *packed {
        Some(slug)
    } else {
        None
    }
}

fn digit(character: u8) -> u16 {
    match character {
        b'a'..=b'z' => u16::from(character - b'a') + 1,
        b'0'..=b'9' => u16::from(character - b'0') + 27,
        _ => 37,
    }
}

/// The character of a digit; none for 0 and for numbers that are no digit, which repacking then notices.
fn character(digit: u16) -> Option<char> {
    let digit = u8::try_from(digit).ok()?;
    match digit {
        1..=26 => Some(char::from(b'a' + digit - 1)),
        27..=36 => Some(char::from(b'0' + digit - 27)),
        37 => Some('-'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_survives_and_nothing_else_is_read() {
        for slug in [
            "a",
            "-",
            "acme",
            "z9-",
            "release-notes-2",
            &"z".repeat(32),
            "abcdefghijklmnopqrstuvwxyz-01234",
        ] {
            assert_eq!(unpack(&pack(slug)).as_deref(), Some(slug));
        }
        assert_eq!(unpack(&[0xff; PACKED]), None);
        let mut gap = pack("abc");
        gap[21] = 1; // something after the end
        assert_eq!(unpack(&gap), None);
    }
}
