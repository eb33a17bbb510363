//! Nothing but the home of tests that cross crates: see `tests/`.
