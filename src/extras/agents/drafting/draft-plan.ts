// Drafts a plan with an agent: one turn in a read-only sandbox, outside of any plan. What it submits with its plan tools is the
// draft.

import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { VERSION } from '../../../cli/version.ts'
import { compose } from '../../../compose.ts'
import { ABOUT } from '../../../composition/environment.ts'
import type { PlanId, TaskName } from '../../../domain/id.ts'
import { addCost, addUsage, type ModelUse } from '../../../domain/model-use.ts'
import type { PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import type { Failure } from '../../../domain/result.ts'
import type { EarlierAttempt } from '../../../domain/views/board.ts'
import { systemClock } from '../../../engine/clock.ts'
import { type Caller, RIGHTS } from '../../../engine/roles.ts'
import type { CodingAgents, DraftWithAgent } from '../../../operations/agents/coding-agents.ts'
import type { Allowance, GatewayParked, ModelCallRecord } from '../../../runners/models.ts'
import { processTree } from '../../../runners/run/process-tree.ts'
import type { AgentTools, Attempt, Outcome, RunnerTools } from '../../../runners/runner.ts'
import { codeOf, failure } from '../../../safety/safety-refusal.ts'
import { bubblewrap } from '../../../safety/sandbox/bubblewrap.ts'
import type { Sandbox } from '../../../safety/sandbox/sandbox.ts'
import { type AgentRunnerOptions, agentRunner } from '../agent-runner.ts'
import { knownAgents, unknownAgent } from '../known-agents.ts'
import { openPlanSocket } from '../plan-socket.ts'

export interface DraftingRequest extends Omit<AgentRunnerOptions, 'tree' | 'openPlanTools'> {
  readonly agent: string
  readonly model?: string
  readonly instruction: string
  readonly what: readonly string[]
  readonly signal: AbortSignal
  readonly root: string
  readonly stateDir: string
  readonly environment: RunnerTools['environment']
  readonly about: string
  readonly now: number
  readonly monotonic: () => number
  readonly id: string
  /** Set by a person; by default from the settings. */
  readonly budget?: Allowance['caps']
  readonly more?: (question: string) => Promise<boolean>
  readonly tell?: (note: string) => void
  readonly calls: () => Promise<readonly ModelCallRecord[]>
  readonly sandbox: Sandbox
  /** Opens a state folder of its own, below this one. */
  readonly openState: (folder: string) => Promise<DraftingState>
}

export interface DraftingState extends Required<Pick<AgentRunnerOptions, 'openPlanTools'>> {
  readonly submitted: () => Promise<PlanDefinition | null>
  readonly close: () => Promise<void>
}

interface Drafting extends DraftingRequest, DraftingState {
  readonly place: DraftingFolder
}

type Used = Pick<ModelUse, 'model' | 'calls' | 'usage' | 'cost'>

type Draft =
  | { readonly ok: true; readonly definition: PlanDefinition; readonly used: Used | null }
  | { readonly ok: false; readonly failure: Failure }

const DRAFTING_MS = 30 * 60_000

/** Bounds the turns if a person keeps raising the budget. */
const TURNS_MAX = 5

export async function draftWithAgent(request: DraftingRequest): Promise<Draft> {
  const place = openDraftingFolder(request)
  let drafted: Draft | null = null
  try {
    const state = await request.openState(place.folder)
    try {
      drafted = await draftIn({ ...request, ...state, place })
      return drafted
    } finally {
      await state.close()
    }
  } finally {
    place.end(drafted)
  }
}

async function draftIn(request: Drafting): Promise<Draft> {
  const { agent, sandbox, place, submitted, tell = () => {} } = request
  const known = await knownAgents(request)
  if (!known.rows.some(({ name }) => name === agent)) {
    const { message, hint } = unknownAgent(agent, known)
    return no(failure('logic', message, hint))
  }
  const sandboxState = await sandbox.check()
  if (!sandboxState.ok) return no(sandboxState.failure)
  const { attempts: before } = place
  // Includes the cost of earlier turns.
  const finished = async (definition: PlanDefinition): Promise<Draft> => {
    return { ok: true, definition, used: usedBy(await request.calls(), place.key) }
  }
  // If an earlier drafting was interrupted after the submission, no model needs to be asked again.
  const found = before === 0 ? null : await submitted()
  if (found !== null) {
    tell(`${agent} submitted this plan before the drafting was interrupted; it was not asked again`)
    return await finished(found)
  }
  const person = new Person(request.more)
  const allowance: Allowance = { caps: request.budget ?? {}, ...person.more }
  for (let turn = 1; ; turn++) {
    place.begin()
    const isAgain = before + turn > 1
    const { outcome, parked, lastMessage } = await oneTurn(request, allowance, before + turn, conversation => {
      if (isAgain) tell(conversation === 'taken up' ? goesOn(agent) : beginsAnew(agent))
    })
    if (outcome.type === 'interrupted')
      return no({ class: 'cancelled', code: 'model:cancelled', message: 'stopped on request', retryable: false })
    const drafted = await submitted()
    // A turn that failed may have submitted a plan before.
    if (drafted !== null) return await finished(drafted)
    // The turn ended before the person had answered.
    if ((await person.allowed()) && turn < TURNS_MAX) continue
    if (parked !== null) return no(usedUp(parked, agent))
    if (outcome.type === 'failed') return no(outcome.failure)
    const last = lastMessage.trim().split('\n').at(-1)?.slice(0, 300) ?? ''
    return no({
      ...failure(
        'logic',
        `${agent} submitted no plan${last === '' ? '' : `; it said last: ${last}`}`,
        'try again, or draft with another planner',
      ),
      code: 'planner:draft',
    })
  }
}

const goesOn = (agent: string): string => `${agent} resumes the conversation that was interrupted`
const beginsAnew = (agent: string): string =>
  `${agent} cannot resume the conversation that was interrupted, and starts again; what it cost so far counts`

const usedUp = ({ reason, hint }: GatewayParked, agent: string): Failure => ({
  ...failure(
    'policy',
    `${reason}. What ${agent} did so far is kept: drafting the same goal with it again continues there`,
  ),
  code: 'model:cap',
  ...(hint === undefined ? {} : { hint }),
})

/** The person who may raise the budget, during a turn and after it gave up waiting. */
class Person {
  readonly more: Pick<Allowance, 'more'>
  #last: Promise<boolean> = Promise.resolve(false)

  constructor(ask: Allowance['more']) {
    this.more = ask === undefined ? {} : { more: question => (this.#last = ask(question)) }
  }

  async allowed(): Promise<boolean> {
    const last = await this.#last
    this.#last = Promise.resolve(false)
    return last
  }
}

interface Turn {
  readonly outcome: Outcome
  /** Set if the budget did not allow a call. */
  readonly parked: GatewayParked | null
  readonly lastMessage: string
}

async function oneTurn(
  request: Drafting,
  allowance: Allowance,
  number: number,
  onTurn: NonNullable<AgentTools['onTurn']>,
): Promise<Turn> {
  const { agent, model, instruction, signal, sandbox, place } = request
  let lastMessage = ''
  let parked: GatewayParked | null = null
  const tools: RunnerTools = {
    root: request.root,
    stateDir: request.stateDir,
    owner: `draft-${process.pid}`,
    write: [],
    environment: request.environment,
    about: request.about,
    evaluate: () => ({ ok: false, message: 'nothing is evaluated here' }),
    log: (stream, chunk) => {
      if (stream !== 'engine') lastMessage = `${lastMessage}${Buffer.from(chunk).toString('utf8')}`.slice(-SAID_MAX)
    },
    monotonic: request.monotonic,
    sandbox: { room: sandbox, network: 'none', isRequired: true },
    agent: {
      facts: { plan: '', goal: null, decisions: [], earlier: cutShort(number), changed: { paths: [], more: 0 } },
      readOnly: true,
      place: place.folder,
      onTurn,
      permit: async () => 'no',
    },
  }
  const action = { type: 'agent', spec: { use: agent, ...(model === undefined ? {} : { model }) } } as const
  const task = 'draft' as TaskName
  const definition: TaskDefinition = { id: task, action, instruction }
  const attempt: Attempt = {
    ...{ plan: NO_PLAN, task, visit: 1, attempt: number, key: place.key, definition, action },
    ...{ inputs: {}, env: {}, timeoutMs: DRAFTING_MS },
  }
  const runner = agentRunner({
    ...request,
    tree: processTree(),
    openGateway: async asked =>
      await request.openGateway({
        ...asked,
        allowance,
        onParked: why => {
          parked ??= why
          asked.onParked?.(why)
        },
      }),
  })
  const outcome = await runner.attempt(attempt, tools, { aborted: signal.aborted, signal })
  return { outcome, parked, lastMessage }
}

/** Earlier turns as lost attempts, so that the calls answered in them are replayed and not paid again. */
const cutShort = (number: number): readonly EarlierAttempt[] =>
  Array.from({ length: number - 1 }, (_, at) => ({
    ...{
      visit: 1,
      attempt: at + 1,
      by: null,
      how: 'lost',
      why: 'it was cut short',
      unmet: [],
      outputs: null,
      left: null,
    },
  }))

/** Usage of one payer; null if no model was asked. */
function usedBy(calls: readonly ModelCallRecord[], payer: string): Used | null {
  const own = calls.filter(call => call.payer === payer)
  if (own.length === 0) return null
  return {
    model: [...new Set(own.map(({ model }) => model))].join(', '),
    calls: own.length,
    usage: own.map(({ usage }) => usage).reduce((sum, one) => addUsage(sum, one)),
    cost: own.map(({ cost }) => cost).reduce((sum, one) => addCost(sum, one)),
  }
}

const SAID_MAX = 10_000
const NO_PLAN = '00000000-0000-7000-8000-000000000000' as PlanId
const no = (failure: Failure): Draft => ({ ok: false, failure })

// Drafting by an agent: it is started in a sandbox where it can only read, with the tools of a state folder of its own, in which the plan
// it submits is found. Nothing of the person's plans is shown to it.

type Place = Parameters<CodingAgents['openDrafting']>[0]

export const openDrafting =
  (place: Place, random: Random): DraftWithAgent =>
  async request => {
    const { environment, root, models } = place
    const { bytes } = random
    return await draftWithAgent({
      ...{ ...place, ...request, version: VERSION, about: ABOUT },
      ...{ now: systemClock.now(), id: random.id(), monotonic: systemClock.monotonic },
      sandbox: bubblewrap({ environment, outside: [root] }),
      calls: () => models.calls(),
      openGateway: asked => models.openGateway(asked),
      openState: async folder => {
        const dir = join(folder, 'state')
        const { engine, now, close } = await compose({ cwd: root, root, environment, dir, caller: draftsman })
        return {
          close,
          openPlanTools: async ({ agent, folder: at }) =>
            await openPlanSocket({
              ...{ engine, now, version: VERSION, plan: null, agent, folder: at, random: bytes },
              templates: join(folder, 'templates'),
            }),
          submitted: async () => {
            const [latest] = (await engine.ask({ type: 'plans', limit: 1 })).items
            const found = latest === undefined ? null : await engine.ask({ type: 'definition', plan: latest.id })
            return found?.definition ?? null
          },
        }
      },
    })
  }

interface Random {
  readonly id: () => string
  readonly bytes: (count: number) => Buffer
}

const draftsman: Caller = { actor: 'planfold' as Caller['actor'], rights: RIGHTS.admin, scope: null }

// The folder of a drafting: the agent's home with its session, and the plans it submitted. A drafting that was interrupted, by
// its limits or a crash, leaves the folder behind, and the next drafting of the same goal by the same agent takes it over. Its
// name shows the owner: `<draft key>.<process>`, or `.kept` without one. Taking over is a single rename, so no two draftings
// share a folder.

interface DraftingFolder {
  readonly folder: string
  /** Key of its model calls, the same for all attempts. */
  readonly key: string
  /** How many attempts were made before. */
  readonly attempts: number
  begin(): void
  /** Kept if the same agent could continue later. `null`: the outcome is unknown. */
  end(how: { readonly ok: true } | { readonly ok: false; readonly failure: Failure } | null): void
}

interface Noted {
  readonly key: string
  readonly attempts: number
}

interface Wanted {
  readonly stateDir: string
  readonly agent: string
  readonly model?: string
  readonly what: readonly string[]
  readonly now: number
  /** A new id, for the key. */
  readonly id: string
}

const CUT_SHORT: ReadonlySet<string> = new Set(['model:cap', 'model:cancelled', 'agent:ended', 'timeout'])

/** Abandoned folders are removed after this time. */
const KEPT_MS = 7 * 24 * 60 * 60_000

function openDraftingFolder({ stateDir, agent, model = '', what, now, id }: Wanted): DraftingFolder {
  const place = join(stateDir, 'drafting')
  mkdirSync(place, { recursive: true, mode: 0o700 })
  const name = createHash('sha256')
    .update(JSON.stringify([agent, model, ...what]))
    .digest('hex')
    .slice(0, 16)
  const folder = join(place, `${name}.${process.pid}`)
  const left = readdirSync(place).filter(each => !isAtWork(each))
  for (const each of left)
    if (isOld(join(place, each), now)) rmSync(join(place, each), { recursive: true, force: true })
  // If this process drafts the same goal already, this drafting starts from scratch in a folder of its own.
  const isAlone = statSync(folder, { throwIfNoEntry: false }) === undefined
  const own = isAlone ? folder : join(place, `${id}.${process.pid}`)
  const found = left.find(each => each.startsWith(`${name}.`) && isAlone && take(join(place, each), own))
  if (found === undefined) mkdirSync(own, { mode: 0o700 })
  const file = join(own, 'drafting.json')
  const noted = (found === undefined ? null : read(file)) ?? { key: `draft/${id}`, attempts: 0 }
  let { attempts } = noted
  return {
    ...{ folder: own, key: noted.key, attempts: noted.attempts },
    begin() {
      attempts += 1
      writeFileSync(file, JSON.stringify({ key: noted.key, attempts } satisfies Noted), { mode: 0o600 })
    },
    end(how) {
      const isOver = how !== null && (how.ok || !CUT_SHORT.has(how.failure.code ?? ''))
      if (isOver) return rmSync(own, { recursive: true, force: true })
      const kept = join(place, `${name}.kept`)
      rmSync(kept, { recursive: true, force: true })
      renameSync(own, kept)
    },
  }
}

function isAtWork(name: string): boolean {
  const pid = Number(/\.(\d+)$/.exec(name)?.[1] ?? 0)
  if (pid === 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

function isOld(folder: string, now: number): boolean {
  const stat = statSync(folder, { throwIfNoEntry: false })
  return stat !== undefined && stat.mtimeMs < now - KEPT_MS
}

function take(from: string, to: string): boolean {
  try {
    renameSync(from, to)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw error
  }
}

function read(file: string): Noted | null {
  try {
    const { key, attempts } = JSON.parse(readFileSync(file, 'utf8')) as Partial<Noted>
    return typeof key === 'string' && typeof attempts === 'number' ? { key, attempts } : null
  } catch {
    return null
  }
}
