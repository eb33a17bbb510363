//! Text seen once each, numbered in the order of its first appearance.

use std::collections::HashMap;

#[derive(Clone, Debug, Default)]
pub(crate) struct Interner {
    ids: HashMap<String, u32>,
    list: Vec<String>,
}

impl Interner {
    /// The number of a text, new or known.
    pub fn id(&mut self, text: &str) -> u32 {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = self.list.len() as u32;
        self.ids.insert(text.to_owned(), id);
        self.list.push(text.to_owned());
        id
    }
    /// Whether the text has a number.
    pub fn contains(&self, text: &str) -> bool {
        self.ids.contains_key(text)
    }
    /// The texts in order.
    pub fn into_list(self) -> Vec<String> {
        self.list
    }
}
