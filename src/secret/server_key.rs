//! The credential of a server or an administrator: one text with a public id, a 256-bit secret and a checksum.
//!
//! `srk_<id: 12 base62>_<secret: 43 base62><check: 6 base62>`. The prefix and the checksum exist for offline secret
//! scanners; the check is CRC-32 over everything before it. Digits are `0-9A-Za-z` in that order, most significant first.
//! Scanners find them with `\bsr[ka]_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}\b`.

use std::fmt;

use secrecy::{ExposeSecret, SecretBox};
use zeroize::{ZeroizeOnDrop, Zeroizing};

use crate::{Entropy, Reveal};

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ID: usize = 12;
const SECRET: usize = 43;
const CHECK: usize = 6;
const LENGTH: usize = 4 + ID + 1 + SECRET + CHECK;

/// Whom a key speaks for; it shows in the prefix, so one class is never taken for the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyClass {
    /// An MCP server at the api listener: `srk_`.
    Server,
    /// An administrator at the admin listener: `sra_`.
    Admin,
}

impl KeyClass {
    /// The first four characters of keys of this class.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Server => "srk_",
            Self::Admin => "sra_",
        }
    }
}

/// The text is not a key of the class asked for: wrong prefix, length, alphabet, range or checksum.
///
/// Says nothing about the text itself, so it may be logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadServerKey;

impl fmt::Display for BadServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a well-formed key; copy it again, whole, from where it was shown")
    }
}

impl std::error::Error for BadServerKey {}

/// The whole text of a key. Its secret part has 256 random bits, so a plain keyed hash of the text is enough to store.
///
/// ```
/// use strongroom_secret::{KeyClass, OsEntropy, Reveal, ServerKeyText};
/// let key = ServerKeyText::generate(KeyClass::Server, &OsEntropy);
/// assert!(key.reveal().starts_with(&format!("srk_{}_", key.id())));
/// assert_eq!(format!("{key:?}"), "ServerKeyText(..)");
/// ```
/// ```compile_fail
/// # use strongroom_secret::*;
/// let copy: ServerKeyText = ServerKeyText::generate(KeyClass::Server, &OsEntropy).clone();
/// ```
/// ```compile_fail
/// # use strongroom_secret::*;
/// let text = format!("{}", ServerKeyText::generate(KeyClass::Server, &OsEntropy));
/// ```
/// ```compile_fail
/// # use strongroom_secret::*;
/// fn serialize<T: serde::Serialize>(_: &T) {}
/// serialize(&ServerKeyText::generate(KeyClass::Server, &OsEntropy));
/// ```
/// ```compile_fail
/// # use strongroom_secret::*;
/// let key = ServerKeyText::generate(KeyClass::Server, &OsEntropy);
/// let same = key == key;
/// ```
pub struct ServerKeyText {
    text: SecretBox<String>,
    class: KeyClass,
}

impl ServerKeyText {
    /// A fresh random key.
    pub fn generate(class: KeyClass, entropy: &dyn Entropy) -> Self {
        let mut secret = Zeroizing::new([0; 32]);
        entropy.fill(secret.as_mut_slice());
        let mut text = String::with_capacity(LENGTH);
        text.push_str(class.prefix());
        push_random_digits(&mut text, entropy);
        text.push('_');
        push_base62(&mut text, secret.as_mut_slice(), SECRET);
        let check = crc32fast::hash(text.as_bytes());
        push_base62(&mut text, &mut check.to_be_bytes(), CHECK);
        Self {
            text: SecretBox::new(Box::new(text)),
            class,
        }
    }

    /// Reads a key of the given class; there is exactly one text for each key.
    ///
    /// # Errors
    /// [`BadServerKey`] for any other text; nothing is allocated by the length of the text.
    pub fn parse(class: KeyClass, text: &str) -> Result<Self, BadServerKey> {
        if text.len() != LENGTH {
            return Err(BadServerKey);
        }
        let (body, check) = text.split_at_checked(LENGTH - CHECK).ok_or(BadServerKey)?;
        let rest = body.strip_prefix(class.prefix()).ok_or(BadServerKey)?;
        let (id, secret) = rest.split_once('_').ok_or(BadServerKey)?;
        if id.len() != ID || !id.bytes().all(|digit| digit.is_ascii_alphanumeric()) {
            return Err(BadServerKey);
        }
        read_base62::<32>(secret).ok_or(BadServerKey)?;
        let check = read_base62::<4>(check).ok_or(BadServerKey)?;
        if *check != crc32fast::hash(body.as_bytes()).to_be_bytes() {
            return Err(BadServerKey);
        }
        Ok(Self {
            text: SecretBox::new(Box::new(text.to_owned())),
            class,
        })
    }

    /// The public id: names the key in lists, logs and look-ups.
    pub fn id(&self) -> &str {
        let start = self.class.prefix().len();
        self.reveal().get(start..start + ID).unwrap_or_default()
    }

    /// The class in the prefix.
    pub fn class(&self) -> KeyClass {
        self.class
    }
}

impl Reveal for ServerKeyText {
    /// The whole text: to hash it, and to show it once to whoever made it.
    fn reveal(&self) -> &str {
        self.text.expose_secret()
    }
}

impl fmt::Debug for ServerKeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerKeyText(..)")
    }
}

impl ZeroizeOnDrop for ServerKeyText {}

/// The id: twelve evenly distributed digits. Bytes from 248 up are drawn again, because 248 = 4 × 62.
fn push_random_digits(text: &mut String, entropy: &dyn Entropy) {
    let mut missing = ID;
    while missing > 0 {
        let mut byte = [0];
        entropy.fill(&mut byte);
        let [value] = byte;
        if value < 248 {
            text.push(digit(value % 62));
            missing -= 1;
        }
    }
}

/// Appends a big-endian number as exactly `width` digits; the number is zero afterwards.
fn push_base62(text: &mut String, number: &mut [u8], width: usize) {
    let mut digits = Zeroizing::new([0; SECRET]);
    for place in digits.iter_mut().take(width) {
        let mut remainder = 0_u16;
        for byte in number.iter_mut() {
            let value = remainder << 8 | u16::from(*byte);
            *byte = u8::try_from(value / 62).unwrap_or_default();
            remainder = value % 62;
        }
        *place = u8::try_from(remainder).unwrap_or_default();
    }
    text.extend(digits.iter().take(width).rev().map(|value| digit(*value)));
}

/// Reads digits as a big-endian number of `N` bytes; nothing when a digit is foreign or the number is too large.
fn read_base62<const N: usize>(digits: &str) -> Option<Zeroizing<[u8; N]>> {
    let mut number = Zeroizing::new([0; N]);
    for digit in digits.bytes() {
        let mut carry = u16::from(value_of(digit)?);
        for byte in number.iter_mut().rev() {
            let value = u16::from(*byte) * 62 + carry;
            *byte = u8::try_from(value & 0xff).ok()?;
            carry = value >> 8;
        }
        if carry != 0 {
            return None;
        }
    }
    Some(number)
}

fn digit(value: u8) -> char {
    DIGITS
        .get(usize::from(value))
        .copied()
        .map_or('0', char::from)
}

fn value_of(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'A'..=b'Z' => Some(digit - b'A' + 10),
        b'a'..=b'z' => Some(digit - b'a' + 36),
        _ => None,
    }
}
