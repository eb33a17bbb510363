//! Signatures as written, and their comparison at compile time: what an override or a stub must keep.

use std::fmt;

use super::text::Text;

/// What a function takes and returns, as its text says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Name of the function.
    pub name: &'static str,
    /// Const parameters: name and type.
    pub consts: &'static [Field],
    /// Parameters: name and type, a reference among it.
    pub params: &'static [Field],
    /// Type of the result; `()` where there is none.
    pub result: &'static str,
}

/// A parameter as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub ty: &'static str,
}

/// A signature as text, a line a parameter, so that a difference shows what moved; of names and types.
pub fn signature_text(name: &str, consts: &[(&str, &str)], params: &[(&str, &str)], result: &str) -> String {
    let consts: Vec<String> = consts.iter().map(|(name, ty)| format!("const {name}: {ty}")).collect();
    let consts = if consts.is_empty() { String::new() } else { format!("<{}>", consts.join(", ")) };
    let params: String = params.iter().map(|(name, ty)| format!("    {name}: {ty},\n")).collect();
    format!("fn {name}{consts}(\n{params}) -> {result}")
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = |fields: &[Field]| fields.iter().map(|field| (field.name, field.ty)).collect::<Vec<_>>();
        f.write_str(&signature_text(self.name, &fields(self.consts), &fields(self.params), self.result))
    }
}

/// Which function has to keep a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It replaces a kernel: `#[overrides(path)]`. Parameters keep their names, by which arguments are passed.
    Override,
    /// It fills a slot: `#[stub(path)]`. Parameters may have other names.
    Stub,
}

impl Role {
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Role::Override => ("override", "of the kernel"),
            Role::Stub => ("stub", "of the slot"),
        }
    }
}

/// Stops the build where `own` has not the signature `of`, with the first field that differs and both of its values.
///
/// # Panics
/// At compile time, if they differ.
#[track_caller]
pub const fn check_signature(role: Role, own: Signature, of: Signature) {
    check_fields(role, own.name, "const parameter", own.consts, of.consts, true);
    check_fields(role, own.name, "parameter", own.params, of.params, matches!(role, Role::Override));
    if !same(own.result, of.result) {
        drifted(role, own.name, "the result", None, own.result, of.result);
    }
}

#[track_caller]
const fn check_fields(role: Role, name: &str, what: &str, own: &[Field], of: &[Field], names: bool) {
    let mut i = 0;
    while i < own.len() && i < of.len() {
        if names && !same(own[i].name, of[i].name) {
            let what = Text::<200>::new().str("the name of ").str(what).str(" ").number(i as u64 + 1);
            drifted(role, name, what.as_str(), None, own[i].name, of[i].name);
        }
        if !same(own[i].ty, of[i].ty) {
            drifted(role, name, what, Some(own[i].name), own[i].ty, of[i].ty);
        }
        i += 1;
    }
    if own.len() != of.len() {
        let (own, of) = (Text::<20>::new().number(own.len() as u64), Text::<20>::new().number(of.len() as u64));
        let what = Text::<200>::new().str("the number of ").str(what).str("s");
        drifted(role, name, what.as_str(), None, own.as_str(), of.as_str());
    }
}

#[track_caller]
const fn drifted(role: Role, name: &str, what: &str, field: Option<&str>, own: &str, of: &str) -> ! {
    let (role, whose) = role.words();
    let mut text = Text::<1000>::new().str(role).str(" `").str(name).str("`: ").str(what);
    if let Some(field) = field {
        text = text.str(" `").str(field).str("`");
    }
    let text = text.str(" is `").str(own).str("`, that ").str(whose).str(" is `").str(of).str("`");
    let text = text.str("\nhelp: take over the signature of the text it was made from, then compare the bodies");
    panic!("{}", text.as_str())
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Signature = Signature {
        name: "base",
        consts: &[Field { name: "C", ty: "usize" }],
        params: &[Field { name: "x", ty: "&Ocm<i8, Packed<C, 8, 8>>" }, Field { name: "s", ty: "Scale" }],
        result: "()",
    };

    fn drift(role: Role, own: Signature) -> String {
        let payload = std::panic::catch_unwind(|| check_signature(role, own, BASE)).expect_err("they differ");
        payload.downcast_ref::<String>().expect("a message").lines().next().expect("a line").to_owned()
    }

    #[test]
    fn the_first_drifted_field_is_named_with_both_values() {
        check_signature(Role::Override, Signature { name: "own", ..BASE }, BASE);
        let consts: &[Field] = &[Field { name: "D", ty: "usize" }];
        assert_eq!(
            drift(Role::Override, Signature { consts, ..BASE }),
            "override `base`: the name of const parameter 1 is `D`, that of the kernel is `C`"
        );
        const PARAMS: &[Field] = &[Field { name: "x", ty: "&Ocm<i8, Packed<C, 8, 9>>" }, BASE.params[1]];
        assert_eq!(
            drift(Role::Override, Signature { params: PARAMS, ..BASE }),
            "override `base`: parameter `x` is `&Ocm<i8, Packed<C, 8, 9>>`, that of the kernel is `&Ocm<i8, Packed<C, 8, 8>>`"
        );
        assert_eq!(
            drift(Role::Stub, Signature { params: &[], ..BASE }),
            "stub `base`: the number of parameters is `0`, that of the slot is `2`"
        );
        assert_eq!(
            drift(Role::Stub, Signature { result: "i32", ..BASE }),
            "stub `base`: the result is `i32`, that of the slot is `()`"
        );
    }

    #[test]
    fn a_line_a_parameter() {
        assert_eq!(
            BASE.to_string(),
            "fn base<const C: usize>(\n    x: &Ocm<i8, Packed<C, 8, 8>>,\n    s: Scale,\n) -> ()"
        );
    }

    #[test]
    fn a_stub_may_rename_its_parameters() {
        const PARAMS: &[Field] = &[Field { name: "a", ..BASE.params[0] }, Field { name: "b", ..BASE.params[1] }];
        check_signature(Role::Stub, Signature { params: PARAMS, ..BASE }, BASE);
        assert_eq!(
            drift(Role::Override, Signature { params: PARAMS, ..BASE }),
            "override `base`: the name of parameter 1 is `a`, that of the kernel is `x`"
        );
    }
}
