// The schema as numbered steps, forward only. Tables are those of the embedded store; the tenant is part of every key (the last one:
// a superuser, who sees all tenants, needs the indexes too), and row-level security keeps tenants apart. What changes with an entry goes through one function, see `append.ts`.

import { OFF_COURSE } from '../sql/sql.ts'
import { APPEND, offCourse } from './append.ts'
import { BLOBS } from './blobs-postgres.ts'
import { QUEUE } from './queue-postgres.ts'

export interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
}

/** Names and ids are compared byte by byte, as everywhere else. */
const TEXT = 'text COLLATE "C"'
const TENANT = 'tenant int NOT NULL DEFAULT planfold.tenant()'

const TABLES = [
  `owners (${TENANT}, id ${TEXT} NOT NULL, host ${TEXT} NOT NULL, boot ${TEXT} NOT NULL, pids ${TEXT} NOT NULL, pid int NOT NULL,
    start_time ${TEXT} NOT NULL, expires bigint NOT NULL, until bigint NOT NULL, about ${TEXT} NOT NULL,
    PRIMARY KEY (id, tenant)) WITH (fillfactor = 50)`,
  `plans (${TENANT}, plan_no bigint NOT NULL, id ${TEXT} NOT NULL, name ${TEXT} NOT NULL, title ${TEXT}, goal_text ${TEXT}, goal ${TEXT},
    session ${TEXT}, agent ${TEXT}, status ${TEXT} NOT NULL, revision int NOT NULL, tasks int NOT NULL, archived int NOT NULL,
    created_at bigint NOT NULL, started_at bigint, ended_at bigint,
    PRIMARY KEY (plan_no, tenant), UNIQUE (id, tenant), UNIQUE (name, tenant))`,
  `heads (${TENANT}, plan_no bigint NOT NULL, version int NOT NULL, at bigint NOT NULL, done int NOT NULL, hash bytea NOT NULL,
    fence bigint NOT NULL, owner ${TEXT}, owner_since bigint, wake_at bigint, needs text[] NOT NULL DEFAULT '{}',
    workspace ${TEXT} NOT NULL DEFAULT '', home ${TEXT}, PRIMARY KEY (plan_no, tenant)) WITH (fillfactor = 50)`,
  // Where the files of plans are, for people: the folder, and the machine that saw it last.
  `workspaces (${TENANT}, id ${TEXT} NOT NULL, host ${TEXT} NOT NULL, root ${TEXT} NOT NULL, PRIMARY KEY (id, tenant))`,
  `entries (${TENANT}, plan_no bigint NOT NULL, version int NOT NULL, position bigint NOT NULL, at bigint NOT NULL, actor ${TEXT} NOT NULL,
    fence bigint, done int NOT NULL, body ${TEXT}, blob bytea, hash bytea NOT NULL, format int NOT NULL, old_position bigint,
    PRIMARY KEY (plan_no, version, tenant), CHECK ((body IS NULL) <> (blob IS NULL)))`,
  `folds (${TENANT}, plan_no bigint NOT NULL, version int NOT NULL, definition_version int NOT NULL, body bytea NOT NULL,
    hash bytea NOT NULL, PRIMARY KEY (plan_no, tenant))`,
  `tasks (${TENANT}, plan_no bigint NOT NULL, ordinal int NOT NULL, name ${TEXT} NOT NULL, title ${TEXT}, kind ${TEXT}, assignee ${TEXT},
    status ${TEXT} NOT NULL, visit int NOT NULL, attempt int NOT NULL, started_at bigint, ended_at bigint,
    last_visit int, last_attempt int, last_status ${TEXT}, last_started_at bigint, last_ended_at bigint, last_duration_ms bigint,
    last_exit bigint, last_failure_class ${TEXT}, sequence bigint NOT NULL, added_at bigint NOT NULL,
    PRIMARY KEY (plan_no, ordinal, tenant)) WITH (fillfactor = 60)`,
  `earlier_attempts (${TENANT}, plan_no bigint NOT NULL, ordinal int NOT NULL, visit int NOT NULL, attempt int NOT NULL,
    status ${TEXT} NOT NULL, started_at bigint NOT NULL, ended_at bigint, duration_ms bigint, exit bigint, failure_class ${TEXT},
    PRIMARY KEY (plan_no, ordinal, visit, attempt, tenant))`,
  `task_claims (${TENANT}, plan_no bigint NOT NULL, ordinal int NOT NULL, token ${TEXT} NOT NULL, boot ${TEXT} NOT NULL,
    expires bigint NOT NULL, until bigint NOT NULL, lease bigint, PRIMARY KEY (plan_no, ordinal, tenant))`,
  `task_logs (${TENANT}, seq bigint GENERATED ALWAYS AS IDENTITY, plan_no bigint NOT NULL, ordinal int NOT NULL, visit int NOT NULL,
    attempt int NOT NULL, stream ${TEXT} NOT NULL, at bigint NOT NULL, text ${TEXT} NOT NULL, PRIMARY KEY (seq, tenant))`,
  `streams (${TENANT}, stream_no bigint GENERATED ALWAYS AS IDENTITY, kind ${TEXT} NOT NULL, id ${TEXT} NOT NULL, version int NOT NULL,
    hash bytea NOT NULL, row ${TEXT} NOT NULL, PRIMARY KEY (stream_no, tenant), UNIQUE (kind, id, tenant))`,
  `stream_entries (${TENANT}, stream_no bigint NOT NULL, version int NOT NULL, at bigint NOT NULL, actor ${TEXT} NOT NULL,
    body ${TEXT} NOT NULL, hash bytea NOT NULL, PRIMARY KEY (stream_no, version, tenant))`,
  `pruned (${TENANT}, plan_id ${TEXT} NOT NULL, name ${TEXT} NOT NULL, entries int NOT NULL, last_hash bytea NOT NULL,
    position bigint NOT NULL, at bigint NOT NULL, last bigint NOT NULL, PRIMARY KEY (plan_id, tenant))`,
  `once (${TENANT}, actor ${TEXT} NOT NULL, key ${TEXT} NOT NULL, hash bytea NOT NULL, kind ${TEXT} NOT NULL, id ${TEXT} NOT NULL,
    version int NOT NULL, made int NOT NULL, at bigint NOT NULL, PRIMARY KEY (actor, key, tenant))`,
  `reservations (${TENANT}, plan_no bigint NOT NULL, ordinal int NOT NULL, visit int NOT NULL, root ${TEXT} NOT NULL,
    reserves ${TEXT} NOT NULL, since bigint NOT NULL, at bigint NOT NULL, ended bigint, PRIMARY KEY (plan_no, ordinal, tenant))`,
  // Grows with every reservation, so that two plans cannot reserve the same files at the same moment.
  `roots (${TENANT}, root ${TEXT} NOT NULL, seq bigint NOT NULL, PRIMARY KEY (root, tenant))`,
  `halts (${TENANT}, by ${TEXT} NOT NULL, at bigint NOT NULL, reason ${TEXT}, PRIMARY KEY (tenant))`,
  // The last call of each process and its answer.
  `sent (${TENANT}, writer ${TEXT} NOT NULL, call bigint NOT NULL, position bigint NOT NULL, passed int[] NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (writer, tenant)) WITH (fillfactor = 50)`,
  `caught_up (${TENANT}, position bigint NOT NULL, log bigint NOT NULL, PRIMARY KEY (tenant))`,
  `docs (${TENANT}, doc_no bigint GENERATED ALWAYS AS IDENTITY, plan_no bigint NOT NULL, task ${TEXT} NOT NULL, kind ${TEXT},
    capabilities ${TEXT} NOT NULL, text ${TEXT} NOT NULL, doc_words tsvector NOT NULL,
    PRIMARY KEY (doc_no, tenant), UNIQUE (plan_no, task, tenant))`,
  `log_docs (${TENANT}, plan_no bigint NOT NULL, ordinal int NOT NULL, bytes bigint NOT NULL, PRIMARY KEY (plan_no, ordinal, tenant))`,
  `log_words (${TENANT}, rowid bigint NOT NULL, log_words tsvector NOT NULL, PRIMARY KEY (rowid, tenant))`,
  `steps (${TENANT}, step_no bigint GENERATED ALWAYS AS IDENTITY, plan_no bigint NOT NULL, task ${TEXT} NOT NULL, visit int NOT NULL,
    attempt int NOT NULL, started_at bigint NOT NULL, agent ${TEXT} NOT NULL, kind ${TEXT}, capabilities ${TEXT} NOT NULL,
    ended_at bigint, ms bigint, outcome ${TEXT}, files bigint, bytes bigint, tokens_in bigint, tokens_out bigint, tokens bigint,
    cost double precision, tools ${TEXT}, PRIMARY KEY (step_no, tenant), UNIQUE (plan_no, task, visit, attempt, tenant))`,
  // Contents of files. `pack`: published together.
  `blobs (${TENANT}, id ${TEXT} NOT NULL, pack ${TEXT} NOT NULL, at bigint NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (id, tenant))`,
  // At most one row, while another store is copied here.
  `copying (${TENANT}, source ${TEXT} NOT NULL, PRIMARY KEY (tenant))`,
] as const

const INDEXES = [
  'plans_by_status ON plans (tenant, status, archived, plan_no)',
  'plans_by_session ON plans (tenant, session, status, archived, plan_no) WHERE session IS NOT NULL',
  'plans_by_goal ON plans (tenant, goal, status, archived, plan_no) WHERE goal IS NOT NULL',
  'plans_by_agent ON plans (tenant, agent, status, archived, plan_no) WHERE agent IS NOT NULL',
  'heads_due ON heads (wake_at, tenant) WHERE wake_at IS NOT NULL',
  'heads_by_owner ON heads (owner, tenant) WHERE owner IS NOT NULL',
  'entries_by_position ON entries (position, tenant)',
  'tasks_by_sequence ON tasks (plan_no, sequence, tenant)',
  'tasks_by_time ON tasks (tenant, added_at)',
  'tasks_by_assignee ON tasks (tenant, assignee, status, added_at) WHERE assignee IS NOT NULL',
  `tasks_off_course ON tasks (tenant, status, added_at) WHERE status IN (${OFF_COURSE.map(one => `'${one}'`).join(', ')})`,
  'task_logs_by_task ON task_logs (plan_no, ordinal, seq, tenant)',
  'streams_by_parent ON streams (tenant, kind)',
  'once_by_time ON once (tenant, at)',
  'reservations_held ON reservations (tenant, root) WHERE ended IS NULL',
  'reservations_ended ON reservations (tenant, ended) WHERE ended IS NOT NULL',
  'docs_by_word ON docs USING gin (doc_words)',
  'logs_by_word ON log_words USING gin (log_words)',
  'steps_by_plan ON steps (plan_no, step_no, tenant) WHERE ended_at IS NOT NULL',
  'blobs_by_pack ON blobs (pack, tenant)',
  'steps_by_time ON steps (tenant, ended_at, step_no) WHERE ended_at IS NOT NULL',
  'steps_by_agent ON steps (tenant, agent, ended_at) WHERE ended_at IS NOT NULL',
] as const

/** As in the embedded store. */
const VIEWS = [
  'last_entries AS SELECT tenant, plan_no, version, at, done, hash FROM heads WHERE version > 0',
  'doc_words AS SELECT tenant, doc_no AS rowid, doc_words FROM docs',
  `attempts AS SELECT tenant, plan_no, ordinal, visit, attempt, status, started_at, ended_at, duration_ms, exit, failure_class
    FROM earlier_attempts UNION ALL
    SELECT tenant, plan_no, ordinal, last_visit, last_attempt, last_status, last_started_at, last_ended_at, last_duration_ms, last_exit,
      last_failure_class FROM tasks WHERE last_attempt IS NOT NULL`,
  `metrics AS SELECT a.plan_no, t.kind, count(*) AS attempts,
    count(*) FILTER (WHERE a.status = 'succeeded') AS succeeded, count(*) FILTER (WHERE a.status = 'failed') AS failed,
    count(*) FILTER (WHERE a.status = 'lost') AS lost, count(*) FILTER (WHERE a.attempt > 1) AS retries,
    sum(coalesce(a.duration_ms, a.ended_at - a.started_at, 0)) AS duration_ms
    FROM attempts a JOIN tasks t ON t.tenant = a.tenant AND t.plan_no = a.plan_no AND t.ordinal = a.ordinal GROUP BY a.plan_no, t.kind`,
] as const

const nameOf = (table: string): string => table.slice(0, table.indexOf(' '))

/** Also for the owner of the tables: only a superuser sees other tenants. */
const walled = (table: string): string => `ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
  CREATE POLICY tenant ON ${table} USING (tenant = planfold.tenant()) WITH CHECK (tenant = planfold.tenant());`

/** Beside the journals. Numbers are BY DEFAULT: a copy brings its own. */
const MEMORY_TABLES = [
  `memories (${TENANT}, memory_no bigint GENERATED BY DEFAULT AS IDENTITY, scope ${TEXT} NOT NULL, owner ${TEXT} NOT NULL,
    key ${TEXT} NOT NULL, at bigint NOT NULL, expires_at bigint, body ${TEXT} NOT NULL, text ${TEXT} NOT NULL,
    memory_words tsvector NOT NULL DEFAULT '', PRIMARY KEY (memory_no, tenant), UNIQUE (scope, owner, key, tenant))`,
  `memory_vectors (${TENANT}, vector_no bigint GENERATED BY DEFAULT AS IDENTITY, memory_no bigint NOT NULL, model ${TEXT} NOT NULL,
    dimension int NOT NULL, vector bytea NOT NULL, PRIMARY KEY (vector_no, tenant), UNIQUE (memory_no, model, tenant),
    FOREIGN KEY (memory_no, tenant) REFERENCES memories (memory_no, tenant) ON DELETE CASCADE)`,
] as const

const MEMORY = [
  ...MEMORY_TABLES.map(table => `CREATE TABLE ${table};`),
  'CREATE INDEX memories_by_word ON memories USING gin (memory_words);',
  'CREATE INDEX memories_by_end ON memories (expires_at, tenant) WHERE expires_at IS NOT NULL;',
  'CREATE VIEW memory_words AS SELECT tenant, memory_no AS rowid, memory_words FROM memories;',
  ...MEMORY_TABLES.map(table => walled(nameOf(table))),
]

export const MIGRATIONS: readonly Migration[] = [
  {
    number: 1,
    name: 'journal, query tables, leases, queue, output, streams, keys, search, steps, reservations, kill switch, contents of files',
    sql: [
      `CREATE FUNCTION tenant() RETURNS int LANGUAGE sql STABLE AS $$ SELECT current_setting('planfold.tenant')::int $$;`,
      // Positions are made from transaction ids. `base` lets them grow on in a new cluster, where those begin again.
      'CREATE TABLE meta (one int PRIMARY KEY CHECK (one = 1), base bigint NOT NULL);',
      'INSERT INTO meta VALUES (1, 0);',
      ...TABLES.map(table => `CREATE TABLE ${table};`),
      ...INDEXES.map(index => `CREATE INDEX ${index};`),
      ...VIEWS.map(view => `CREATE VIEW ${view};`),
      ...TABLES.map(table => walled(nameOf(table))),
      // They are compressed already, or cut into pieces.
      'ALTER TABLE blobs ALTER bytes SET STORAGE EXTERNAL;',
      APPEND,
      QUEUE,
      BLOBS,
    ].join('\n'),
  },
  // Migration 1 makes the functions of this release, so this one changes older databases only.
  { number: 2, name: 'tasks and their last attempts in one statement', sql: APPEND },
  {
    number: 3,
    name: 'no index has a column that a step changes, so that a step writes none of them',
    sql: [
      `ALTER TABLE tasks ADD off_course ${TEXT};`,
      `UPDATE tasks SET off_course = ${offCourse('status')};`,
      'DROP INDEX tasks_by_assignee, tasks_off_course;',
      'CREATE INDEX tasks_by_assignee ON tasks (tenant, assignee, added_at) WHERE assignee IS NOT NULL;',
      'CREATE INDEX tasks_off_course ON tasks (tenant, off_course, added_at) WHERE off_course IS NOT NULL;',
      // Of indexes that seem as good as each other, while the table is small, the planner takes the youngest.
      'ALTER TABLE tasks DROP CONSTRAINT tasks_pkey, ADD PRIMARY KEY (plan_no, ordinal, tenant);',
      APPEND,
    ].join('\n'),
  },
  { number: 4, name: 'memory by key', sql: [...MEMORY, APPEND].join('\n') },
]

export const SCHEMA_VERSION = MIGRATIONS.at(-1)!.number
