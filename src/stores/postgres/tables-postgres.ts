// The tables on PostgreSQL: reads come from what was loaded, writes are recorded.

import type { Actor, Millis, PlanId, PlanName, Sha256, TaskName } from '../../domain/id.ts'
import type { Reserves } from '../../domain/result.ts'
import type { StoredEntry } from '../journal/entry.ts'
import { type Changes, planRecord, taskRecord } from '../journal/projection.ts'
import type { UnreadLog } from '../search/search-tables.ts'
import { foldedWords } from '../search/words.ts'
import { docOf, endedSteps, findDocs, findLogs, stepOf } from '../sql/found-texts.ts'
import { sqlLists } from '../sql/lists.ts'
import type { Row as SqlRow } from '../sql/sql.ts'
import type { Halt, LogChunk, StoredLog } from '../store.ts'
import type {
  ClaimRecord,
  Head,
  JournalTable,
  OnceRecord,
  OwnerRecord,
  ReservationRow,
  StoredFold,
  StreamEntry,
  StreamHead,
  Tables,
} from '../tables.ts'
import type { Answers } from './answers.ts'
import type { Write } from './append.ts'
import type { Query, Row } from './connection.ts'
import { sqlOn, vectorOf } from './sql-postgres.ts'
import type { KnownPlan, Recording, WorkingSet } from './working-set.ts'

/** They may be large. */
const LOGS_AT_ONCE = 50
const WORDS_MAX = 20_000
const WORD_MAX = 200

export interface Room {
  readonly answers: Answers
  readonly set: WorkingSet
  /** Null while only reading: then nothing is taken from the working set. */
  readonly recording: () => Recording | null
  readonly nextEntry: () => number
  readonly newNumber: () => number
  readonly position: () => number
  readonly monotonic: () => number
  /** True for the tables of writers. */
  readonly isWriting: boolean
}

export function tablesOn(room: Room): Tables {
  const { answers, set } = room
  const ask = <T>(key: string, load: (query: Query) => Promise<T>): T => answers.ask(key, load)
  const recording = (): Recording => {
    const found = room.recording()
    if (found === null) throw new Error('bug: a read of the store writes')
    return found
  }
  const write = (one: Write): void => recording().write(one)
  let writes = 0
  const wrote = (one: Write): void => {
    writes++
    write(one)
  }
  const known = (no: number): KnownPlan | null => {
    const here = room.recording() === null ? undefined : set.plans.get(no)
    if (here !== undefined) return here
    const loaded = ask(`plan ${no}`, query => loadPlan(query, no))
    if (loaded !== null && room.recording() !== null) set.know(no, loaded)
    return loaded
  }
  const change = (no: number, changed: Partial<Pick<KnownPlan, 'head' | 'reservations'>>): void => {
    recording().touched.add(no)
    const plan = known(no)
    if (plan !== null) set.know(no, { ...plan, ...changed })
  }
  const head = (no: number): Head | null => {
    const found = known(no)?.head ?? null
    const owner = found?.owner == null ? undefined : set.owner(found.owner)
    return found === null || owner === undefined
      ? found
      : { ...found, ownerBoot: owner.boot, ownerExpires: owner.expires }
  }
  const reservationsOf = (no: number): readonly ReservationRow[] => known(no)?.reservations ?? []

  const journal: JournalTable = {
    planNo: plan =>
      (room.recording() === null ? undefined : set.numbers.get(plan)) ??
      ask(
        `no ${plan}`,
        async query =>
          (one(await query('SELECT plan_no FROM plans WHERE id = $1', [plan]))?.plan_no as number | undefined) ?? null,
      ),
    planOf: no =>
      ask(`of ${no}`, async query => nameOf(one(await query('SELECT id, name FROM plans WHERE plan_no = $1', [no])))),
    named: name =>
      ask(`named ${name}`, async query =>
        nameOf(one(await query('SELECT id, name FROM plans WHERE name = $1', [name]))),
      ),
    head,
    lastPosition: () => ask('position', lastPosition),
    knownPosition: () => room.position(),
    nextPosition: () => -room.nextEntry(),
    entry: (no, version) => journal.entries(no, version - 1, version, 1)[0] ?? null,
    entries(no, after, upTo, limit) {
      const own = room.recording()?.entries.find(({ version }) => version === after + 1)
      if (own !== undefined && upTo === after + 1) return [own]
      const most = Math.min(upTo, 2 ** 31 - 1)
      return answers.stretch(`entries ${no} ${upTo}`, { after, limit }, versionOf, async (query, from, count) =>
        (
          await query(`${ENTRY} WHERE plan_no = $1 AND version > $2 AND version <= $3 ORDER BY version LIMIT $4`, [
            no,
            from,
            most,
            count,
          ])
        ).map(entryOf),
      )
    },
    since: (after, limit, no) =>
      answers.stretch(`since ${no}`, { after, limit }, positionOf, async (query, from, count) => {
        const rows = await query(
          `${ENTRY_AND_PLAN} WHERE e.position > $1 AND e.position < ${HORIZON} AND ($2::bigint IS NULL OR e.plan_no = $2)
            ORDER BY e.position LIMIT $3`,
          [from, no, count],
        )
        if (room.isWriting) await loadIndex(query, rows)
        return rows.map(row => Object.assign(entryOf(row), { plan: row.id as PlanId }))
      }),
    fold: no =>
      ask(`fold ${no}`, async query =>
        foldOf(
          one(
            await query(`SELECT version, definition_version, body, ${hex('hash')} FROM folds WHERE plan_no = $1`, [no]),
          ),
        ),
      ),
    addPlan(id, row) {
      const no = room.newNumber()
      wrote({ w: 'plan', no, id, row })
      const empty = {
        no,
        version: 0,
        at: 0,
        hash: '',
        reached: 0,
        fence: 0,
        owner: null,
        ownerBoot: null,
        ownerExpires: null,
      }
      recording().touched.add(no)
      set.know(no, { id, head: empty, reservations: [] })
      return no
    },
    addEntry(no, entry, done) {
      const before = head(no)!
      const { version: v, at, actor, fence, body, blob, hash, format, position: p } = entry
      // A new plan has no row yet; later entries of a request follow its own.
      if (before.version > 0 && !recording().touched.has(no))
        recording().guard({ g: 'head', no, v: v - 1, fence, owner: before.owner, now: room.monotonic() })
      wrote({ w: 'entry', no, p, v, at, actor, fence, body, blob, hash, format, done })
      recording().entries.push(entry)
      change(no, { head: { ...before, version: v, at, hash, reached: v } })
    },
    saveFold: (no, { body, ...fold }) =>
      wrote({ w: 'fold', no, fold: { ...fold, body: Buffer.from(body).toString('base64') } }),
  }

  const sql = sqlOn(answers)
  return {
    get writes() {
      return writes
    },
    journal,
    projections: {
      ...sqlLists(sql),
      apply(no, { planMoved, state, tasks, added, attempts }: Changes) {
        const all = tasks === 'all'
        if (planMoved || all || added.length > 0) wrote({ w: 'move', no, row: planRecord(state) })
        const rows = (all ? state.order : [...tasks, ...added]).map(taskRecord)
        if (rows.length > 0 || all) wrote({ w: 'tasks', no, rows, all })
        for (const change of attempts) wrote({ w: 'attempt', no, change })
      },
    },
    owners: {
      add(row) {
        wrote({ w: 'owner', row })
        set.owners.set(row.id, row)
      },
      renew(id, lease, now) {
        const owner = set.owner(id) ?? ask(`owner ${id}`, query => loadOwner(query, id))
        if (owner === null || owner.expires <= now) return false
        recording().guard({ g: 'owner', id, now })
        wrote({ w: 'renew', id, ...lease })
        if (set.owners.has(id)) set.owners.set(id, { ...owner, ...lease })
        return true
      },
      remove(id) {
        wrote({ w: 'leave', id })
        set.owners.delete(id)
        for (const [no, { head: at }] of set.plans) if (at.owner === id) change(no, { head: { ...at, ...UNOWNED } })
      },
      get: id => ask(`owner ${id}`, query => loadOwner(query, id)),
      holder(no) {
        const at = head(no)
        if (at?.owner == null) return null
        return ask(`holder ${no}`, query => loadHolder(query, no))
      },
      hold(no, owner, fence, since) {
        const before = head(no)!
        recording().guard({ g: 'fence', no, fence: before.fence, owner: before.owner })
        wrote({ w: 'hold', no, owner, fence, since })
        const record = set.owner(owner)
        change(no, {
          head: { ...before, owner, fence, ownerBoot: record?.boot ?? null, ownerExpires: record?.expires ?? null },
        })
      },
      letGo(no, owner) {
        wrote({ w: 'let-go', no, owner })
        const before = head(no)
        if (before?.owner === owner) change(no, { head: { ...before, ...UNOWNED } })
      },
      held: status =>
        ask(`held ${status}`, async query =>
          (
            await query(
              `SELECT ${OWNER}, p.id AS plan FROM heads h JOIN owners o ON o.id = h.owner JOIN plans p USING (plan_no) WHERE p.status = $1`,
              [status],
            )
          ).map(row => ({ plan: row.plan as PlanId, owner: ownerOf(row) })),
        ),
      idle: () =>
        ask('idle owners', async query =>
          (
            await query(`SELECT ${OWNER} FROM owners o WHERE NOT EXISTS (SELECT 1 FROM heads h WHERE h.owner = o.id)`)
          ).map(ownerOf),
        ),
    },
    claims: {
      put: (no, row) => wrote({ w: 'claim', no, row }),
      get(no, ordinal) {
        const claim = ask(`claim ${no} ${ordinal}`, async query =>
          claimOf(one(await query('SELECT * FROM task_claims WHERE plan_no = $1 AND ordinal = $2', [no, ordinal]))),
        )
        room.recording()?.guard({ g: 'claim', no, ordinal, expires: claim?.expires ?? null })
        return claim
      },
      all: no =>
        ask(`claims ${no}`, async query =>
          (
            await query(
              'SELECT c.*, p.id AS plan FROM task_claims c JOIN plans p USING (plan_no) WHERE $1::bigint IS NULL OR c.plan_no = $1',
              [no],
            )
          ).map(row => ({ plan: row.plan as PlanId, no: row.plan_no as number, ...claimOf(row)! })),
        ),
      remove: (no, ordinal) => wrote({ w: 'unclaim', no, ordinal }),
    },
    reservations: {
      put(no, { reserves, ...row }) {
        const root = reserves.root
        recording().guard({ g: 'root', root, seq: ask(`root ${root}`, query => loadSeq(query, root)) })
        wrote({ w: 'reserve', no, root, row: { ...row, reserves: JSON.stringify(reserves) } })
        const kept = JSON.parse(JSON.stringify(reserves)) as Reserves
        const others = reservationsOf(no).filter(({ ordinal }) => ordinal !== row.ordinal)
        change(no, {
          reservations: [...others, { ...row, reserves: kept, no, task: null }].sort((a, b) => a.ordinal - b.ordinal),
        })
      },
      end(no, ordinal, position) {
        wrote({ w: 'free', no, ordinal, p: position })
        change(no, { reservations: reservationsOf(no).filter(row => row.ordinal !== ordinal) })
      },
      of: no =>
        withNames(reservationsOf(no), ordinal =>
          ask(`task ${no} ${ordinal}`, query => loadTaskName(query, no, ordinal)),
        ),
      active(root) {
        const found = ask(`root ${root}`, query => loadSeq(query, root))
        if (room.recording() !== null) recording().guard({ g: 'root', root, seq: found })
        return ask(`active ${root}`, async query =>
          (await query(`${RESERVATIONS} WHERE r.root = $1 AND r.ended IS NULL ORDER BY r.since`, [root])).map(
            reservationOf,
          ),
        )
      },
      endedSince: position =>
        ask(`ended ${position}`, async query =>
          (await query(`${RESERVATIONS} WHERE r.ended > $1 AND r.since > $1`, [position])).map(reservationOf),
        ),
      forget: before => wrote({ w: 'forget-reservations', before }),
    },
    halts: {
      get() {
        const halt = ask(
          'halt',
          async query => (one(await query('SELECT by, at, reason FROM halts')) as Halt | undefined) ?? null,
        )
        room.recording()?.guard({ g: 'halted', is: halt !== null })
        return halt
      },
      put: halt => wrote({ w: 'halt', halt }),
      remove: () => wrote({ w: 'lift' }),
    },
    logs: {
      append: (no, ordinal, chunk) => wrote({ w: 'log', no, ordinal, chunk }),
      read: (plan, no, ordinal, after, limit) =>
        ask(`logs ${no} ${ordinal} ${after} ${limit}`, async query =>
          (
            await query(
              `${LOG} WHERE l.plan_no = $1 AND ($2::int IS NULL OR l.ordinal = $2) AND l.seq > $3 ORDER BY l.seq LIMIT $4`,
              [no, ordinal, after, limit],
            )
          ).map(row => logOf(plan, row)),
        ),
      readBack: (plan, no, ordinal, { after, before }, limit) =>
        ask(`logs back ${no} ${ordinal} ${after} ${before} ${limit}`, async query =>
          (
            await query(
              `${LOG} WHERE l.plan_no = $1 AND ($2::int IS NULL OR l.ordinal = $2) AND l.seq > $3 AND l.seq < $4 ORDER BY l.seq DESC LIMIT $5`,
              [no, ordinal, after, Math.min(before, Number.MAX_SAFE_INTEGER), limit],
            )
          )
            .map(row => logOf(plan, row))
            .reverse(),
        ),
      since: (after, limit) =>
        ask(`logs since ${after} ${limit}`, async query =>
          (await query(`${LOG} WHERE l.seq > $1 ORDER BY l.seq LIMIT $2`, [after, limit])).map(row =>
            logOf(row.plan as PlanId, row),
          ),
        ),
      // The number that was given last, also when its row is gone.
      last: () =>
        ask(
          'last log',
          async query =>
            (one(await query(`SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS seq FROM task_logs_seq_seq`))
              ?.seq ?? 0) as number,
        ),
    },
    streams: {
      head: (kind, id) =>
        ask(`stream ${kind} ${id}`, async query =>
          streamOf(one(await query(`${STREAM} WHERE kind = $1 AND id = $2`, [kind, id]))),
        ),
      heads: (kind, before, limit, where = {}) =>
        ask(`streams ${kind} ${before} ${limit} ${JSON.stringify(where)}`, async query =>
          (
            await query(
              `${STREAM} WHERE kind = $1 AND stream_no < $2 AND ($3::text IS NULL OR row::jsonb ->> 'status' = $3)
              AND (NOT $4 OR row::jsonb ->> 'parent' IS NOT DISTINCT FROM $5) ORDER BY stream_no DESC LIMIT $6`,
              [kind, before, where.status ?? null, where.parent !== undefined, where.parent ?? null, limit],
            )
          ).map(row => streamOf(row)!),
        ),
      entries: (kind, id, after, limit) =>
        ask(
          `stream entries ${kind} ${id} ${after} ${limit}`,
          async query =>
            (await query(
              `SELECT e.version, e.at, e.actor, e.body, ${hex('e.hash')} FROM stream_entries e JOIN streams s USING (stream_no)
              WHERE s.kind = $1 AND s.id = $2 AND e.version > $3 ORDER BY e.version LIMIT $4`,
              [kind, id, after, limit],
            )) as unknown as readonly StreamEntry[],
        ),
      append: (kind, id, entries, row) => wrote({ w: 'stream', kind, id, entries, row }),
    },
    once: {
      get: (actor, key) =>
        ask(`once ${actor} ${key}`, async query =>
          onceOf(
            one(
              await query(
                `SELECT actor, key, ${hex('hash')}, kind, id, version, made, at FROM once WHERE actor = $1 AND key = $2`,
                [actor, key],
              ),
            ),
          ),
        ),
      put: row => wrote({ w: 'once', row }),
      hasBefore: at =>
        ask(
          `once before ${at}`,
          async query => (await query('SELECT 1 FROM once WHERE at < $1 LIMIT 1', [at])).length > 0,
        ),
      forget: before => wrote({ w: 'forget-keys', before }),
    },
    index: {
      marks: () => {
        const marks = ask(
          'marks',
          async query =>
            (one(await query('SELECT position, log FROM caught_up')) as
              | { position: number; log: number }
              | undefined) ?? { position: 0, log: 0 },
        )
        room.recording()?.guard({ g: 'marks', ...marks })
        return marks
      },
      mark: marks => wrote({ w: 'marks', ...marks }),
      doc: (no, task) => docsOf(no).find(doc => doc.task === task) ?? null,
      docs: no => docsOf(no),
      putDoc: (no, doc) => wrote({ w: 'doc', no, doc, words: wordsIn(doc.text, doc.task === null ? 'plan' : 'task') }),
      dropDoc: (no, task) => wrote({ w: 'drop-doc', no, task: task ?? '' }),
      step: (no, task, visit, attempt) =>
        stepsOf(no).find(step => step.task === task && step.visit === visit && step.attempt === attempt) ?? null,
      steps: no => stepsOf(no),
      putStep: (no, step) => wrote({ w: 'step', no, step }),
      lastLog: () =>
        ask(
          'last kept log',
          async query => one(await query('SELECT coalesce(max(seq), 0) AS seq FROM task_logs'))!.seq as number,
        ),
      unreadLogs: (after, limit) =>
        answers.stretch('unread logs', { after, limit, atOnce: LOGS_AT_ONCE }, seqOf, async (query, from, count) => {
          const rows = (await query(
            'SELECT l.seq, l.plan_no AS no, l.ordinal, l.text, d.bytes FROM task_logs l LEFT JOIN log_docs d USING (plan_no, ordinal) WHERE l.seq > $1 ORDER BY l.seq LIMIT $2',
            [from, count],
          )) as unknown as readonly (UnreadLog & { readonly bytes: number | null })[]
          for (const { no, ordinal, bytes } of rows) answers.put(`log bytes ${no} ${ordinal}`, bytes ?? 0)
          return rows.map(({ bytes: _, ...log }) => log)
        }),
      logBytes: (no, ordinal) =>
        ask(
          `log bytes ${no} ${ordinal}`,
          async query =>
            (one(await query('SELECT bytes FROM log_docs WHERE plan_no = $1 AND ordinal = $2', [no, ordinal]))?.bytes ??
              0) as number,
        ),
      addLog: ({ seq, no, ordinal, text }, bytes) =>
        wrote({ w: 'log-words', no, ordinal, seq, words: wordsIn(text, 'log'), bytes }),
      find: (kind, where, before, limit) =>
        kind === 'log' ? findLogs(sql, where, before, limit) : findDocs(sql, kind, where, before, limit),
      ended: (where, after, limit) => endedSteps(sql, where, after, limit),
      clear: () => wrote({ w: 'clear-index' }),
      faults: () => [],
    },
    upkeep: {
      plans: () =>
        ask('all plans', async query =>
          (await query('SELECT plan_no FROM plans ORDER BY plan_no')).map(row => row.plan_no as number),
        ),
      prunable: before =>
        ask(`prunable ${before}`, async query =>
          (
            await query(
              'SELECT plan_no FROM plans JOIN heads USING (plan_no) WHERE archived = 1 AND at < $1 ORDER BY plan_no',
              [before],
            )
          ).map(row => row.plan_no as number),
        ),
      prune(no, at) {
        const { count, bytes } = ask(
          `size ${no}`,
          async query =>
            one(
              await query(
                'SELECT count(*) AS count, coalesce(sum(length(body)), 0) AS bytes FROM entries WHERE plan_no = $1',
                [no],
              ),
            )! as { count: number; bytes: number },
        )
        const before = head(no)!
        recording().guard({ g: 'head', no, v: before.version, fence: null, owner: null, now: 0 })
        recording().touched.add(no)
        wrote({ w: 'prune', no, at })
        return { entries: count, bytes }
      },
      pruned: after =>
        ask(
          `pruned ${after}`,
          async query =>
            one(
              await query('SELECT count(*) AS count FROM pruned WHERE $1::bigint IS NULL OR last > $1', [
                after ?? null,
              ]),
            )!.count as number,
        ),
      // What a storage engine finds damaged, PostgreSQL reports by itself.
      integrity: () => [],
    },
  }

  /** What the index has of the plans of these entries, at once. */
  async function loadIndex(query: Query, rows: readonly Row[]): Promise<void> {
    const numbers = [...new Set(rows.map(({ plan_no }) => plan_no as number))]
    if (numbers.length === 0) return
    for (const { id, plan_no } of rows) answers.put(`no ${id}`, plan_no)
    const docs = await query('SELECT plan_no, task, kind, capabilities, text FROM docs WHERE plan_no = ANY ($1)', [
      numbers,
    ])
    const steps = await query('SELECT * FROM steps WHERE plan_no = ANY ($1)', [numbers])
    for (const no of numbers) {
      const of = (row: Row) => row.plan_no === no
      answers.put(
        `docs ${no}`,
        docs.filter(of).map(row => docOf(row as SqlRow)),
      )
      answers.put(
        `steps ${no}`,
        steps.filter(of).map(row => stepOf(row as SqlRow)),
      )
    }
  }
  function docsOf(no: number) {
    return ask(`docs ${no}`, async query =>
      (await query('SELECT task, kind, capabilities, text FROM docs WHERE plan_no = $1', [no])).map(row =>
        docOf(row as SqlRow),
      ),
    )
  }
  function stepsOf(no: number) {
    return ask(`steps ${no}`, async query =>
      (await query('SELECT * FROM steps WHERE plan_no = $1', [no])).map(row => stepOf(row as SqlRow)),
    )
  }
}

/** Transactions with a higher number may still be under way. */
const HORIZON = '(SELECT base FROM meta) + pg_snapshot_xmin(pg_current_snapshot())::text::bigint * 1024'
const hex = (column: string): string => `encode(${column}, 'hex') AS ${column.slice(column.indexOf('.') + 1)}`
const FIELDS = `e.plan_no, e.format, e.position, e.old_position, e.version, e.at, e.actor, e.fence, e.body, ${hex('e.blob')}, ${hex('e.hash')}`
const ENTRY = `SELECT ${FIELDS} FROM entries e`
const ENTRY_AND_PLAN = `SELECT ${FIELDS}, p.id FROM entries e JOIN plans p USING (plan_no)`
const OWNER = 'o.id, o.host, o.boot, o.pids, o.pid, o.start_time, o.expires, o.until'
const RESERVATIONS = 'SELECT r.*, t.name FROM reservations r LEFT JOIN tasks t USING (plan_no, ordinal)'
const LOG =
  'SELECT l.*, t.name, p.id AS plan FROM task_logs l JOIN tasks t USING (plan_no, ordinal) JOIN plans p USING (plan_no)'
const STREAM = `SELECT stream_no, id, version, ${hex('hash')}, row FROM streams`
const UNOWNED = { owner: null, ownerBoot: null, ownerExpires: null } as const

const versionOf = ({ version }: StoredEntry): number => version
const positionOf = ({ position }: StoredEntry): number => position
const seqOf = ({ seq }: UnreadLog): number => seq

const one = (rows: readonly Row[]): Row | undefined => rows[0]

async function loadPlan(query: Query, no: number): Promise<KnownPlan | null> {
  const row = one(
    await query(
      `SELECT p.id, h.version, h.at, ${hex('h.hash')}, h.fence, h.owner, o.boot, o.expires,
        (SELECT coalesce(jsonb_agg(to_jsonb(r) ORDER BY r.ordinal), '[]') FROM reservations r WHERE r.plan_no = h.plan_no AND r.ended IS NULL) AS reservations
        FROM heads h JOIN plans p USING (plan_no) LEFT JOIN owners o ON o.id = h.owner WHERE h.plan_no = $1`,
      [no],
    ),
  )
  if (row === undefined) return null
  const { id, version, at, hash, fence, owner, boot, expires } = row
  const found = { no, version, at, hash, reached: version, fence, owner, ownerBoot: boot, ownerExpires: expires }
  const reservations = (row.reservations as readonly Row[]).map(one => reservationOf({ ...one, name: null }))
  return { id: id as string, head: found as Head, reservations }
}

const lastPosition = async (query: Query): Promise<number> =>
  one(
    await query(
      `SELECT greatest((SELECT max(position) FROM entries WHERE position < ${HORIZON}), (SELECT max(position) FROM pruned), 0) AS position`,
    ),
  )!.position as number

const loadOwner = async (query: Query, id: string): Promise<OwnerRecord | null> => {
  const row = one(await query(`SELECT ${OWNER} FROM owners o WHERE o.id = $1`, [id]))
  return row === undefined ? null : ownerOf(row)
}

async function loadHolder(
  query: Query,
  no: number,
): Promise<{ readonly owner: OwnerRecord; readonly since: Millis } | null> {
  const row = one(
    await query(`SELECT ${OWNER}, h.owner_since FROM heads h JOIN owners o ON o.id = h.owner WHERE h.plan_no = $1`, [
      no,
    ]),
  )
  return row === undefined ? null : { owner: ownerOf(row), since: row.owner_since as Millis }
}

const loadSeq = async (query: Query, root: string): Promise<number> =>
  (one(await query('SELECT seq FROM roots WHERE root = $1', [root]))?.seq ?? 0) as number

const loadTaskName = async (query: Query, no: number, ordinal: number): Promise<TaskName | null> =>
  (one(await query('SELECT name FROM tasks WHERE plan_no = $1 AND ordinal = $2', [no, ordinal]))?.name ??
    null) as TaskName | null

const withNames = (
  rows: readonly ReservationRow[],
  nameOfTask: (ordinal: number) => TaskName | null,
): readonly ReservationRow[] => rows.map(row => ({ ...row, task: row.task ?? nameOfTask(row.ordinal) }))

const nameOf = (row: Row | undefined): { readonly id: PlanId; readonly name: PlanName } | null =>
  row === undefined ? null : { id: row.id as PlanId, name: row.name as PlanName }

const entryOf = (row: Row): StoredEntry => ({
  format: row.format as number,
  position: row.position as number,
  oldPosition: row.old_position as number | null,
  version: row.version as number,
  at: row.at as number,
  actor: row.actor as Actor,
  fence: row.fence as number | null,
  body: row.body as string | null,
  blob: row.blob as Sha256 | null,
  hash: row.hash as Sha256,
})

const foldOf = (row: Row | undefined): StoredFold | null =>
  row === undefined
    ? null
    : {
        version: row.version as number,
        definitionVersion: row.definition_version as number,
        body: row.body as Uint8Array,
        hash: row.hash as Sha256,
      }

const ownerOf = (row: Row): OwnerRecord => ({
  id: row.id as string,
  host: row.host as string,
  boot: row.boot as string,
  pids: row.pids as string,
  pid: row.pid as number,
  startTime: row.start_time as string,
  expires: row.expires as number,
  until: row.until as Millis,
})

const claimOf = (row: Row | undefined): ClaimRecord | null =>
  row === undefined
    ? null
    : {
        ordinal: row.ordinal as number,
        token: row.token as string,
        boot: row.boot as string,
        expires: row.expires as number,
        until: row.until as number,
        lease: row.lease as number | null,
      }

const reservationOf = (row: Row): ReservationRow => ({
  no: row.plan_no as number,
  ordinal: row.ordinal as number,
  visit: row.visit as number,
  reserves: JSON.parse(row.reserves as string) as Reserves,
  since: row.since as number,
  at: row.at as number,
  task: row.name as TaskName | null,
})

const logOf = (plan: PlanId, row: Row): StoredLog => ({
  plan,
  task: row.name as TaskName,
  visit: row.visit as number,
  attempt: row.attempt as number,
  stream: row.stream as LogChunk['stream'],
  at: row.at as number,
  text: row.text as string,
  seq: row.seq as number,
})

const streamOf = (row: Row | undefined): StreamHead | null =>
  row === undefined
    ? null
    : {
        no: row.stream_no as number,
        id: row.id as string,
        version: row.version as number,
        hash: row.hash as string,
        row: row.row as string,
      }

const onceOf = (row: Row | undefined): OnceRecord | null =>
  row === undefined ? null : ({ ...row, made: row.made === 1 } as unknown as OnceRecord)

const wordsIn = (text: string, kind: 'plan' | 'task' | 'log'): string =>
  vectorOf(
    [...foldedWords(text)].slice(0, WORDS_MAX).map(word => word.slice(0, WORD_MAX)),
    kind,
  )
