-- External operations, in the order of their insertion (seq). What is looked for
-- has a column; data is the rest, as JSON. The record that waits for one has its
-- ref in action, and input is written once. due is NULL where only a person can go
-- on, final where somebody has to, and line is the partition of those alone that
-- later ones of it wait for: what is looked for so stands together in an index.
-- Every statement may run again.

CREATE TABLE IF NOT EXISTS refrain_external (
  seq         BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  version     BIGINT NOT NULL,
  due         BIGINT,
  created     BIGINT NOT NULL,
  final       BIGINT,
  format      SMALLINT NOT NULL,
  state       SMALLINT NOT NULL,
  disputed    BOOLEAN NOT NULL,
  ref         BINARY(18) NOT NULL,
  action      BINARY(18),
  step        VARBINARY(64) NOT NULL,
  provider    VARBINARY(64) NOT NULL,
  `partition` VARBINARY(1024) NOT NULL,
  line        VARBINARY(1024),
  data        LONGBLOB NOT NULL,
  input       LONGBLOB NOT NULL,
  UNIQUE KEY refrain_external_ref (ref),
  UNIQUE KEY refrain_external_step (action, step),
  KEY refrain_external_due (provider, due),
  KEY refrain_external_line (provider, line, seq),
  KEY refrain_external_final (final)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;
