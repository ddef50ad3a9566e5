// Everything that one turn of the event loop writes, as one call and one commit. A request is an item: first its guards, which say what its
// rule relied on, then its writes. An item whose guard fails is passed over whole, and its rule runs again; the others commit.

import type { AttemptChange, PlanRecord, TaskRecord } from '../journal/projection.ts'
import type { MemoryPlace, MemoryRecord } from '../memories.ts'
import type { Doc, Step } from '../search/search-tables.ts'
import { OFF_COURSE } from '../sql/sql.ts'
import type { Halt, LogChunk, Position } from '../store.ts'
import type {
  ClaimRecord,
  OnceRecord,
  OwnerRecord,
  ReservationRecord,
  StoredFold,
  StreamEntry,
  StreamKind,
} from '../tables.ts'
import { SCHEMA } from './connection/connection.ts'

export type Guard =
  | HeadGuard
  | { readonly g: 'fence'; readonly no: number; readonly fence: number; readonly owner: string | null }
  | { readonly g: 'owner'; readonly id: string; readonly now: number }
  | { readonly g: 'root'; readonly root: string; readonly seq: number }
  | { readonly g: 'claim'; readonly no: number; readonly ordinal: number; readonly expires: number | null }
  | { readonly g: 'marks'; readonly position: number; readonly log: number }
  | { readonly g: 'halted'; readonly is: boolean }
  | { readonly g: 'memory'; readonly place: MemoryPlace; readonly key: string; readonly memory: number | null }

/** The version; with a fence also the owner, whose lease must not have run out. */
interface HeadGuard {
  readonly g: 'head'
  readonly no: number
  readonly v: number
  readonly fence: number | null
  readonly owner: string | null
  readonly now: number
}

/** Hashes are hexadecimal. A negative position is that of the n-th entry of the call. */
export type Write =
  | {
      readonly w: 'plan'
      readonly no: number
      readonly id: string
      readonly row: PlanRecord
      readonly workspace: string
    }
  | { readonly w: 'move'; readonly no: number; readonly row: PlanRecord }
  | {
      readonly w: 'entry'
      readonly no: number
      readonly p: Position
      readonly v: number
      readonly at: number
      readonly actor: string
      readonly fence: number | null
      readonly body: string | null
      readonly blob: string | null
      readonly hash: string
      readonly format: number
      readonly done: number
      /** When a worker should look at the plan, and the labels it wants, where they changed. */
      due?: number | null
      needs?: readonly string[]
      /** The only guard of its item: it is checked by the statement that moves the head. */
      readonly held?: HeadGuard
    }
  /** Whole rows: new ones, or with `all` every task of the plan. */
  | { readonly w: 'tasks'; readonly no: number; readonly rows: readonly TaskRecord[]; readonly all: boolean }
  | { readonly w: 'moved'; readonly no: number; readonly tasks: readonly MovedTask[] }
  | { readonly w: 'attempt'; readonly no: number; readonly change: AttemptChange }
  | { readonly w: 'fold'; readonly no: number; readonly fold: Omit<StoredFold, 'body'> & { readonly body: string } }
  | { readonly w: 'claim'; readonly no: number; readonly row: ClaimRecord }
  | { readonly w: 'unclaim'; readonly no: number; readonly ordinal: number }
  | {
      readonly w: 'reserve'
      readonly no: number
      readonly root: string
      readonly row: Omit<ReservationRecord, 'reserves'> & { readonly reserves: string }
    }
  | { readonly w: 'free'; readonly no: number; readonly ordinal: number; readonly p: Position }
  | { readonly w: 'forget-reservations'; readonly before: Position }
  | { readonly w: 'owner'; readonly row: OwnerRecord }
  | { readonly w: 'renew'; readonly id: string; readonly expires: number; readonly until: number }
  | { readonly w: 'leave'; readonly id: string }
  | { readonly w: 'describe'; readonly id: string; readonly about: string }
  | { readonly w: 'hold'; readonly no: number; readonly owner: string; readonly fence: number; readonly since: number }
  | { readonly w: 'let-go'; readonly no: number; readonly owner: string }
  | { readonly w: 'log'; readonly no: number; readonly ordinal: number; readonly chunk: LogChunk }
  | {
      readonly w: 'stream'
      readonly kind: StreamKind
      readonly id: string
      readonly entries: readonly StreamEntry[]
      readonly row: string
    }
  | { readonly w: 'once'; readonly row: OnceRecord }
  | { readonly w: 'forget-keys'; readonly before: number }
  | { readonly w: 'doc'; readonly no: number; readonly doc: Doc; readonly words: string }
  | { readonly w: 'drop-doc'; readonly no: number; readonly task: string }
  | { readonly w: 'step'; readonly no: number; readonly step: Step }
  | {
      readonly w: 'log-words'
      readonly no: number
      readonly ordinal: number
      readonly seq: number
      readonly words: string
      readonly bytes: number
    }
  | { readonly w: 'marks'; readonly position: number; readonly log: number }
  | { readonly w: 'clear-index' }
  | { readonly w: 'memory'; readonly row: MemoryRecord; readonly text: string; readonly words: string }
  | { readonly w: 'forget-memory'; readonly place: MemoryPlace; readonly key: string }
  | { readonly w: 'expire-memory'; readonly before: number }
  | {
      readonly w: 'memory-vector'
      readonly no: number
      readonly model: string
      readonly dimension: number
      readonly vector: string
    }
  | { readonly w: 'halt'; readonly halt: Halt }
  | { readonly w: 'lift' }
  | { readonly w: 'home'; readonly no: number; readonly host: string }
  | { readonly w: 'prune'; readonly no: number; readonly at: number }

/** Only what a step changes, without names, because each step sends it. Last is the attempt that began or ended, if it was one. */
export type MovedTask = readonly [
  ordinal: number,
  status: string,
  visit: number,
  attempt: number,
  startedAt: number | null,
  endedAt: number | null,
  assignee: string | null,
  change: AttemptChange | null,
]

/** The last call of each process. It makes a call with an answer that was lost safe to send again. */
export interface Batch {
  readonly writer: string
  /** Counts up. */
  readonly call: number
  readonly items: readonly Item[]
  /** Leases are judged by the time of the database. Tests, which have another, send 0. */
  readonly now: number | null
}

/** Milliseconds, by the clock of the database. */
export const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/** SQLSTATE: the process was silent for so long that its row was removed. */
export const WRITER_UNKNOWN = 'PF001'

export interface Item {
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
}

const TASK = `ordinal int, sequence bigint, "addedAt" bigint, name text, title text, kind text, assignee text, status text, visit int,
  attempt int, "startedAt" bigint, "endedAt" bigint`
/** Null in the ordinary course. An index over `status` itself would be written at each step. */
export const offCourse = (status: string): string =>
  `CASE WHEN ${status} IN (${OFF_COURSE.map(one => `'${one}'`).join(', ')}) THEN ${status} END`
const MOVES = `status = t->>1, off_course = ${offCourse('t->>1')}, visit = (t->>2)::int, attempt = (t->>3)::int,
  started_at = (t->>4)::bigint, ended_at = (t->>5)::bigint, assignee = t->>6`
const STARTS = `last_visit = (c->>'visit')::int, last_attempt = (c->>'attempt')::int, last_status = 'running',
  last_started_at = (c->>'at')::bigint, last_ended_at = NULL, last_duration_ms = NULL, last_exit = NULL, last_failure_class = NULL`
const ENDS = `last_status = c->>'status', last_ended_at = (c->>'at')::bigint, last_duration_ms = (c->>'durationMs')::bigint,
  last_exit = (c->>'exit')::bigint, last_failure_class = c->>'failureClass'`
const OF_TASK = 'plan_no = no AND ordinal = (t->>0)::int'
const OF_CHANGE = "plan_no = no AND ordinal = (c->>'ordinal')::int"
const OF_LAST = "last_visit = (c->>'visit')::int AND last_attempt = (c->>'attempt')::int"
/** The last attempt of a task is in its own row, as in the embedded store. */
const ASIDE = `INSERT INTO earlier_attempts (plan_no, ordinal, visit, attempt, status, started_at, ended_at, duration_ms, exit, failure_class)
  SELECT plan_no, ordinal, last_visit, last_attempt, last_status, last_started_at, last_ended_at, last_duration_ms, last_exit,
    last_failure_class FROM tasks WHERE ${OF_CHANGE} AND last_attempt IS NOT NULL;`
const BEGIN = `UPDATE tasks SET ${STARTS} WHERE ${OF_CHANGE};`
const END = `UPDATE tasks SET ${ENDS} WHERE ${OF_CHANGE} AND ${OF_LAST};`
const OF_A_PLAN = [
  'entries',
  'docs',
  'log_docs',
  'steps',
  'task_claims',
  'reservations',
  'task_logs',
  'earlier_attempts',
  'tasks',
  'folds',
  'heads',
  'plans',
]

/** For a role that may call them, and nothing else: see `roles.ts`. */
export const AS_OWNER = `SECURITY DEFINER SET search_path = ${SCHEMA}, pg_temp`

/** Returns the position of the first entry, and the numbers of the items that were passed over, from 0 on. */
export const APPEND = `
-- Null: it stands but for the lease, which has run out.
CREATE OR REPLACE FUNCTION stands(guard jsonb, instant bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE head heads; seen bigint;
BEGIN
  CASE guard->>'g'
  WHEN 'head', 'fence' THEN
    SELECT * INTO head FROM heads WHERE plan_no = (guard->>'no')::bigint FOR UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
    IF guard->>'g' = 'fence' THEN
      RETURN head.fence = (guard->>'fence')::bigint AND head.owner IS NOT DISTINCT FROM guard->>'owner';
    END IF;
    IF head.version <> (guard->>'v')::int THEN RETURN false; END IF;
    IF guard->>'fence' IS NULL THEN RETURN true; END IF;
    IF head.fence <> (guard->>'fence')::bigint OR head.owner IS DISTINCT FROM guard->>'owner' THEN RETURN false; END IF;
    PERFORM 1 FROM owners WHERE id = head.owner AND expires > (guard->>'now')::bigint AND until > instant;
    RETURN CASE WHEN FOUND THEN true END;
  WHEN 'owner' THEN RETURN EXISTS (SELECT 1 FROM owners WHERE id = guard->>'id' AND expires > (guard->>'now')::bigint AND until > instant);
  WHEN 'root' THEN
    INSERT INTO roots (root, seq) VALUES (guard->>'root', 0) ON CONFLICT DO NOTHING;
    SELECT seq INTO seen FROM roots WHERE root = guard->>'root' FOR UPDATE;
    RETURN seen = (guard->>'seq')::bigint;
  WHEN 'claim' THEN RETURN (SELECT expires FROM task_claims WHERE plan_no = (guard->>'no')::bigint AND ordinal = (guard->>'ordinal')::int)
    IS NOT DISTINCT FROM (guard->>'expires')::bigint;
  WHEN 'marks' THEN
    INSERT INTO caught_up (position, log) VALUES (0, 0) ON CONFLICT DO NOTHING;
    PERFORM 1 FROM caught_up WHERE position = (guard->>'position')::bigint AND log = (guard->>'log')::bigint FOR UPDATE;
    RETURN FOUND;
  WHEN 'halted' THEN RETURN EXISTS (SELECT 1 FROM halts) = (guard->>'is')::boolean;
  WHEN 'memory' THEN
    SELECT memory_no INTO seen FROM memories WHERE scope = guard->'place'->>'scope' AND owner = guard->'place'->>'owner'
      AND key = guard->>'key' FOR UPDATE;
    RETURN seen IS NOT DISTINCT FROM (guard->>'memory')::bigint;
  END CASE;
END $$;

CREATE OR REPLACE FUNCTION put(write jsonb, first bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  no bigint := (write->>'no')::bigint;
  r jsonb := write->'row';
  c jsonb := write->'change';
  its_stream bigint;
BEGIN
  CASE write->>'w'
  WHEN 'tasks' THEN
    -- Schema 2 sent attempts in these rows. Its processes may still run.
    IF write ? 'ended' THEN RAISE EXCEPTION 'the database was migrated to a newer release; start this process again with it'; END IF;
    IF (write->>'all')::boolean THEN
      DELETE FROM tasks WHERE plan_no = no AND ordinal NOT IN (SELECT (one->>'ordinal')::int FROM jsonb_array_elements(write->'rows') one);
      DELETE FROM earlier_attempts e WHERE plan_no = no AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.plan_no = no AND t.ordinal = e.ordinal);
    END IF;
    INSERT INTO tasks (plan_no, ordinal, sequence, added_at, name, title, kind, assignee, status, visit, attempt, started_at, ended_at, off_course)
      SELECT no, *, ${offCourse('status')} FROM jsonb_to_recordset(write->'rows') AS t(${TASK})
      ON CONFLICT (tenant, plan_no, ordinal) DO UPDATE SET sequence = excluded.sequence, name = excluded.name, title = excluded.title,
        kind = excluded.kind, assignee = excluded.assignee, status = excluded.status, visit = excluded.visit, attempt = excluded.attempt,
        started_at = excluded.started_at, ended_at = excluded.ended_at, off_course = excluded.off_course;
  WHEN 'attempt' THEN
    IF c->>'type' = 'ended' THEN
      ${END}
      IF FOUND THEN RETURN; END IF;
    END IF;
    ${ASIDE}
    ${BEGIN}
    IF c->>'type' = 'ended' THEN ${END} END IF;
  WHEN 'plan' THEN
    INSERT INTO plans (plan_no, id, name, title, goal_text, goal, session, agent, status, revision, tasks, archived, created_at)
      VALUES (no, write->>'id', r->>'name', r->>'title', r->>'goalText', r->>'goal', r->>'session', r->>'agent', r->>'status',
        (r->>'revision')::int, (r->>'tasks')::int, 0, (r->>'createdAt')::bigint);
    INSERT INTO heads (plan_no, version, at, done, hash, fence, workspace) VALUES (no, 0, 0, 0, '', 0, write->>'workspace');
  WHEN 'move' THEN
    UPDATE plans SET name = r->>'name', title = r->>'title', goal_text = r->>'goalText', goal = r->>'goal', session = r->>'session',
      agent = r->>'agent', status = r->>'status', revision = (r->>'revision')::int, tasks = (r->>'tasks')::int,
      archived = (r->>'archived')::boolean::int, created_at = (r->>'createdAt')::bigint, started_at = (r->>'startedAt')::bigint,
      ended_at = (r->>'endedAt')::bigint WHERE plan_no = no;
  WHEN 'fold' THEN
    INSERT INTO folds (plan_no, version, definition_version, body, hash)
      VALUES (no, (write->'fold'->>'version')::int, (write->'fold'->>'definitionVersion')::int, decode(write->'fold'->>'body', 'base64'),
        decode(write->'fold'->>'hash', 'hex'))
      ON CONFLICT (tenant, plan_no) DO UPDATE SET version = excluded.version, definition_version = excluded.definition_version,
        body = excluded.body, hash = excluded.hash WHERE folds.version < excluded.version;
  WHEN 'claim' THEN
    INSERT INTO task_claims (plan_no, ordinal, token, boot, expires, until, lease)
      VALUES (no, (r->>'ordinal')::int, r->>'token', r->>'boot', (r->>'expires')::bigint, (r->>'until')::bigint, (r->>'lease')::bigint)
      ON CONFLICT (tenant, plan_no, ordinal) DO UPDATE SET token = excluded.token, boot = excluded.boot, expires = excluded.expires,
        until = excluded.until, lease = excluded.lease;
  WHEN 'unclaim' THEN DELETE FROM task_claims WHERE plan_no = no AND ordinal = (write->>'ordinal')::int;
  WHEN 'reserve' THEN
    UPDATE roots SET seq = seq + 1 WHERE root = write->>'root';
    INSERT INTO reservations (plan_no, ordinal, visit, root, reserves, since, at)
      VALUES (no, (r->>'ordinal')::int, (r->>'visit')::int, write->>'root', r->>'reserves',
        CASE WHEN (r->>'since')::bigint < 0 THEN first - 1 - (r->>'since')::bigint ELSE (r->>'since')::bigint END, (r->>'at')::bigint)
      ON CONFLICT (tenant, plan_no, ordinal) DO UPDATE SET visit = excluded.visit, root = excluded.root, reserves = excluded.reserves,
        since = excluded.since, at = excluded.at, ended = NULL;
  WHEN 'free' THEN
    UPDATE reservations SET ended = CASE WHEN (write->>'p')::bigint < 0 THEN first - 1 - (write->>'p')::bigint ELSE (write->>'p')::bigint END
      WHERE plan_no = no AND ordinal = (write->>'ordinal')::int;
  WHEN 'forget-reservations' THEN DELETE FROM reservations WHERE ended < (write->>'before')::bigint;
  WHEN 'owner' THEN
    INSERT INTO owners (id, host, boot, pids, pid, start_time, expires, until, about) VALUES (r->>'id', r->>'host', r->>'boot',
      r->>'pids', (r->>'pid')::int, r->>'startTime', (r->>'expires')::bigint, (r->>'until')::bigint, r->>'about');
  WHEN 'renew' THEN
    UPDATE owners SET expires = (write->>'expires')::bigint, until = (write->>'until')::bigint WHERE id = write->>'id';
  WHEN 'leave' THEN
    UPDATE heads SET owner = NULL, owner_since = NULL WHERE owner = write->>'id';
    DELETE FROM owners WHERE id = write->>'id';
  WHEN 'describe' THEN UPDATE owners SET about = write->>'about' WHERE id = write->>'id';
  WHEN 'hold' THEN
    UPDATE heads SET owner = write->>'owner', fence = (write->>'fence')::bigint, owner_since = (write->>'since')::bigint WHERE plan_no = no;
  WHEN 'let-go' THEN UPDATE heads SET owner = NULL, owner_since = NULL WHERE plan_no = no AND owner = write->>'owner';
  WHEN 'log' THEN
    INSERT INTO task_logs (plan_no, ordinal, visit, attempt, stream, at, text)
      SELECT no, (write->>'ordinal')::int, visit, attempt, stream, at, text
      FROM jsonb_to_record(write->'chunk') AS l(visit int, attempt int, stream text, at bigint, text text);
  WHEN 'stream' THEN
    SELECT stream_no INTO its_stream FROM streams WHERE kind = write->>'kind' AND id = write->>'id' FOR UPDATE;
    IF NOT FOUND THEN
      INSERT INTO streams (kind, id, version, hash, row) VALUES (write->>'kind', write->>'id', 0, '', '') RETURNING stream_no INTO its_stream;
    END IF;
    INSERT INTO stream_entries (stream_no, version, at, actor, body, hash)
      SELECT its_stream, version, at, actor, body, decode(hash, 'hex')
      FROM jsonb_to_recordset(write->'entries') AS e(version int, at bigint, actor text, body text, hash text);
    UPDATE streams SET row = write->>'row', version = (write->'entries'->-1->>'version')::int,
      hash = decode(write->'entries'->-1->>'hash', 'hex') WHERE stream_no = its_stream;
  WHEN 'once' THEN
    INSERT INTO once (actor, key, hash, kind, id, version, made, at) VALUES (r->>'actor', r->>'key', decode(r->>'hash', 'hex'), r->>'kind',
      r->>'id', (r->>'version')::int, (r->>'made')::boolean::int, (r->>'at')::bigint)
      ON CONFLICT (tenant, actor, key) DO UPDATE SET hash = excluded.hash, kind = excluded.kind, id = excluded.id,
        version = excluded.version, made = excluded.made, at = excluded.at WHERE once.at < excluded.at - ${48 * 3_600_000};
    IF NOT FOUND THEN RAISE unique_violation; END IF;
  WHEN 'forget-keys' THEN DELETE FROM once WHERE at < (write->>'before')::bigint;
  WHEN 'doc' THEN
    INSERT INTO docs (plan_no, task, kind, capabilities, text, doc_words)
      VALUES (no, coalesce(write->'doc'->>'task', ''), write->'doc'->>'kind', write->'doc'->>'capabilities', write->'doc'->>'text',
        (write->>'words')::tsvector)
      ON CONFLICT (tenant, plan_no, task) DO UPDATE SET kind = excluded.kind, capabilities = excluded.capabilities, text = excluded.text,
        doc_words = excluded.doc_words;
  WHEN 'drop-doc' THEN DELETE FROM docs WHERE plan_no = no AND task = write->>'task';
  WHEN 'step' THEN
    r := write->'step';
    INSERT INTO steps (plan_no, task, visit, attempt, started_at, agent, kind, capabilities, ended_at, ms, outcome, files, bytes, tokens_in,
        tokens_out, tokens, cost, tools)
      SELECT no, r->>'task', (r->>'visit')::int, (r->>'attempt')::int, (r->>'startedAt')::bigint, r->>'agent', r->>'kind',
        r->>'capabilities', e.at, e.ms, e.outcome, e.files, e.bytes, e."tokensIn", e."tokensOut", e.tokens, e.cost, e.tools
      FROM (VALUES (1)) one LEFT JOIN LATERAL jsonb_to_record(nullif(r->'ended', 'null')) AS e(at bigint, ms bigint, outcome text,
        files bigint, bytes bigint, "tokensIn" bigint, "tokensOut" bigint, tokens bigint, cost float8, tools text) ON true
      ON CONFLICT (tenant, plan_no, task, visit, attempt) DO UPDATE SET started_at = excluded.started_at, agent = excluded.agent,
        kind = excluded.kind, capabilities = excluded.capabilities, ended_at = excluded.ended_at, ms = excluded.ms,
        outcome = excluded.outcome, files = excluded.files, bytes = excluded.bytes, tokens_in = excluded.tokens_in,
        tokens_out = excluded.tokens_out, tokens = excluded.tokens, cost = excluded.cost, tools = excluded.tools;
  WHEN 'log-words' THEN
    INSERT INTO log_words (rowid, log_words) VALUES ((write->>'seq')::bigint, (write->>'words')::tsvector);
    INSERT INTO log_docs (plan_no, ordinal, bytes) VALUES (no, (write->>'ordinal')::int, (write->>'bytes')::bigint)
      ON CONFLICT (tenant, plan_no, ordinal) DO UPDATE SET bytes = excluded.bytes;
  WHEN 'marks' THEN UPDATE caught_up SET position = (write->>'position')::bigint, log = (write->>'log')::bigint;
  WHEN 'clear-index' THEN
    DELETE FROM docs; DELETE FROM log_docs; DELETE FROM log_words; DELETE FROM steps; DELETE FROM caught_up;
  WHEN 'memory' THEN
    DELETE FROM memories WHERE scope = r->>'scope' AND owner = r->>'owner' AND key = r->>'key';
    INSERT INTO memories (scope, owner, key, at, expires_at, body, text, memory_words)
      VALUES (r->>'scope', r->>'owner', r->>'key', (r->>'at')::bigint, (r->>'expiresAt')::bigint, r->>'body', write->>'text',
        (write->>'words')::tsvector);
  WHEN 'forget-memory' THEN
    DELETE FROM memories WHERE scope = write->'place'->>'scope' AND owner = write->'place'->>'owner' AND key = write->>'key';
  WHEN 'expire-memory' THEN DELETE FROM memories WHERE expires_at <= (write->>'before')::bigint;
  WHEN 'memory-vector' THEN
    DELETE FROM memory_vectors WHERE memory_no = (write->>'no')::bigint AND model = write->>'model';
    INSERT INTO memory_vectors (memory_no, model, dimension, vector)
      SELECT memory_no, write->>'model', (write->>'dimension')::int, decode(write->>'vector', 'base64')
      FROM memories WHERE memory_no = (write->>'no')::bigint;
  WHEN 'halt' THEN INSERT INTO halts (by, at, reason) SELECT by, at, reason FROM jsonb_to_record(write->'halt') AS h(by text, at bigint, reason text);
  WHEN 'lift' THEN DELETE FROM halts;
  WHEN 'home' THEN UPDATE heads SET home = write->>'host' WHERE plan_no = no;
  WHEN 'prune' THEN
    INSERT INTO pruned (plan_id, name, entries, last_hash, position, at, last)
      SELECT p.id, p.name, h.version, h.hash, (SELECT max(position) FROM entries), (write->>'at')::bigint,
        (SELECT max(position) FROM entries e WHERE e.plan_no = no)
      FROM plans p JOIN heads h USING (plan_no) WHERE p.plan_no = no;
    DELETE FROM log_words WHERE rowid IN (SELECT seq FROM task_logs WHERE plan_no = no);
    DELETE FROM memories WHERE scope = 'plan' AND owner = (SELECT id FROM plans WHERE plan_no = no);
    ${OF_A_PLAN.map(table => `DELETE FROM ${table} WHERE plan_no = no;`).join(' ')}
  END CASE;
END $$;

-- Each step comes through here, so the plans of its statements are made once for a connection (see PREPARED in connection.ts), nothing is
-- looked at twice, and arrays are walked by number: a query over each would cost more than the rows that it finds.
-- A call that was sent a second time, because its answer was lost, waits for the first one and returns the same answer.
CREATE OR REPLACE FUNCTION append(batch jsonb) RETURNS jsonb LANGUAGE plpgsql ${AS_OWNER} AS $$
DECLARE
  items jsonb := batch->'items'; guards jsonb; writes jsonb; w jsonb; held jsonb; tasks jsonb; t jsonb; c jsonb;
  skipped int[] := '{}'; lapsed int[] := '{}'; holds boolean; no bigint;
  instant bigint := coalesce((batch->>'now')::bigint, ${NOW});
  first bigint;
  earlier sent;
BEGIN
  UPDATE sent SET call = (batch->>'call')::bigint, position = (SELECT base FROM meta WHERE one = 1) + pg_current_xact_id()::text::bigint * 1024,
    passed = '{}', at = clock_timestamp() WHERE writer = batch->>'writer' AND call < (batch->>'call')::bigint RETURNING position INTO first;
  IF NOT FOUND THEN
    SELECT * INTO earlier FROM sent WHERE writer = batch->>'writer' AND call = (batch->>'call')::bigint;
    IF NOT FOUND THEN RAISE EXCEPTION 'this writer is not known' USING ERRCODE = '${WRITER_UNKNOWN}'; END IF;
    RETURN jsonb_build_object('first', earlier.position, 'passed', earlier.passed, 'isEarlier', true);
  END IF;
  <<items>>
  FOR number IN 0 .. jsonb_array_length(items) - 1 LOOP
    guards := items->number->'guards';
    writes := items->number->'writes';
    FOR at IN 0 .. jsonb_array_length(guards) - 1 LOOP
      holds := stands(guards->at, instant);
      IF holds IS NULL THEN lapsed := lapsed || number; END IF;
      IF holds IS NOT TRUE THEN
        skipped := skipped || number;
        CONTINUE items;
      END IF;
    END LOOP;
    FOR at IN 0 .. jsonb_array_length(writes) - 1 LOOP
      w := writes->at;
      no := (w->>'no')::bigint;
      CASE w->>'w'
      WHEN 'entry' THEN
        IF w ? 'held' THEN
          held := w->'held';
          UPDATE heads h SET version = (w->>'v')::int, at = (w->>'at')::bigint, done = (w->>'done')::int, hash = decode(w->>'hash', 'hex'),
            wake_at = (w->>'due')::bigint
            WHERE plan_no = no AND version = (held->>'v')::int AND fence = (held->>'fence')::bigint AND owner = held->>'owner'
              AND EXISTS (SELECT 1 FROM owners o WHERE o.id = h.owner AND expires > (held->>'now')::bigint AND until > instant);
          IF NOT FOUND THEN
            IF stands(held, instant) IS NULL THEN lapsed := lapsed || number; END IF;
            skipped := skipped || number;
            CONTINUE items;
          END IF;
        ELSE
          UPDATE heads SET version = (w->>'v')::int, at = (w->>'at')::bigint, done = (w->>'done')::int, hash = decode(w->>'hash', 'hex'),
            wake_at = (w->>'due')::bigint WHERE plan_no = no;
        END IF;
        IF w ? 'needs' THEN
          UPDATE heads SET needs = ARRAY(SELECT jsonb_array_elements_text(w->'needs')) WHERE plan_no = no;
        END IF;
        INSERT INTO entries (plan_no, version, position, at, actor, fence, done, body, blob, hash, format)
          VALUES (no, (w->>'v')::int, first - 1 - (w->>'p')::bigint, (w->>'at')::bigint, w->>'actor', (w->>'fence')::bigint,
            (w->>'done')::int, w->>'body', decode(w->>'blob', 'hex'), decode(w->>'hash', 'hex'), (w->>'format')::int);
      WHEN 'moved' THEN
        tasks := w->'tasks';
        FOR nth IN 0 .. jsonb_array_length(tasks) - 1 LOOP
          t := tasks->nth;
          c := t->7;
          CASE c->>'type'
          WHEN 'started' THEN
            IF (c->>'visit')::int > 1 OR (c->>'attempt')::int > 1 THEN ${ASIDE} END IF;
            UPDATE tasks SET ${MOVES}, ${STARTS} WHERE ${OF_TASK};
          WHEN 'ended' THEN
            UPDATE tasks SET ${MOVES}, ${ENDS} WHERE ${OF_TASK} AND ${OF_LAST};
            IF NOT FOUND THEN
              UPDATE tasks SET ${MOVES} WHERE ${OF_TASK};
              PERFORM put(jsonb_build_object('w', 'attempt', 'no', no, 'change', c), first);
            END IF;
          ELSE UPDATE tasks SET ${MOVES} WHERE ${OF_TASK};
          END CASE;
        END LOOP;
      ELSE PERFORM put(w, first);
      END CASE;
    END LOOP;
  END LOOP;
  IF skipped <> '{}' THEN UPDATE sent SET passed = skipped WHERE writer = batch->>'writer'; END IF;
  RETURN jsonb_build_object('first', first, 'passed', skipped, 'lapsed', lapsed);
END $$;

CREATE OR REPLACE FUNCTION register(its_writer text) RETURNS void LANGUAGE sql ${AS_OWNER} AS $$
  DELETE FROM sent WHERE at < clock_timestamp() - interval '1 day';
  INSERT INTO sent (writer, call, position, passed) VALUES (its_writer, 0, 0, '{}');
$$;

-- Times of the process are monotonic; the last one is that of the database.
CREATE OR REPLACE FUNCTION renew(its_id text, its_now bigint, its_expires bigint, lease bigint) RETURNS boolean LANGUAGE plpgsql ${AS_OWNER} AS $$
BEGIN
  UPDATE owners SET expires = its_expires, until = ${NOW} + lease WHERE id = its_id AND expires > its_now AND until > ${NOW};
  RETURN FOUND;
END $$;`
