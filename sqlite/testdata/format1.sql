-- The tables of schema version 2, written by the calls in format_calls_test.go; .dump of the sqlite3 shell.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE refrain_schema (
  version  INTEGER PRIMARY KEY,
  checksum TEXT NOT NULL,
  at       INTEGER NOT NULL
);
INSERT INTO refrain_schema VALUES(1,'9f49e15440075dd5389417d384008ed234f5e6082596a43d24dfa444fbddccaf',1767268800123456);
INSERT INTO refrain_schema VALUES(2,'002c42b94d0e815823754514af272c12c02ae0295c7ef1ebb3f0594246036229',1767268800123456);
CREATE TABLE refrain_store (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  id      BLOB NOT NULL,
  epoch   INTEGER NOT NULL,
  counter INTEGER NOT NULL
);
INSERT INTO refrain_store VALUES(1,X'2667f9e48baa9c41845302c47abe7b7e',1,0);
CREATE TABLE refrain_operation (
  operation TEXT PRIMARY KEY,
  identity  TEXT NOT NULL,
  contract  TEXT NOT NULL,
  horizon   INTEGER
) WITHOUT ROWID;
INSERT INTO refrain_operation VALUES('orders.create','tenant[,subject]','{"operation":"orders.create","schema":"1","identity":"tenant[,subject]","replay_for":"PT1H","remember_for":"PT2H","key_time":"by-shape","skew":"PT5M","key_required":true,"methods":["POST","PATCH"],"max_body":1048576,"max_response":1048576,"oversize":"refuse","gone":410,"async":false,"mode":"enforce","untimed_at_fence":"review","wait":"PT2S","max_execution":"PT30S","lease":"PT30S","on_lost":"unknown"}',NULL);
INSERT INTO refrain_operation VALUES('payments.charge','tenant[,subject]','{"operation":"payments.charge","schema":"1","identity":"tenant[,subject]","replay_for":"PT1H","remember_for":"P2D","key_time":"ulid","skew":"PT5M","key_required":true,"methods":["POST","PATCH"],"max_body":1048576,"max_response":16,"oversize":"digest","gone":410,"async":false,"mode":"enforce","untimed_at_fence":"review","wait":"PT2S","max_execution":"PT30S","lease":"PT30S","on_lost":"unknown"}',NULL);
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
INSERT INTO refrain_record VALUES(1,X'019b78c90afb9f4c7bbaba41eac5c5ee','op_06dqhj8azdz1mszhyqmweva9dy41p',1,1,4,0,'tenant=north','orders.create',X'30313962373863392d306166622d373030302d383030302d303030303030303030303032','',X'd363f76ba356c37c8c672124bcb38f1ac9b22a7d0ec612b686e2eff74a772413',X'a7691189af80c7dcc7211568862624ef28717515b580c017662d5378464a1e41','raw/1','1',1767258000123456,1767258000123456,1767261600123456,1767265200123456,1,1767258000123456,NULL,0,'',NULL,NULL,NULL,NULL);
INSERT INTO refrain_record VALUES(2,X'019b796dd2933f041a03415f31815c7a','op_06dqjvepfcg3s6f7afvw17p4a5gj6',1,1,4,0,'tenant=north','orders.create',X'30313962373936642d643239332d373030302d383030302d303030303030303030303031','anna',X'd363f76ba356c37c8c672124bcb38f1ac9b22a7d0ec612b686e2eff74a772413',X'a7691189af80c7dcc7211568862624ef28717515b580c017662d5378464a1e41','raw/1','1',1767268800123456,1767268800123456,1767272400123456,1767276000123456,1,1767268800123456,NULL,201,'/orders/1',NULL,NULL,X'0c436f6e74656e742d54797065106170706c69636174696f6e2f6a736f6e044c696e6b043c2f613e044c696e6b073c2f623e2c20ff',X'7b226964223a317d00ff0a27');
INSERT INTO refrain_record VALUES(3,X'df6d769ac6d5de415e0dc2a17bfa8616','op_06dqjvepffg17t8b1feyp1rh305jr',1,1,4,0,'tenant=north','orders.create',X'6f7264657220372c20c3bc2000fe','',X'd363f76ba356c37c8c672124bcb38f1ac9b22a7d0ec612b686e2eff74a772413',X'a7691189af80c7dcc7211568862624ef28717515b580c017662d5378464a1e41','raw/1','1',1767268800123456,1767268800123456,1767272400123456,1767276000123456,1,1767268800123456,NULL,200,'',NULL,NULL,NULL,X'736576656e');
INSERT INTO refrain_record VALUES(4,X'229d57c87ffe7fb1da57dc773c112564','op_06dqjvepffyyc02msa9vekkkykq4r',1,1,4,0,'tenant=south&subject=u+1%262','orders.create',X'756e74696d6564','',X'd363f76ba356c37c8c672124bcb38f1ac9b22a7d0ec612b686e2eff74a772413',X'a7691189af80c7dcc7211568862624ef28717515b580c017662d5378464a1e41','raw/1','1',1767268800123456,1767268800123456,1767272400123456,1767276000123456,1,1767268800123456,NULL,0,'urn:order:3',NULL,NULL,NULL,NULL);
INSERT INTO refrain_record VALUES(5,X'0d656f55a2ee720c407bba70764b639e','op_06dqjvepfet6sxfvrqqzrr2jsfmxm',1,1,5,0,'tenant=north','orders.create',X'72656a6563746564','',X'd363f76ba356c37c8c672124bcb38f1ac9b22a7d0ec612b686e2eff74a772413',X'a7691189af80c7dcc7211568862624ef28717515b580c017662d5378464a1e41','raw/1','1',1767268800123456,1767268800123456,1767272400123456,1767276000123456,1,1767268800123456,NULL,422,'',NULL,NULL,X'0c436f6e74656e742d54797065106170706c69636174696f6e2f6a736f6e',X'7b226e6f223a2273746f636b227d');
INSERT INTO refrain_record VALUES(6,X'335bd972ba7fa67e3b792bdb7739b7bc','op_06dqjvepfcfjgrayym4mgxd75g1w8',1,1,4,0,'tenant=north','payments.charge',X'30314b44574d5a4b595230303030303030303030303030303031','anna',X'd363f76ba356c37c8c672124bcb38f1ac9b22a7d0ec612b686e2eff74a772413',X'a7691189af80c7dcc7211568862624ef28717515b580c017662d5378464a1e41','raw/1','1',1767268800123456,1767268800123456,1767272400123456,1767441600123456,1,1767268800123456,NULL,200,'/charges/1',X'dcaea99cddba67c571efc87da1daf9638fcf9c80a6c00b79f267ca84176e4d20',NULL,X'0c436f6e74656e742d54797065106170706c69636174696f6e2f6a736f6e',NULL);
INSERT INTO refrain_record VALUES(7,X'e64f5b2f869b49b3b7c06913ea8cfd73','op_06dqjvepff5jfj8z3gpn6yc38cn9t',1,1,1,0,'tenant=north','payments.charge',X'6163636570746564','anna',X'd363f76ba356c37c8c672124bcb38f1ac9b22a7d0ec612b686e2eff74a772413',X'a7691189af80c7dcc7211568862624ef28717515b580c017662d5378464a1e41','raw/1','1',1767268800123456,NULL,NULL,NULL,1,1767268800123456,NULL,0,'',NULL,NULL,NULL,NULL);
INSERT INTO refrain_record VALUES(8,X'e59e73adfaa2c10b12aa8241fd44bf7f','op_06dqjvepfdwm0fec8bryx9p05yxnw',1,1,3,0,'tenant=north','payments.charge',X'756e6b6e6f776e','anna',X'd363f76ba356c37c8c672124bcb38f1ac9b22a7d0ec612b686e2eff74a772413',X'a7691189af80c7dcc7211568862624ef28717515b580c017662d5378464a1e41','raw/1','1',1767268800123456,NULL,NULL,NULL,1,1767268800123456,NULL,0,'',NULL,NULL,NULL,NULL);
INSERT INTO refrain_record VALUES(9,X'fe754917b239acf9a025df26b63ee200','op_06dqjvepfdqw7zkfwekrfdmabew20',1,1,2,0,'tenant=north','payments.charge',X'6c6f7374','anna',X'd363f76ba356c37c8c672124bcb38f1ac9b22a7d0ec612b686e2eff74a772413',X'a7691189af80c7dcc7211568862624ef28717515b580c017662d5378464a1e41','raw/1','1',1767268800123456,NULL,NULL,NULL,1,1767268800123456,1767268799123456,0,'',NULL,NULL,NULL,NULL);
INSERT INTO refrain_record VALUES(10,X'2e13c33b3a8f508df9188dc5e9688a9e','op_06dqjvepfcve4fdv14ndvtaqsd0fe',1,1,4,1,'tenant=north','payments.charge',X'6469737075746564','anna',X'd363f76ba356c37c8c672124bcb38f1ac9b22a7d0ec612b686e2eff74a772413',X'a7691189af80c7dcc7211568862624ef28717515b580c017662d5378464a1e41','raw/1','1',1767268800123456,1767268800123456,1767272400123456,1767441600123456,1,1767268800123456,NULL,201,'',NULL,X'5b7b22737461747573223a3430322c22686561646572223a22415667422f773d3d222c22626f6479223a22626d38412f773d3d222c2272656a6563746564223a747275657d5d',NULL,X'70616964');
CREATE TABLE refrain_later (
  due INTEGER NOT NULL,
  n   INTEGER NOT NULL,
  PRIMARY KEY (due, n)
) WITHOUT ROWID;
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
INSERT INTO refrain_fence VALUES(1,'orders.create','tenant=east',1767265200123456,1767261600123456,'restored','ops',1767268800123456,NULL);
CREATE TABLE refrain_allow (
  hash      BLOB PRIMARY KEY,
  scope     TEXT NOT NULL,
  operation TEXT NOT NULL,
  key       BLOB NOT NULL,
  reason    TEXT NOT NULL,
  by        TEXT NOT NULL,
  at        INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO refrain_allow VALUES(X'019b74477a7bb93c1533766e85ff07ee','tenant=east','orders.create',X'30313962373434372d376137622d373030302d383030302d303030303030303030303033','it was lost','refrain',1767268800123456);
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
INSERT INTO refrain_review VALUES(X'019b74477a7b9647ff7d6684db631b62','tenant=east','orders.create',X'30313962373434372d376137622d373030302d383030302d303030303030303030303034',X'd363f76ba356c37c8c672124bcb38f1ac9b22a7d0ec612b686e2eff74a772413',X'a7691189af80c7dcc7211568862624ef28717515b580c017662d5378464a1e41','raw/1','1',1767268800123456,1767268800123456,1);
CREATE TABLE refrain_audit (
  id     INTEGER PRIMARY KEY,
  at     INTEGER NOT NULL,
  by     TEXT NOT NULL,
  action TEXT NOT NULL,
  ref    TEXT NOT NULL,
  reason TEXT NOT NULL,
  detail TEXT NOT NULL
);
INSERT INTO refrain_audit VALUES(1,1767268800123456,'ops','test','','fixture','unknown');
INSERT INTO refrain_audit VALUES(2,1767268800123456,'ops','test','','fixture','lost');
INSERT INTO refrain_audit VALUES(3,1767268800123456,'ops','test','','fixture','disputed');
INSERT INTO refrain_audit VALUES(4,1767268800123456,'ops','allow','','it was lost','');
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
INSERT INTO refrain_external VALUES(1,'op_06h2nnbkjxrxkfd89xe7s914vgsjw',1,'op_06dqjvepff5jfj8z3gpn6yc38cn9t','accepted','pay','',1,0,1767268800123456,1767268800123456,NULL,1,'{"key":"accepted"}',NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL);
INSERT INTO orders VALUES(1,'expired');
INSERT INTO orders VALUES(2,'confirmed');
INSERT INTO orders VALUES(3,'untimed');
INSERT INTO orders VALUES(4,'subject');
INSERT INTO orders VALUES(5,'digest');
INSERT INTO orders VALUES(6,'accepted');
CREATE UNIQUE INDEX refrain_record_hash ON refrain_record (hash);
CREATE UNIQUE INDEX refrain_record_ref ON refrain_record (ref);
CREATE INDEX refrain_review_scope ON refrain_review (scope);
CREATE UNIQUE INDEX refrain_external_ref ON refrain_external (ref);
CREATE UNIQUE INDEX refrain_external_step ON refrain_external (action, step) WHERE action IS NOT NULL;
CREATE INDEX refrain_external_due ON refrain_external (provider, due) WHERE due IS NOT NULL;
CREATE INDEX refrain_external_head ON refrain_external (provider, partition, seq) WHERE due IS NOT NULL AND partition <> '';
CREATE INDEX refrain_external_final ON refrain_external (final) WHERE final IS NOT NULL;
COMMIT;
