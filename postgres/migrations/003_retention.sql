-- Retention. A reaper sees the records span by span, in the order of their refs,
-- and looks at a span again when it is due. Spans follow each other without a gap,
-- and the first begins before every ref. One in which nothing was left is empty.

DROP TABLE {schema}.later;

CREATE TABLE {schema}.span (
  after bytea   NOT NULL,
  last  bytea   PRIMARY KEY,
  due   bigint  NOT NULL,
  empty boolean NOT NULL
);
CREATE INDEX span_due ON {schema}.span (due, last);

-- Values of rules that hold for ever: no receipts. ref is of the action that took
-- the value, NULL outside one.
CREATE TABLE {schema}.once (
  rule  bytea  NOT NULL,
  value bytea  NOT NULL,
  ref   bytea,
  at    bigint NOT NULL,
  PRIMARY KEY (rule, value)
);
