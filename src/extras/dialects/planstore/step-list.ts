// `step-list`, the plans of the task planner: `{id, session_id, description, steps: [{id, description, tool, params, dependencies,
// retryable, max_retries, status, result}]}`. A tool is recorded as the capability whoever claims the step needs, with its
// parameters as inputs. Even a tool called `bash` is never turned into a command, unless the plan says `tools: run`.

import type { TaskName } from '../../../domain/id.ts'
import { defined, isMap, type Json, type JsonObject } from '../../../domain/json.ts'
import { ATTEMPTS_MAX, BACKOFF_DEFAULT_MS } from '../../../domain/limits.ts'
import type { PlanDefinition, Retry, TaskDefinition } from '../../../domain/plan.ts'
import type { TaskStatus } from '../../../domain/status.ts'
import type { Dialect, Reading, StatusOf } from '../../../format/plan/dialect.ts'
import { isList, type Source } from '../../../format/text/source.ts'
import { type StatusWords, statusWords } from '../../../format/text/status-words.ts'
import { DataReferences, printReferences } from '../data-references.ts'
import { type DocumentBuilder, type Fields, readStatus } from '../document-builder.ts'
import { printed } from '../export-loss.ts'
import { idsToWrite } from '../names.ts'
import { readListed } from './plan-steps.ts'
import { needsByRank, References, resolve, sameNeeds } from './plan-steps-order.ts'
import { planWords } from './plan-steps-print.ts'
import {
  criteriaOf,
  isText,
  keepOthers,
  moveCriteria,
  moveInputs,
  moveText,
  putId,
  refuseTwins,
  stepIds,
  taskStatusWord,
  withOthers,
} from './plan-steps-words.ts'

/** Steps say `completed`, executions of steps say `success`. */
const STEP_WORDS: StatusWords<TaskStatus> = statusWords({
  pending: 'pending',
  running: 'running',
  completed: 'completed',
  failed: 'failed',
  skipped: 'skipped',
  retrying: 'running',
  success: 'completed',
  cancelled: 'cancelled',
})

export const stepList: Dialect = {
  name: 'step-list',
  about: 'steps with tools, params and dependencies, as planners that keep task_plans tables store them (JSON)',
  recognises: ({ map }) => {
    if (map === null || Object.hasOwn(map, 'planfold') || !isList(map.steps)) return false
    const telling = ['tool', 'retryable', 'max_retries']
    return map.steps.some(step => isMap(step) && telling.some(key => Object.hasOwn(step, key)))
  },
  read,
  print: (definition, status) =>
    printed(`${JSON.stringify(write(definition, status), null, 2)}\n`, definition, status, read),
}

function read(source: Source): Reading {
  const sample = '{"steps": [{"id": "1", "description": "…", "tool": "search"}]}'
  return readListed(source, 'steps', sample, (draft, list, fields) => {
    moveText(fields, ['description'], 'goal')
    const { context } = fields.map
    const variables = isMap(context) ? context.variables : undefined
    return readSteps(draft, list, { variables, runs: runsTools(draft, fields) })
  })
}

interface Asked {
  readonly variables: Json | undefined
  /** Are the tools carried out? */
  readonly runs: boolean
}

function readSteps(draft: DocumentBuilder, list: readonly Json[], { variables, runs }: Asked): readonly JsonObject[] {
  const steps = list.map((step, index) => {
    if (isMap(step)) return step
    draft.refuse({
      path: ['steps', index],
      message: 'a step must be a mapping (key: value)',
      hint: 'write {"id": "1", "description": "…", "tool": "search"}',
    })
    return {}
  })
  refuseTwins(draft, steps, { noun: 'step', pathOf: index => ['steps', index] })
  const ids = stepIds(steps, wordsOf)
  const references = new References()
  references.add(steps.map((step, index) => [step.id, ids[index] as TaskName] as const))
  references.add(ids.map(id => [id, id] as const))
  // Nobody says what it waits for: then the list is the order.
  const unsaid = steps.some(step => isList(step.dependencies)) ? new Map() : needsByRank(ids.map(id => [id]))
  const printing = new Set(ids.filter((_, index) => runs && isPrinting(steps[index]!)))
  const data = new DataReferences(references, { variables, printing })
  const gate = runs && steps.some(isRunnable) ? approvalOf(ids) : null
  const tasks: JsonObject[] = gate === null ? [] : [gate]
  for (const [index, step] of steps.entries()) {
    const id = ids[index] as TaskName
    const isRun = gate !== null && isRunnable(step)
    const fields = draft.fields(step, ['steps', index], ['tasks', tasks.length])
    putId(fields, id)
    moveText(fields, ['title', 'name'], 'title')
    moveText(fields, ['description'], 'description')
    moveInputs(draft, fields, 'params', { step: id, references: data })
    moveCriteria(fields, ['acceptance_criteria'])
    if (isRun) {
      readTool(draft, fields)
      fields.keep(['tool'])
    } else if (isText(step.tool)) fields.put('capabilities', [fields.take('tool') as string], 'tool')
    readRetry(fields)
    readStatus(draft, fields, 'status', id, STEP_WORDS)
    const said = fields.take('dependencies')
    if (said === undefined || said === null) fields.put('needs', unsaid.get(id))
    else {
      const found = resolve(references, said)
      if ('wrong' in found)
        draft.refuse({ path: [...fields.at, 'dependencies'], message: found.wrong, hint: found.hint })
      else if (found.needs.length > 0) fields.put('needs', found.needs, 'dependencies')
    }
    keepOthers(fields)
    const task = fields.document()
    tasks.push(isRun ? { ...task, needs: [...((task.needs ?? []) as Json[]), gate.id] } : task)
  }
  return data.needed(tasks)
}

/** `max_retries` counts what comes after the first attempt. Zero is what an unset field looks like there, so it says nothing. */
function readRetry(fields: Fields): void {
  const { retryable, max_retries: retries } = fields.map
  if (retryable === false) {
    fields.take('retryable')
    if (retries === 0) fields.take('max_retries')
    fields.put('retry', { attempts: 1 }, 'retryable')
  } else if (typeof retries === 'number' && Number.isInteger(retries) && retries > 0 && retries < ATTEMPTS_MAX) {
    if (retryable === true) fields.take('retryable')
    fields.take('max_retries')
    fields.put('retry', { attempts: retries + 1 }, 'max_retries')
  }
}

function wordsOf(step: JsonObject): string {
  return [step.title, step.name, step.description, step.tool].find(isText) ?? ''
}

function write(definition: PlanDefinition, status: StatusOf): JsonObject {
  const tasks = withoutApprovals(definition).filter(({ action }) => action.type !== 'verify')
  const { goal, ...plan } = planWords(definition, status)
  const written = idsToWrite(
    tasks.map(task => ({ id: task.id, text: task.title ?? task.description ?? task.capabilities?.[0] ?? '' })),
  )
  const chain = needsByRank(tasks.map(({ id }) => [id]))
  const isChain = tasks.every(task => sameNeeds(task.needs, chain.get(task.id)))
  const steps = tasks.map(task =>
    writeStep(task, written.has(task.id), isChain ? undefined : (task.needs ?? []), status),
  )
  return defined({ ...plan, description: goal, steps })
}

function writeStep(
  task: TaskDefinition,
  named: boolean,
  dependencies: readonly TaskName[] | undefined,
  status: StatusOf,
): JsonObject {
  const { extra, retry } = task
  const said = {
    id: named ? task.id : extra?.id,
    title: task.title,
    description: task.description,
    tool: task.capabilities?.[0],
    params: printReferences(task.inputs),
    dependencies,
    ...writeRetry(retry),
    acceptance_criteria: criteriaOf(task),
    status: taskStatusWord(STEP_WORDS, task, status(task.id)) ?? undefined,
  }
  return withOthers(said, extra, ['status'])
}

function writeRetry(retry: Retry | undefined): JsonObject {
  if (retry === undefined) return {}
  const { min, max } = retry.backoffMs
  if (min !== BACKOFF_DEFAULT_MS.min || max !== BACKOFF_DEFAULT_MS.max) return {}
  return retry.attempts === 1 ? { retryable: false } : { retryable: true, max_retries: retry.attempts - 1 }
}

// Steps that name a tool, in a plan that says `tools: run`: each becomes a task that Planfold carries out, behind one approval for all
// of them, which shows what each would do. Without `tools: run` nothing of a step is ever carried out.
//
//   bash         {command}                       a script
//   read_file    {path}                          its text
//   write_file   {path, content}                 the file, as a whole
//   edit_file    {path, old_string, new_string}  one exact replacement
//   search       {pattern, path?}                the lines that match
//
// What a tool prints is the output `output` of its step. Other tools stay external tasks.

const TOOLS_KEY = 'tools'
const ALLOW = 'allow-'

/** The approval before all steps that are carried out, under a name that no step has. */
function approvalOf(steps: readonly TaskName[]): JsonObject & { readonly id: TaskName } {
  let name = `${ALLOW}steps`
  while (steps.includes(name as TaskName)) name += '-2'
  return { id: name as TaskName, title: 'Run these steps?', gate: 'approval', show: ['steps'] }
}

/** Does the plan ask for its tools to be run? Any other word than `run` is refused. */
function runsTools(draft: DocumentBuilder, fields: Fields): boolean {
  const said = fields.map[TOOLS_KEY]
  if (said === 'run') {
    fields.keep([TOOLS_KEY])
    return true
  }
  if (isText(said))
    draft.refuse({ path: [TOOLS_KEY], message: `'${said.slice(0, 60)}' is not known here`, hint: "write 'run'" })
  return false
}

/** Is its tool one that Planfold can carry out? */
const isRunnable = ({ tool }: JsonObject): boolean => isText(tool) && Object.hasOwn(TOOLS, tool)

/** Does it leave what it prints, as the output `output`? The tools that write files do not. */
const isPrinting = (step: JsonObject): boolean =>
  isRunnable(step) && step.tool !== 'write_file' && step.tool !== 'edit_file'

/** Makes a step with a tool of ours one that is carried out. */
function readTool(draft: DocumentBuilder, fields: Fields): void {
  const inputs = fields.said('inputs')
  const params = new Params(draft, fields, isMap(inputs) ? inputs : {})
  const keys = TOOLS[fields.map.tool as string]!(params)
  for (const [key, value] of Object.entries(keys)) fields.put(key, value, ['params'])
}

/** The tasks of a plan that runs its tools as its steps were written: the approvals go, and nobody needs them. */
function withoutApprovals({ tasks, extra }: PlanDefinition): readonly TaskDefinition[] {
  if (extra?.[TOOLS_KEY] !== 'run') return tasks
  const gates = new Set(tasks.flatMap(({ id, action }) => (action.type === 'gate' && id.startsWith(ALLOW) ? [id] : [])))
  const run = tasks.filter(({ extra: said }) => isRunnable(said ?? {}))
  const approvals = new Set(run.flatMap(({ needs = [] }) => needs.filter(name => gates.has(name))))
  return tasks.flatMap(task => {
    if (approvals.has(task.id)) return []
    return [run.includes(task) ? { ...task, needs: task.needs?.filter(name => !approvals.has(name)) } : task]
  })
}

/** The parameters of one step; what is missing or of another kind is refused where it stands. */
class Params {
  readonly #draft: DocumentBuilder
  readonly #fields: Fields
  readonly #params: JsonObject

  constructor(draft: DocumentBuilder, fields: Fields, params: JsonObject) {
    this.#draft = draft
    this.#fields = fields
    this.#params = params
  }

  text(names: readonly string[], fallback?: string): string {
    const key = names.find(name => Object.hasOwn(this.#params, name))
    const value = key === undefined ? fallback : this.#params[key]
    if (typeof value === 'string') return value
    const tool = String(this.#fields.map.tool)
    this.#refuse(
      key,
      key === undefined ? `the tool ${tool} needs '${names[0]}'` : `'${key}' is text`,
      `write "params": {"${names[0]}": "…"}`,
    )
    return ''
  }

  /** A path inside the workspace. */
  path(fallback?: string): string {
    const path = this.text(PATH_WORDS, fallback)
    if (path.startsWith('/') || path.startsWith('~') || path.split('/').includes('..'))
      this.#refuse(
        PATH_WORDS.find(name => Object.hasOwn(this.#params, name)),
        `${JSON.stringify(path.slice(0, 100))} leaves the workspace`,
        'write a path below the folder the plan works in',
      )
    return path
  }

  isSet(names: readonly string[]): boolean {
    return names.some(name => this.#params[name] === true)
  }

  #refuse(key: string | undefined, message: string, hint: string): void {
    const place = isMap(this.#fields.map.params) ? ['params', ...(key === undefined ? [] : [key])] : ['tool']
    this.#draft.refuse({ path: [...this.#fields.at, ...place], message, hint })
  }
}

const PATH_WORDS = ['path', 'file_path', 'file']
const OUTPUT: JsonObject = { output: 'stdout' }
/** Of a command that only prints what it finds at a path of the workspace. */
const READS: JsonObject = { links: 'refuse', effect: 'pure', network: [], outputs: OUTPUT }

const TOOLS: { readonly [tool: string]: (params: Params) => JsonObject } = {
  bash: params => ({ run: params.text(['command', 'cmd', 'script']), outputs: OUTPUT }),
  read_file: params => ({ run: ['cat', '--', params.path()], ...READS }),
  write_file: params => ({
    edit: { file: params.path(), create: params.text(['content', 'text']), overwrite: true },
  }),
  edit_file: params => {
    const path = params.path()
    const all = params.isSet(['replace_all', 'all'])
    const find = params.text(['old_string', 'old_text', 'old', 'find'])
    const replace = params.text(['new_string', 'new_text', 'new', 'replace'])
    return { edit: { file: path, find, replace, ...(all && { all }) } }
  },
  search: params => {
    const pattern = params.text(['pattern', 'query'])
    const path = params.path('.')
    return {
      // Nothing found is an answer as well.
      run: ['grep', '-rnIE', '--exclude-dir=.git', '--exclude-dir=.planfold', '-e', pattern, '--', path],
      expect: 'exit == 0 || exit == 1',
      ...READS,
    }
  },
}
