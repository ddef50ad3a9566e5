// `planfold plan GOAL`: proposes a plan for a goal, keeps it as a draft, and asks what to do with it: approve, edit, comment and draft
// again, or reject. Nothing of it runs before it is approved.

import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { answerDocument, print, printDocument, printNote } from '../../../cli/answer.ts'
import { startAndDrive } from '../../../cli/commands/plans/run.ts'
import { type Context, withState } from '../../../cli/context.ts'
import { CliError, EXIT, refused, usage } from '../../../cli/exit.ts'
import { submit } from '../../../cli/order.ts'
import { parsePlanText } from '../../../cli/plan-file.ts'
import { dateAndTime } from '../../../cli/terminal/elapsed-time.ts'
import { askKey, askLine } from '../../../cli/terminal/line-input.ts'
import { printDiagnostics } from '../../../cli/text/diagnostics.ts'
import { shownCommands } from '../../../cli/text/shown-commands.ts'
import { type Composed, locate, modelsAt } from '../../../compose.ts'
import type { PlanId } from '../../../domain/id.ts'
import { mapOf, same } from '../../../domain/json.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import { isTask } from '../../../domain/plan-rules/authors.ts'
import { isEmpty } from '../../../domain/revisions/semantic-diff.ts'
import { openExtra } from '../../../extras.ts'
import { explainDiff } from '../../../format/plan/diff-text.ts'
import { printYaml } from '../../../format/plan/print.ts'
import { analyzed } from '../../../operations/analyze-plan.ts'
import type { StartOptions } from '../../../operations/start-plan.ts'
import { foreignFolders, helperPath } from '../../../safety/find-program.ts'
import { escapeForTerminal, shellWord } from '../../../safety/text/terminal.ts'
import { choosePlanner } from '../goals/choose-planner.ts'
import { draftedBefore, fittingTemplate } from '../goals/existing-drafts.ts'
import type { LookPlace } from '../goals/look-first.ts'
import {
  type CheckedProposal,
  changeDraft,
  type DraftChanged,
  earlierPlans,
  isByOthers,
  isUnclear,
  keepComments,
  type PlanningChoices,
  type PlanningRooms,
  proposePlan,
  saveDraft,
} from '../goals/plan-goal.ts'
import { keepRedraft, redraftPlan } from '../goals/redraft-plan.ts'
import { type TimeRange, timeRange } from '../goals/time-range.ts'
import { planningIn } from '../open-planners.ts'
import { DRAFTS_MAX, type PlanComment, type Planner, PlanningFailure, type PlanProposal } from '../planner.ts'
import { readDraftingBudget } from './drafting-budget.ts'
import { commandSection, moreLines, proposalScreen } from './proposal-text.ts'

export interface PlanOptions {
  readonly planner?: string
  /** `provider/name`; naming one is consent to ask it. */
  readonly model?: string
  readonly template?: string
  readonly budget?: string
  readonly drafts?: number
  readonly with?: string
  readonly split?: boolean
  readonly goal?: string
  readonly replay?: string
  readonly replan?: string
  readonly message?: string
  readonly worker?: string
  readonly finish?: PlanningChoices['finish']
  readonly dryRun?: boolean
  readonly look?: boolean
  readonly isLongLook?: true
  /** Approve at once. Gates of the plan ask all the same. */
  readonly yes?: boolean
  readonly wait?: boolean
}

export async function plan(context: Context, words: readonly string[], given: PlanOptions): Promise<number> {
  if (given.replan !== undefined) {
    if (words.length > 0)
      throw usage('a goal and --replan cannot be used together', 'say what should be different with -m')
    return await (await import('./replan.ts')).replan(context, given.replan, given)
  }
  if (given.message !== undefined) throw usage('-m needs --replan', 'write the goal without -m')
  let options = given
  let goal = words.join(' ')
  const ways = [goal.trim() === '' ? undefined : 'a goal', options.goal && '--goal', options.replay && '--replay']
  const [first, second] = ways.filter(one => one !== undefined && one !== '')
  if (first === undefined) throw usage('the goal is empty', 'say what you want: planfold plan "make transfers resume"')
  if (second !== undefined) throw usage(`${first} and ${second} cannot be used together`, 'use one of them')
  if (options.dryRun === true && options.yes === true)
    throw usage('--dry-run and --yes cannot be used together', 'use one of them')
  if (options.replay !== undefined) return await (await import('./replay.ts')).replay(context, options.replay)
  if (options.split === true || options.goal !== undefined)
    return await (await import('./decompose.ts')).decompose(context, goal, options)
  goal = await clearGoal(context, roomsWithoutState(context, options), goal)
  if (options.dryRun === true) {
    if (options.worker !== undefined) options = await finished(context, null, options)
    const rooms = roomsWithoutState(context, options)
    tell(context, await proposed(context, rooms, { goal, comments: [], options }), null, null)
    printNote(context, '`--json` shows the rest')
    await tellOfKey(context, rooms.planner)
    return EXIT.done
  }
  return await withState(context, { create: true }, async composed => {
    const { engine } = composed
    const { planners, repository } = planningIn(composed, context.environment)
    const planner = plannerFor(planners, options)
    const rooms = { planner, repository, ...(await earlierPlans(engine)) }
    if (options.worker !== undefined) options = await finished(context, engine, options)
    await tellEarlier(context, { engine, repository }, goal)
    const first = await proposed(context, rooms, { goal, comments: [], options })
    const made = await saveDraft(engine, first)
    if (made.status === 'refused') throw refused(made.refusal)
    const draft: Draft = { plan: made.plan, name: made.name, options, proposal: first.proposal, shown: [] }
    tell(context, first, made, await timeRange(engine, first.document.definition))
    await tellTemplate(context, composed, goal, first.proposal)
    await tellOfKey(context, planner)
    if (options.yes === true) {
      const approval = context.terminal === null ? null : await showCommands(context, composed, draft)
      return await approve(context, composed, draft, approval)
    }
    if (context.terminal === null || context.settings.json) {
      printNote(
        context,
        `planfold export ${made.name} shows the rest. Next: planfold run ${made.name} approves and starts it`,
      )
      return EXIT.done
    }
    return await decide(context, composed, draft)
  })
}

async function finished(
  context: Context,
  engine: Composed['engine'] | null,
  options: PlanOptions,
): Promise<PlanOptions> {
  const { workerFor } = await openExtra('agents')
  const { finishDraft } = await import('../goals/finish-draft.ts')
  const worker = await workerFor(context, engine, { with: options.worker })
  return { ...options, finish: definition => finishDraft(definition, { worker, commits: false }) }
}

export async function clearGoal(context: Context, rooms: PlanningRooms, goal: string): Promise<string> {
  if (!(await isUnclear(rooms, goal))) return goal
  const message = `'${goal.trim().slice(0, 60)}' does not say what to work on`
  const question = `${escapeForTerminal(message)}. What should be different afterwards?\n> `
  const isAsked = context.terminal !== null && !context.settings.json
  const added = isAsked ? ((await askLine(context, question)) ?? '').trim() : ''
  if (added !== '') return `${goal}: ${added}`
  throw usage(
    message,
    'name what should be different: a behaviour, a file, a function, an error message; nothing was saved',
  )
}

export interface Draft {
  readonly plan: PlanId
  readonly name: string
  readonly options: PlanOptions
  proposal: PlanProposal
  shown: readonly string[]
  unread?: string | undefined
  readonly carry?: (moved: Approved) => Promise<number>
}

type Approved = Parameters<typeof startAndDrive>[2]

/** For a dry run, which makes no state folder. */
export function roomsWithoutState(context: Context, options: PlanOptions): PlanningRooms {
  const { cwd, environment, settings } = context
  const place = locate({ cwd, environment, dir: settings.dir })
  const models = modelsAt({ environment, ...place })
  const { planners, repository } = planningIn({ ...place, models }, environment)
  return { planner: plannerFor(planners, options), repository }
}

export function plannerFor(planners: ReadonlyMap<string, Planner>, options: PlanOptions): Planner {
  const chosen = choosePlanner(planners, { ...options, agent: options.with })
  switch (chosen.status) {
    case 'chosen':
      return chosen.planner
    case 'unknown':
      throw usage(`there is no planner '${chosen.name}'`, `use one of: ${chosen.names.join(', ')}`)
    case 'mixed': {
      const { name, unused } = chosen
      const does = { model: 'asks no model', template: 'fills no template', agent: 'asks no agent' }[unused]
      throw usage(
        `the planner '${name}' ${does}`,
        `leave out --${unused === 'agent' ? 'with' : unused}, or use --planner ${unused}`,
      )
    }
    default:
      return chosen satisfies never
  }
}

interface Wanted {
  readonly goal: string
  readonly comments: readonly PlanComment[]
  readonly options: PlanOptions
  readonly draft?: PlanDefinition
  readonly progress?: PlanningChoices['progress']
}

export async function proposed(
  context: Context,
  rooms: PlanningRooms,
  { goal, comments, options, draft, progress }: Wanted,
): Promise<CheckedProposal> {
  return await whileDrafting(context, rooms, options, async choices => {
    const earlier = draft === undefined ? {} : { draft }
    return await proposePlan(rooms, goal, comments, { ...choices, ...earlier, progress })
  })
}

/** What another command line mends; anything else is the doing of the world. */
const BAD_INPUT: ReadonlySet<string> = new Set([
  'planner:agent',
  'model:settings',
  'template:unknown',
  'template:missing',
  'template:unusable',
])

/** At a terminal the person is asked at once; Ctrl+C stops a model in the middle of an answer. */
export async function whileDrafting<T>(
  context: Context,
  { planner, repository }: Pick<PlanningRooms, 'planner' | 'repository'>,
  { model, template, with: agent, yes, budget, drafts, finish, look, isLongLook }: PlanOptions,
  work: (choices: PlanningChoices) => Promise<T>,
): Promise<T> {
  if (drafts !== undefined && (drafts < 1 || drafts > DRAFTS_MAX))
    throw usage(`--drafts is a number from 1 to ${DRAFTS_MAX}`, 'each draft is paid for')
  if (drafts !== undefined && planner.name !== 'model')
    throw usage(`the planner '${planner.name}' makes one draft`, 'leave out --drafts, or name a model with --model')
  const stop = new AbortController()
  const isAsked = context.terminal !== null && !context.settings.json && yes !== true
  const choices: PlanningChoices = {
    model,
    template,
    agent,
    drafts,
    ...(finish === undefined ? {} : { finish }),
    ...(budget === undefined ? {} : { budget: readDraftingBudget(budget) }),
    ...(isAsked ? { more: question => agrees(context, question) } : {}),
    ...(isAsked ? { ask: question => askLine(context, `${escapeForTerminal(question)}\n> `) } : {}),
    tell: note => printNote(context, escapeForTerminal(note)),
    signal: stop.signal,
  }
  const release = context.onSignal(() => stop.abort())
  try {
    if (planner.name === 'agent') printNote(context, `${agent ?? 'the agent'} reads the repository and drafts a plan …`)
    if (look !== true || planner.name === 'template') return await work(choices)
    const { checksOnCopy, LOOK_MS, lookFirst } = await import('../goals/look-first.ts')
    const maxMs = isLongLook === true ? LOOK_MS.do : LOOK_MS.plan
    const place = lookPlace(context, repository)
    const looked = await lookFirst(place, { maxMs, ...choices })
    const tried = planner.name === 'model' ? { runCheck: await checksOnCopy(place, { maxMs, ...choices }) } : {}
    return await work({ ...choices, looked, ...tried })
  } catch (error) {
    if (!(error instanceof PlanningFailure)) throw error
    const { code = 'planning', message, hint } = error.failure
    const exit = BAD_INPUT.has(code) ? EXIT.usage : code === 'model:cancelled' ? EXIT.interrupted : EXIT.failed
    throw new CliError(exit, code, message, hint)
  } finally {
    release()
  }
}

/** The same goal was drafted before: the person may want that plan, and gets a new draft all the same. */
export async function tellEarlier(
  context: Context,
  { engine, repository }: Pick<Composed, 'engine'> & Pick<PlanningRooms, 'repository'>,
  goal: string,
): Promise<void> {
  const earlier = await draftedBefore(engine, repository, goal)
  if (earlier !== null)
    printNote(context, `drafted before, on ${dateAndTime(earlier.at).slice(0, 10)}: planfold show ${earlier.name}`)
}

async function tellTemplate(
  context: Context,
  { stateDir }: Pick<Composed, 'stateDir'>,
  goal: string,
  proposal: PlanProposal,
): Promise<void> {
  const name = await fittingTemplate(join(stateDir, 'templates'), goal, proposal)
  if (name !== null) printNote(context, `a template fits: planfold plan ${shellWord(goal)} --template ${name}`)
}

function lookPlace({ cwd, environment, settings, now }: Context, repository: PlanningRooms['repository']): LookPlace {
  return { ...locate({ cwd, environment, dir: settings.dir }), environment, now, repository }
}

/** Who has a key for a model may not know that a model could draft. Nothing is sent unless one is named. */
async function tellOfKey(context: Context, planner: Planner): Promise<void> {
  if (planner.name !== 'heuristic' || context.settings.json) return
  const { cwd, environment, settings } = context
  const { providers } = await modelsAt({ environment, ...locate({ cwd, environment, dir: settings.dir }) }).list()
  const found = providers.find(({ key }) => environment[key] !== undefined)
  if (found !== undefined) printNote(context, `\n${found.key} is set: \`--model ${found.name}/NAME\` drafts with it`)
}

async function agrees(context: Context, question: string): Promise<boolean> {
  const said = (await askLine(context, `${escapeForTerminal(question)} [y/N] `)) ?? ''
  return /^y(es)?$/i.test(said.trim())
}

export function tell(
  context: Context,
  { proposal, document }: CheckedProposal,
  made: { readonly plan: PlanId; readonly name: string } | null,
  range: TimeRange | null,
): void {
  const definition: PlanDefinition = made === null ? document.definition : renamed(document.definition, made.name)
  const { definition: _, ...rest } = proposal
  const { waves, estimate } = analyzed(definition)
  const data = {
    ...(made === null ? {} : { plan: made.plan }),
    name: definition.name,
    status: made === null ? 'proposed' : 'draft',
    ...rest,
    estimate: { ...rest.estimate, elapsedMs: estimate.elapsedMs, totalMs: estimate.totalMs, range },
    waves,
    tasks: definition.tasks.map(({ id, title, kind, rationale, action, write, needs }) => ({
      id,
      title: title ?? null,
      kind: kind ?? null,
      action: action.type,
      why: rationale ?? null,
      needs: needs ?? [],
      write: write ?? [],
    })),
    done: definition.done ?? [],
    document: printYaml(definition),
  }
  answerDocument(context, data, () => proposalScreen(context, proposal, definition, { range }))
}

const renamed = (definition: PlanDefinition, name: string): PlanDefinition => ({
  ...definition,
  name: name as PlanDefinition['name'],
})

export async function approve(
  context: Context,
  composed: Composed,
  { plan, name, options, carry }: Draft,
  approval: StartOptions['approval'] | null,
): Promise<number> {
  const since = (await composed.engine.ask({ type: 'summary', plan }))?.version ?? 0
  if (approval === null)
    printNote(
      context,
      `nobody was shown this draft: its commands run in the sandbox; planfold run ${name} runs a draft as yours`,
    )
  const moved = { plan, name, since, approval: approval ?? ({ unseen: true } as const) }
  if (carry !== undefined) return await carry(moved)
  return await startAndDrive(context, composed, moved, { wait: options.wait === true })
}

/** Prints the commands that others wrote and this person has not seen yet, then asks. Null when they refuse. */
export async function showCommands(
  context: Context,
  { engine }: Pick<Composed, 'engine'>,
  draft: Pick<Draft, 'plan' | 'shown'>,
  confirm: () => Promise<boolean> = () => Promise.resolve(true),
): Promise<StartOptions['approval'] | null> {
  const definition = await currentDraft(engine, draft.plan)
  const { planner } = mapOf(definition.extra?.planning)
  if (!isByOthers(planner)) return {}
  const { lines, tasks } = shownCommands(definition, isTask)
  if (!same(lines, draft.shown)) {
    if (!context.settings.json) printDocument(context, commandSection(context, planner, definition))
    draft.shown = lines
    if (!(await confirm())) return null
  }
  return { shown: tasks }
}

async function currentDraft(engine: Composed['engine'], plan: PlanId): Promise<PlanDefinition> {
  const current = await engine.ask({ type: 'definition', plan })
  if (current === null) throw new Error(`the plan ${plan} has gone`)
  return current.definition
}

export async function decide(context: Context, composed: Composed, draft: Draft): Promise<number> {
  for (;;) {
    const keys = ['a', 'm', 'e', 'c', 'r', 'q'] as const
    const key = await askKey(
      context,
      '\n[a]pprove  [m]ore  [e]dit  [c]omment  [r]eject  [q]uit, keep the draft: ',
      keys,
    )
    switch (key) {
      case 'a': {
        const confirm = async () =>
          (await askKey(context, '\n[a]pprove these commands, too  [b]ack: ', ['a', 'b'])) === 'a'
        const approval = await showCommands(context, composed, draft, confirm)
        if (approval !== null) return await approve(context, composed, draft, approval)
        break
      }
      case 'm': {
        const definition = await currentDraft(composed.engine, draft.plan)
        printDocument(context, moreLines(context, draft.proposal, definition))
        draft.shown = shownCommands(definition, isTask).lines
        break
      }
      case 'e':
        await edit(context, composed, draft)
        break
      case 'c':
        await comment(context, composed, draft)
        break
      case 'r': {
        const reason = (await askLine(context, 'why? ')) ?? ''
        await submit(composed, draft.plan, {
          type: 'cancel',
          reason: reason === '' ? 'the draft was rejected' : reason,
        })
        print(context, `rejected ${draft.name}; nothing was run`)
        return EXIT.done
      }
      case 'q':
        print(context, `${draft.name} stays a draft. Next: planfold run ${draft.name}`)
        return EXIT.done
      default:
        key satisfies never
    }
  }
}

async function edit(context: Context, composed: Composed, draft: Draft): Promise<void> {
  const { plan, name } = draft
  const { environment } = context
  const editor = environment.VISUAL || environment.EDITOR
  if (editor === undefined || editor === '') {
    printNote(
      context,
      `set EDITOR to edit it here; or: planfold export ${name} > plan.yaml, then planfold revise ${name} plan.yaml`,
    )
    return
  }
  const current = await currentDraft(composed.engine, plan)
  const folder = await mkdtemp(join(tmpdir(), 'planfold-edit-'))
  const file = join(folder, `${name}.yaml`)
  try {
    await writeFile(file, draft.unread ?? printYaml(current), { mode: 0o600 })
    await openEditor(context, editor, file)
    draft.unread = await readFile(file, 'utf8')
    const document = await parsePlanText(file, draft.unread)
    tellChange(context, name, await changeDraft(composed.engine, plan, document, 'edited by hand'))
    draft.unread = undefined
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    for (const line of printDiagnostics(context.paint, error.diagnostics)) printNote(context, line)
    const why = error.diagnostics.length > 0 ? '' : `: ${error.message}`
    const kept = draft.unread === undefined ? '' : '; [e]dit opens your text again'
    printNote(context, `the draft stays as it was${why}${kept}`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The variable may hold options, so a shell splits it, as git does it. */
async function openEditor({ cwd, environment }: Context, editor: string, file: string): Promise<void> {
  const PATH = helperPath(environment.PATH, foreignFolders(cwd, environment.HOME))
  const code = await new Promise<number>((resolve, reject) => {
    const env = { ...environment, PATH }
    const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'editor', file], { stdio: 'inherit', env })
    child.on('error', reject)
    child.on('close', status => resolve(status ?? 1))
  })
  if (code !== 0) throw new CliError(EXIT.failed, 'editor', `the editor ended with ${code}`)
}

/** Comments on single tasks or on all of it, until an empty line; then the next draft, as a difference. */
async function comment(context: Context, composed: Composed, draft: Draft): Promise<void> {
  const { plan, name, options } = draft
  const { engine } = composed
  const { planners, repository } = planningIn(composed, context.environment)
  const tasks = new Set((await currentDraft(engine, plan)).tasks.map(({ id }) => id as string))
  printNote(
    context,
    "one comment a line, as 'task: text' or 'task.field: text', or only text for the whole plan; an empty line ends",
  )
  const said: PlanComment[] = []
  const strangers: string[] = []
  for (;;) {
    const line = (await askLine(context, '> '))?.trim() ?? ''
    if (line === '') break
    const read = readComment(line, tasks)
    if (read.task === null) strangers.push(...strangerIn(line))
    said.push(read)
  }
  if (said.length === 0) return
  const refusal = await keepComments(engine, plan, said)
  if (refusal !== null) throw refused(refusal)
  const { planner, model, template } = options
  const choice = Object.fromEntries(Object.entries({ planner, model, template }).filter(([, one]) => one !== undefined))
  const drafted = await redraftPlan<never>(
    engine,
    { plan, newComments: said, choice },
    async ({ goal, comments, draft: earlier, choice }) => {
      const chosen = { ...options, ...choice } as PlanOptions
      const rooms = { planner: plannerFor(planners, chosen), repository, ...(await earlierPlans(engine)) }
      const { proposal } = await proposed(context, rooms, { goal, comments, options: chosen, draft: earlier })
      draft.proposal = proposal
      return proposal
    },
  )
  if (drafted.status === 'refused') throw refused(drafted.refusal)
  if (drafted.status === 'failed') return drafted.problem
  tellChange(context, name, await keepRedraft(engine, plan, drafted.redraft))
  for (const { comment: unread, why } of drafted.redraft.unfollowed) {
    const place = unread.task === null ? '' : `${unread.task}: `
    print(context, escapeForTerminal(`comment not applied: ${place}${unread.text} (${why})`))
  }
  for (const name of strangers)
    print(context, `the draft has no task '${name}': what was said about it is kept as a comment on the whole plan`)
}

/** `task: text`, `task.field: text` or `task.field:line: text`; anything else is about the whole plan. */
function readComment(said: string, tasks: ReadonlySet<string>): PlanComment {
  const [, place = '', number, text = ''] = /^([\w./-]+)(?::(\d{1,6}))?:\s+(.+)$/.exec(said) ?? []
  const line = number === undefined || number === '0' ? {} : { line: Number(number) }
  const at = place.lastIndexOf('.')
  const [task, field] = tasks.has(place) ? [place, {}] : [place.slice(0, at), { field: place.slice(at + 1) }]
  if (!tasks.has(task)) return { task: null, text: said }
  const found = { ...field, ...line }
  return { task, text, ...(Object.keys(found).length === 0 ? {} : { place: found }) }
}

const strangerIn = (said: string): readonly string[] =>
  /^([a-z][a-z0-9-]*)(?:\.\w+)?(?::\d+)?:\s/.exec(said)?.slice(1) ?? []

function tellChange(context: Context, name: string, changed: DraftChanged): void {
  if (changed.status === 'refused') throw refused(changed.refusal)
  if (changed.status === 'same' || isEmpty(changed.diff)) return print(context, 'no changes')
  print(context, [
    `${name}: ${escapeForTerminal(changed.summary)}`,
    '',
    ...escapeForTerminal(explainDiff(changed.diff), { keepLines: true }).split('\n'),
  ])
}
