-- Refrain's tables. {schema} is the schema's name, quoted. Times are integers,
-- microseconds since 1970 UTC.

CREATE SCHEMA IF NOT EXISTS {schema};

CREATE TABLE {schema}.migration (
  version  integer PRIMARY KEY,
  checksum text   NOT NULL,
  at       bigint NOT NULL
);

-- One row: which store this is. The counter rises with each witness save.
CREATE TABLE {schema}.store (
  one     integer PRIMARY KEY CHECK (one = 1),
  id      uuid    NOT NULL,
  epoch   bigint  NOT NULL,
  counter bigint  NOT NULL
);
INSERT INTO {schema}.store VALUES (1, gen_random_uuid(), 1, 0);

-- One row per operation: what its identities are made of, its contract as
-- registered, and the latest birth of any final record ever forgotten.
CREATE TABLE {schema}.operation (
  operation text COLLATE "C" PRIMARY KEY,
  identity  text NOT NULL,
  contract  text NOT NULL,
  horizon   bigint
);

-- Records. The hash is of the length-prefixed identity, and its components are
-- compared on every read. The ref begins with its time, so its index keeps the
-- order of insertion. xid is the transaction that wrote the row: what a
-- synchronous standby is known to have is told by it. identity is the operation's
-- when the row was inserted, '' where only the operation's row tells. Columns of
-- fixed width come first, what only a replay needs comes last. Rows are read whole:
-- a column is added behind the others, and none is taken away.
CREATE TABLE {schema}.record (
  hash           uuid     NOT NULL,
  xid            xid8     NOT NULL DEFAULT pg_current_xact_id(),
  version        bigint   NOT NULL,
  created        bigint   NOT NULL,
  final          bigint,
  replay_until   bigint,
  remember_until bigint,
  fence          bigint   NOT NULL,
  lease          bigint,
  attempt        integer  NOT NULL,
  status         integer  NOT NULL,
  format         smallint NOT NULL,
  state          smallint NOT NULL,
  disputed       boolean  NOT NULL,
  ref            bytea    NOT NULL,
  scope          text COLLATE "C" NOT NULL,
  operation      text COLLATE "C" NOT NULL,
  key            bytea    NOT NULL,
  actor          bytea    NOT NULL,
  raw            bytea    NOT NULL,
  deciding       bytea    NOT NULL,
  rule           text     NOT NULL,
  schema         text     NOT NULL,
  identity       text     NOT NULL,
  effect         bytea    NOT NULL,
  digest         bytea,
  evidence       bytea,
  header         bytea,
  body           bytea,
  CONSTRAINT refrain_record_pkey PRIMARY KEY (hash)
);
CREATE UNIQUE INDEX record_ref ON {schema}.record (ref);

-- Rows a reaper passed before their memory ended, by the time they are due.
CREATE TABLE {schema}.later (
  due bigint NOT NULL,
  ref bytea  NOT NULL,
  PRIMARY KEY (due, ref)
);

-- Recovery fences; an empty operation or scope means all of them.
CREATE TABLE {schema}.fence (
  id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  operation text COLLATE "C" NOT NULL,
  scope     text COLLATE "C" NOT NULL,
  until     bigint NOT NULL,
  since     bigint,
  reason    text   NOT NULL,
  by        text   NOT NULL,
  at        bigint NOT NULL,
  ended     bigint
);

-- A refused identity that may execute once; spent by the effect's transaction.
CREATE TABLE {schema}.allow (
  hash      uuid PRIMARY KEY,
  scope     text COLLATE "C" NOT NULL,
  operation text COLLATE "C" NOT NULL,
  key       bytea  NOT NULL,
  reason    text   NOT NULL,
  by        text   NOT NULL,
  at        bigint NOT NULL
);

-- Refused late retries, one row per identity.
CREATE TABLE {schema}.review (
  hash      uuid PRIMARY KEY,
  scope     text COLLATE "C" NOT NULL,
  operation text COLLATE "C" NOT NULL,
  key       bytea  NOT NULL,
  raw       bytea  NOT NULL,
  deciding  bytea  NOT NULL,
  rule      text   NOT NULL,
  schema    text   NOT NULL,
  first     bigint NOT NULL,
  last      bigint NOT NULL,
  count     bigint NOT NULL
);
CREATE INDEX review_scope ON {schema}.review (scope);

-- What operators did, and why.
CREATE TABLE {schema}.audit (
  id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at     bigint NOT NULL,
  by     text   NOT NULL,
  action text   NOT NULL,
  ref    text   NOT NULL,
  reason text   NOT NULL,
  detail text   NOT NULL
);
CREATE INDEX audit_ref ON {schema}.audit (ref);
