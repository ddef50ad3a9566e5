// One plan in the web UI: the fold of its journal, by the same rules as the service, and its changes since the last frame.

import type { Entry } from '../../src/client/client.ts'
import { actionFacts } from '../../src/domain/actions/actions.ts'
import { plainHint } from '../../src/domain/hint.ts'
import type { Json, JsonObject } from '../../src/domain/json.ts'
import type { PlanDefinition } from '../../src/domain/plan.ts'
import { criterionText } from '../../src/domain/plan-rules/criterion-text.ts'
import { effectOf } from '../../src/domain/plan-rules/effect.ts'
import { peopleIn, peopleLines } from '../../src/domain/policy/plan-roles.ts'
import { retryOf } from '../../src/domain/recovery/retry.ts'
import { evolve } from '../../src/domain/state/evolve.ts'
import { newState, unpackFold } from '../../src/domain/state/fold.ts'
import type { PlanState, TaskState } from '../../src/domain/state/state.ts'
import { isClaimable } from '../../src/domain/state/task-index.ts'
import { ENDED } from '../../src/domain/status.ts'
import { explain } from '../../src/domain/views/board.ts'
import { commandLines } from '../../src/domain/views/pages/foreign-text.ts'
import { irreversibleTasks, questionsIn, taskFacts } from '../../src/domain/views/pages/task-facts.ts'
import { planStatus } from '../../src/domain/views/summary.ts'
import type { DraftWords, Look, PlanFrame, PlanHead, TaskDetail, TaskView } from './live-messages.ts'

interface Spent {
  /** Null as soon as one price is unknown. */
  readonly usd: number | null
  readonly tokens: number
}

export class PlanFold {
  state: PlanState = newState()
  #sent = new Map<string, TaskView>()
  #sentRevision = 0
  #cost: Spent | null = null
  #spent: Spent = { usd: 0, tokens: 0 }

  get version(): number {
    return this.state.version
  }

  /** Starts from a stored state. False if a task may have used a model: only the whole journal has the cost of all attempts. */
  start(fold: JsonObject, definition: PlanDefinition): boolean {
    const state = unpackFold(fold, definition)
    const isPaid = (task: TaskState): boolean =>
      actionFacts(task.definition.action).prompts === true || task.result?.model !== undefined
    if (state.order.some(isPaid)) return false
    this.state = state
    return true
  }

  /** Applies the next entry. Returns false if entries before it are missing: then read on from `version`. */
  read(entry: Entry): boolean {
    if (entry.version <= this.state.version) return true
    if (entry.version !== this.state.version + 1) return false
    for (const event of entry.events) {
      evolve(this.state, event, entry.now)
      const use = event.type === 'attempt.succeeded' || event.type === 'attempt.failed' ? event.result.model : undefined
      if (use !== undefined) {
        const { usd } = this.#spent
        this.#spent = {
          // An unknown cost is not zero.
          usd: usd === null || !use.cost.known ? null : usd + use.cost.usd,
          tokens: this.#spent.tokens + use.usage.inputTokens + use.usage.outputTokens,
        }
        this.#cost = this.#spent
      }
    }
    this.state.version = entry.version
    this.state.updatedAt = entry.now
    return true
  }

  whole(): PlanFrame {
    return { head: this.#head(), tasks: this.state.order.map(task => viewOf(this.state, task)), whole: true }
  }

  /** The changes since the last call; everything after a revision. */
  changes(): PlanFrame {
    if (this.#sentRevision !== this.state.revision || this.#sent.size !== this.state.order.length) {
      this.#sentRevision = this.state.revision
      const frame = this.whole()
      this.#sent = new Map(frame.tasks.map(task => [task.name, task]))
      return frame
    }
    const tasks: TaskView[] = []
    for (const task of this.state.order) {
      const before = this.#sent.get(task.definition.id)
      if (before !== undefined && isSame(before, task, this.state)) continue
      const now = viewOf(this.state, task)
      this.#sent.set(now.name, now)
      tasks.push(now)
    }
    return { head: this.#head(), tasks, whole: false }
  }

  detail(name: string, now: number): TaskDetail | null {
    const task = this.state.tasks.get(name as never)
    return task === undefined ? null : detailOf(this.state, task, now)
  }

  #head(): PlanHead {
    const { state } = this
    const { definition } = state
    return {
      id: state.id,
      name: definition.name,
      title: definition.title ?? null,
      goal: definition.goal ?? null,
      status: planStatus(state),
      revision: state.revision,
      version: state.version,
      createdAt: state.createdAt,
      startedAt: state.startedAt,
      endedAt: state.endedAt,
      updatedAt: state.updatedAt,
      reason: state.reason,
      archived: state.archived,
      rollingBack: state.rollback !== null,
      counts: { ...state.counts },
      cost: this.#cost?.usd ?? null,
      tokens: this.#cost?.tokens ?? 0,
      people: peopleLines(peopleIn(definition, null) ?? {}),
      draft: planStatus(state) === 'draft' ? draftWords(state.definition) : null,
    }
  }
}

export function lookOf(task: Pick<TaskState, 'status' | 'retryAt' | 'gate'>): Look {
  if (task.status === 'ready' && task.retryAt !== null) return 'retrying'
  if (task.status === 'waiting' && task.gate?.asks.type === 'unknown-outcome') return 'lost'
  return task.status
}

function viewOf(state: PlanState, task: TaskState): TaskView {
  const { definition } = task
  const { action } = definition
  const children = action.type === 'group' ? action.children : null
  return {
    name: definition.id,
    title: definition.title ?? null,
    kind: definition.kind ?? null,
    assignee: definition.assignee ?? null,
    action: action.type,
    look: lookOf(task),
    status: task.status,
    needs: action.type === 'verify' ? lastOf(state) : (definition.needs ?? []),
    on: definition.on ?? {},
    optional: definition.optional ?? false,
    visit: task.visit,
    attempt: task.attempt,
    startedAt: task.startedAt,
    endedAt: task.endedAt,
    retryAt: task.retryAt,
    isLater: task.status === 'ready' && task.retryAt !== null && task.waitsSince !== null,
    asks: task.gate?.asks.type ?? null,
    since: task.gate?.since ?? null,
    reason: task.gate?.asks.type === 'verdict' ? null : task.reason,
    by: task.claim?.by ?? null,
    estimateMs: definition.estimateMs ?? null,
    children,
    childrenDone: childrenDone(state, task),
  }
}

/** The final checks come after everything: drawn as needing all tasks that no other task needs. */
const lastOf = (state: PlanState): readonly string[] =>
  state.order.flatMap(({ definition, dependants }) =>
    dependants.length === 0 && definition.action.type !== 'verify' ? [definition.id] : [],
  )

function childrenDone(state: PlanState, { definition: { action } }: TaskState): number {
  if (action.type !== 'group') return 0
  return action.children.filter(name => ENDED.has(state.tasks.get(name)?.status ?? 'pending')).length
}

/** Compared field by field: only these change while the definition stays. */
function isSame(before: TaskView, task: TaskState, state: PlanState): boolean {
  return (
    before.status === task.status &&
    before.attempt === task.attempt &&
    before.visit === task.visit &&
    before.startedAt === task.startedAt &&
    before.endedAt === task.endedAt &&
    before.retryAt === task.retryAt &&
    before.since === (task.gate?.since ?? null) &&
    before.asks === (task.gate?.asks.type ?? null) &&
    before.by === (task.claim?.by ?? null) &&
    (before.reason === task.reason || task.gate !== null) &&
    before.needs === (task.definition.needs ?? before.needs) &&
    (before.children === null || before.childrenDone === childrenDone(state, task))
  )
}

function detailOf(state: PlanState, task: TaskState, now: number): TaskDetail {
  const { definition, result } = task
  const use = result?.model ?? null
  return {
    view: viewOf(state, task),
    definition,
    effect: effectOf(state.definition, definition),
    attemptsMax: retryOf(state.definition, definition).attempts,
    why: plainHint(explain(state, task, now)),
    claimable: isClaimable(state, task),
    dependants: task.dependants.map(one => one.definition.id),
    outputs: result?.outputs ?? null,
    outcome: result?.status === 'succeeded' ? (result.outcome ?? null) : null,
    exit: result?.exit ?? null,
    failure: result?.status === 'failed' ? result.failure : null,
    verdicts: result?.verdicts ?? [],
    feedback: task.feedback.map(({ by, text }) => ({ by, text })),
    cost: use?.cost.known === true ? use.cost.usd : null,
    model: use === null ? null : { model: use.model, calls: use.calls, usage: { ...use.usage } },
    wrotePaths: result?.wrote?.paths ?? null,
    race: task.race ?? null,
  }
}

/** The description of a draft, from the plan, its tasks, and the planner's notes. */
function draftWords(definition: PlanDefinition): DraftWords {
  const { done = [], tasks, extra = {} } = definition
  const { rationale, questions, assumptions, risks, comments } = (extra.planning ?? {}) as JsonObject
  return {
    why: typeof rationale === 'string' && rationale !== '' ? rationale : null,
    done: done.map(criterionText),
    runs: commandLines(tasks),
    tasks: tasks.flatMap(task => {
      const facts = taskFacts(definition, task, null)
      return facts.length === 0 ? [] : [`${task.id}: ${facts.join(' · ')}`]
    }),
    questions: questionsIn(definition, texts(questions)),
    irreversible: irreversibleTasks(definition),
    assumptions: once([...texts(assumptions), ...tasks.flatMap(task => task.assumptions ?? [])]),
    risks: once([...texts(risks), ...tasks.flatMap(task => task.risks ?? [])]),
    comments: commentsIn(comments),
  }
}

const texts = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? value.filter(one => typeof one === 'string') : []
function commentsIn(value: Json | undefined): DraftWords['comments'] {
  if (!Array.isArray(value)) return []
  return value.flatMap(one => {
    if (one === null || typeof one !== 'object' || Array.isArray(one)) return []
    const { task, text } = one as JsonObject
    return typeof text === 'string' ? [{ task: typeof task === 'string' ? task : null, text }] : []
  })
}
const once = (all: readonly string[]): readonly string[] => [...new Set(all)]
