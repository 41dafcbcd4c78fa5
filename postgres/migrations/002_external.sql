-- External operations, in the order of their insertion (seq). What is looked for
-- has a column; data is the rest, as JSON. The record that waits for one has its
-- ref in action, and input is written once. due is NULL where only a person can go
-- on, and final where nobody has to: the indexes so hold what is still to be done,
-- or what may be forgotten, and not both.

CREATE TABLE {schema}.external (
  seq       bigint   GENERATED ALWAYS AS IDENTITY,
  xid       xid8     NOT NULL DEFAULT pg_current_xact_id(),
  version   bigint   NOT NULL,
  due       bigint,
  created   bigint   NOT NULL,
  final     bigint,
  format    smallint NOT NULL,
  state     smallint NOT NULL,
  disputed  boolean  NOT NULL,
  ref       bytea    NOT NULL,
  action    bytea,
  step      text COLLATE "C" NOT NULL,
  provider  text COLLATE "C" NOT NULL,
  partition text COLLATE "C" NOT NULL,
  data      text  NOT NULL,
  input     bytea NOT NULL,
  CONSTRAINT refrain_external_pkey PRIMARY KEY (seq)
);
CREATE UNIQUE INDEX external_ref ON {schema}.external (ref);
CREATE UNIQUE INDEX external_step ON {schema}.external (action, step) WHERE action IS NOT NULL;
CREATE INDEX external_due ON {schema}.external (provider, due, seq) WHERE due IS NOT NULL;
CREATE INDEX external_head ON {schema}.external (provider, partition, seq)
 WHERE partition <> '' AND due IS NOT NULL AND final IS NULL;
CREATE INDEX external_final ON {schema}.external (final, seq) WHERE final IS NOT NULL;
