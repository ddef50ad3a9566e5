// `planfold run FILE`: makes a plan or goes on with it, and drives it; `--dry-run` shows what it would do.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Composed } from '../../../compose.ts'
import type { PlanId, TaskName } from '../../../domain/id.ts'
import { ENDED, PLAN_ENDED } from '../../../domain/status.ts'
import type { Card } from '../../../domain/views/board.ts'
import { gateWords } from '../../../domain/views/gate-text.ts'
import { openExtra } from '../../../extras.ts'
import type { Diagnostic } from '../../../format/text/diagnostic.ts'
import {
  continuationText,
  createOrder,
  howToStartOver,
  type Revised,
  runPlan,
  type WentOn,
} from '../../../operations/run-plan.ts'
import { type GoingOptions, type Summary, setGoing } from '../../../operations/start-plan.ts'
import { escapeForTerminal, shellWord } from '../../../safety/text/terminal.ts'
import { answer, envelope, printNote } from '../../answer.ts'
import { type Context, withState } from '../../context.ts'
import { drive } from '../../drive.ts'
import { CliError, declined, EXIT, type FileDiagnostic, refused, usage } from '../../exit.ts'
import { findPlan } from '../../find-target.ts'
import { submit } from '../../order.ts'
import { isFile, type PlanFile, refuseUnreadablePolicy } from '../../plan-file.ts'
import type { MirrorOption } from '../../plan-mirror.ts'
import { confirm } from '../../terminal/confirm.ts'
import { planWord } from '../../terminal/paint.ts'
import { dryRunLines } from '../../text/dry-run-text.ts'
import { hintText } from '../../text/hint-text.ts'
import { stoppedRollback } from '../../text/rollback-result.ts'
import { asYouLine, noSandboxLine } from '../../text/run-mode-text.ts'
import { thrownShort } from '../../text/wait-text.ts'
import type { SetOptions } from '../formats/template-new.ts'

export interface RunOptions extends SetOptions {
  readonly again?: boolean
  readonly repeat?: boolean
  readonly keepDone?: boolean
  readonly dryRun?: boolean
  readonly wait?: boolean
  readonly with?: string
  readonly model?: string
  readonly start: boolean
  readonly mirror?: MirrorOption
}

export async function run(context: Context, given: string | undefined, options: RunOptions): Promise<number> {
  const word = given ?? (await planFileHere(context))
  if (options.dryRun === true) return await dryRun(context, word, options)
  if (!(await isFile(context, word))) {
    if ((options.set ?? options.setFile) !== undefined)
      throw usage(
        `plan '${word}' exists already: its parameters were set when it was created`,
        'give the file of its template',
      )
    return await withState(context, { create: false }, async composed => {
      warnAboutEnvironment(context, composed)
      const { plan, name } = await findPlan(composed.engine, word)
      const since = await versionOf(composed, plan)
      if (options.with !== undefined) await assign(context, composed, plan, options)
      printWarnings(context, await tellSurroundings(context, composed, plan))
      const goOn = options.again === true ? {} : { goOn: { rationale: `run ${name}`, ...unsafeOf(options) } }
      return await startAndDrive(context, composed, { plan, name, since, ...goOn }, options)
    })
  }
  // Read and judged before anything is opened: a bad plan leaves nothing behind.
  const { refuseSketch } = await import('../../plan-file.ts')
  const { readFilledIn } = await import('../formats/template-new.ts')
  const file = await readFilledIn(context, word, options)
  refuseSketch(file)
  const ofFile = [...(await tellFileWarnings(context, file)), ...(await tellLoosePolicy(context, file))]
  return await withState(context, { create: true }, async composed => {
    warnAboutEnvironment(context, composed)
    await refuseRepository(composed, file)
    const around = await tellSurroundings(context, composed, file.definition.name, { file, ...options })
    const warnings = [...ofFile, ...around]
    if (options.start) printWarnings(context, warnings)
    const taken = await takeUp(context, composed, file, options)
    if (options.with !== undefined) await assign(context, composed, taken.plan, options)
    if (options.start) return await startAndDrive(context, composed, { ...taken, checked: true }, options)
    const status = (await composed.engine.ask({ type: 'summary', plan: taken.plan }))?.status ?? 'draft'
    answer(context, { plan: taken.plan, name: taken.name, status, warnings }, () =>
      status === 'draft'
        ? `created ${taken.name}, not started. Next: planfold run ${taken.name}`
        : `${taken.name} is ${planWord(status)}. Next: planfold resume ${taken.name}`,
    )
    return EXIT.done
  })
}

/** `--with`: the open external tasks are worked by an agent; a file stays as it is. */
async function assign(context: Context, { engine }: Composed, plan: PlanId, options: RunOptions): Promise<void> {
  const { workerFor } = await openExtra('agents')
  const { assignWorker } = await import('../../../operations/agents/agent-worker.ts')
  const worker = await workerFor(context, engine, options)
  if (worker === null) return
  const assigned = await assignWorker(engine, plan, worker)
  if (!assigned.ok && assigned.refusal.code === 'invalid') return printNote(context, assigned.refusal.message)
  if (!assigned.ok) throw refused(assigned.refusal)
  printNote(context, `${worker.agent} works ${assigned.tasks.join(', ')}`)
}

/** Where no plan is named: the plan file of this folder, if there is one and the person agrees. */
async function planFileHere(context: Context): Promise<string> {
  const { planFilesHere } = await import('../../plan-file.ts')
  const files = await planFilesHere(context)
  const [first] = files
  if (first !== undefined && files.length === 1 && context.terminal !== null && !context.settings.json) {
    if (await confirm(context, `run ${escapeForTerminal(first)}?`)) return first
    throw declined('nothing was run')
  }
  const commands = files.map(name => `planfold run ${shellWord(name)}`).join(' or ')
  throw usage('name a plan file or a plan', commands === '' ? '`planfold init` writes an example plan' : commands)
}

/** Reported at its place in the file, before the plan is made. An existing plan has begun already. */
export async function refuseRepository({ engine, git }: Composed, file: PlanFile): Promise<void> {
  const { gitFaults, usesGit } = await import('../../../operations/check-plan.ts')
  if (!usesGit(file.definition)) return
  if ((await engine.ask({ type: 'summary', plan: file.definition.name })) !== null) return
  const faults = (await gitFaults(git, file.definition)).map(file.locate)
  const [first] = faults
  if (first === undefined) return
  const message = `${first.file}:${first.line}:${first.column}: ${first.message}`
  throw new CliError(EXIT.usage, 'invalid-plan', message, first.hint, faults)
}

/** As `--json` tells it; the place is missing where it is about no line of a file. */
type Warning = Pick<Diagnostic, 'severity' | 'message' | 'hint'> & Partial<Omit<FileDiagnostic, 'source'>>

function printWarnings(context: Context, warnings: readonly Warning[]): void {
  if (!context.settings.json) return
  for (const warning of warnings) context.stdout.write(envelope({ data: { type: 'warning', ...warning } }))
}

async function tellFileWarnings(context: Context, { warnings }: PlanFile): Promise<readonly Warning[]> {
  if (warnings.length === 0) return []
  const { printDiagnostics } = await import('../../text/diagnostics.ts')
  for (const line of printDiagnostics(context.paint, warnings)) printNote(context, line)
  return warnings.map(({ source: _, ...warning }) => warning)
}

async function tellLoosePolicy(context: Context, { definition }: PlanFile): Promise<readonly Warning[]> {
  const { sandbox, gates } = definition.policy ?? {}
  const lines = [
    ...(sandbox === 'off' ? ['policy.sandbox is off: commands of this plan run with your permissions'] : []),
    ...(gates === undefined ? [] : (await import('../../text/inbox-text.ts')).unaskedLines(definition)),
  ]
  for (const line of lines) printNote(context, `warning: ${line}`)
  return lines.map(message => ({ severity: 'warning', message }))
}

/** What around a plan will make a task fail or wait, before it begins. What keeps the plan from starting is thrown. */
async function tellSurroundings(
  context: Context,
  { engine }: Composed,
  plan: string,
  { file, again, start }: { readonly file?: PlanFile; readonly again?: boolean; readonly start?: boolean } = {},
): Promise<readonly Warning[]> {
  const { status = 'draft' } = (await engine.ask({ type: 'summary', plan: plan as PlanId })) ?? {}
  const isAfresh = file !== undefined && PLAN_ENDED.has(status) && (status !== 'failed' || again === true)
  if (status !== 'draft' && !isAfresh) return []
  const definition = file?.definition ?? (await engine.ask({ type: 'definition', plan: plan as PlanId }))?.definition
  if (definition === undefined) return []
  const { placedAround, refuseAround, surroundingsOf } = await import('../../plan-file.ts')
  const faults = await surroundingsOf(context, definition)
  if (file !== undefined && start === true)
    refuseAround(
      file,
      faults.map(fault => ({ ...fault, severity: fault.atStart ?? fault.severity })),
    )
  const warnings = faults.filter(({ severity }) => severity === 'warning')
  if (file !== undefined)
    return await tellFileWarnings(context, { ...file, warnings: warnings.map(fault => placedAround(file, fault)) })
  for (const { message, hint } of warnings.slice(0, TOLD_MAX))
    printNote(context, escapeForTerminal(`warning: ${message}${hint === undefined ? '' : ` (${hintText(hint)})`}`))
  return warnings.map(({ severity, message, hint }) => ({ severity, message, hint }))
}

const TOLD_MAX = 20

export function warnAboutEnvironment(context: Context, { warnings }: Composed): void {
  for (const warning of warnings) printNote(context, `warning: ${warning}`)
}

interface Moved extends Pick<GoingOptions, 'goOn' | 'approval'> {
  readonly plan: PlanId
  readonly name: string
  readonly checked?: true
}

export async function startAndDrive(
  context: Context,
  composed: Composed,
  plan: Moved & { readonly since: number },
  options: {
    readonly wait?: boolean
    readonly plain?: boolean
    readonly mirror?: MirrorOption
    readonly leaves?: TaskName
    readonly continuedBy?: string
  },
): Promise<number> {
  // Continuing may end the plan at once, when nothing is left to do; then only that is printed.
  const now = await composed.engine.ask({ type: 'summary', plan: plan.plan })
  const isOver = now !== null && PLAN_ENDED.has(now.status) && now.version > plan.since
  if (!isOver)
    try {
      await setMoving(context, composed, plan)
    } catch (error) {
      throw thrownShort(plan.name, error) ?? error
    }
  await warnNoSandbox(context, composed, plan.plan)
  return await drive(context, composed, {
    ...plan,
    wait: options.wait === true,
    plain: options.plain === true,
    mirror: options.mirror,
    leaves: options.leaves,
    continuedBy: options.continuedBy,
  })
}

async function tellAsYou(context: Context, { engine }: Composed, plan: PlanId): Promise<void> {
  const open = ((await engine.ask({ type: 'board', plan })) ?? []).filter(({ status }) => !ENDED.has(status))
  const line = context.settings.json ? null : asYouLine(open)
  if (line !== null) printNote(context, line)
}

/** Warns that the tasks' limits are not enforced here; how to install a sandbox is said once for each machine. */
async function warnNoSandbox(context: Context, { engine, sandbox }: Composed, plan: PlanId): Promise<void> {
  const cards = (await engine.ask({ type: 'board', plan })) ?? []
  const isUnheld = ({ runs, author, status }: Card) => runs === 'held' && author === 'person' && !ENDED.has(status)
  const { policy } = (await engine.ask({ type: 'definition', plan }))?.definition ?? {}
  if (policy?.sandbox === 'required') return
  if (!cards.some(isUnheld)) return
  const standing = await sandbox.check()
  if (standing.ok) return
  const { isFirstTime } = await import('../../../operations/upkeep/first-time.ts')
  const { message, hint } = standing.failure
  const why = [
    message.replace(/^there is no sandbox(?:: | on this system)/, ''),
    hint === undefined ? '' : hintText(hint),
  ]
  const once = isFirstTime(context.environment, 'sandbox-hint') ? ` (${why.filter(Boolean).join('; ')})` : ''
  printNote(context, `no sandbox here: what \`write\` and \`network\` say is not enforced${escapeForTerminal(once)}`)
}

export async function setMoving(context: Context, composed: Composed, { plan, name, checked, goOn, approval }: Moved) {
  const going = await setGoing(composed.engine, plan, {
    ...(checked === true ? { check: 'checked' } : {}),
    goOn,
    approval,
  })
  switch (going.status) {
    case 'started':
      await tellPolicy(context, composed, plan)
      await tellAsYou(context, composed, plan)
      return
    case 'resumed':
    case 'attached':
      return
    case 'went-on':
      await tellOnward(context, name, going.went, null)
      return
    case 'ended':
      throw await endedAs(composed, going.plan)
    case 'faulty-steps': {
      const [first] = going.diagnostics
      const message = `the steps of '${name}' cannot be made into tasks: ${first?.message ?? 'they are not a plan'}`
      throw new CliError(EXIT.usage, 'invalid-plan', message, first?.hint)
    }
    case 'unsound': {
      const [first, ...others] = going.faults
      const more = others.length === 0 ? '' : ` (and ${others.length} more)`
      throw new CliError(
        EXIT.usage,
        'invalid-plan',
        `plan '${name}' cannot work: ${first?.message}${more}`,
        `${first?.hint === undefined ? '' : `${hintText(first.hint)}; `}planfold show ${name} --analysis shows all problems, planfold revise ${name} FILE fixes them`,
      )
    }
    case 'empty':
      throw refused(going.refusal)
    case 'refused':
      await refuseUnreadablePolicy(context, going.refusal).catch(error => {
        if (going.order === 'start') printNote(context, `'${name}' was not started and is kept as a draft`)
        throw error
      })
      throw going.order === 'start' ? keptAsDraft(name, refused(going.refusal)) : refused(going.refusal)
    case 'gone':
    case 'moved':
    case 'unchecked':
      throw new Error(`bug: plan ${plan} is ${going.status}`)
    default:
      going satisfies never
  }
}

/** The plan was made before its start was refused. */
const keptAsDraft = (name: string, { exit, code, message, hint }: CliError): CliError =>
  new CliError(
    exit,
    code,
    `${message}; '${name}' was not started and is kept as a draft`,
    `${hint === null ? '' : `${hint}; `}then planfold run ${name}, or run the changed file again`,
  )

async function tellPolicy(context: Context, { engine }: Composed, plan: string): Promise<void> {
  const layers = (await engine.ask({ type: 'definition', plan }))?.policy
  if (layers === undefined) return
  const { policyLines } = await import('../../../operations/policy/policy-report.ts')
  const lines = policyLines(layers, null)
  for (const { key, value, from, file } of lines.slice(0, POLICY_LINES_MAX))
    printNote(context, `policy: ${key} ${escapeForTerminal(value)} (${from}${file === undefined ? '' : ` ${file}`})`)
  const more = lines.length - POLICY_LINES_MAX
  if (more > 0) printNote(context, `policy: and ${more} more; planfold policy show lists them`)
}

const POLICY_LINES_MAX = 12

async function endedAs({ engine, worker }: Composed, { id, name, status }: Summary): Promise<CliError> {
  await worker.tell(id)
  if ((await stoppedRollback(engine, id)) !== null)
    return new CliError(
      EXIT.refused,
      'ended',
      `plan '${name}' ${status === 'failed' ? 'has failed' : `is ${status}`}, and its rollback stopped and needs your decision`,
      'planfold inbox',
    )
  return new CliError(
    EXIT.refused,
    'ended',
    `plan '${name}' ${status === 'failed' ? 'has failed' : `is ${status}`}`,
    status === 'failed'
      ? `planfold run ${name} continues it; planfold retry ${name} TASK retries one task; planfold run FILE --again starts over`
      : status === 'cancelled'
        ? await howToStartOver(engine, id)
        : 'planfold run FILE starts over as a new plan',
  )
}

async function versionOf(composed: Composed, plan: string): Promise<number> {
  return (await composed.engine.ask({ type: 'summary', plan }))?.version ?? 0
}

// `run --dry-run`: what would run, wave by wave, with resolved commands, the diffs of edits, who would be asked and what would be
// judged; and nothing written in the project. A file is looked at through a state folder among the temporary files, thrown
// away afterwards; not even `.planfold` is made.

export async function dryRun(context: Context, word: string, set: SetOptions = {}): Promise<number> {
  if (!(await isFile(context, word))) {
    return await withState(
      context,
      { create: false },
      async composed => await show(context, composed, (await findPlan(composed.engine, word)).plan),
    )
  }
  const { withSurroundings } = await import('../../plan-file.ts')
  const { readFilledIn } = await import('../formats/template-new.ts')
  const file = await withSurroundings(context, await readFilledIn(context, word, set))
  const { definition, told } = file
  const warnings = await tellFileWarnings(context, file)
  for (const why of told.sketch) printNote(context, `a sketch: it can be shown but not run: ${why}`)
  return await withScratchState(context, async composed => {
    await refuseRepository(composed, file)
    const { plan } = await submit(composed, null, { type: 'create', definition })
    return await show(context, composed, plan, warnings)
  })
}

export async function withScratchState<T>(context: Context, body: (composed: Composed) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'planfold-dry-run-'))
  try {
    return await withState(context, { create: true, dir }, body)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

async function show(
  context: Context,
  composed: Composed,
  plan: PlanId,
  warnings: readonly Warning[] = [],
): Promise<number> {
  const { dryRun: dryRunOf } = await import('../../../operations/dry-run.ts')
  const steps = await dryRunOf(composed.engine, plan)
  if (steps === null) throw new Error(`the plan ${plan} has gone`)
  const would = steps.map(({ decides, ...each }) => ({
    ...each,
    preview: each.preview ?? (decides === null ? null : `decides by ${decides}`),
    gate: each.gate === null ? null : gateWords(each.gate, each.asks.join(', ')),
  }))
  const unheld = await noSandboxLine(would, () => composed.sandbox.check())
  answer(context, { dryRun: true, tasks: would, warnings }, () => [
    ...dryRunLines(would, context.paint),
    ...(unheld === null ? [] : [unheld]),
    'dry run: nothing was written',
  ])
  return EXIT.done
}

export interface TakenUp {
  readonly plan: PlanId
  readonly name: string
  /** The version before we did anything to it; 0 for a new plan. */
  readonly since: number
}

export interface TakeUpOptions {
  readonly again?: boolean
  readonly repeat?: boolean
  readonly keepDone?: boolean
}

export async function takeUp(
  context: Context,
  composed: Composed,
  file: PlanFile,
  options: TakeUpOptions = {},
): Promise<TakenUp> {
  const run = await runPlan(composed.engine, {
    create: createOrder(file),
    rationale: `run ${file.path}`,
    ...(options.again === true ? { again: true } : {}),
    ...unsafeOf(options),
  })
  switch (run.how) {
    case 'refused':
      await refuseUnreadablePolicy(context, run.refusal)
      throw refused(run.refusal)
    case 'afresh': {
      const { name, status } = run.was
      printNote(context, `${name} is finished${status === null ? '' : ` (${status})`}; starting over as ${run.name}`)
      break
    }
    case 'revised':
      await tellRevision(context, `${file.path} changed: ${run.name}`, run.revised)
      break
    case 'went-on':
      await tellOnward(context, run.name, run, file.path)
      break
    case 'made':
    case 'attached':
      break
    default:
      run satisfies never
  }
  const { plan, name, since } = run
  return { plan, name, since }
}

export function unsafeOf({ repeat, keepDone }: TakeUpOptions): { readonly unsafe?: 'repeat' | 'keep' } {
  if (repeat === true && keepDone === true)
    throw usage('--repeat and --keep-done cannot be used together', 'use one of them')
  return repeat === true ? { unsafe: 'repeat' } : keepDone === true ? { unsafe: 'keep' } : {}
}

async function tellOnward(context: Context, name: string, { revised, counts }: WentOn, path: string | null) {
  if (revised !== null) await tellRevision(context, `${path ?? 'the plan'} changed: ${name}`, revised)
  printNote(context, `plan ${name} failed; continuing: ${continuationText(counts)}`)
}

async function tellRevision(context: Context, what: string, { from, before, after }: Revised): Promise<void> {
  const { diffDefinitions, printDiff } = await import('../../../format/plan/diff-text.ts')
  printNote(context, `${what} becomes revision ${from + 1}:`)
  printNote(
    context,
    escapeForTerminal(printDiff(diffDefinitions(before, after)), { keepLines: true }).replace(/^/gm, '  '),
  )
}
