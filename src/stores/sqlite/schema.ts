// The schema as numbered steps, forward only. A released step is never edited: a change is another step. The first step turns an empty file
// into a store; lower numbers, from before the first release, are refused. Closed unions of the domain are CHECK constraints here.

import { OFF_COURSE, oneOf } from '../sql/sql.ts'

export interface Migration {
  readonly number: number
  readonly name: string
  readonly statements: readonly string[]
}

export const MIGRATIONS: readonly Migration[] = [
  {
    number: 7,
    name: 'journal, query tables, leases, output, streams, keys, search, steps, reservations',
    statements: [
      `CREATE TABLE migrations (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        at INTEGER NOT NULL
      ) STRICT`,

      `CREATE TABLE owners (
        owner_no INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        host TEXT NOT NULL,
        boot TEXT NOT NULL,
        pids TEXT NOT NULL,
        pid INTEGER NOT NULL,
        start_time TEXT NOT NULL,
        expires INTEGER NOT NULL
      ) STRICT`,

      `CREATE TABLE plans (
        plan_no INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL UNIQUE,
        title TEXT,
        goal_text TEXT,
        goal TEXT,
        session TEXT,
        status TEXT NOT NULL CHECK (${oneOf('status', 'draft', 'active', 'paused', 'completed', 'failed', 'cancelled')}),
        revision INTEGER NOT NULL,
        tasks INTEGER NOT NULL,
        archived INTEGER NOT NULL CHECK (archived IN (0, 1)),
        created_at INTEGER NOT NULL,
        started_at INTEGER,
        ended_at INTEGER,
        agent TEXT
      ) STRICT`,
      // SQLite ends every index entry with the rowid, here the plan number, so that a page is one range per combination.
      'CREATE INDEX plans_by_status ON plans (status, archived)',
      'CREATE INDEX plans_by_session ON plans (session, status, archived) WHERE session IS NOT NULL',
      'CREATE INDEX plans_by_goal ON plans (goal, status, archived) WHERE goal IS NOT NULL',
      'CREATE INDEX plans_by_agent ON plans (agent, status, archived) WHERE agent IS NOT NULL',

      // Who may write. The state of a plan is in its last entry only, so that a step rewrites no row here; `reached` is a version that the
      // journal is known to have reached, to detect truncation.
      `CREATE TABLE heads (
        plan_no INTEGER PRIMARY KEY REFERENCES plans,
        reached INTEGER NOT NULL,
        fence INTEGER NOT NULL,
        owner_no INTEGER REFERENCES owners,
        owner_since INTEGER
      ) STRICT`,
      `CREATE INDEX heads_by_owner ON heads (owner_no) WHERE owner_no IS NOT NULL`,

      `CREATE TABLE entries (
        position INTEGER PRIMARY KEY,
        plan_no INTEGER NOT NULL REFERENCES plans,
        version INTEGER NOT NULL,
        at INTEGER NOT NULL,
        actor TEXT NOT NULL,
        fence INTEGER,
        done INTEGER NOT NULL,
        body TEXT,
        blob BLOB,
        hash BLOB NOT NULL,
        CHECK ((body IS NULL) <> (blob IS NULL))
      ) STRICT`,
      'CREATE UNIQUE INDEX entries_by_plan ON entries (plan_no, version)',

      `CREATE VIEW last_entries AS
        SELECT p.plan_no, e.version, e.at, e.done, e.hash FROM plans p JOIN entries e
          ON e.plan_no = p.plan_no AND e.version = (SELECT max(version) FROM entries WHERE plan_no = p.plan_no)`,

      `CREATE TABLE folds (
        plan_no INTEGER PRIMARY KEY REFERENCES plans,
        version INTEGER NOT NULL,
        definition_version INTEGER NOT NULL,
        body BLOB NOT NULL,
        hash BLOB NOT NULL
      ) STRICT`,

      `CREATE TABLE tasks (
        plan_no INTEGER NOT NULL REFERENCES plans,
        ordinal INTEGER NOT NULL,
        name TEXT NOT NULL,
        title TEXT,
        kind TEXT,
        assignee TEXT,
        status TEXT NOT NULL CHECK (${oneOf('status', 'pending', 'ready', 'running', 'waiting', 'blocked', 'completed', 'failed', 'skipped', 'abandoned', 'cancelled')}),
        visit INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        started_at INTEGER,
        ended_at INTEGER,
        last_visit INTEGER,
        last_attempt INTEGER,
        last_status TEXT CHECK (${oneOf('last_status', 'running', 'succeeded', 'failed', 'lost')}),
        last_started_at INTEGER,
        last_ended_at INTEGER,
        last_duration_ms INTEGER,
        last_exit INTEGER,
        last_failure_class TEXT CHECK (${oneOf('last_failure_class', 'transient', 'logic', 'policy', 'resource', 'cancelled', 'unknown')}),
        sequence INTEGER NOT NULL,
        added_at INTEGER NOT NULL,
        PRIMARY KEY (plan_no, ordinal)
      ) WITHOUT ROWID, STRICT`,
      // None of these has a column that a step of the engine in a healthy plan changes; only claims of assigned tasks do.
      'CREATE INDEX tasks_by_sequence ON tasks (plan_no, sequence)',
      'CREATE INDEX tasks_by_time ON tasks (added_at)',
      'CREATE INDEX tasks_by_assignee ON tasks (assignee, status, added_at) WHERE assignee IS NOT NULL',
      `CREATE INDEX tasks_waiting ON tasks (plan_no) WHERE status = 'waiting'`,
      `CREATE INDEX tasks_off_course ON tasks (status, added_at) WHERE ${oneOf('status', ...OFF_COURSE)}`,

      // The last attempt of a task is in the task's own row, which is written anyway; this table has the earlier ones. Most tasks need one
      // attempt, so a commit touches one page less.
      `CREATE TABLE earlier_attempts (
        plan_no INTEGER NOT NULL REFERENCES plans,
        ordinal INTEGER NOT NULL,
        visit INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        status TEXT NOT NULL CHECK (${oneOf('status', 'running', 'succeeded', 'failed', 'lost')}),
        started_at INTEGER NOT NULL,
        ended_at INTEGER,
        duration_ms INTEGER,
        exit INTEGER,
        failure_class TEXT CHECK (${oneOf('failure_class', 'transient', 'logic', 'policy', 'resource', 'cancelled', 'unknown')}),
        PRIMARY KEY (plan_no, ordinal, visit, attempt)
      ) WITHOUT ROWID, STRICT`,

      `CREATE VIEW attempts AS
        SELECT plan_no, ordinal, visit, attempt, status, started_at, ended_at, duration_ms, exit, failure_class
        FROM earlier_attempts
        UNION ALL
        SELECT plan_no, ordinal, last_visit, last_attempt, last_status, last_started_at, last_ended_at, last_duration_ms,
          last_exit, last_failure_class
        FROM tasks WHERE last_attempt IS NOT NULL`,
      `CREATE VIEW metrics AS
        SELECT a.plan_no, t.kind, count(*) AS attempts,
          sum(a.status = 'succeeded') AS succeeded, sum(a.status = 'failed') AS failed, sum(a.status = 'lost') AS lost,
          sum(a.attempt > 1) AS retries, sum(coalesce(a.duration_ms, a.ended_at - a.started_at, 0)) AS duration_ms
        FROM attempts a JOIN tasks t ON t.plan_no = a.plan_no AND t.ordinal = a.ordinal
        GROUP BY a.plan_no, t.kind`,

      `CREATE TABLE task_claims (
        plan_no INTEGER NOT NULL REFERENCES plans,
        ordinal INTEGER NOT NULL,
        token TEXT NOT NULL,
        boot TEXT NOT NULL,
        expires INTEGER NOT NULL,
        until INTEGER NOT NULL,
        lease INTEGER,
        PRIMARY KEY (plan_no, ordinal)
      ) WITHOUT ROWID, STRICT`,

      `CREATE TABLE task_logs (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        plan_no INTEGER NOT NULL REFERENCES plans,
        ordinal INTEGER NOT NULL,
        visit INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        stream TEXT NOT NULL CHECK (${oneOf('stream', 'stdout', 'stderr', 'engine')}),
        at INTEGER NOT NULL,
        text TEXT NOT NULL
      ) STRICT`,
      `CREATE INDEX task_logs_by_plan ON task_logs (plan_no)`,
      `CREATE INDEX task_logs_by_task ON task_logs (plan_no, ordinal)`,

      `CREATE TABLE streams (
        stream_no INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL CHECK (${oneOf('kind', 'session', 'goal')}),
        id TEXT NOT NULL,
        version INTEGER NOT NULL,
        hash BLOB NOT NULL,
        row TEXT NOT NULL,
        UNIQUE (kind, id)
      ) STRICT`,
      'CREATE INDEX streams_by_kind ON streams (kind)',
      `CREATE INDEX streams_by_status ON streams (kind, json_extract(row, '$.status'))`,
      `CREATE INDEX streams_by_parent ON streams (kind, json_extract(row, '$.parent'))`,
      `CREATE TABLE stream_entries (
        stream_no INTEGER NOT NULL REFERENCES streams,
        version INTEGER NOT NULL,
        at INTEGER NOT NULL,
        actor TEXT NOT NULL,
        body TEXT NOT NULL,
        hash BLOB NOT NULL,
        PRIMARY KEY (stream_no, version)
      ) WITHOUT ROWID, STRICT`,

      // What was pruned, so that missing entries can be told from removed ones and no position is reused.
      `CREATE TABLE pruned (
        plan_id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        entries INTEGER NOT NULL,
        last_hash BLOB NOT NULL,
        position INTEGER NOT NULL,
        at INTEGER NOT NULL
      ) STRICT`,

      `CREATE TABLE once (
        actor TEXT NOT NULL,
        key TEXT NOT NULL,
        hash BLOB NOT NULL,
        kind TEXT NOT NULL CHECK (${oneOf('kind', 'plan', 'session', 'goal')}),
        id TEXT NOT NULL,
        version INTEGER NOT NULL,
        made INTEGER NOT NULL CHECK (made IN (0, 1)),
        at INTEGER NOT NULL,
        PRIMARY KEY (actor, key)
      ) WITHOUT ROWID, STRICT`,
      'CREATE INDEX once_by_time ON once (at)',

      // What is caught up on demand. All of it can be rebuilt from entries and task_logs.
      `CREATE TABLE caught_up (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        position INTEGER NOT NULL,
        log INTEGER NOT NULL
      ) STRICT`,
      'INSERT INTO caught_up VALUES (1, 0, 0)',
      `CREATE TABLE docs (
        doc_no INTEGER PRIMARY KEY AUTOINCREMENT,
        plan_no INTEGER NOT NULL REFERENCES plans,
        task TEXT NOT NULL,
        kind TEXT,
        capabilities TEXT NOT NULL,
        text TEXT NOT NULL,
        UNIQUE (plan_no, task)
      ) STRICT`,
      `CREATE VIRTUAL TABLE doc_words USING fts5 (plan, task, content = '', contentless_delete = 1,
        tokenize = 'unicode61 remove_diacritics 2')`,
      `CREATE TABLE log_docs (
        plan_no INTEGER NOT NULL REFERENCES plans,
        ordinal INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        PRIMARY KEY (plan_no, ordinal)
      ) WITHOUT ROWID, STRICT`,
      `CREATE VIRTUAL TABLE log_words USING fts5 (text, content = '', contentless_delete = 1,
        tokenize = 'unicode61 remove_diacritics 2')`,
      `CREATE TABLE steps (
        step_no INTEGER PRIMARY KEY AUTOINCREMENT,
        plan_no INTEGER NOT NULL REFERENCES plans,
        task TEXT NOT NULL,
        visit INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        started_at INTEGER NOT NULL,
        agent TEXT NOT NULL,
        kind TEXT,
        capabilities TEXT NOT NULL,
        ended_at INTEGER,
        ms INTEGER,
        outcome TEXT CHECK (${oneOf('outcome', 'succeeded', 'failed', 'lost')}),
        files INTEGER,
        bytes INTEGER,
        tokens_in INTEGER,
        tokens_out INTEGER,
        tokens INTEGER,
        cost REAL,
        tools TEXT,
        UNIQUE (plan_no, task, visit, attempt)
      ) STRICT`,
      'CREATE INDEX steps_by_plan ON steps (plan_no) WHERE ended_at IS NOT NULL',
      'CREATE INDEX steps_by_time ON steps (ended_at) WHERE ended_at IS NOT NULL',
      'CREATE INDEX steps_by_agent ON steps (agent, ended_at) WHERE ended_at IS NOT NULL',

      `CREATE TABLE reservations (
        plan_no INTEGER NOT NULL REFERENCES plans,
        ordinal INTEGER NOT NULL,
        visit INTEGER NOT NULL,
        root TEXT NOT NULL,
        reserves TEXT NOT NULL,
        since INTEGER NOT NULL,
        at INTEGER NOT NULL,
        ended INTEGER,
        PRIMARY KEY (plan_no, ordinal)
      ) WITHOUT ROWID, STRICT`,
      'CREATE INDEX reservations_held ON reservations (root) WHERE ended IS NULL',
      'CREATE INDEX reservations_ended ON reservations (ended) WHERE ended IS NOT NULL',
    ],
  },
  {
    number: 8,
    name: 'entries of format 2, leases for other machines, and the kill switch',
    statements: [
      'ALTER TABLE entries ADD COLUMN format INTEGER NOT NULL DEFAULT 1',
      'ALTER TABLE entries ADD COLUMN old_position INTEGER',
      // The last position of the pruned plan itself.
      'ALTER TABLE pruned ADD COLUMN last INTEGER',
      // When the lease runs out by the wall clock, for other machines.
      'ALTER TABLE owners ADD COLUMN until INTEGER NOT NULL DEFAULT 0',
      'CREATE TABLE halts (one INTEGER PRIMARY KEY CHECK (one = 1), by TEXT NOT NULL, at INTEGER NOT NULL, reason TEXT) STRICT',
    ],
  },
  {
    number: 9,
    name: 'the mark of a copied store',
    statements: [
      // A copy keeps positions and plan numbers, which have gaps if the other store has. `entries` and `plans`: how many there were at `position`
      // and `number`, counting pruned ones.
      `CREATE TABLE copied (one INTEGER PRIMARY KEY CHECK (one = 1), source TEXT NOT NULL, entries INTEGER NOT NULL, position INTEGER NOT NULL,
        plans INTEGER NOT NULL, number INTEGER NOT NULL) STRICT`,
    ],
  },
  {
    number: 10,
    name: 'what workers say of themselves',
    statements: ["ALTER TABLE owners ADD COLUMN about TEXT NOT NULL DEFAULT ''"],
  },
  {
    number: 11,
    name: 'memory by key',
    statements: [
      `CREATE TABLE memories (
        memory_no INTEGER PRIMARY KEY AUTOINCREMENT,
        scope TEXT NOT NULL CHECK (${oneOf('scope', 'plan', 'project', 'user')}),
        owner TEXT NOT NULL,
        key TEXT NOT NULL,
        at INTEGER NOT NULL,
        expires_at INTEGER,
        body TEXT NOT NULL,
        text TEXT NOT NULL,
        UNIQUE (scope, owner, key)
      ) STRICT`,
      'CREATE INDEX memories_by_owner ON memories (scope, owner)',
      'CREATE INDEX memories_by_end ON memories (expires_at) WHERE expires_at IS NOT NULL',
      `CREATE VIRTUAL TABLE memory_words USING fts5 (text, content = '', contentless_delete = 1, prefix = '2 3 4 5 6',
        tokenize = 'unicode61 remove_diacritics 2')`,
      `CREATE TABLE memory_vectors (
        vector_no INTEGER PRIMARY KEY AUTOINCREMENT,
        memory_no INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
        model TEXT NOT NULL,
        dimension INTEGER NOT NULL,
        vector BLOB NOT NULL,
        UNIQUE (memory_no, model)
      ) STRICT`,
      // So that no item can be found by words of another one.
      `CREATE TRIGGER memory_words_put AFTER INSERT ON memories BEGIN
        INSERT INTO memory_words (rowid, text) VALUES (new.memory_no, new.text); END`,
      `CREATE TRIGGER memory_words_drop AFTER DELETE ON memories BEGIN
        DELETE FROM memory_words WHERE rowid = old.memory_no; END`,
    ],
  },
]

/** Added to the schema number of a store that holds half a copy, so that every program refuses it. */
export const UNFINISHED = 1_000_000

export const SCHEMA_FIRST = MIGRATIONS[0]!.number
export const SCHEMA_VERSION = MIGRATIONS.at(-1)!.number
