// Why the lines of a file are there: which task wrote them, how, and who approved; for lines that no plan of this store wrote, the commit.
// Without a store only the commits answer.

import type { EventOf } from '../../domain/event.ts'
import { next } from '../../domain/hint.ts'
import type { PlanId, PlanName, TaskName } from '../../domain/id.ts'
import { numberOf } from '../../domain/phrases.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { agentRequest } from '../../domain/plan-rules/agent-request.ts'
import { isConfidential } from '../../domain/plan-rules/confidential.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import { agentProgram } from '../../domain/result.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { taskHistory } from '../../domain/views/pages/task-page.ts'
import type { RecordNamed, WhyCommit, WhyOrigin, WhyPart, WhyTask } from '../../domain/views/pages/why-lines.ts'
import { mapLines, textLines } from '../../format/text/line-map.ts'
import { sha256Of } from '../../safety/files/regular-file.ts'
import { parseRelativePath } from '../../safety/files/relative-path.ts'
import { failureOf } from '../../safety/safety-refusal.ts'
import type { Entry } from '../../stores/store.ts'
import type { TreeEntry } from '../../workspace/workspace.ts'
import { type RecordedChange, RecordedChanges, readNow } from '../files/recorded-changes.ts'
import type { WhyAnswer } from '../queries.ts'
import type { Rooms } from '../rooms.ts'
import { type LineOrigin, lineOrigins } from './line-origins.ts'
import { agentOf } from './task-page.ts'
import { wholeJournal } from './verify-chain.ts'

export interface WhyAsk {
  readonly path: string
  /** All lines if absent. */
  readonly line?: number
}

type Place = Pick<Rooms, 'root' | 'stateDir' | 'git'>

/** `place`: of the plan in whose folder the file is; null for the workspace. */
export async function why(rooms: Rooms, place: string | null, ask: WhyAsk): Promise<WhyAnswer> {
  return await answerWhy(rooms, await RecordedChanges.read(rooms, place), ask)
}

/** In a clone without a store. */
export const whyByCommits = (place: Place, ask: WhyAsk): Promise<WhyAnswer> => answerWhy(place, null, ask)

async function answerWhy(rooms: Place | Rooms, changes: RecordedChanges | null, ask: WhyAsk): Promise<WhyAnswer> {
  const checked = normalised(ask.path)
  if (typeof checked !== 'string') return { ok: false, refusal: checked }
  const path = checked
  const read = await readNow(rooms, path)
  if (!read.ok) return { ok: false, refusal: refuse('invalid', read.failure.message, read.failure.hint) }
  const bytes = read.value
  const text = bytes === null ? null : textLines(bytes)
  const now: TreeEntry | null =
    bytes === null ? null : { type: 'file', mode: 0o644, size: bytes.length, sha256: sha256Of(bytes) }
  if (now !== null) changes?.learn(now, text)
  const versions = (await changes?.backwards(path, now)) ?? []
  const origins = new Origins('store' in rooms ? rooms : null)
  const missing = changes?.missing ?? 0
  const lacks =
    missing === 0 ? [] : [`${numberOf(missing, 'list of changes', 'lists of changes')} of older plans were pruned`]
  if (now === null) {
    const last = versions[0]
    if (last === undefined)
      return { ok: false, refusal: refuse('not-found', `there is no file '${path}', and no plan wrote one`, HINT) }
    const deleted: LineOrigin =
      last.after === null ? { by: 'task', change: last } : { by: 'hand', after: last, before: null }
    await origins.place(deleted, null)
    return { ok: true, why: { path, basis: 'gone', lines: 0, parts: [], origins: origins.all, lacks } }
  }
  const lines = text?.length ?? 0
  if (text !== null && ask.line !== undefined && (ask.line < 1 || ask.line > lines)) {
    const message = `'${path}' has ${numberOf(lines, 'line')}, and no line ${ask.line}`
    return { ok: false, refusal: refuse('invalid', message, 'name one of them, or the file alone') }
  }
  const asked = text === null ? [1] : ask.line === undefined ? text.map((_, at) => at + 1) : [ask.line]
  const found = changes === null ? null : await lineOrigins({ changes, versions }, now, asked)
  const originAt = (line: number): LineOrigin => found?.get(line) ?? { by: 'before' }
  const unwritten = asked.filter(line => ['before', 'hand'].includes(originAt(line).by))
  const blamed = await blamedLines(rooms, [path, versions.at(-1)?.from ?? path], text, unwritten)
  const parts: WhyPart[] = []
  for (const line of asked) {
    const origin = await origins.place(originAt(line), blamed.commits.get(line) ?? null)
    const last = parts.at(-1)
    if (last?.origin === origin) parts[parts.length - 1] = { ...last, to: line }
    else parts.push({ from: line, to: line, origin })
  }
  const shown = text === null ? { basis: 'whole' as const, parts: [] } : { basis: 'text' as const, parts }
  return { ok: true, why: { path, lines, ...shown, origins: origins.all, lacks: [...lacks, ...blamed.lacks] } }
}

const HINT = 'name a file of the workspace, relative to it'

function normalised(path: string): string | Refusal {
  try {
    return parseRelativePath(path).join('/')
  } catch (error) {
    const failure = failureOf('why', error)
    if (failure === null) throw error
    return refuse('invalid', failure.message, failure.hint)
  }
}

/** The commits of lines that no plan wrote. `names`: what the file is called, and was before the first record. */
async function blamedLines(
  { git }: Place,
  names: readonly string[],
  text: readonly string[] | null,
  asked: readonly number[],
): Promise<{ readonly commits: ReadonlyMap<number, WhyCommit>; readonly lacks: readonly string[] }> {
  const commits = new Map<number, WhyCommit>()
  if (git === undefined || asked.length === 0) return { commits, lacks: [] }
  for (const path of new Set(names)) {
    const committed = new Map<number, number>()
    const lines = (content: Uint8Array): readonly number[] => {
      const old = textLines(content)
      const map = text === null || old === null ? null : mapLines(old, text)
      for (const line of asked) {
        const place = map?.older(line) ?? null
        if (place !== null) committed.set(place, line)
      }
      return [...committed.keys()]
    }
    const answer = await git.blame({ path, lines })
    if (!answer.ok) return { commits, lacks: answer.failure.class === 'logic' ? [] : [answer.failure.message] }
    if (answer.value === null) continue
    for (const [place, commit] of answer.value.lines)
      if (committed.has(place)) commits.set(committed.get(place)!, commit)
    break
  }
  return { commits, lacks: [] }
}

// Facts about an origin, each once.

interface OfTask {
  readonly plan: PlanId
  readonly task: TaskName
  readonly visit: number | null
  readonly attempt: number | null
  readonly entry: number | null
}

class Origins {
  readonly all: WhyOrigin[] = []
  readonly #rooms: Rooms | null
  readonly #known = new Map<string, number>()
  readonly #plans = new Map<PlanId, Promise<{ readonly state: PlanState; readonly entries: readonly Entry[] } | null>>()

  constructor(rooms: Rooms | null) {
    this.#rooms = rooms
  }

  /** The number of the origin in the list. */
  async place(origin: LineOrigin, commit: WhyCommit | null): Promise<number> {
    const key = keyOf(origin, commit)
    const known = this.#known.get(key)
    if (known !== undefined) return known
    this.all.push(await this.#of(origin, commit))
    this.#known.set(key, this.all.length - 1)
    return this.all.length - 1
  }

  async #of(origin: LineOrigin, commit: WhyCommit | null): Promise<WhyOrigin> {
    switch (origin.by) {
      case 'task': {
        const { record, path } = origin.change
        const { event, plan, version } = record
        if (!('task' in event) || event.task === undefined) return await this.#planOf(origin.change)
        const { visit, attempt } = 'attempt' in event ? event : { visit: null, attempt: null }
        const of = { plan, task: event.task as TaskName, visit, attempt, entry: version }
        return (await this.#taskOf(of, path, null)) ?? (await this.#planOf(origin.change))
      }
      case 'plan':
        return await this.#planOf(origin.change)
      case 'unknown':
        return { by: 'unknown', change: await this.#named(origin.change) }
      default: {
        const written = commit === null ? null : await this.#committedBy(commit)
        if (written !== null) return written
        if (commit !== null && (origin.by === 'before' || commit.planfold !== null)) return { by: 'commit', commit }
        if (origin.by === 'before') return { by: 'nobody' }
        const { after, before } = origin
        const until = before === null ? null : await this.#named(before)
        return { by: 'hand', since: await this.#named(after), until, commit }
      }
    }
  }

  /** A commit of a task of this store, which worked in another folder. */
  async #committedBy(commit: WhyCommit): Promise<WhyTask | null> {
    const { plan: id, task, visit, attempt } = commit.planfold ?? { plan: null, task: null }
    const plan = id === null ? undefined : (await this.#rooms?.store.find(id))?.plan
    if (plan === undefined || task === null) return null
    return await this.#taskOf({ plan, task: task as TaskName, visit, attempt, entry: null }, '', commit)
  }

  async #named({ record }: RecordedChange): Promise<RecordNamed> {
    const { plan, event, now, version } = record
    const name = (await this.#plan(plan))?.state.definition.name ?? (plan as string as PlanName)
    const task = 'task' in event && event.task !== undefined ? event.task : null
    return { plan, name, task, at: now, entry: version }
  }

  async #planOf(change: RecordedChange): Promise<WhyOrigin> {
    const { plan, name, at } = await this.#named(change)
    return { by: 'plan', plan, name, at, actor: change.record.actor }
  }

  async #taskOf(of: OfTask, path: string, commit: WhyCommit | null): Promise<WhyTask | null> {
    const journal = await this.#plan(of.plan)
    if (journal === null) return null
    const { state, entries } = journal
    const until = of.entry === null ? entries : entries.filter(({ version }) => version <= of.entry!)
    const definition = definitionAt(until, of.task) ?? state.definition
    const task = definition.tasks.find(({ id }) => id === of.task) ?? state.tasks.get(of.task)?.definition
    if (task === undefined) return null
    const own = task.action.type === 'agent' ? agentOf({ definition }, { definition: task }) : null
    const agent = triedBy(until, of) ?? own
    const { attempts } = taskHistory(until, of.task, agent)
    const isNamed = (one: (typeof attempts)[number]): boolean =>
      (of.visit === null || one.visit === of.visit) && (of.attempt === null || one.attempt === of.attempt)
    const attempt = attempts.findLast(isNamed)
    const confidential = isConfidential(definition, task)
    const { name } = state.definition
    const entry = of.entry ?? attempt?.entry ?? 0
    return {
      by: 'task',
      plan: of.plan,
      name,
      task: of.task,
      title: task.title ?? null,
      path,
      visit: of.visit ?? attempt?.visit ?? 1,
      attempt: of.attempt ?? attempt?.attempt ?? 1,
      status:
        of.visit === null && commit === null
          ? 'undone'
          : attempt === undefined || attempt.status === 'running'
            ? 'unknown'
            : attempt.status,
      at: attempt?.endedAt ?? commit?.at ?? until.at(-1)?.now ?? 0,
      entry,
      action: task.action.type,
      agent,
      model: modelOf(until, definition, task, of, agent),
      claimedBy: attempt?.by ?? null,
      instruction: confidential ? null : (task.instruction ?? task.description ?? null),
      isConfidential: confidential,
      checks: (attempt?.verdicts ?? [])
        .filter(({ holds }) => holds === true)
        .map(({ criterion }) => criterion)
        .slice(0, CHECKS_MAX),
      approvals: approvalsOf(entries, state, of.task),
      commit,
      undo:
        commit !== null
          ? `git revert ${commit.id.slice(0, 12)}`
          : state.tasks.has(of.task)
            ? [next('rollback', { plan: name, tasks: [of.task] })]
            : [next('rollback', { plan: name, to: Math.max(1, entry - 1), paths: [path] })],
    }
  }

  async #plan(plan: PlanId) {
    const rooms = this.#rooms
    const known = this.#plans.get(plan)
    if (known !== undefined || rooms === null) return (await known) ?? null
    const read = (async () => {
      const state = await rooms.store.state(plan)
      return state === null ? null : { state, entries: await wholeJournal(rooms.store, plan) }
    })()
    this.#plans.set(plan, read)
    return await read
  }
}

const CHECKS_MAX = 5

function keyOf(origin: LineOrigin, commit: WhyCommit | null): string {
  const named = (change: RecordedChange | null): string => `${change?.record.position} ${change?.path}`
  if ('change' in origin) return `${origin.by} ${named(origin.change)}`
  return origin.by === 'before' ? `${commit?.id}` : `${named(origin.after)} ${named(origin.before)} ${commit?.id}`
}

/** The last definition before the end of these entries that has the task. */
function definitionAt(entries: readonly Entry[], task: TaskName): PlanDefinition | null {
  const defined = entries.flatMap(({ events }) =>
    events.flatMap(event => ('definition' in event ? [event.definition] : [])),
  )
  return defined.findLast(({ tasks }) => tasks.some(({ id }) => id === task)) ?? null
}

/** Whose try was chosen, for an attempt with `tries`. */
function triedBy(entries: readonly Entry[], of: OfTask): string | null {
  const events = entries.flatMap(({ events }) => events)
  const isIts = (event: { readonly task: TaskName; readonly visit: number; readonly attempt: number }): boolean =>
    event.task === of.task && event.visit === of.visit && event.attempt === of.attempt
  const judged = events.findLast(
    (event): event is EventOf<'race.judged'> => event.type === 'race.judged' && isIts(event),
  )
  if (judged?.best == null) return null
  const { round, number } = judged.best
  const tried = events.findLast(
    (event): event is EventOf<'race.tried'> =>
      event.type === 'race.tried' && isIts(event) && event.round === round && event.number === number,
  )
  return tried?.by ?? null
}

function modelOf(
  entries: readonly Entry[],
  plan: PlanDefinition,
  { action }: TaskDefinition,
  of: OfTask,
  agent: string | null,
): string | null {
  const events = entries.flatMap(({ events }) => events)
  const ended = events.findLast(
    event => 'result' in event && 'visit' in event && event.task === of.task && event.visit === of.visit,
  )
  const used = ended !== undefined && 'result' in ended ? ended.result.model?.model : undefined
  if (used !== undefined) return used
  if (action.type !== 'agent') return null
  const programs = events.flatMap(event =>
    'result' in event ? [event.result.programs?.[agentProgram(agent ?? '')]?.model] : [],
  )
  return agentRequest(action)?.model ?? programs.findLast(model => model !== undefined) ?? plan.defaults?.model ?? null
}

/** Approvals of the task itself, and of the nearest gates before and after it. */
function approvalsOf(entries: readonly Entry[], state: PlanState, name: TaskName): WhyTask['approvals'] {
  const task = state.tasks.get(name)
  const gates = new Set<TaskName>([name])
  if (task !== undefined) {
    const before = (one: TaskState): readonly TaskState[] =>
      (one.definition.needs ?? []).flatMap(need => state.tasks.get(need) ?? [])
    for (const step of [before, (one: TaskState) => one.dependants])
      for (const gate of nearestGates(task, step)) gates.add(gate)
  }
  return entries.flatMap(({ events, actor, now }) =>
    events.flatMap(event =>
      event.type === 'gate.decided' &&
      event.verdict === 'approved' &&
      (gates.has(event.task) || event.binds?.[name] !== undefined)
        ? [{ by: event.by ?? actor, of: event.task, at: now }]
        : [],
    ),
  )
}

function nearestGates(task: TaskState, step: (task: TaskState) => readonly TaskState[]): ReadonlySet<TaskName> {
  const [found, seen] = [new Set<TaskName>(), new Set([task])]
  for (const one of seen) {
    if (one !== task && one.definition.action.type === 'gate') found.add(one.definition.id)
    else for (const other of step(one)) seen.add(other)
  }
  return found
}
