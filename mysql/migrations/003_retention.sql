-- What a reaper has seen, and values that are taken for ever. refrain_later is of no
-- use, and stays for now: processes of the version before look for it when they
-- start. Every statement may run again.

-- Parts of the records in the order of their refs, which follow each other without a
-- gap, and when a reaper looks at them again. The one that ends at X'' holds no
-- records: the first begins there, and who surveys new records locks it.
CREATE TABLE IF NOT EXISTS refrain_span (
  last  VARBINARY(18) PRIMARY KEY,
  after VARBINARY(18) NOT NULL,
  due   BIGINT NOT NULL,
  KEY refrain_span_due (due)
) ENGINE=InnoDB;
INSERT IGNORE INTO refrain_span (last, after, due) VALUES (X'', X'', 9223372036854775807);

-- Values of rules that no memory ends; ref is of the action that took one.
CREATE TABLE IF NOT EXISTS refrain_once (
  rule  VARBINARY(100) NOT NULL,
  value VARBINARY(255) NOT NULL,
  ref   BINARY(18),
  at    BIGINT NOT NULL,
  PRIMARY KEY (rule, value)
) ENGINE=InnoDB;
