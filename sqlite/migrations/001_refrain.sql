-- Refrain's tables. Times are integers, microseconds since 1970 UTC.

CREATE TABLE refrain_schema (
  version  INTEGER PRIMARY KEY,
  checksum TEXT NOT NULL,
  at       INTEGER NOT NULL
);

-- One row: which store this is. The counter rises with each witness save.
CREATE TABLE refrain_store (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  id      BLOB NOT NULL,
  epoch   INTEGER NOT NULL,
  counter INTEGER NOT NULL
);
INSERT INTO refrain_store VALUES (1, randomblob(16), 1, 0);

-- One row per operation: what its identities are made of, its contract as
-- registered, and the latest birth of any final record ever forgotten.
CREATE TABLE refrain_operation (
  operation TEXT PRIMARY KEY,
  identity  TEXT NOT NULL,
  contract  TEXT NOT NULL,
  horizon   INTEGER
) WITHOUT ROWID;

-- Records in insertion order (n). The hash is of the length-prefixed identity and
-- its components are compared on every read. The body is last, so that reads
-- which do not want it never touch its pages.
CREATE TABLE refrain_record (
  n              INTEGER PRIMARY KEY,
  hash           BLOB NOT NULL,
  ref            TEXT NOT NULL,
  version        INTEGER NOT NULL,
  format         INTEGER NOT NULL,
  state          INTEGER NOT NULL,
  disputed       INTEGER NOT NULL,
  scope          TEXT NOT NULL,
  operation      TEXT NOT NULL,
  key            BLOB NOT NULL,
  actor          TEXT NOT NULL,
  raw            BLOB NOT NULL,
  deciding       BLOB NOT NULL,
  rule           TEXT NOT NULL,
  schema         TEXT NOT NULL,
  created        INTEGER NOT NULL,
  final          INTEGER,
  replay_until   INTEGER,
  remember_until INTEGER,
  attempt        INTEGER NOT NULL,
  fence          INTEGER NOT NULL,
  lease          INTEGER,
  status         INTEGER NOT NULL,
  effect         TEXT NOT NULL,
  digest         BLOB,
  evidence       BLOB,
  header         BLOB,
  body           BLOB
);
CREATE UNIQUE INDEX refrain_record_hash ON refrain_record (hash);
CREATE UNIQUE INDEX refrain_record_ref ON refrain_record (ref);

-- Rows a reaper passed before their memory ended, by the time they are due.
CREATE TABLE refrain_later (
  due INTEGER NOT NULL,
  n   INTEGER NOT NULL,
  PRIMARY KEY (due, n)
) WITHOUT ROWID;

-- Recovery fences; an empty operation or scope means all of them.
CREATE TABLE refrain_fence (
  id        INTEGER PRIMARY KEY,
  operation TEXT NOT NULL,
  scope     TEXT NOT NULL,
  until     INTEGER NOT NULL,
  since     INTEGER,
  reason    TEXT NOT NULL,
  by        TEXT NOT NULL,
  at        INTEGER NOT NULL,
  ended     INTEGER
);

-- A refused identity that may execute once; spent by the effect's transaction.
CREATE TABLE refrain_allow (
  hash      BLOB PRIMARY KEY,
  scope     TEXT NOT NULL,
  operation TEXT NOT NULL,
  key       BLOB NOT NULL,
  reason    TEXT NOT NULL,
  by        TEXT NOT NULL,
  at        INTEGER NOT NULL
) WITHOUT ROWID;

-- Refused late retries, one row per identity.
CREATE TABLE refrain_review (
  hash      BLOB PRIMARY KEY,
  scope     TEXT NOT NULL,
  operation TEXT NOT NULL,
  key       BLOB NOT NULL,
  raw       BLOB NOT NULL,
  deciding  BLOB NOT NULL,
  rule      TEXT NOT NULL,
  schema    TEXT NOT NULL,
  first     INTEGER NOT NULL,
  last      INTEGER NOT NULL,
  count     INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX refrain_review_scope ON refrain_review (scope);

-- What operators did, and why.
CREATE TABLE refrain_audit (
  id     INTEGER PRIMARY KEY,
  at     INTEGER NOT NULL,
  by     TEXT NOT NULL,
  action TEXT NOT NULL,
  ref    TEXT NOT NULL,
  reason TEXT NOT NULL,
  detail TEXT NOT NULL
);
