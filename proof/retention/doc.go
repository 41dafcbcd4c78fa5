// Package retention measures forgetting: the rate of the reaper over many records,
// what it costs live traffic, and the sizes before and after, on every engine; and
// it proves that an archive finds every key that was forgotten.
package retention
