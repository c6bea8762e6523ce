//! One form-encoded value, decoded once.

/// Undoes the encoding of `application/x-www-form-urlencoded`; `None` for anything that no encoder writes, and for text
/// that is not UTF-8 or holds NUL.
pub fn form_decoded(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let high = char::from(bytes.next()?).to_digit(16)?;
                let low = char::from(bytes.next()?).to_digit(16)?;
                out.push(u8::try_from(high * 16 + low).ok()?);
            }
            other => out.push(other),
        }
    }
    String::from_utf8(out)
        .ok()
        .filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::form_decoded;

    #[test]
    fn only_what_encoders_write_is_decoded() {
        assert_eq!(form_decoded("a+b%2F%c3%A4").as_deref(), Some("a b/ä"));
        for bad in ["%", "%2", "%2x", "%c3", "%00", "%+1"] {
            assert_eq!(form_decoded(bad), None, "{bad}");
        }
    }
}
