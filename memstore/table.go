package memstore

import "iter"

// table is one kind of rows: the committed ones and, over them, the changes of
// the one running transaction. Readers hold DB.mu and see only the former; the
// writer alone touches the layer, and rows only in apply, under DB.mu.
type table[K comparable, V any] struct {
	rows  map[K]V
	layer map[K]*V // nil: deleted
}

func newTable[K comparable, V any]() table[K, V] {
	return table[K, V]{rows: make(map[K]V), layer: make(map[K]*V)}
}

// get reads as the running transaction does (mine) or as everybody else.
func (t *table[K, V]) get(k K, mine bool) (V, bool) {
	if mine && t.changed(k) {
		if v := t.layer[k]; v != nil {
			return *v, true
		}
		var none V
		return none, false
	}
	v, ok := t.rows[k]
	return v, ok
}

func (t *table[K, V]) all(mine bool) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for k, v := range t.rows {
			if mine && t.changed(k) {
				continue
			}
			if !yield(k, v) {
				return
			}
		}
		if !mine {
			return
		}
		for k, v := range t.layer {
			if v != nil && !yield(k, *v) {
				return
			}
		}
	}
}

func (t *table[K, V]) changed(k K) bool { _, ok := t.layer[k]; return ok }

// put and remove change a row for the running transaction and leave in it how
// to take that back.
func (t *table[K, V]) put(in *transaction, k K, v V) { t.change(in, k, &v) }
func (t *table[K, V]) remove(in *transaction, k K)   { t.change(in, k, nil) }

func (t *table[K, V]) change(in *transaction, k K, v *V) {
	before, changed := t.layer[k]
	in.undo = append(in.undo, func() {
		if changed {
			t.layer[k] = before
		} else {
			delete(t.layer, k)
		}
	})
	t.layer[k] = v
}

func (t *table[K, V]) apply() {
	for k, v := range t.layer {
		if v == nil {
			delete(t.rows, k)
		} else {
			t.rows[k] = *v
		}
	}
	clear(t.layer)
}

func (t *table[K, V]) discard() { clear(t.layer) }
