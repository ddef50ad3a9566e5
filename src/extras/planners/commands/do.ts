// `planfold do GOAL`: drafts a plan, and once it is approved a coding agent works it in the sandbox, checks decide, and the person sees
// the whole change: approve (it is committed on the plan's branch), comment (it is worked on again) or undo (all of it is reverted).

import { print, printDocument, printNote } from '../../../cli/answer.ts'
import { startAndDrive } from '../../../cli/commands/plans/run.ts'
import { goBack } from '../../../cli/commands/undo/go-back.ts'
import { type Context, withState } from '../../../cli/context.ts'
import { CliError, EXIT, refused, usage } from '../../../cli/exit.ts'
import { submit } from '../../../cli/order.ts'
import { askKey, askLine } from '../../../cli/terminal/line-input.ts'
import type { Composed } from '../../../compose.ts'
import { amountsText } from '../../../domain/budget/budget-text.ts'
import type { PlanId } from '../../../domain/id.ts'
import { mapOf } from '../../../domain/json.ts'
import type { Budget } from '../../../domain/plan.ts'
import type { Waiting } from '../../../domain/views/summary.ts'
import { openExtra } from '../../../extras.ts'
import { type AgentWorker, assignWorker, openWork, workerOf } from '../../../operations/agents/agent-worker.ts'
import { previewRollback, undecidedFiles } from '../../../operations/rollback-plan.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { canCommit, finishDraft, lastOpenGoal, REVIEW, withCommit } from '../goals/finish-draft.ts'
import { earlierPlans, rememberedProposal, saveDraft } from '../goals/plan-goal.ts'
import { timeRange } from '../goals/time-range.ts'
import { planningIn } from '../open-planners.ts'
import { readDraftingBudget } from './drafting-budget.ts'
import {
  approve,
  clearGoal,
  type Draft,
  decide,
  proposed,
  roomsWithoutState,
  showCommands,
  tell,
  tellEarlier,
} from './plan.ts'
import { proposalScreen } from './proposal-text.ts'

export interface DoOptions {
  readonly with?: string
  readonly model?: string
  readonly budget?: string
  readonly look?: boolean
  /** Approve the draft. The change is still reviewed. */
  readonly yes?: boolean
}

export async function doGoal(context: Context, words: readonly string[], options: DoOptions): Promise<number> {
  const said = words.join(' ').trim()
  const budget = options.budget === undefined ? undefined : budgetOf(options.budget)
  return await withState(context, { create: said !== '' }, async composed => {
    const open = await lastOpenGoal(composed.engine, said)
    if (open !== null) {
      if (budget !== undefined)
        throw usage(
          `the goal is open already, as plan '${open.name}'`,
          `planfold budget add ${open.name} changes its budget`,
        )
      return await goOn(context, composed, open, options)
    }
    if (said === '')
      throw usage('no goal is open here', 'say what you want: planfold do "make transfers resume after a failure"')
    const worker = await (await openExtra('agents')).workerFor(context, composed.engine, options)
    await warnUncounted(context, composed, worker, budget)
    if (worker !== null && !(await composed.sandbox.check()).ok)
      printNote(
        context,
        `no sandbox here: you are asked before ${worker.agent} starts, and what it may write is not enforced (planfold doctor)`,
      )
    const goal = await clearGoal(context, roomsWithoutState(context, {}), said)
    const { planners, repository } = planningIn(composed, context.environment)
    const commits = await canCommit({ git: composed.git, repository })
    const drafting = {
      yes: options.yes === true,
      ...(options.look === true ? { look: true, isLongLook: true as const } : {}),
      finish: (definition: Parameters<typeof finishDraft>[0]) => finishDraft(definition, { worker, commits, budget }),
    }
    const { engine } = composed
    const rooms = { planner: planners.get('heuristic')!, repository, ...(await earlierPlans(engine)) }
    await tellEarlier(context, { engine, repository }, goal)
    const first = await proposed(context, rooms, { goal, comments: [], options: drafting })
    const made = await saveDraft(engine, first)
    if (made.status === 'refused') throw refused(made.refusal)
    tell(context, first, made, await timeRange(engine, first.document.definition))
    const draft: Draft = {
      plan: made.plan,
      name: made.name,
      options: drafting,
      proposal: first.proposal,
      shown: [],
      carry: moved => carry(context, composed, moved),
    }
    if (options.yes === true) return await approve(context, composed, draft, await approvalOf(context, composed, draft))
    if (context.terminal === null || context.settings.json) {
      printNote(
        context,
        `Next: planfold do approves it at a terminal; planfold run ${made.name} approves and starts it`,
      )
      return EXIT.waits
    }
    return await decide(context, composed, draft)
  })
}

function budgetOf(text: string): Budget {
  const { usd, calls, tokens } = readDraftingBudget(text)
  return {
    ...(usd === undefined ? {} : { cost: { amount: usd, currency: 'USD' } }),
    ...(calls === undefined ? {} : { calls }),
    ...(tokens === undefined ? {} : { tokens }),
  }
}

/** Warns about limits that cannot be enforced, before anything is spent. */
async function warnUncounted(
  { environment, ...context }: Context,
  { root, stateDir }: Composed,
  worker: AgentWorker | null,
  budget: Budget | undefined,
): Promise<void> {
  if (worker === null) return
  const { agentsWithLogin } = await openExtra('agents')
  if (!(await agentsWithLogin({ environment, root, stateDir })).includes(worker.agent)) return
  const asks = budget === undefined ? '' : '; you are asked before it starts, because the budget cannot be enforced'
  printNote({ environment, ...context }, `${worker.agent} uses your login: what it spends is not counted${asks}`)
}

/** A goal that is open already: its draft is shown again, or its plan continues. */
async function goOn(
  context: Context,
  composed: Composed,
  { plan, name, status, version }: NonNullable<Awaited<ReturnType<typeof lastOpenGoal>>>,
  options: DoOptions,
): Promise<number> {
  const { engine } = composed
  const found = await engine.ask({ type: 'definition', plan })
  if (found === null) throw new Error(`the plan ${plan} has gone`)
  printNote(context, `continues ${name}: ${escapeForTerminal(found.definition.title ?? found.definition.goal ?? '')}`)
  const other = options.with !== undefined && options.with !== workerOf(found.definition)?.agent
  if (other || (await openWork(engine, plan)).length > 0) {
    const worker = await (await openExtra('agents')).workerFor(context, engine, options)
    const assigned =
      worker === null
        ? null
        : await assignWorker(
            engine,
            plan,
            worker,
            (await canCommit({ git: composed.git, repository: planningIn(composed, context.environment).repository }))
              ? { finish: withCommit }
              : {},
          )
    if (assigned?.ok === false) printNote(context, `nothing changes for ${name}: ${assigned.refusal.message}`)
  }
  const moved = { plan, name, since: version }
  if (status !== 'draft') {
    const onward = status === 'failed' ? { goOn: { rationale: `do ${name}` } } : {}
    return await carry(context, composed, { ...moved, ...onward })
  }
  const { definition } = (await engine.ask({ type: 'definition', plan })) ?? found
  const draft: Draft = {
    ...{ plan, name, options: {}, proposal: rememberedProposal(definition), shown: [] },
    carry: one => carry(context, composed, one),
  }
  if (options.yes === true) return await approve(context, composed, draft, await approvalOf(context, composed, draft))
  printDocument(context, proposalScreen(context, draft.proposal, definition))
  if (context.terminal === null || context.settings.json) return EXIT.waits
  return await decide(context, composed, draft)
}

const approvalOf = async (context: Context, composed: Composed, draft: Draft) =>
  context.terminal === null ? null : await showCommands(context, composed, draft)

/** Drives the plan to its review, asks, and goes on with the answer until the plan has ended or the person has left. */
async function carry(
  context: Context,
  composed: Composed,
  moved: Parameters<typeof startAndDrive>[2],
): Promise<number> {
  const isAsked = context.terminal !== null && !context.settings.json
  const { plan, name } = moved
  let next = moved
  for (;;) {
    const exit = await startAndDrive(context, composed, next, {
      continuedBy: 'planfold do',
      ...(isAsked ? { leaves: REVIEW } : {}),
    })
    const review = isAsked && exit !== EXIT.interrupted ? await openReview(composed, plan) : null
    if (review === null) {
      if (exit === EXIT.done && !context.settings.json) await tellCommit(context, composed, plan, name)
      return exit
    }
    const decided = await decideChange(context, composed, { plan, name, review })
    if (decided !== 'decided') return decided
    const version = (await composed.engine.ask({ type: 'summary', plan }))?.version ?? 0
    next = { plan, name, since: version }
  }
}

/** The files have the change already, so the branch is only taken over, not merged. */
async function tellCommit(context: Context, { engine }: Composed, plan: PlanId, name: string): Promise<void> {
  const { definition } = (await engine.ask({ type: 'definition', plan })) ?? {}
  if (definition?.tasks.some(({ action }) => action.type === 'git') !== true) return
  print(context, `  git      committed on plan/${name}; your files have the change already`)
  print(context, `           git reset plan/${name} moves your branch to it and changes no file`)
}

const openReview = async ({ engine }: Composed, plan: PlanId): Promise<Waiting | null> =>
  (await engine.ask({ type: 'summary', plan }))?.waiting.find(({ task }) => task === REVIEW) ?? null

interface Change {
  readonly plan: PlanId
  readonly name: string
  readonly review: Waiting
}

async function decideChange(context: Context, composed: Composed, change: Change): Promise<number | 'decided'> {
  const { plan, name, review } = change
  const { engine } = composed
  const { consentLines } = await import('../../../cli/text/consent-text.ts')
  const { shownLines } = await import('../../../cli/text/inbox-text.ts')
  const questions = review.asks.type === 'approval' ? review.asks.show.flatMap(shownLines) : []
  print(context, ['', ...(await consentLines(context, engine, review, { all: true })), '', ...questions, ''])
  print(context, await spentLine(composed, plan))
  for (const path of await editedBefore(composed, plan))
    print(
      context,
      `${escapeForTerminal(path)} had uncommitted edits of yours before: a commit of it contains them, too`,
    )
  const definition = (await engine.ask({ type: 'definition', plan }))?.definition
  const commits = definition?.tasks.some(({ action }) => action.type === 'git') === true
  const ways = `[a]pprove${commits ? ' and commit' : ''}  [c]omment  [u]ndo everything  [q]uit, decide later: `
  const decided = { type: 'decide', task: review.task, hash: review.hash } as const
  for (;;) {
    switch (await asked(() => askKey(context, ways, ['a', 'c', 'u', 'q'] as const))) {
      case 'a':
        await submit(composed, plan, { ...decided, verdict: 'approved', rationale: '' })
        return 'decided'
      case 'c': {
        const text = ((await asked(() => askLine(context, 'what should be different? '))) ?? '').trim()
        if (text === '') break
        const verdict = review.back === undefined ? 'rejected' : 'pushed-back'
        await submit(composed, plan, { ...decided, verdict, rationale: text })
        return 'decided'
      }
      case 'u': {
        const exit = await undoAll(context, composed, change)
        if (exit !== null) return exit
        break
      }
      default:
        printNote(context, `${name} waits for your review. Next: planfold do, or planfold inbox`)
        return EXIT.waits
    }
  }
}

/** Paths of the plan that were not as in the last commit when it was drafted. */
async function editedBefore({ engine }: Composed, plan: PlanId): Promise<readonly string[]> {
  const extra = (await engine.ask({ type: 'definition', plan }))?.definition.extra
  const { changed } = mapOf(mapOf(mapOf(extra?.planning).repository))
  const preview = await previewRollback(engine, { plan, kind: 'rollback', ask: {} })
  if (!Array.isArray(changed) || preview?.ok !== true) return []
  return preview.files.map(({ path }) => path).filter(path => changed.includes(path))
}

/** Ctrl+C here decides nothing. */
async function asked<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof CliError) || error.exit !== EXIT.interrupted) throw error
    throw new CliError(EXIT.interrupted, 'interrupted', 'interrupted; the change still waits for you', 'planfold do')
  }
}

async function undoAll(context: Context, composed: Composed, { plan, name }: Change): Promise<number | null> {
  const preview = await previewRollback(composed.engine, { plan, kind: 'rollback', ask: {} })
  const edited = preview?.ok === true ? undecidedFiles(preview.files, {}) : []
  const options: { keep?: string[]; take?: string[]; merge?: string[] } = {}
  if (edited.length > 0) {
    print(context, ['edited since the plan wrote it:', ...edited.map(({ path }) => `  ${escapeForTerminal(path)}`)])
    const ways =
      '[k]eep it as it is  [m]erge: only the change of the plan goes  [t]ake back all of it, with a copy  [b]ack: '
    switch (await asked(() => askKey(context, ways, ['k', 'm', 't', 'b'] as const))) {
      case 'k':
        options.keep = ['all']
        break
      case 'm':
        options.merge = ['all']
        break
      case 't':
        options.take = ['all']
        break
      default:
        return null
    }
  }
  const exit = await goBack(context, composed, {
    plan,
    name,
    kind: 'rollback',
    ask: {},
    command: ['rollback', name],
    options,
    isLast: true,
  })
  if (exit !== EXIT.done) return exit
  await submit(composed, plan, { type: 'cancel', reason: 'undone by the person who asked for it' })
  print(context, `${name} is undone and cancelled`)
  return EXIT.done
}

async function spentLine({ models }: Composed, plan: PlanId): Promise<string> {
  const asked = await models.usageOf(plan)
  const calls = asked.reduce((sum, one) => sum + one.calls, 0)
  const tokens = asked.reduce((sum, { usage }) => sum + usage.inputTokens + usage.outputTokens, 0)
  const usd = asked.reduce((sum, one) => sum + one.usd, 0)
  const assumed = asked.reduce((sum, one) => sum + one.assumedTokens, 0)
  const unpriced = asked.some(one => one.unpriced > 0) ? ', some calls without a known price' : ''
  const work =
    calls === 0
      ? 'no counted calls of a model'
      : amountsText({ tokens, calls, ...(usd === 0 ? {} : { cost: usd }) }) +
        unpriced +
        (assumed === 0 ? '' : `; ${amountsText({ tokens: assumed })} of it assumed, of calls that were cut off`)
  return `spent: drafting nothing (no model), work ${work}`
}
