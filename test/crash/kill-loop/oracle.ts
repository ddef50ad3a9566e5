// The judge of an episode. It knows the ledger of the tasks, the person's own record, what the command line acknowledged, the
// files, and the journal as SQLite shows it. It does not ask the product how things stand; only `check` and `audit verify` are
// run as well, because they must agree.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { answersOf, type Call, dataOf } from './cli.ts'
import type { Episode } from './episode.ts'
import { asTold, type JournalEntry, type JournalEvent, readJournal, readPlans } from './journal.ts'
import { LEDGER_OWN, type LedgerLine, readLedger } from './ledger.ts'
import { isAboutFiles } from './people.ts'
import { standsAs, type Version } from './person.ts'
import { recoverable } from './recoverable.ts'
import { contentOf, type LoopPlan, type LoopTask } from './scenario.ts'

export interface Violation {
  readonly rule: string
  readonly what: string
}

interface Case {
  readonly episode: Episode
  readonly journal: readonly JournalEntry[]
  readonly ledger: readonly LedgerLine[]
  readonly found: (rule: string, what: string) => void
}

export async function judge(episode: Episode): Promise<readonly Violation[]> {
  const violations: Violation[] = []
  const found = (rule: string, what: string): void => {
    if (!violations.some(each => each.rule === rule && each.what === what)) violations.push({ rule, what })
  }
  for (const trouble of episode.troubles) found('comes to rest', trouble)
  const journal = readJournal(episode.workspace)
  const at: Case = { episode, journal, ledger: readLedger(episode.ledger), found }
  judgeOutput(at)
  judgeAcknowledged(at)
  for (const plan of episode.scenario.plans) {
    const due = plan.tasks.some(({ fails }) => fails) ? 'failed' : 'completed'
    const status = readPlans(episode.workspace).find(({ name }) => name === plan.name)?.status
    if (status !== due) found('ends as it must', `${plan.name} is ${status}, and should be ${due}`)
    judgeEffects(at, plan)
    judgeCompensations(at, plan)
    judgeFiles(at, plan)
  }
  judgeQuestions(at)
  judgeOtherFiles(at)
  await judgePerson(at)
  await judgeStore(at)
  return violations
}

// ── what was said ──────────────────────────────────────────────────────────────────────────────────────────────────

const EXITS: Readonly<Record<string, number>> = { completed: 0, failed: 1, cancelled: 1 }

/** No stack trace, no bug report, and exit codes as documented. */
function judgeOutput({ episode, found }: Case): void {
  for (const call of episode.cli.calls) {
    const said = `planfold ${call.argv.join(' ')}`
    const trace = /^\s+at .+:\d+:\d+\)?$/m.exec(call.out) ?? /^\s+at .+:\d+:\d+\)?$/m.exec(call.err)
    if (trace !== null) found('no stack trace', `${said}:\n${call.err.slice(0, 1_500)}`)
    if (call.signal !== null) continue
    if (call.code === null || ![0, 1, 3, 4].includes(call.code))
      found('exit codes', `${said} ended with ${call.code}:\n${tail(call)}`)
    const summary = dataOf(call)?.summary as { readonly status: string } | undefined
    if (['run', 'resume'].includes(call.argv[0] ?? '') && summary !== undefined) {
      const due = EXITS[summary.status] ?? 4
      if (call.code !== due) found('exit codes', `${said} ended with ${call.code}, but the plan is ${summary.status}`)
    }
  }
  const bugs = join(episode.workspace, '.planfold/bugs')
  if (existsSync(bugs)) found('no stack trace', `bug reports were written: ${readdirSync(bugs).join(', ')}`)
}

/** Whatever was told as durable stands in the journal as it was told. Versions have no gap. */
function judgeAcknowledged({ episode, journal, found }: Case): void {
  const entries = new Map(journal.map(entry => [`${entry.plan} ${entry.version}`, entry]))
  for (const { id, name } of readPlans(episode.workspace)) {
    const versions = journal.filter(({ plan }) => plan === id).map(({ version }) => version)
    if (!versions.every((version, at) => version === at + 1)) found('journal without gaps', `${name}: ${versions}`)
  }
  const demand = (said: string, plan: unknown, version: unknown, events: readonly unknown[]): void => {
    const entry = entries.get(`${plan} ${version}`)
    const isThere = events.every(event => entry?.events.some(each => isDeepStrictEqual(asTold(each), event)))
    if (entry === undefined || !isThere)
      found('acknowledged is durable', `${said} was told entry ${version}: ${JSON.stringify(events)}`)
  }
  for (const call of episode.cli.calls) {
    const said = `planfold ${call.argv.join(' ')}`
    for (const { data } of answersOf(call)) {
      if (data === undefined) continue
      if (data.type === 'event') demand(said, data.plan, data.version, [data.event])
      else if (Array.isArray(data.events)) demand(said, data.plan, data.version, data.events)
      else if (call.argv[0] === 'claim') demand(said, data.plan, data.version, [])
    }
  }
}

// ── what happened ──────────────────────────────────────────────────────────────────────────────────────────────────

const eventsOf = (journal: readonly JournalEntry[], name: string): readonly JournalEvent[] =>
  journal.filter(entry => entry.name === name).flatMap(({ events }) => events)

function judgeEffects({ journal, ledger, found }: Case, plan: LoopPlan): void {
  const events = eventsOf(journal, plan.name)
  const id = journal.find(({ name }) => name === plan.name)?.plan
  const attempts = (type: string) =>
    events.filter(event => event.type === type).map(({ task, visit, attempt }) => ({ task, visit, attempt }))
  const started = attempts('attempt.started').map(each => `${id}/${each.task}/${each.visit} ${each.attempt}`)
  const succeeded = new Map<string, number>()
  for (const { task, visit, attempt } of attempts('attempt.succeeded')) {
    const key = `${id}/${task}/${visit}`
    if (succeeded.has(key)) found('completed once', `${key} succeeded twice`)
    succeeded.set(key, attempt ?? 0)
  }
  for (const one of twice(started)) found('completed once', `attempt ${one} was started twice`)
  const mine = ledger.filter(line => line.plan === plan.name)
  const begun = mine.filter(({ what }) => what === 'begin')
  for (const one of twice(begun.map(({ key, attempt }) => `${key} ${attempt}`)))
    found('carried out once', `attempt ${one} was carried out twice`)
  for (const { key, attempt, task } of begun) {
    if (!started.includes(`${key} ${attempt}`))
      found('journal first', `${key} ${attempt} ran, but the journal did not start it`)
    const done = succeeded.get(key)
    if (done !== undefined && attempt > done)
      found('completed is final', `${task} ran again after it was done: ${key} ${attempt}`)
  }
  for (const task of plan.tasks) {
    const effects = mine.filter(line => line.what === 'effect' && line.task === task.id)
    for (const { key } of effects)
      if (!new RegExp(`^${id}/${task.id}/\\d+$`).test(key)) found('same key', `${task.id} ran with the key ${key}`)
    if (task.class === 'unsafe' || task.class === 'probed')
      for (const key of twice(effects.map(({ key }) => key)))
        found('at most once', `the ${task.class} effect of ${key} happened twice`)
    if (task.class === 'model' || task.fails) continue
    for (const key of succeeded.keys())
      if (key.startsWith(`${id}/${task.id}/`) && !effects.some(effect => effect.key === key))
        found('no false success', `${key} is called done, but its effect never happened`)
  }
}

/** Of a plan that failed: each completed visit that says how is undone, and nothing twice. */
function judgeCompensations({ episode, journal, ledger, found }: Case, plan: LoopPlan): void {
  const undone = ledger.filter(line => line.what === 'undo' && line.plan === plan.name)
  for (const key of twice(undone.map(({ key }) => key))) found('undone once', `${key} was compensated twice`)
  const status = readPlans(episode.workspace).find(({ name }) => name === plan.name)?.status
  const events = eventsOf(journal, plan.name)
  for (const task of plan.tasks.filter(({ compensated }) => compensated)) {
    const keys = undone.filter(line => line.task === task.id)
    const isDone = events.some(event => event.type === 'attempt.succeeded' && event.task === task.id)
    const said = events.filter(event => event.type === 'compensation.finished' && event.task === task.id)
    if (status === 'completed' && keys.length > 0) found('undone without need', `${plan.name}/${task.id}`)
    if (status === 'failed' && plan.onFailure !== 'keep' && isDone && keys.length === 0 && said.length === 0)
      found('undone', `${plan.name} failed, but ${task.id} was not compensated`)
  }
}

const twice = (list: readonly string[]): readonly string[] => [
  ...new Set(list.filter((one, at) => list.indexOf(one) !== at)),
]

// ── the files ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** What a plan's completed tasks wrote stands; what a rolled back plan wrote does not. */
function judgeFiles({ episode, journal, found }: Case, plan: LoopPlan): void {
  const events = eventsOf(journal, plan.name)
  const visits = new Map<string, number[]>()
  const [unsure, called] = [new Set<string>(), new Set<string>()]
  let isRolledBack = false
  let left: ReadonlySet<string> = new Set()
  for (const event of events) {
    if (event.type === 'attempt.succeeded')
      visits.set(event.task ?? '', [...(visits.get(event.task ?? '') ?? []), event.visit ?? 0])
    // What nobody saw end may have been cut off before its file was written.
    if (event.type === 'attempt.parked' || event.type === 'attempt.lost') unsure.add(event.task ?? '')
    if (event.type === 'gate.decided' && event.verdict === 'done') called.add(event.task ?? '')
    if (event.type === 'rollback.finished') {
      visits.clear()
      isRolledBack = true
      left = pathsLeft(event)
    }
    if (event.type === 'attempt.started') isRolledBack = false
  }
  const status = readPlans(episode.workspace).find(({ name }) => name === plan.name)?.status
  const isOpen = (task: LoopTask): boolean => !isRolledBack && status !== 'completed' && !visits.has(task.id)
  for (const task of plan.tasks) {
    // What a person called done, and what failed for good, may have been cut off anywhere.
    if (task.file === null || called.has(task.id) || isOpen(task)) continue
    const before = episode.scenario.files[task.file] ?? null
    const done = visits.get(task.id) ?? []
    const mayBeCutOff = task.leaves === 'push' && task.class !== 'idempotent' && unsure.has(task.id)
    const due = done.length === 0 ? before : (before ?? '') + contentOf(task, done)
    const now = textAt(episode.workspace, task.file)
    if (now === due || (mayBeCutOff && now === before) || episode.person.touched.has(task.file)) continue
    // Somebody was asked about it and chose.
    const { file } = task
    const isChosen = episode.people.decisions.some(
      ({ asked, type, plan: of }) =>
        asked.includes(`"${file}"`) || (isRolledBack && type === 'rollback' && of === plan.name),
    )
    if (isChosen) continue
    // Of a task that says nothing nobody can tell whether it was the person: it stays, and the journal names it.
    if (isRolledBack && task.class !== 'workspace' && left.has(task.file)) continue
    const rule = isRolledBack ? 'a rollback takes back what the plan wrote' : 'what completed tasks wrote stands'
    found(
      rule,
      `${task.file} of ${plan.name}/${task.id} should hold ${JSON.stringify(due)}, but holds ${JSON.stringify(now)}`,
    )
  }
}

const pathsLeft = ({ left }: JournalEvent): ReadonlySet<string> =>
  new Set(((left ?? []) as readonly { readonly path: string }[]).map(({ path }) => path))

/** Files nobody was to touch are as they were, and nothing lies about that nobody wrote. */
function judgeOtherFiles({ episode, found }: Case): void {
  const { scenario, workspace, person } = episode
  const tasks = scenario.plans.flatMap(plan => plan.tasks)
  const ours = new Set(tasks.flatMap(({ file }) => (file === null ? [] : [file, `${file}.new`])))
  for (const [path, text] of Object.entries(scenario.files)) {
    if (ours.has(path) || person.touched.has(path)) continue
    if (textAt(workspace, path) !== text)
      found('untouched files stand', `${path}: ${JSON.stringify(textAt(workspace, path))}`)
  }
  for (const path of filesBelow(workspace)) {
    if (ours.has(path) || person.touched.has(path) || path in scenario.files) continue
    found('nothing lies about', path)
  }
}

/** The paths on which somebody is said to have worked. */
function accused(event: JournalEvent): readonly string[] {
  const text = JSON.stringify(event).replaceAll('\\"', '"')
  const named = [...text.matchAll(/somebody has worked on (.*?) since/gi)].flatMap(([, list = '']) =>
    [...list.matchAll(/["']([^"']+)["']/g)].map(([, path = '']) => path),
  )
  return [...new Set([...((event.conflicts ?? []) as readonly string[]), ...named])]
}

/** The last sign of life of an owner may be a second old when it dies. */
const ORPHAN_MS = 700

/** No plan stops on a path that nobody but the plans ever touched. */
function judgeQuestions({ episode, journal, ledger, found }: Case): void {
  const { scenario, person, people, deaths } = episode
  const tasks = scenario.plans.flatMap(plan => plan.tasks.map(task => ({ plan: plan.name, task })))
  // Its owner was dead, and it wrote on for so long that its files look like a person's.
  const isLateOrphan = (plan: string, task: LoopTask): boolean =>
    ledger.some(line => {
      if (line.plan !== plan || line.task !== task.id) return false
      const begun = ledger.find(each => each.what === 'begin' && each.key === line.key && each.attempt === line.attempt)
      return deaths.some(
        ({ plans, at }) => plans.includes(plan) && begun !== undefined && begun.at < at && line.at > at + ORPHAN_MS,
      )
    })
  // Asked whose it was, a person has said that it stays: from then on it is theirs.
  const kept = new Set(
    journal.flatMap(({ events }) =>
      events.flatMap(event => (event.type === 'workspace.restored' ? ((event.kept ?? []) as readonly string[]) : [])),
    ),
  )
  const isMadeUp = (path: string): boolean => {
    if (person.touched.has(path) || kept.has(path)) return false
    const written = tasks.find(({ task }) => task.file === path || `${task.file}.new` === path)
    if (written !== undefined && isLateOrphan(written.plan, written.task)) return false
    // A deletion is dated by its folder, so a neighbour's edit makes it look late. A folder is touched by who works in it.
    const folder = path.slice(0, path.lastIndexOf('/'))
    const isGone = !existsSync(join(episode.workspace, path))
    const isNear = (each: string): boolean => each.startsWith(`${path}/`) || (isGone && each.startsWith(`${folder}/`))
    return ![...person.touched].some(isNear)
  }
  const complain = (where: string, paths: readonly string[], plan: string): void => {
    const madeUp = [...new Set(paths)].filter(isMadeUp)
    if (madeUp.length > 0)
      found('nobody is made up', `${plan}: ${where} names ${madeUp.join(', ')}; no person was there`)
  }
  for (const { name, events } of journal)
    for (const event of events)
      if (event.type !== 'plan.finished') complain(`the event ${event.type}`, accused(event), name)
  const known = [
    ...Object.keys(scenario.files),
    ...tasks.flatMap(({ task }) => (task.file === null ? [] : [task.file, `${task.file}.new`])),
  ]
  for (const { plan, type, asked } of people.decisions) {
    // It says that another plan, which ran at the same time without a scope, may have written them: nobody is made up.
    // And whose the changes beside a claimed task are: it asks, and says nothing of anybody.
    if (!isAboutFiles(type) || type === 'agent-question' || asked.includes('"plans":[')) continue
    complain(
      `the question '${type}'`,
      known.filter(path => asked.includes(`"${path}"`)),
      plan,
    )
  }
}

// ── the person ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** Each byte she wrote is in place, or one command away; what she did late is in place unless somebody decided otherwise. */
async function judgePerson({ episode, found }: Case): Promise<void> {
  const { person, people } = episode
  const gone: Version[] = [...person.missed]
  for (const version of person.left.values()) if (!standsAs(version, person.read(version.path))) gone.push(version)
  const isExempt = (version: Version): boolean =>
    people.decisions.some(({ at, asked }) => at >= version.at && asked.includes(version.path))
  for (const version of gone) {
    const what = `${version.path} (${version.text === null ? 'deleted' : version.token.trim()}, at ${new Date(version.at).toISOString()})`
    if (version.late && !isExempt(version)) found("a person's late edit stands", what)
    if (version.sha256 === null) continue
    const lost = await recoverable(episode, version)
    if (lost !== null) found("a person's bytes can be got back", `${what}: ${lost}`)
  }
}

// ── the store ──────────────────────────────────────────────────────────────────────────────────────────────────────

async function judgeStore({ episode, found }: Case): Promise<void> {
  const check = await episode.cli.say('doctor', 'store', '--read-data')
  if (check.code !== 0) found('the store is sound', tail(check))
  const audit = await episode.cli.say('audit', 'verify', '--all')
  if (audit.code !== 0) found('the journal is sound', tail(audit))
}

const tail = ({ out, err }: Call): string => `${out}${err}`.slice(-1_500)

function textAt(workspace: string, path: string): string | null {
  try {
    return readFileSync(join(workspace, path), 'utf8')
  } catch {
    return null
  }
}

function filesBelow(workspace: string): readonly string[] {
  return readdirSync(workspace, { recursive: true, withFileTypes: true })
    .filter(entry => !entry.isDirectory())
    .map(entry => join(entry.parentPath, entry.name).slice(workspace.length + 1))
    .filter(path => !path.startsWith('.planfold/') && !LEDGER_OWN.has(path))
}
