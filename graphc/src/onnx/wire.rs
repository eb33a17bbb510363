//! How many messages a file holds, counted before any of them is made.
//!
//! An empty message is two bytes in a file and hundreds in memory, so a hostile file could ask for a hundred times its own
//! size. This walk over the wire format follows the fields that [`crate::onnx::proto`] reads and stops at the limit.

/// Messages that a model may hold. A node with its attributes is some ten of them.
pub const MAX_MESSAGES: usize = 1 << 21;

/// The kinds of message that the walk tells apart, by what is nested in them.
#[derive(Clone, Copy)]
enum Kind {
    Model,
    Graph,
    Node,
    Attribute,
    Tensor,
    Value,
    Type,
    TensorType,
    Shape,
    Leaf,
}

impl Kind {
    /// The message, or the string, that a length-delimited field holds; `None` for bytes and packed numbers.
    fn nested(self, field: u64) -> Option<Kind> {
        Some(match (self, field) {
            (Kind::Model, 7) => Kind::Graph,
            (Kind::Model, 8 | 25) => Kind::Leaf,
            (Kind::Graph, 1) => Kind::Node,
            (Kind::Graph, 5) => Kind::Tensor,
            (Kind::Graph, 11..=13) => Kind::Value,
            (Kind::Graph, 15) => Kind::Leaf,
            (Kind::Node, 5) => Kind::Attribute,
            (Kind::Node, 1 | 2) => Kind::Leaf,
            (Kind::Attribute, 5) => Kind::Tensor,
            (Kind::Attribute, 9) => Kind::Leaf,
            (Kind::Tensor, 13) => Kind::Leaf,
            (Kind::Value, 2) => Kind::Type,
            (Kind::Type, 1) => Kind::TensorType,
            (Kind::TensorType, 2) => Kind::Shape,
            (Kind::Shape, 1) => Kind::Leaf,
            _ => return None,
        })
    }
}

/// Counts the messages and repeated strings of a model, up to `limit`; `None` if there are more.
///
/// Damage ends the count: the decoder finds and names it.
pub fn count_messages(model: &[u8], limit: usize) -> Option<usize> {
    let mut open = vec![(Kind::Model, model)];
    let mut count = 0_usize;
    while let Some((kind, mut rest)) = open.pop() {
        while let Some((field, payload)) = next_field(&mut rest) {
            let Some((nested, bytes)) = payload.and_then(|bytes| Some((kind.nested(field)?, bytes))) else { continue };
            count += 1;
            if count > limit {
                return None;
            }
            if !matches!(nested, Kind::Leaf) {
                open.push((nested, bytes));
            }
        }
    }
    Some(count)
}

/// The next field: its number, and its bytes if it is length-delimited. `None` at the end or where the bytes make no sense.
fn next_field<'a>(rest: &mut &'a [u8]) -> Option<(u64, Option<&'a [u8]>)> {
    let key = varint(rest)?;
    let skip = match key & 7 {
        0 => {
            varint(rest)?;
            return Some((key >> 3, None));
        }
        1 => 8,
        5 => 4,
        2 => {
            let n = usize::try_from(varint(rest)?).ok()?;
            let (payload, after) = rest.split_at_checked(n)?;
            *rest = after;
            return Some((key >> 3, Some(payload)));
        }
        _ => return None,
    };
    *rest = rest.get(skip..)?;
    Some((key >> 3, None))
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::onnx::proto::{AttributeProto, GraphProto, ModelProto, NodeProto};

    #[test]
    fn counts_what_is_nested() {
        let attribute = AttributeProto { name: "axis".into(), i: 300, ..Default::default() };
        let node = NodeProto { input: vec!["x".into()], attribute: vec![attribute; 3], ..Default::default() };
        let graph = GraphProto { node: vec![node; 2], ..Default::default() };
        let model = ModelProto { graph: Some(graph), ..Default::default() }.encode_to_vec();
        assert_eq!(count_messages(&model, 100), Some(1 + 2 * (1 + 1 + 3)));
        assert_eq!(count_messages(&model, 10), None);
        assert_eq!(count_messages(&[0xff; 40], 10), Some(0));
    }

    #[test]
    fn a_file_of_empty_messages_is_refused() {
        let empties = [0x0a, 0].repeat(1 << 20); // field 1 of a graph: nodes
        let mut model = vec![0x3a]; // field 7 of a model: the graph
        prost::encoding::encode_varint(empties.len() as u64, &mut model);
        model.extend(empties);
        assert_eq!(count_messages(&model, 1 << 20), None);
    }
}
