-- Retention: what reapers have seen, and values that hold for ever.

DROP TABLE refrain_later;

-- Parts of the records, in the order of their refs, and when a reaper looks at
-- them again. They follow each other without a gap; the first begins before
-- every ref.
CREATE TABLE refrain_span (
  after TEXT NOT NULL,
  last  TEXT PRIMARY KEY,
  due   INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX refrain_span_due ON refrain_span (due);

-- Values that a rule holds. They are no receipts and end never.
CREATE TABLE refrain_once (
  rule  TEXT NOT NULL,
  value BLOB NOT NULL,
  ref   TEXT NOT NULL,
  at    INTEGER NOT NULL,
  PRIMARY KEY (rule, value)
) WITHOUT ROWID;
