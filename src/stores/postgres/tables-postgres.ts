// The tables on PostgreSQL: reads come from what was loaded, writes are recorded.

import type { PlanId } from '../../domain/id.ts'
import type { Reserves } from '../../domain/result.ts'
import { type Changes, planRecord, taskRecord } from '../journal/projection.ts'
import { sqlLists } from '../sql/lists.ts'
import type { Halt } from '../store.ts'
import type { Head, JournalTable, ReservationRow, StreamEntry, Tables } from '../tables.ts'
import type { Answers } from './answers.ts'
import type { Write } from './append.ts'
import type { BlobsPostgres } from './blobs-postgres.ts'
import type { Query } from './connection/connection.ts'
import { indexOn, loadIndex } from './index-postgres.ts'
import {
  claimOf,
  ENTRY,
  ENTRY_AND_PLAN,
  entryOf,
  foldOf,
  HORIZON,
  hex,
  LOG,
  lastPosition,
  loadHolder,
  loadOwner,
  loadPlan,
  loadSeq,
  loadTaskName,
  logOf,
  nameOf,
  newestPosition,
  OWNER,
  onceOf,
  one,
  ownerOf,
  positionOf,
  RESERVATIONS,
  reservationOf,
  STREAM,
  streamOf,
  UNOWNED,
  versionOf,
  withNames,
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
    if (here !== undefined) {
      recording().remembered.add(no)
      return here
    }
    const loaded = ask(`plan ${no}`, query => loadPlan(query, { no }))
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
      // After its number comes its head.
      ask(`no ${plan}`, async query => {
        const found = await loadPlan(query, { id: plan })
        if (found === null) return null
        const { head, id, name } = found
        answers.put(`plan ${head.no}`, found)
        answers.put(`of ${head.no}`, { id, name })
        return head.no
      }),
    planOf: no =>
      ask(`of ${no}`, async query => nameOf(one(await query('SELECT id, name FROM plans WHERE plan_no = $1', [no])))),
    named: name =>
      ask(`named ${name}`, async query =>
        nameOf(one(await query('SELECT id, name FROM plans WHERE name = $1', [name]))),
      ),
    head,
    lastPosition: () => ask('position', lastPosition),
    newestPosition: () => ask('newest position', newestPosition),
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
      ask(`fold ${no}`, async query =>
        foldOf(
          one(
            await query(`SELECT version, definition_version, body, ${hex('hash')} FROM folds WHERE plan_no = $1`, [no]),
          ),
        ),
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
      get: id => ask(`owner ${id}`, query => loadOwner(query, id)),
      holder(no) {
        const at = head(no)
        if (at?.owner == null) return null
        return ask(`holder ${no}`, query => loadHolder(query, no))
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
        ask(`held ${status}`, async query =>
          (
            await query(
              `SELECT ${OWNER}, p.id AS plan FROM heads h JOIN owners o ON o.id = h.owner JOIN plans p USING (plan_no) WHERE p.status = $1`,
              [status],
            )
          ).map(row => ({ plan: row.plan as PlanId, owner: ownerOf(row) })),
        ),
      all: () =>
        ask('owners', async query => (await query(`SELECT ${OWNER} FROM owners o ORDER BY o.id`)).map(ownerOf)),
      describe(id, about) {
        wrote({ w: 'describe', id, about })
        const owner = set.owners.get(id)
        if (owner !== undefined) set.owners.set(id, { ...owner, about })
      },
      idle: () =>
        ask('idle owners', async query =>
          (
            await query(`SELECT ${OWNER} FROM owners o WHERE NOT EXISTS (SELECT 1 FROM heads h WHERE h.owner = o.id)`)
          ).map(ownerOf),
        ),
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
      append(no, ordinal, chunk) {
        const text = head(no)?.home == null ? chunk.text : room.blobs.keepText(chunk.text)
        wrote({ w: 'log', no, ordinal, chunk: { ...chunk, text } })
      },
      read: (plan, no, ordinal, after, limit) =>
        ask(`logs ${no} ${ordinal} ${after} ${limit}`, async query =>
          (
            await query(
              `${LOG} WHERE l.plan_no = $1 AND ($2::int IS NULL OR l.ordinal = $2) AND l.seq > $3 ORDER BY l.seq LIMIT $4`,
              [no, ordinal, after, limit],
            )
          ).map(row => logOf(plan, row, room.blobs)),
        ),
      readBack: (plan, no, ordinal, { after, before }, limit) =>
        ask(`logs back ${no} ${ordinal} ${after} ${before} ${limit}`, async query =>
          (
            await query(
              `${LOG} WHERE l.plan_no = $1 AND ($2::int IS NULL OR l.ordinal = $2) AND l.seq > $3 AND l.seq < $4 ORDER BY l.seq DESC LIMIT $5`,
              [no, ordinal, after, Math.min(before, Number.MAX_SAFE_INTEGER), limit],
            )
          )
            .map(row => logOf(plan, row, room.blobs))
            .reverse(),
        ),
      since: (after, limit) =>
        ask(`logs since ${after} ${limit}`, async query =>
          (await query(`${LOG} WHERE l.seq > $1 ORDER BY l.seq LIMIT $2`, [after, limit])).map(row =>
            logOf(row.plan as PlanId, row, room.blobs),
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
    index: indexOn(answers, sql, room, wrote),
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
}
