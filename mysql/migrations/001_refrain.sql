-- Refrain's tables. Times are integers, microseconds since 1970 UTC. What is
-- compared is binary: letter case, accents and trailing blanks tell keys apart,
-- whatever the server's collation. Widths are the most a contract admits, so that
-- nothing is ever cut where sql_mode is not strict. Every statement may run again.

CREATE TABLE IF NOT EXISTS refrain_migration (
  version  INT PRIMARY KEY,
  checksum CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  at       BIGINT NOT NULL
) ENGINE=InnoDB;

-- One row: which store this is. The counter rises with each witness save.
CREATE TABLE IF NOT EXISTS refrain_store (
  one     INT PRIMARY KEY,
  id      BINARY(16) NOT NULL,
  epoch   BIGINT NOT NULL,
  counter BIGINT NOT NULL
) ENGINE=InnoDB;
INSERT IGNORE INTO refrain_store VALUES (1, UNHEX(REPLACE(UUID(), '-', '')), 1, 0);

-- One row per operation: what its identities are made of, its contract as
-- registered, and the latest birth of any final record ever forgotten.
CREATE TABLE IF NOT EXISTS refrain_operation (
  operation VARBINARY(255) PRIMARY KEY,
  identity  VARBINARY(2048) NOT NULL,
  contract  MEDIUMBLOB NOT NULL,
  horizon   BIGINT
) ENGINE=InnoDB;

-- Records in insertion order (n), so that a new one is appended. The hash is of
-- the length-prefixed identity, and its components are compared on every read.
CREATE TABLE IF NOT EXISTS refrain_record (
  n              BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  hash           BINARY(16) NOT NULL,
  ref            BINARY(18) NOT NULL,
  version        BIGINT NOT NULL,
  created        BIGINT NOT NULL,
  final          BIGINT,
  replay_until   BIGINT,
  remember_until BIGINT,
  fence          BIGINT NOT NULL,
  lease          BIGINT,
  attempt        INT NOT NULL,
  status         INT NOT NULL,
  format         SMALLINT NOT NULL,
  state          SMALLINT NOT NULL,
  disputed       BOOLEAN NOT NULL,
  raw            BINARY(32) NOT NULL,
  deciding       BINARY(32) NOT NULL,
  scope          VARBINARY(8600) NOT NULL,
  operation      VARBINARY(255) NOT NULL,
  `key`          VARBINARY(255) NOT NULL,
  actor          MEDIUMBLOB NOT NULL,
  rule           BLOB NOT NULL,
  `schema`       VARBINARY(255) NOT NULL,
  effect         MEDIUMBLOB NOT NULL,
  digest         VARBINARY(255),
  evidence       LONGBLOB,
  header         MEDIUMBLOB,
  body           LONGBLOB,
  UNIQUE KEY refrain_record_hash (hash),
  UNIQUE KEY refrain_record_ref (ref)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;

-- Rows a reaper passed before their memory ended, by the time they are due.
CREATE TABLE IF NOT EXISTS refrain_later (
  due BIGINT NOT NULL,
  n   BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (due, n)
) ENGINE=InnoDB;

-- Recovery fences; an empty operation or scope means all of them.
CREATE TABLE IF NOT EXISTS refrain_fence (
  id        BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  operation VARBINARY(255) NOT NULL,
  scope     VARBINARY(8600) NOT NULL,
  until     BIGINT NOT NULL,
  since     BIGINT,
  reason    MEDIUMBLOB NOT NULL,
  `by`      MEDIUMBLOB NOT NULL,
  at        BIGINT NOT NULL,
  ended     BIGINT
) ENGINE=InnoDB;

-- A refused identity that may execute once; spent by the effect's transaction.
CREATE TABLE IF NOT EXISTS refrain_allow (
  hash      BINARY(16) PRIMARY KEY,
  scope     VARBINARY(8600) NOT NULL,
  operation VARBINARY(255) NOT NULL,
  `key`     VARBINARY(255) NOT NULL,
  reason    MEDIUMBLOB NOT NULL,
  `by`      MEDIUMBLOB NOT NULL,
  at        BIGINT NOT NULL
) ENGINE=InnoDB;

-- Refused late retries, one row per identity.
CREATE TABLE IF NOT EXISTS refrain_review (
  hash      BINARY(16) PRIMARY KEY,
  scope     VARBINARY(8600) NOT NULL,
  operation VARBINARY(255) NOT NULL,
  `key`     VARBINARY(255) NOT NULL,
  raw       BINARY(32) NOT NULL,
  deciding  BINARY(32) NOT NULL,
  rule      BLOB NOT NULL,
  `schema`  VARBINARY(255) NOT NULL,
  first     BIGINT NOT NULL,
  last      BIGINT NOT NULL,
  count     BIGINT NOT NULL,
  KEY refrain_review_scope (scope(255))
) ENGINE=InnoDB;

-- What operators did, and why.
CREATE TABLE IF NOT EXISTS refrain_audit (
  id     BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  at     BIGINT NOT NULL,
  `by`   MEDIUMBLOB NOT NULL,
  action VARBINARY(255) NOT NULL,
  ref    VARBINARY(64) NOT NULL,
  reason MEDIUMBLOB NOT NULL,
  detail LONGBLOB NOT NULL,
  KEY refrain_audit_ref (ref)
) ENGINE=InnoDB;
