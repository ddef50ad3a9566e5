// The tables on PostgreSQL: reads come from what was loaded, writes are recorded.

import type { Millis, PlanId, TaskName } from '../../domain/id.ts'
import type { Reserves } from '../../domain/result.ts'
import { assigneeOf, type Changes, changesByTask, planRecord, taskRecord } from '../journal/projection.ts'
import { type MemoryTable, vectorBytes } from '../memories.ts'
import { sqlLists } from '../sql/lists.ts'
import { sqlMemories } from '../sql/memories.ts'
import {
  CLAIM,
  CLAIM_AND_PLAN,
  claimOf,
  HELD,
  heldOf,
  logOf,
  OWNER,
  onceOf,
  ownerOf,
  RESERVATIONS,
  reservationOf,
} from '../sql/rows.ts'
import type { Halt, StoredLog } from '../store.ts'
import type {
  ClaimTable,
  Head,
  JournalTable,
  ReservationRow,
  StoredFold,
  StreamEntry,
  StreamHead,
  Tables,
} from '../tables.ts'
import type { Answers, Asked } from './answers.ts'
import type { MovedTask, Write } from './append.ts'
import type { BlobsPostgres } from './blobs-postgres.ts'
import type { Query, Row } from './connection/connection.ts'
import { indexOn, loadIndex } from './index-postgres.ts'
import {
  ENTRY,
  ENTRY_AND_PLAN,
  entryOf,
  HORIZON,
  hex,
  LAST_POSITION,
  LOG,
  loadPlan,
  loadPlans,
  nameOf,
  POSITION,
  positionOf,
  STREAM,
  seqOf,
  UNOWNED,
  versionOf,
  withNames,
  wordsIn,
} from './rows.ts'
import { sqlOn } from './sql-postgres.ts'
import type { KnownPlan, Recording, WorkingSet } from './working-set.ts'

export interface Room {
  readonly answers: Answers
  readonly set: WorkingSet
  readonly blobs: BlobsPostgres
  /** Null while only reading: then nothing is taken from the working set. */
  readonly recording: () => Recording | null
  readonly nextEntry: () => number
  readonly newNumber: () => number
  readonly position: () => number
  readonly monotonic: () => number
  /** Where new plans work. */
  readonly workspace: string
  /** True for the tables of writers. */
  readonly isWriting: boolean
}

export function tablesOn(room: Room): Tables {
  const { answers, set } = room
  const ask: Answers['ask'] = (key, load, bulk) => answers.ask(key, load, bulk)
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
    if (here !== undefined) {
      recording().remembered.add(no)
      return here
    }
    const loaded = answers.ask(`plan ${no}`, query => loadPlan(query, 'h.plan_no', no), {
      text: 'plan',
      value: no,
      load: async (query, numbers) => withNulls(numbers, await loadPlans(query, 'h.plan_no', numbers)),
    })
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

  /** After its number comes its head. */
  const numberIn = (found: KnownPlan | null): number | null => {
    if (found === null) return null
    const { head, id, name } = found
    answers.put(`plan ${head.no}`, found)
    answers.put(`of ${head.no}`, { id, name })
    return head.no
  }
  const logFrom = (plan: PlanId, row: Row): StoredLog =>
    logOf(plan, row, row.home === null ? (row.text as string) : room.blobs.openText(row.text as string))
  const seqAt = (root: string): number =>
    answers.first(({ seq }) => seq as number, 'SELECT seq FROM roots WHERE root = $1', root) ?? 0

  const journal: JournalTable = {
    planNo: plan =>
      (room.recording() === null ? undefined : set.numbers.get(plan)) ??
      answers.ask(`no ${plan}`, async query => numberIn(await loadPlan(query, 'p.id', plan)), {
        text: 'no',
        value: plan,
        load: async (query, plans) => {
          const found = await loadPlans(query, 'p.id', plans)
          return new Map(plans.map(id => [id, numberIn(found.get(id) ?? null)]))
        },
      }),
    planOf: no =>
      ask(
        `of ${no}`,
        async query => (await query('SELECT id, name FROM plans WHERE plan_no = $1', [no])).map(nameOf)[0] ?? null,
      ),
    named: name => {
      const load = async (query: Query, names: readonly Asked[]) => {
        const found = await query('SELECT id, name FROM plans WHERE name = ANY($1)', [names])
        return withNulls(names, new Map(found.map(nameOf).map(plan => [plan.name as Asked, plan])))
      }
      return ask(`named ${name}`, async query => (await load(query, [name])).get(name)!, {
        text: 'named',
        value: name,
        load,
      })
    },
    head,
    lastPosition: () => answers.first(positionOf, LAST_POSITION)!,
    newestPosition: () => answers.first(positionOf, POSITION)!,
    knownPosition: () => room.position(),
    nextPosition: () => -room.nextEntry(),
    entry: (no, version) => journal.entries(no, version - 1, version, 1)[0] ?? null,
    entries(no, after, upTo, limit) {
      const own = room.recording()?.entries.find(({ version }) => version === after + 1)
      if (own !== undefined && upTo === after + 1) return [own]
      const most = Math.min(upTo, 2 ** 31 - 1)
      return answers.stretch(`entries ${no} ${upTo}`, { after, limit }, versionOf, async (query, from, count) => {
        const text = `${ENTRY} WHERE plan_no = $1 AND version > $2 AND version <= $3 ORDER BY version LIMIT $4`
        const rows = await query(text, [no, from, most, count])
        await room.blobs.fetchAll(rows, query)
        return rows.map(entryOf)
      })
    },
    since: (after, limit, no) =>
      answers.stretch(`since ${no}`, { after, limit }, positionOf, async (query, from, count) => {
        const rows = await query(
          `${ENTRY_AND_PLAN} WHERE e.position > $1 AND e.position < ${HORIZON} AND ($2::bigint IS NULL OR e.plan_no = $2)
            ORDER BY e.position LIMIT $3`,
          [from, no, count],
        )
        for (const { id, plan_no } of rows) answers.put(`no ${id}`, plan_no)
        await room.blobs.fetchAll(rows, query)
        if (room.isWriting) await loadIndex(answers, query, rows)
        return rows.map(row => Object.assign(entryOf(row), { plan: row.id as PlanId }))
      }),
    fold: no =>
      answers.first(
        row => row as unknown as StoredFold,
        `SELECT version, definition_version AS "definitionVersion", body, ${hex('hash')} FROM folds WHERE plan_no = $1`,
        no,
      ),
    addPlan(id, row) {
      const no = room.newNumber()
      wrote({ w: 'plan', no, id, row, workspace: room.workspace })
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
      set.know(no, { id, name: row.name, head: empty, reservations: [] })
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
    keepOn(no, host) {
      const before = head(no)!
      if (before.home === host) return
      wrote({ w: 'home', no, host })
      change(no, { head: { ...before, home: host } })
    },
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
        const rows = (all ? state.order : added).map(taskRecord)
        if (all || rows.length > 0) wrote({ w: 'tasks', no, rows, all })
        const byTask = changesByTask(attempts)
        if (!all && tasks.length > 0) {
          const moved = tasks.map((task): MovedTask => {
            const { ordinal, status, visit, attempt, startedAt, endedAt } = task
            const [change = null, another] = byTask.get(ordinal) ?? []
            const only = another === undefined ? change : null
            if (only !== null) byTask.delete(ordinal)
            return [ordinal, status, visit, attempt, startedAt, endedAt, assigneeOf(task), only]
          })
          wrote({ w: 'moved', no, tasks: moved })
        }
        for (const changes of byTask.values()) for (const change of changes) wrote({ w: 'attempt', no, change })
      },
    },
    owners: {
      add(row) {
        wrote({ w: 'owner', row })
        set.owners.set(row.id, row)
      },
      renew(id, lease, now) {
        const owner = set.owner(id) ?? answers.first(ownerOf, `SELECT ${OWNER} FROM owners o WHERE o.id = $1`, id)
        if (owner === null || owner.expires <= now) return false
        recording().guard({ g: 'owner', id, now: Math.floor(now) })
        wrote({ w: 'renew', id, ...lease })
        if (set.owners.has(id)) set.owners.set(id, { ...owner, ...lease })
        return true
      },
      remove(id) {
        wrote({ w: 'leave', id })
        set.owners.delete(id)
        for (const [no, { head: at }] of set.plans) if (at.owner === id) change(no, { head: { ...at, ...UNOWNED } })
      },
      get: id => answers.first(ownerOf, `SELECT ${OWNER} FROM owners o WHERE o.id = $1`, id),
      holder(no) {
        const at = head(no)
        if (at?.owner == null) return null
        return answers.first(
          ({ since, ...owner }) => ({ owner: ownerOf(owner), since: since as Millis }),
          `SELECT ${OWNER}, h.owner_since AS since FROM heads h JOIN owners o ON o.id = h.owner WHERE h.plan_no = $1`,
          no,
        )
      },
      hold(no, owner, fence, since) {
        const before = head(no)!
        // What its last owner appended must be known to the next one.
        recording().guard({ g: 'head', no, v: before.version, fence: null, owner: null, now: 0 })
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
        answers.rows(
          heldOf,
          `SELECT ${HELD} FROM heads h JOIN owners o ON o.id = h.owner JOIN plans p USING (plan_no) WHERE p.status = $1`,
          status,
        ),
      all: () => answers.rows(ownerOf, `SELECT ${OWNER} FROM owners o ORDER BY o.id`),
      describe(id, about) {
        wrote({ w: 'describe', id, about })
        const owner = set.owners.get(id)
        if (owner !== undefined) set.owners.set(id, { ...owner, about })
      },
      idle: () => {
        const held = 'SELECT 1 FROM heads h WHERE h.owner = o.id'
        return answers.rows(ownerOf, `SELECT ${OWNER} FROM owners o WHERE NOT EXISTS (${held})`)
      },
    },
    queue: {
      put(no, due) {
        const { at, needs } = due()
        const entry = recording().writes.findLast(write => write.w === 'entry' && write.no === no)
        if (entry?.w !== 'entry') throw new Error('bug: a plan is due without an entry')
        entry.due = at
        if (needs !== undefined) entry.needs = needs
      },
    },
    claims: {
      put: (no, row) => wrote({ w: 'claim', no, row }),
      get(no, ordinal) {
        const text = `SELECT ${CLAIM} FROM task_claims c WHERE plan_no = $1 AND ordinal = $2`
        const claim = answers.first(row => claimOf(row), text, no, ordinal)
        room.recording()?.guard({ g: 'claim', no, ordinal, expires: claim?.expires ?? null })
        return claim
      },
      all: no =>
        answers.rows(
          row => claimOf<ReturnType<ClaimTable['all']>[number]>(row),
          `${CLAIM_AND_PLAN} WHERE $1::bigint IS NULL OR c.plan_no = $1`,
          no,
        ),
      remove: (no, ordinal) => wrote({ w: 'unclaim', no, ordinal }),
    },
    reservations: {
      put(no, { reserves, ...row }) {
        const root = reserves.root
        recording().guard({ g: 'root', root, seq: seqAt(root) })
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
        withNames(reservationsOf(no), ordinal => {
          const text = 'SELECT name FROM tasks WHERE plan_no = $1 AND ordinal = $2'
          return answers.first(({ name }) => name as TaskName, text, no, ordinal)
        }),
      active(root) {
        const seq = seqAt(root)
        if (room.recording() !== null) recording().guard({ g: 'root', root, seq })
        const text = `${RESERVATIONS} WHERE r.root = $1 AND r.ended IS NULL ORDER BY r.since`
        return answers.rows(reservationOf, text, root)
      },
      endedSince: position =>
        answers.rows(reservationOf, `${RESERVATIONS} WHERE r.ended > $1 AND r.since > $1`, position),
      forget: before => wrote({ w: 'forget-reservations', before }),
    },
    halts: {
      get() {
        const halt = answers.first(row => row as unknown as Halt, 'SELECT by, at, reason FROM halts')
        room.recording()?.guard({ g: 'halted', is: halt !== null })
        return halt
      },
      put: halt => wrote({ w: 'halt', halt }),
      remove: () => wrote({ w: 'lift' }),
    },
    logs: {
      append(no, ordinal, chunk) {
        const text = head(no)?.home == null ? chunk.text : room.blobs.keepText(chunk.text)
        wrote({ w: 'log', no, ordinal, chunk: { ...chunk, text } })
      },
      read: (plan, no, ordinal, after, limit) =>
        answers.rows(
          row => logFrom(plan, row),
          `${LOG} WHERE l.plan_no = $1 AND ($2::int IS NULL OR l.ordinal = $2) AND l.seq > $3 ORDER BY l.seq LIMIT $4`,
          ...[no, ordinal, after, limit],
        ),
      readBack: (plan, no, ordinal, { after, before }, limit) =>
        answers
          .rows(
            row => logFrom(plan, row),
            `${LOG} WHERE l.plan_no = $1 AND ($2::int IS NULL OR l.ordinal = $2) AND l.seq > $3 AND l.seq < $4 ORDER BY l.seq DESC LIMIT $5`,
            ...[no, ordinal, after, Math.min(before, Number.MAX_SAFE_INTEGER), limit],
          )
          .toReversed(),
      since: (after, limit) =>
        answers.rows(
          row => logFrom(row.plan as PlanId, row),
          `${LOG} WHERE l.seq > $1 ORDER BY l.seq LIMIT $2`,
          after,
          limit,
        ),
      // The number that was given last, also when its row is gone.
      last: () =>
        answers.first(seqOf, 'SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS seq FROM task_logs_seq_seq') ??
        0,
    },
    streams: {
      head: (kind, id) => answers.first(streamOf, `${STREAM} WHERE kind = $1 AND id = $2`, kind, id),
      heads: (kind, before, limit, where = {}) =>
        answers.rows(
          streamOf,
          `${STREAM} WHERE kind = $1 AND stream_no < $2 AND ($3::text IS NULL OR row::jsonb ->> 'status' = $3)
            AND (NOT $4 OR row::jsonb ->> 'parent' IS NOT DISTINCT FROM $5) ORDER BY stream_no DESC LIMIT $6`,
          ...[kind, before, where.status ?? null, where.parent !== undefined, where.parent ?? null, limit],
        ),
      entries: (kind, id, after, limit) =>
        answers.rows(
          row => row as unknown as StreamEntry,
          `SELECT e.version, e.at, e.actor, e.body, ${hex('e.hash')} FROM stream_entries e JOIN streams s USING (stream_no)
            WHERE s.kind = $1 AND s.id = $2 AND e.version > $3 ORDER BY e.version LIMIT $4`,
          ...[kind, id, after, limit],
        ),
      append: (kind, id, entries, row) => wrote({ w: 'stream', kind, id, entries, row }),
    },
    once: {
      get: (actor, key) =>
        answers.first(
          onceOf,
          `SELECT actor, key, ${hex('hash')}, kind, id, version, made, at FROM once WHERE actor = $1 AND key = $2`,
          actor,
          key,
        ),
      put: row => wrote({ w: 'once', row }),
      hasBefore: at => answers.rows(isThere, 'SELECT 1 FROM once WHERE at < $1 LIMIT 1', at).length > 0,
      forget: before => wrote({ w: 'forget-keys', before }),
    },
    index: indexOn(answers, sql, room, wrote),
    memories: memoriesIn(sqlMemories(sql), room, wrote),
    upkeep: {
      plans: () => answers.rows(numberOf, 'SELECT plan_no FROM plans ORDER BY plan_no'),
      prunable: before => {
        const text =
          'SELECT plan_no FROM plans JOIN heads USING (plan_no) WHERE archived = 1 AND at < $1 ORDER BY plan_no'
        return answers.rows(numberOf, text, before)
      },
      prune(no, at) {
        const { count, bytes } = answers.first(
          row => row as { count: number; bytes: number },
          'SELECT count(*) AS count, coalesce(sum(length(body)), 0) AS bytes FROM entries WHERE plan_no = $1',
          no,
        )!
        const before = head(no)!
        recording().guard({ g: 'head', no, v: before.version, fence: null, owner: null, now: 0 })
        recording().touched.add(no)
        wrote({ w: 'prune', no, at })
        return { entries: count, bytes }
      },
      pruned: after => {
        const text = 'SELECT count(*) AS count FROM pruned WHERE $1::bigint IS NULL OR last > $1'
        return answers.first(row => row.count as number, text, after ?? null)!
      },
      // What a storage engine finds damaged, PostgreSQL reports by itself.
      integrity: () => [],
    },
  }
}

/** An item that was read is guarded: another process may replace it before the commit. */
function memoriesIn(
  reads: ReturnType<typeof sqlMemories>,
  { recording }: Room,
  wrote: (write: Write) => void,
): MemoryTable {
  return {
    ...reads,
    get(place, key) {
      const item = reads.get(place, key)
      const { scope, owner } = place
      recording()?.guard({ g: 'memory', place: { scope, owner }, key, memory: item?.no ?? null })
      return item
    },
    put: (row, text) => wrote({ w: 'memory', row, text, words: wordsIn(text, 'log') }),
    remove: ({ scope, owner }, key) => wrote({ w: 'forget-memory', place: { scope, owner }, key }),
    expire: before => wrote({ w: 'expire-memory', before }),
    putVector(vector, model) {
      const bytes = Buffer.from(vectorBytes(vector)).toString('base64')
      wrote({ w: 'memory-vector', no: vector.no, model, dimension: vector.vector.length, vector: bytes })
    },
  }
}

const withNulls = <T>(wanted: readonly Asked[], found: ReadonlyMap<Asked, T>): Map<Asked, T | null> =>
  new Map(wanted.map(one => [one, found.get(one) ?? null]))

const streamOf = (row: Row): StreamHead => row as unknown as StreamHead
const numberOf = (row: Row): number => row.plan_no as number
const isThere = (): true => true
