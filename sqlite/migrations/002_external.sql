-- External operations: effects outside this database, in insertion order (seq).
-- The text in data is no query's; the input is last and never updated.
CREATE TABLE refrain_external (
  seq       INTEGER PRIMARY KEY,
  ref       TEXT NOT NULL,
  version   INTEGER NOT NULL,
  action    TEXT,
  step      TEXT NOT NULL,
  provider  TEXT NOT NULL,
  partition TEXT NOT NULL,
  state     INTEGER NOT NULL,
  disputed  INTEGER NOT NULL,
  due       INTEGER,
  created   INTEGER NOT NULL,
  final     INTEGER,
  format    INTEGER NOT NULL,
  data      TEXT NOT NULL,
  input     BLOB
);
CREATE UNIQUE INDEX refrain_external_ref ON refrain_external (ref);
CREATE UNIQUE INDEX refrain_external_step ON refrain_external (action, step) WHERE action IS NOT NULL;

-- What is due: settled operations and parked ones are not in it.
CREATE INDEX refrain_external_due ON refrain_external (provider, due) WHERE due IS NOT NULL;

-- What the later ones of a partition wait for.
CREATE INDEX refrain_external_head ON refrain_external (provider, partition, seq) WHERE due IS NOT NULL AND partition <> '';

-- What may be forgotten one day.
CREATE INDEX refrain_external_final ON refrain_external (final) WHERE final IS NOT NULL;
