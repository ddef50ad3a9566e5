// The queue on PostgreSQL: plans that are due and that no live process drives. Every append writes when its plan is due next, so timers,
// retries and plans of dead owners are found by one question. `for update skip locked` gives each plan to one of those who ask.

import type { Millis, PlanId } from '../../domain/id.ts'
import type { Queue, QueueStanding } from '../../queues/queue.ts'
import type { Clock, Host } from '../leases/host.ts'
import { isAlive } from '../leases/liveness.ts'
import { OWNER, ownerOf } from '../sql/rows.ts'
import { type Entry, type PlansWorkspace, type PlanWorkspace, type Shared, StoreRefused } from '../store.ts'
import { AS_OWNER } from './append.ts'
import type { Query } from './connection/connection.ts'
import { HORIZON } from './rows.ts'

/** Plans of owners that died come first: something of them is half done. `handed`: until then no other worker gets it; the one that did claims it, or has died. */
export const QUEUE = `
CREATE FUNCTION take_due(now bigint, its_workspace text, labels text[], free int, handed bigint) RETURNS SETOF text
  LANGUAGE sql ${AS_OWNER} AS $$
  WITH due AS (
    SELECT h.tenant, h.plan_no FROM heads h LEFT JOIN owners o ON o.tenant = h.tenant AND o.id = h.owner
    WHERE h.wake_at <= now AND h.workspace = its_workspace AND h.needs <@ labels AND (o.id IS NULL OR o.until <= now)
    ORDER BY (h.owner IS NULL), h.wake_at LIMIT free FOR UPDATE OF h SKIP LOCKED)
  UPDATE heads h SET wake_at = handed FROM due d, plans p
    WHERE h.tenant = d.tenant AND h.plan_no = d.plan_no AND p.tenant = h.tenant AND p.plan_no = h.plan_no RETURNING p.id
$$;
CREATE FUNCTION rest_plan(its_id text, its_version int, until bigint) RETURNS void LANGUAGE sql ${AS_OWNER} AS $$
  UPDATE heads h SET wake_at = until FROM plans p
    WHERE p.id = its_id AND h.tenant = p.tenant AND h.plan_no = p.plan_no AND h.version = its_version AND h.owner IS NULL
$$;
CREATE FUNCTION end_owners(ids text[]) RETURNS void LANGUAGE sql ${AS_OWNER} AS $$
  UPDATE owners SET until = 0, expires = 0 WHERE id = ANY(ids)
$$;
CREATE FUNCTION see_workspace(its_id text, its_host text, its_root text) RETURNS void LANGUAGE sql ${AS_OWNER} AS $$
  INSERT INTO workspaces (id, host, root) VALUES (its_id, its_host, its_root)
    ON CONFLICT (tenant, id) DO UPDATE SET host = excluded.host, root = excluded.root
    WHERE (workspaces.host, workspaces.root) IS DISTINCT FROM (excluded.host, excluded.root);
  UPDATE heads SET workspace = its_id WHERE workspace = ''
$$;`

const POLL_MS = 200
const HANDED_MS = 1_000
/** Orders come in bursts. */
const GATHER_MS = 20
/** How often to look for processes of this machine that have ended. */
const OWNERS_MS = 200

interface Room {
  readonly read: Query
  readonly write: Query
  readonly register: Query
  readonly clock: Clock
  readonly host: Host
  readonly workspace: PlansWorkspace
}

export async function sharedOn(room: Room): Promise<Shared> {
  const { read, register, workspace, host } = room
  // Copied plans work where the database is opened first.
  try {
    await register('SELECT see_workspace($1, $2, $3)', [workspace.id, host.host, workspace.root])
  } catch (error) {
    // A process whose role only reads.
    if (!(error instanceof StoreRefused)) throw error
  }
  return {
    here: { workspace: workspace.id, root: workspace.root },
    queue: labels => new QueuePostgres(room, [...labels]),
    async workspaceOf(plan): Promise<PlanWorkspace | null> {
      const [row] = await read(
        `SELECT h.workspace, w.host, w.root FROM plans p JOIN heads h USING (plan_no) LEFT JOIN workspaces w ON w.id = h.workspace WHERE p.id = $1`,
        [plan],
      )
      if (row === undefined) return null
      const found = { host: (row.host ?? '') as string, root: (row.root ?? '') as string }
      return { here: row.workspace === workspace.id, ...found }
    },
    standing: () => standingOf(room),
  }
}

class QueuePostgres implements Queue {
  readonly #room: Room
  readonly #labels: readonly string[]
  #askAt = 0
  #ownersAt = 0

  constructor(room: Room, labels: readonly string[]) {
    this.#room = room
    this.#labels = labels
  }

  async take(free: number): Promise<readonly PlanId[]> {
    const { write, clock, workspace } = this.#room
    const ticks = clock.monotonic()
    if (ticks < this.#askAt) return []
    this.#askAt = ticks + POLL_MS
    if (ticks >= this.#ownersAt) {
      this.#ownersAt = ticks + OWNERS_MS
      await this.#endOwners()
    }
    if (free <= 0) return []
    const now = clock.now()
    const values = [now, workspace.id, this.#labels, free, now + HANDED_MS]
    const rows = await write({ name: 'take_due', text: 'SELECT take_due($1, $2, $3, $4, $5) AS plan' }, values)
    return rows.map(row => row.plan as PlanId)
  }

  /** What an owner writes, it does itself. */
  heard({ fence }: Pick<Entry, 'fence'>): void {
    if (fence === null) this.#askAt = Math.min(this.#askAt, this.#room.clock.monotonic() + GATHER_MS)
  }

  async rest(plan: PlanId, version: number, until: Millis | null): Promise<void> {
    await this.#room.write('SELECT rest_plan($1, $2, $3)', [plan, version, until])
  }

  quietMs(): number {
    return Math.max(0, this.#askAt - this.#room.clock.monotonic())
  }

  /** Processes of this machine that have ended give up their leases at once; those of others when the lease runs out. */
  async #endOwners(): Promise<void> {
    const { read, write, clock, host } = this.#room
    const owners = (
      await read(`SELECT ${OWNER} FROM owners o WHERE o.host = $1 AND o.until > $2`, [host.host, clock.now()])
    ).map(ownerOf)
    const dead = owners.filter(owner => !isAlive({ clock, host }, owner)).map(({ id }) => id)
    if (dead.length > 0) await write('SELECT end_owners($1)', [dead])
  }
}

async function standingOf({ read, clock }: Room): Promise<QueueStanding> {
  const now = clock.now()
  const waiting = 'h.owner IS NULL OR NOT EXISTS (SELECT 1 FROM owners o WHERE o.id = h.owner AND o.until > $1)'
  const groups = await read(
    `SELECT h.needs, h.workspace, w.host, w.root, count(*) FILTER (WHERE h.wake_at <= $1)::int AS due,
      count(*) FILTER (WHERE h.wake_at > $1)::int AS later, min(greatest(h.wake_at, h.at)) FILTER (WHERE h.wake_at <= $1) AS oldest
      FROM heads h LEFT JOIN workspaces w ON w.id = h.workspace WHERE h.wake_at IS NOT NULL AND (${waiting})
      GROUP BY h.needs, h.workspace, w.host, w.root`,
    [now],
  )
  const workers = (await read('SELECT about FROM owners WHERE until > $1', [now])).map(({ about }) => described(about))
  const unmet = groups.flatMap(({ needs, workspace, host, root, due }) => {
    const labels = needs as readonly string[]
    const there = workers.filter(worker => worker.workspace === workspace)
    const isMet = there.some(worker => labels.every(label => worker.labels?.includes(label) === true))
    if (due === 0 || isMet) return []
    const folder = there.length > 0 || host === null ? null : `${root} on ${host}`
    return [{ labels, folder, plans: due as number }]
  })
  const [hidden] = await read(`SELECT min(at) AS at FROM entries WHERE position >= ${HORIZON}`)
  const oldest = groups.flatMap(group => (group.oldest === null ? [] : [group.oldest as number]))
  return {
    due: groups.reduce((sum, group) => sum + (group.due as number), 0),
    oldestMs: oldest.length === 0 ? null : Math.max(0, now - Math.min(...oldest)),
    later: groups.reduce((sum, group) => sum + (group.later as number), 0),
    tailLagMs: hidden?.at == null ? 0 : Math.max(0, now - (hidden.at as number)),
    unmet,
  }
}

function described(about: unknown): { readonly labels?: readonly string[]; readonly workspace?: string } {
  try {
    return JSON.parse(about as string)
  } catch {
    return {}
  }
}
