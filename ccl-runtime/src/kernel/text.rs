//! Messages that are put together at compile time.

/// A text of at most `N` bytes; what is longer is cut off.
pub(super) struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Text<N> {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; N], len: 0 }
    }

    /// With a text behind it.
    pub(super) const fn str(mut self, text: &str) -> Self {
        let text = text.as_bytes();
        let mut i = 0;
        while i < text.len() && self.len < N {
            self.bytes[self.len] = text[i];
            self.len += 1;
            i += 1;
        }
        self
    }

    /// With a number behind it.
    pub(super) const fn number(self, value: u64) -> Self {
        let mut digits = [b'0'; 20];
        let (mut first, mut rest) = (19, value);
        while rest >= 10 {
            digits[first] = b'0' + (rest % 10) as u8;
            rest /= 10;
            first -= 1;
        }
        digits[first] = b'0' + rest as u8;
        let (_, digits) = digits.split_at(first);
        match std::str::from_utf8(digits) {
            Ok(digits) => self.str(digits),
            Err(_) => panic!("digits are text"),
        }
    }

    /// The text; where it was cut inside a character, up to that.
    pub(super) const fn as_str(&self) -> &str {
        let (text, _) = self.bytes.split_at(self.len);
        match std::str::from_utf8(text) {
            Ok(text) => text,
            Err(error) => match std::str::from_utf8(text.split_at(error.valid_up_to()).0) {
                Ok(text) => text,
                Err(_) => panic!("it is valid up to there"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn numbers_and_cuts() {
        assert_eq!(Text::<50>::new().number(0).str(", ").number(u64::MAX).as_str(), "0, 18446744073709551615");
        assert_eq!(Text::<3>::new().str("abcd").as_str(), "abc");
        assert_eq!(Text::<3>::new().str("abß").as_str(), "ab");
    }
}
