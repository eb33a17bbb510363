//! Tests of the front end as its users see it: text and tokens in, trees, text and diagnostics out.

mod budget;
mod corpus;
mod diagnostics;
mod docs;
mod expansion;
mod limits;
mod mutation;
mod random;
mod support;
mod types;
