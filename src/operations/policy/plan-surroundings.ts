// Why a plan or parts of it would be refused here: policies of organisation, user and project, undefined secrets, missing runners, agents
// and databases, write scopes that are too large. Found before the plan runs, with the rules that apply when it runs.

import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { type DbRequest, dbRequest } from '../../domain/actions/db-action.ts'
import { modelRequest } from '../../domain/actions/model-action.ts'
import { runnerRequest } from '../../domain/actions/runner-action.ts'
import { advise, quoted } from '../../domain/hint.ts'
import { CAPTURED_ENTRIES_MAX, CAPTURED_FILE_MAX_BYTES, CAPTURED_TOTAL_MAX_BYTES } from '../../domain/limits.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { agentRequest } from '../../domain/plan-rules/agent-request.ts'
import { commandText } from '../../domain/plan-rules/criterion-text.ts'
import { capturesFiles, scopeOf } from '../../domain/plan-rules/effect.ts'
import { commandAnswer, commandReason, commandsOf, type UnderPolicy } from '../../domain/policy/policy-in-state.ts'
import type { PolicyLayer } from '../../domain/policy/policy-layer.ts'
import { beyondLayers } from '../../domain/policy/refuse-layers.ts'
import { allTasks } from '../../domain/state/task-index.ts'
import { contendersOf } from '../../domain/tries/tries.ts'
import { findExtra, hasExtra, OTHER_BUILD, withoutExtra } from '../../extras.ts'
import type { DefinitionFault } from '../../format/plan/parse.ts'
import { protectedBy } from '../../safety/files/protected-path.ts'
import { scopeEntries } from '../../safety/files/scope-entries.ts'
import type { SettingsPlace } from '../../safety/files/user-settings.ts'
import { type FaultyPolicy, readPolicyLayers } from '../../safety/policy/policy-files.ts'
import { refusedWrite } from '../../safety/policy/refused-write.ts'
import { readSecretSources } from '../../safety/secrets/secret-sources.ts'

/** `error`: the plan will not start. `warning`: a task will fail or wait unless something changes first. */
export interface SurroundingFault extends DefinitionFault {
  readonly severity: 'error' | 'warning'
  /** A plan that is only looked at may be completed later; it is not started like this. */
  readonly atStart?: 'error'
  /** The place, if it is not in the plan; `message` then names it too. Null: in no text. */
  readonly elsewhere?: ElsewhereFault | null
}

export interface ElsewhereFault {
  readonly file: string
  readonly line: number
  readonly column: number
  /** The text of the line. */
  readonly source: string
  /** Without the place. */
  readonly message: string
}

export async function surroundingFaults(
  place: SettingsPlace,
  definition: PlanDefinition,
  /** Runners of the program that will run the plan; null if unknown, and then not checked. */
  runners: readonly string[] | null = [],
): Promise<readonly SurroundingFault[]> {
  const tasks = allTasks(definition)
  return [
    ...(await policyFaults(place, definition, tasks)),
    ...(await secretFaults(place, tasks)),
    ...(runners === null ? [] : tasks.flatMap(task => runnerFaults(task, runners))),
    ...(await extraFaults(place, definition, tasks)),
    ...(await reviewFaults(place, definition, tasks)),
    ...(await Promise.all(tasks.map(task => databaseFaults(place.root, task)))).flat(),
    ...(await scopeFaults(place, definition, tasks)),
  ]
}

async function policyFaults(
  place: SettingsPlace,
  definition: PlanDefinition,
  tasks: readonly TaskDefinition[],
): Promise<readonly SurroundingFault[]> {
  const read = await readPolicyLayers(place)
  if (!read.ok) return await unreadablePolicy(place)
  const layers = read.value
  const beyond = beyondLayers(definition, layers)
  return [
    ...(beyond === null ? [] : [{ severity: 'error' as const, ...beyond }]),
    ...tasks.flatMap(task => [...commandFaults({ definition, layers }, task), ...writeFaults(layers, task)]),
  ]
}

export async function unreadablePolicy(place: SettingsPlace): Promise<readonly SurroundingFault[]> {
  const faulty: FaultyPolicy[] = []
  const read = await readPolicyLayers(place, one => faulty.push(one))
  if (read.ok) return []
  const { message, hint } = read.failure
  const faults = faulty.flatMap(faultsIn)
  return faults.length > 0 ? faults : [{ severity: 'error', message, hint, elsewhere: null }]
}

function faultsIn({ file, text, diagnostics }: FaultyPolicy): readonly SurroundingFault[] {
  const lines = text.split('\n')
  return diagnostics
    .toSorted((a, b) => a.line - b.line || a.column - b.column)
    .map(({ line, column, message, hint }) => ({
      severity: 'error',
      message: `${file}:${line}:${column}: ${message}`,
      hint: hint ?? 'repair the file: nothing starts while it cannot be read',
      elsewhere: { file, line, column, source: lines[line - 1] ?? '', message },
    }))
}

/** Commands that need approval or are denied; one line for each task and rule. */
function commandFaults(under: UnderPolicy, task: TaskDefinition): readonly SurroundingFault[] {
  const faults = new Map<string, SurroundingFault>()
  for (const command of commandsOf(task)) {
    const answer = commandAnswer(under, command)
    if (answer.verdict === 'allow') continue
    const why = commandReason(answer)
    const isDenied = answer.verdict === 'deny'
    const text = commandText(command)
    faults.set(why, {
      severity: 'warning',
      task: task.id,
      message: isDenied
        ? `'${task.id}' will fail: '${text.slice(0, 80)}' is not run, ${why}`
        : `'${task.id}' will wait for a person: ${why}`,
      hint: isDenied
        ? 'do without it, or ask the author of the rule to change it'
        : advise`answer it when it asks: ${quoted('inbox')}`,
    })
  }
  return [...faults.values()]
}

function writeFaults(layers: readonly PolicyLayer[], task: TaskDefinition): readonly SurroundingFault[] {
  const refused = refusedWrite(layers, task)
  if (refused === null) return []
  const { message, hint } = refused
  return [{ severity: 'warning', task: task.id, message: `'${task.id}' will fail: ${message}`, hint }]
}

async function secretFaults(
  place: SettingsPlace,
  tasks: readonly TaskDefinition[],
): Promise<readonly SurroundingFault[]> {
  const named = tasks.flatMap(({ id, secrets = [] }) => secrets.map((name, at) => ({ id, name, at })))
  if (named.length === 0) return []
  const read = await readSecretSources(place)
  if (!read.ok) return [{ severity: 'warning', message: read.failure.message, hint: read.failure.hint }]
  const { sources } = read.value
  return named
    .filter(({ name }) => !Object.hasOwn(sources, name))
    .map(({ id, name, at }) => ({
      severity: 'warning',
      task: id,
      key: 'secrets',
      at: [at],
      message: `the secret '${name}' is not configured: '${id}' will fail`,
      hint: advise`configure it: ${quoted('name-secret', { name })}`,
    }))
}

function runnerFaults({ id, action }: TaskDefinition, known: readonly string[]): readonly SurroundingFault[] {
  const use = runnerRequest(action)?.use
  if (use === undefined || known.includes(use)) return []
  return [
    {
      severity: 'warning',
      task: id,
      key: 'runner',
      message: `there is no runner '${use.slice(0, 100)}' here: '${id}' will fail`,
      hint: 'a program brings runners along: compose({ runners: […] }); the command line has none',
    },
  ]
}

/** What needs an extra that this build lacks, and agents that are not known here. */
async function extraFaults(
  place: SettingsPlace,
  { defaults }: PlanDefinition,
  tasks: readonly TaskDefinition[],
): Promise<readonly SurroundingFault[]> {
  const missing = tasks.flatMap(({ id, action: { type } }) => {
    const extra = type === 'agent' ? 'agents' : type === 'model' ? 'models' : null
    if (extra === null || hasExtra(extra)) return []
    return [{ severity: 'error' as const, task: id, key: type, message: withoutExtra(extra), hint: OTHER_BUILD }]
  })
  const acting = tasks.flatMap(task => contendersOf(task).map(({ definition }) => definition))
  const named = acting.flatMap(({ id, action }) => {
    const request = agentRequest(action)
    const name = request?.command === null ? (request.use ?? defaults?.agent) : undefined
    return name === undefined ? [] : [{ task: id, name }]
  })
  const agents = named.length === 0 ? null : await findExtra('agents')
  const faults = (await agents?.agentFaults(place, named)) ?? []
  return [
    ...missing,
    ...faults.map(fault =>
      fault.task === undefined
        ? { severity: 'warning' as const, ...fault }
        : { severity: 'error' as const, key: 'agent', ...fault, ...ofReview(tasks, fault.task) },
    ),
  ]
}

/** A reviewer that a task brings along is written under that task. */
function ofReview(tasks: readonly TaskDefinition[], task: string) {
  const of = tasks.find(({ id }) => id === task)?.reviews?.of
  return `${of}/review` === task ? { task: of, key: 'review', at: ['by'] } : {}
}

/** Reviews by the default model, where there is none. */
async function reviewFaults(
  place: SettingsPlace,
  { defaults }: PlanDefinition,
  tasks: readonly TaskDefinition[],
): Promise<readonly SurroundingFault[]> {
  const asked = tasks.flatMap(({ action, review, reviews }) =>
    review === undefined && reviews !== undefined && modelRequest(action)?.use === null ? [reviews.of] : [],
  )
  if (asked.length === 0 || defaults?.model !== undefined) return []
  const models = await findExtra('models')
  const list = await models?.modelsAt(place).list()
  if (list === undefined || list.default !== null) return []
  return asked.map(task => ({
    ...{ severity: 'warning', atStart: 'error', task, key: 'review', at: ['by'] },
    message: `'${task}' is to be reviewed by a model, and none is configured`,
    hint: 'write by: PROVIDER/NAME, set defaults: { model: … }, or configure one in your settings or PLANFOLD_MODEL',
  }))
}

async function databaseFaults(root: string, task: TaskDefinition): Promise<readonly SurroundingFault[]> {
  const request = dbRequest(task.action)
  if (request === null) return []
  const faults = [await notDatabase(root, request), ...(await missingMigrations(root, request))]
  return faults
    .filter(fault => fault !== null)
    .map(fault => ({ severity: 'warning', task: task.id, key: 'db', ...fault }))
}

/** Scopes too large to be captured: the task would fail, because it could not be reverted. */
async function scopeFaults(
  place: SettingsPlace,
  definition: PlanDefinition,
  tasks: readonly TaskDefinition[],
): Promise<readonly SurroundingFault[]> {
  // Each scope is read once, up to a total number of files, which takes a second or two.
  const known = new Map<string, string | null>()
  const looks = { left: 2 * CAPTURED_ENTRIES_MAX }
  const faults: SurroundingFault[] = []
  for (const task of tasks.filter(one => capturesFiles(definition, one))) {
    const scope = scopeOf(definition, task) ?? []
    const excess = known.get(scope.join()) ?? (known.has(scope.join()) ? null : await scopeExcess(place, scope, looks))
    known.set(scope.join(), excess)
    const message = `'${task.id}' will fail: its write scope contains ${excess}, too much to save before it runs`
    const hint = 'narrow `write`, or move it away; without `write` the task runs, and a rollback leaves such files'
    if (excess !== null) faults.push({ severity: 'warning', task: task.id, key: 'write', message, hint })
  }
  return faults
}

/** As the end of a sentence; null if it can be captured, as far as was seen. */
async function scopeExcess(place: SettingsPlace, scope: readonly string[], looks: { left: number }) {
  const [count, megabytes] = [CAPTURED_ENTRIES_MAX.toLocaleString('en'), CAPTURED_FILE_MAX_BYTES / 1024 ** 2]
  let entries = 0
  let bytes = 0
  for await (const { path, stat } of scopeEntries(place.root, place.stateDir, scope)) {
    if (--looks.left < 0) return null
    if (++entries > CAPTURED_ENTRIES_MAX) return `more than ${count} files and folders`
    if (!stat.isFile() || protectedBy(path.split('/'), null) !== null) continue
    if (stat.size > CAPTURED_FILE_MAX_BYTES) return `'${path}', which is larger than ${megabytes} MB`
    bytes += stat.size
    if (bytes > CAPTURED_TOTAL_MAX_BYTES) return `more than ${CAPTURED_TOTAL_MAX_BYTES / 1024 ** 3} GB`
  }
  return null
}

/** A missing database may be created by this task or an earlier one. */
async function notDatabase(
  root: string,
  { file }: DbRequest,
): Promise<Pick<DefinitionFault, 'message' | 'hint'> | null> {
  const head = await headOf(join(root, file))
  if (head === null || head === '' || head === HEAD) return null
  return { message: `'${file}' is not a SQLite database`, hint: 'check the path in `url`' }
}

const HEAD = 'SQLite format 3\0'

async function missingMigrations(
  root: string,
  request: DbRequest,
): Promise<readonly Pick<DefinitionFault, 'message' | 'hint'>[]> {
  const files = request.do === 'migrate' ? request.files.filter(file => !file.includes('${{')) : []
  const found = await Promise.all(files.map(async file => ((await headOf(join(root, file))) === null ? [file] : [])))
  return found.flat().map(file => ({
    message: `there is no migration '${file}' yet`,
    hint: 'check the path, or have a task before this one write it',
  }))
}

/** Null if it is unreadable, or no regular file. */
async function headOf(path: string): Promise<string | null> {
  try {
    const file = await open(path, 'r')
    try {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(HEAD.length), 0, HEAD.length, 0)
      return buffer.toString('latin1', 0, bytesRead)
    } finally {
      await file.close()
    }
  } catch {
    return null
  }
}
