// Requests to the service. The only file of the web UI that knows routes.

import {
  type AnswerOf,
  connect,
  type GatePageBody,
  type PlanChecked,
  type RedraftBody,
  type RemoteEngine,
  type TaskPageBody,
} from '../../src/client/client.ts'
import type { Event } from '../../src/domain/event.ts'
import type { Shown } from '../../src/domain/gates/consent.ts'
import { defined } from '../../src/domain/json.ts'
import type { CountedDecision } from '../../src/domain/network-decision.ts'
import type { PlanStatus } from '../../src/domain/status.ts'
import type { LogService } from '../log/log-source.ts'
import { noteServerTime } from './server-clock.ts'
import { shown } from './shown.ts'

async function timedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init)
  noteServerTime(response)
  return response
}

export const engine: RemoteEngine = connect({ url: location.origin, fetch: timedFetch })

export class Problem extends Error {
  override readonly name = 'Problem'
  readonly status: number
  readonly hint: string | null
  readonly faults: readonly {
    readonly path: string
    readonly message: string
    readonly hint?: string
    readonly line?: number
  }[]

  constructor(status: number, detail: string, hint: string | null, faults: Problem['faults'] = []) {
    super(detail)
    this.status = status
    this.hint = hint
    this.faults = faults
  }
}

export interface Identity {
  readonly actor: string
  readonly role: 'viewer' | 'operator' | 'approver' | 'admin'
}

const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json' }

async function http<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown, type?: string): Promise<T> {
  let response: Response
  try {
    response = await timedFetch(path, {
      method,
      headers: {
        ...JSON_HEADERS,
        ...(type === undefined ? {} : { 'content-type': type }),
        ...(method === 'POST' ? { 'idempotency-key': newKey() } : {}),
      },
      ...(body === undefined ? {} : { body: type === undefined ? JSON.stringify(body) : (body as string) }),
    })
  } catch {
    throw new Problem(0, 'the service does not answer', 'is `planfold serve` running?')
  }
  const text = await response.text()
  const read = text === '' ? null : parsed(text)
  if (response.ok) return read as T
  const { detail, hint, faults } = (read ?? {}) as { detail?: string; hint?: string; faults?: Problem['faults'] }
  throw new Problem(response.status, detail ?? `the service answered ${response.status}`, hint ?? null, faults ?? [])
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('')

// ── who ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Removes the code of a sign-in link from the address before any request, and exchanges it for the cookie. */
export async function signInByLink(): Promise<Problem | null> {
  const code = new URLSearchParams(location.hash.slice(1)).get('code')
  if (code === null) return null
  history.replaceState(null, '', location.pathname + location.search)
  try {
    await http('POST', '/auth/code', { code })
    return null
  } catch (error) {
    return error as Problem
  }
}

export const whoami = (): Promise<Identity> => http('GET', '/auth')

// ── plans ────────────────────────────────────────────────────────────────────────────────────────────────────────

export type PlanRow = AnswerOf<'overview'>['items'][number]
export type InboxEntry = AnswerOf<'inbox'>['items'][number]

export interface PlansAsked {
  readonly order?: 'newest' | 'updated' | 'name' | 'cost'
  readonly since?: number
  readonly text?: string
  readonly statuses?: readonly PlanStatus[]
  /** Only plans with something in the inbox. */
  readonly waiting?: true
}
export interface PlanList {
  readonly rows: readonly PlanRow[]
  readonly total: number
  /** Counts by state, independent of the state filter. */
  readonly statuses: AnswerOf<'overview'>['statuses']
  /** Of these plans, those with something in the inbox, by state. Plans that have ended are not counted. */
  readonly asking: { readonly [status in PlanStatus]?: number }
}

const PLANS_PAGE = 100

/** The first `wanted` plans. Without a state filter, plans with something in the inbox are always included, however old. */
export async function listPlans(
  { statuses = [], waiting, ...asked }: PlansAsked = {},
  wanted = PLANS_PAGE,
): Promise<PlanList> {
  const query = { type: 'overview', archived: false, ...asked } as const
  const rows = new Map<string, PlanRow>()
  const ask = async (more: object): Promise<AnswerOf<'overview'>> => {
    const page = await engine.ask({ ...query, limit: PLANS_PAGE, ...more })
    for (const row of shown(page.items)) rows.set(row.id, row)
    return page
  }
  let total = 0
  let counts: PlanList['statuses'] | null = null
  for (const status of statuses.length === 0 ? [undefined] : statuses) {
    const only = defined({ status, waiting })
    let page = await ask(only)
    total += page.total
    counts ??= page.statuses
    while (page.next !== null && rows.size < wanted) page = await ask({ ...only, cursor: page.next })
  }
  const isWhole = statuses.length === 0 && rows.size >= total
  const asking = isWhole ? [...rows.values()] : []
  // Read on to the last page: a plan that waits may be old.
  for (let page = isWhole ? null : await ask({ waiting: true }); page !== null; ) {
    asking.push(...page.items)
    page = page.next === null ? null : await ask({ waiting: true, cursor: page.next })
  }
  const known = statuses.length === 0 ? rows : new Map([...rows].filter(([, row]) => statuses.includes(row.status)))
  return { rows: [...known.values()], total, statuses: counts!, asking: countByStatus(asking.filter(isAsking)) }
}

const OVER: readonly PlanStatus[] = ['completed', 'failed', 'cancelled']
/** Waits for a person's answer. What an ended plan still asks does not hold it up. */
export const isAsking = ({ status, waiting }: PlanRow): boolean =>
  !OVER.includes(status) && (status === 'blocked' || (waiting ?? 0) > 0)

function countByStatus(rows: readonly PlanRow[]): PlanList['asking'] {
  const counts: { [status in PlanStatus]?: number } = {}
  for (const { status } of rows) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

interface Moved {
  readonly plan_id?: string
  readonly id?: string
  readonly name: string
}

export const createFromGoal = (goal: string): Promise<Moved> => http('POST', '/plans', { goal })
export const createFromText = (text: string, start: boolean): Promise<Moved> =>
  http('POST', `/plans${start ? '?start=true' : ''}`, text, 'application/yaml')
/** Validates the text without writing. Throws the errors with their positions. */
export const checkText = (text: string): Promise<PlanChecked> =>
  http('POST', '/plans?dry_run=true', text, 'application/yaml')

export interface TemplateItem {
  readonly name: string
  readonly title: string | null
  readonly about: string | null
  readonly parameters: readonly string[]
  readonly fault: string | null
}
export interface TemplateParameter {
  readonly name: string
  readonly type: string
  readonly about: string
  readonly required: boolean
  readonly default: unknown
  readonly values?: readonly unknown[]
}
export const listTemplates = async (): Promise<readonly TemplateItem[]> =>
  (await http<{ items: readonly TemplateItem[] }>('GET', '/templates')).items
export const showTemplate = (
  name: string,
): Promise<
  Omit<TemplateItem, 'parameters'> & { readonly parameters: readonly TemplateParameter[]; readonly document: string }
> => http('GET', `/templates/${encodeURIComponent(name)}`)
export const createFromTemplate = (
  template: string,
  values: { readonly [name: string]: unknown },
  name: string | undefined,
): Promise<Moved> =>
  http('POST', `/templates/${encodeURIComponent(template)}/plans`, { values, ...(name === undefined ? {} : { name }) })

export type PlanVerb = 'execute' | 'pause' | 'resume' | 'cancel'
export const orderPlan = (plan: string, verb: PlanVerb, body: object = {}): Promise<unknown> =>
  http('POST', `/plans/${encodeURIComponent(plan)}/${verb}`, body)
export const orderTask = (plan: string, task: string, verb: 'retry' | 'skip', body: object = {}): Promise<unknown> =>
  http('POST', `/plans/${encodeURIComponent(plan)}/tasks/${encodeURIComponent(task)}/${verb}`, body)

export interface AgentItem {
  readonly name: string
  readonly title: string
  readonly installed: boolean
  readonly version: string | null
  readonly passed_at: string | null
  readonly install: string | null
  readonly needs_model: boolean
}
export const listAgents = (): Promise<{ readonly items: readonly AgentItem[]; readonly preferred: string | null }> =>
  http('GET', '/agents')
export const setWorker = (plan: string, agent: string, task: string | null): Promise<unknown> =>
  http('POST', `/plans/${encodeURIComponent(plan)}/worker`, { agent, ...(task === null ? { commit: true } : { task }) })
export const planDefinition = async (plan: string) => {
  const found = await engine.ask({ type: 'definition', plan })
  return found === null ? null : shown(found.definition)
}

// ── what happened ────────────────────────────────────────────────────────────────────────────────────────────────

export interface EntryItem {
  readonly version: number
  readonly actor: string
  readonly at: string
  readonly events: readonly Event[]
}
/** Newest first; `next` is null at the beginning of the journal. */
export const listEntries = (
  plan: string,
  { before, limit }: { readonly before?: number; readonly limit: number },
): Promise<{ readonly items: readonly EntryItem[]; readonly next: string | null }> =>
  http<{ readonly items: readonly EntryItem[]; readonly next: string | null }>(
    'GET',
    `/plans/${encodeURIComponent(plan)}/entries?order=newest&command=false&limit=${limit}${before === undefined ? '' : `&before=${before}`}`,
  ).then(shown)

// ── what waits ───────────────────────────────────────────────────────────────────────────────────────────────────

export async function listInbox(): Promise<readonly InboxEntry[]> {
  const { items } = await engine.ask({ type: 'inbox' })
  return items.map(item => {
    const { asks } = item
    // The form is sent back with the answer, so it stays unescaped.
    return 'form' in asks ? { ...shown(item), asks: { ...shown(asks), form: asks.form } } : shown(item)
  })
}

/** What became of a request; null for an unknown id. */
export const inboxFate = async (id: string) => shown(await engine.ask({ type: 'inboxFate', id }))

export type PlanDiff = Extract<InboxEntry['asks'], { readonly type: 'proposal' }>['changes']

export interface AnswerBody {
  readonly answer: string
  readonly rationale?: string
  readonly hash?: string
  readonly option?: string
  readonly answers?: { readonly [name: string]: unknown }
  readonly to?: string
}

export const answerInbox = (id: string, body: AnswerBody): Promise<{ readonly told: readonly string[] }> =>
  http('POST', `/inbox/${encodeURIComponent(id)}/answer`, body)

export type NamedFile = NonNullable<GatePageBody['consent']>['files'][number]
type GatePage = GatePageBody & { readonly consent: { readonly shown: Shown } | null }
export const gatePage = (plan: string, gate: string): Promise<GatePage> =>
  http<GatePage>('GET', `/plans/${encodeURIComponent(plan)}/gates/${encodeURIComponent(gate)}`).then(shown)

// ── the plan as text ─────────────────────────────────────────────────────────────────────────────────────────────

export async function planText(plan: string, revision: number): Promise<string> {
  const { text, document } = await http<{ readonly text: string | null; readonly document: object }>(
    'GET',
    `/plans/${encodeURIComponent(plan)}/revisions/${revision}`,
  )
  return text ?? JSON.stringify(document, null, 2)
}
interface Revised {
  readonly summary: string
  readonly diff: PlanDiff
}
export const tryRevision = (plan: string, document: string): Promise<Revised> =>
  http('POST', `/plans/${encodeURIComponent(plan)}/revisions`, { document, dry_run: true })
export const revise = (plan: string, document: string, rationale: string, revision: number): Promise<Revised> =>
  http('POST', `/plans/${encodeURIComponent(plan)}/revisions`, { document, rationale, expected_revision: revision })
export interface DraftComment {
  readonly task: string | null
  readonly text: string
}
/** A preview of the next draft, which takes the comments into account; nothing is written. */
export type Redraft = RedraftBody & Revised
export const redraft = (plan: string, comments: readonly DraftComment[]): Promise<Redraft> =>
  http('POST', `/plans/${encodeURIComponent(plan)}/redraft`, { comments })
export const approveWithEdits = (plan: string, gate: string, body: object): Promise<unknown> =>
  http('POST', `/plans/${encodeURIComponent(plan)}/gates/${encodeURIComponent(gate)}/approve`, body)

export const planSummary = (plan: string) => engine.ask({ type: 'summary', plan })
/** Tasks that could start if other plans had not reserved their files. */
export const heldFiles = async (plan: string) => (await engine.ask({ type: 'next', plan }))?.held ?? []

// ── one task ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** Unescaped: `terminal/terminal-line.ts` reads it as a terminal would. */
export const taskLog = (plan: string, task: string): LogService => ({
  chunks: range => engine.ask({ type: 'logs', plan, task, ...range }),
  linesBefore: before => engine.ask({ type: 'linesBefore', plan, task, before }),
})
/** `patch` is a unified diff; `why` says why there is none. */
export interface ChangedFile {
  readonly path: string
  readonly patch: readonly string[] | null
  readonly why: string | null
  readonly change?: 'created' | 'changed' | 'deleted'
}
type Attempt = Omit<TaskPageBody['attempts'][number], 'network'> & { readonly network: readonly CountedDecision[] }
type TaskPage = Omit<TaskPageBody, 'attempts'> & { readonly attempts: readonly Attempt[] }
/** Everything about one task in one request: attempts, line diffs, what would run. */
export const taskPage = (
  plan: string,
  task: string,
  which: { readonly visit?: number; readonly attempt?: number; readonly tried?: string } = {},
): Promise<TaskPage> =>
  http<TaskPage>(
    'GET',
    `/plans/${encodeURIComponent(plan)}/tasks/${encodeURIComponent(task)}?${new URLSearchParams(
      Object.entries(which).map(([key, value]) => [key, String(value)]),
    )}`,
  ).then(shown)

// ── going back ───────────────────────────────────────────────────────────────────────────────────────────────────

export const listArtifacts = (plan: string, task: string) => engine.ask({ type: 'artifacts', plan, task })
export const listCheckpoints = (plan: string) => engine.ask({ type: 'checkpoints', plan })
type Including = { readonly includeUnclaimed?: true }
/** Without a checkpoint: before the first task. */
export const previewRollback = (plan: string, to: string | null, including: Including) =>
  engine.ask({ type: 'rollbackPreview', plan, ...(to === null ? {} : { to }), ...including })
export const previewUndo = (plan: string, including: Including = {}) =>
  engine.ask({ type: 'rollbackPreview', plan, undo: true, ...including })
/** What a rollback changes, line by line: from each file as the plan left it to the file as it would be. */
export const rollbackDiffs = async (plan: string, back: { readonly to?: string; readonly undo?: true } & Including) =>
  shown(await engine.ask({ type: 'rollbackDiffs', plan, ...back }))
export const diffCheckpoints = (plan: string, from: string) => engine.ask({ type: 'checkpointDiff', plan, from })

const ROLLBACK_WAIT_SECONDS = 25
export async function undoPlan(
  plan: string,
  { every, includeUnclaimed, force }: Including & { readonly every?: string; readonly force?: boolean },
) {
  const path = `/plans/${encodeURIComponent(plan)}/rollback`
  const done = await http<{ readonly status: string }>('POST', path, {
    wait_seconds: ROLLBACK_WAIT_SECONDS,
    ...(every === undefined ? {} : { every }),
    ...(includeUnclaimed === undefined ? {} : { include_unclaimed: true }),
    ...(force === true ? { force } : {}),
  })
  if (done.status !== 'rollback_completed')
    throw new Problem(409, 'the rollback is not done yet', 'see the plan, and cancel it when it is')
  await orderPlan(plan, 'cancel', { reason: 'undone' })
}

export async function order(plan: string, one: Parameters<RemoteEngine['submit']>[1]): Promise<void> {
  const done = await engine.submit(plan, one)
  if (!done.ok)
    throw new Problem(409, done.refusal.message, typeof done.refusal.hint === 'string' ? done.refusal.hint : null)
}
