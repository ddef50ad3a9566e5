// What a runner gets for one attempt: folders, rules about commands and files, the sandbox, secrets, a budget, and what only some kinds of
// tasks need. Policy is checked here, before any side effect.

import { actionFacts } from '../../domain/actions/actions.ts'
import { effectOf } from '../../domain/plan-rules/effect.ts'
import { commandIn } from '../../domain/policy/policy-in-state.ts'
import type { Failure } from '../../domain/result.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { traceparent } from '../../domain/views/trace.ts'
import type { Attempt, RunnerTools } from '../../runners/runner.ts'
import type { Answer } from '../../safety/safety-refusal.ts'
import { attemptBudget } from '../budget/attempt-budget.ts'
import { lazy } from '../lazy-imports.ts'
import type { Rooms } from '../rooms.ts'
import type { AttemptRun } from './attempt-run.ts'
import { sandboxFor } from './attempt-sandbox.ts'
import { boundOf, evaluator } from './expressions.ts'
import { commandsFor, deniedCommand, deniedWrite, readTools, refusesSending, writeFor } from './policy-checks.ts'

/** All tools of this attempt, including the secrets that its task names; or why it may not run. */
export function toolsFor(run: AttemptRun, attempt: Attempt): Answer<RunnerTools> | Promise<Answer<RunnerTools>> {
  const basic = basicTools(run, attempt)
  const { needs } = run.rooms.runners.get(attempt.action.type) ?? {}
  const isBasic = attempt.definition.secrets === undefined && needs === undefined
  return isBasic ? { ok: true, value: basic } : allTools(run, attempt, basic)
}

async function allTools(run: AttemptRun, attempt: Attempt, basic: RunnerTools): Promise<Answer<RunnerTools>> {
  const { secrets } = attempt.definition
  const given = secrets === undefined ? null : await withSecrets(run.rooms, secrets, basic)
  if (given?.ok === false) return given
  return { ok: true, value: await withToolsOfKind(run, attempt, given?.value ?? basic) }
}

const isCompensation = ({ options: { action } }: AttemptRun): boolean => action !== undefined

function basicTools(run: AttemptRun, attempt: Attempt): RunnerTools {
  const { rooms, state, logbook } = run
  const { owner } = run.options
  const as = isCompensation(run) ? 'compensation' : 'attempt'
  return {
    root: rooms.root,
    stateDir: rooms.stateDir,
    owner,
    write: effectOf(state.definition, attempt.definition) === 'pure' ? [] : writeFor(state, attempt.definition),
    ...commandsFor(rooms, state, attempt.definition),
    ...readTools(state, attempt.definition),
    environment: rooms.environment,
    about: rooms.about,
    evaluate: nothing,
    traceparent: rooms.tracer === undefined ? undefined : parentOf(state, attempt),
    log: (stream, chunk) => logbook.write(stream, chunk),
    monotonic: rooms.clock.monotonic,
    // Compensations are not charged to the budget: undoing must always be possible.
    ...(isCompensation(run) ? {} : { budget: attemptBudget(rooms, state, attempt) }),
    ...sandboxFor(rooms, state, { as, ...attempt }),
  }
}

export function deniedBy({ rooms, state }: AttemptRun, { definition, action }: Attempt): Failure | null {
  const { sends, runsCommands } = actionFacts(action)
  if (sends !== undefined) return refusesSending(state, sends)
  // Actions that run commands check each command themselves.
  const command = runsCommands === true ? null : commandIn(action)
  const refused = command === null ? null : (commandsFor(rooms, state, definition).refuses?.(command) ?? null)
  return refused ?? deniedCommand(state, { ...definition, action }) ?? deniedWrite(state, { ...definition, action })
}

/** Fetched anew for each attempt, and kept nowhere else. */
async function withSecrets(
  { environment, root, stateDir }: Rooms,
  names: readonly string[],
  tools: RunnerTools,
): Promise<Answer<RunnerTools>> {
  const { fetchSecrets } = await lazy.secretSources()
  const secrets = await fetchSecrets({ environment, root, stateDir }, names)
  return secrets.ok ? { ok: true, value: { ...tools, secrets: secrets.value } } : secrets
}

const nothing = () => ({ ok: false as const, message: 'this action evaluates nothing' })

async function withToolsOfKind(run: AttemptRun, attempt: Attempt, tools: RunnerTools): Promise<RunnerTools> {
  const { rooms, state } = run
  const as = isCompensation(run) ? 'compensation' : 'attempt'
  const { needs = [] } = rooms.runners.get(attempt.action.type) ?? {}
  let all = tools
  if (needs.includes('reach')) {
    const { openReach } = await lazy.reach()
    all = { ...all, reach: () => openReach(rooms, state, { as, ...attempt }) }
  }
  if (needs.includes('agent')) {
    const agent = await (await lazy.agentAttemptTools()).agentTools(rooms, state, attempt)
    const also = agent.login?.ok === true ? agent.login.value.hosts : []
    all = { ...all, agent, ...(also.length === 0 ? {} : sandboxFor(rooms, state, { as, ...attempt }, also)) }
  }
  if (needs.includes('clock')) all = { ...all, clock: rooms.clock }
  if (needs.includes('git')) all = { ...all, ...(await lazy.gitActions()).gitHand(rooms, state, attempt) }
  if (!needs.includes('evaluate')) return all
  const { definition, inputs, feedback = '' } = attempt
  return { ...all, evaluate: await evaluator(state, { ...boundOf(definition), inputs, feedback }) }
}

const parentOf = (state: PlanState, { task, visit, attempt }: Attempt): string =>
  traceparent(state.id, state.tasks.get(task)?.ordinal ?? 0, visit, attempt)
