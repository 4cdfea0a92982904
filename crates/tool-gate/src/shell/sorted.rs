//! A small sorted map in one vector.
//!
//! A balanced tree is several kilobytes of code for each pair of types, and what is collected here is little and comes
//! mostly in the order of the text.

use std::borrow::Borrow;

/// Values by keys, in the order of the keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sorted<K, V = ()>(Vec<(K, V)>);

impl<K, V> Default for Sorted<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord, V> Sorted<K, V> {
    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.0.binary_search_by(|(known, _)| known.borrow().cmp(key))
    }

    pub(super) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|place| &self.0[place].1)
    }

    /// The value of a key, which gets this one if it has none; and whether it had none.
    fn or_insert(&mut self, key: K, value: V) -> (bool, &mut V) {
        let place = self.place(&key);
        if let Err(place) = place {
            self.0.insert(place, (key, value));
        }
        let (Ok(at) | Err(at)) = place;
        (place.is_err(), &mut self.0[at].1)
    }

    /// The value of a key, which gets the type's own if it has none.
    pub(super) fn entry(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.or_insert(key, V::default()).1
    }

    /// Gives a key a value if it has none.
    pub(super) fn insert_new(&mut self, key: K, value: V) {
        self.or_insert(key, value);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(K, V)> {
        self.0.iter()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl<K: Ord> Sorted<K> {
    /// Adds a key; `false` where it was there.
    pub(super) fn add(&mut self, key: K) -> bool {
        self.or_insert(key, ()).0
    }

    pub(super) fn add_all(&mut self, other: Self) {
        for (key, ()) in other.0 {
            self.add(key);
        }
    }
}

impl<K, V> IntoIterator for Sorted<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::Sorted;

    proptest! {
        #[test]
        fn it_holds_what_a_tree_holds(pairs in proptest::collection::vec((0..20_u8, 0..9_u8), 0..40)) {
            let (mut sorted, mut tree) = (Sorted::default(), BTreeMap::new());
            let mut keys = Sorted::default();
            for (key, value) in pairs {
                if value % 2 == 0 {
                    *sorted.entry(key) = value;
                    tree.insert(key, value);
                } else {
                    sorted.insert_new(key, value);
                    tree.entry(key).or_insert(value);
                }
                let known = keys.get(&key).is_some();
                prop_assert_eq!(keys.add(key), !known);
                prop_assert_eq!(sorted.len(), tree.len());
                prop_assert_eq!(sorted.get(&key), tree.get(&key));
            }
            let mut more = keys.clone();
            more.add_all(Sorted::default());
            prop_assert_eq!(more, keys);
            prop_assert_eq!(sorted.is_empty(), tree.is_empty());
            prop_assert_eq!(sorted.into_iter().collect::<Vec<_>>(), tree.into_iter().collect::<Vec<_>>());
        }
    }
}
