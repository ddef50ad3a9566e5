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

import type { TaskName } from '../../../domain/id.ts'
import { isMap, type JsonObject } from '../../../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import type { DocumentBuilder, Fields } from '../document-builder.ts'
import { isText } from './plan-steps-words.ts'

const TOOLS_KEY = 'tools'
const ALLOW = 'allow-'

/** The approval before all steps that are carried out, under a name that no step has. */
export function approvalOf(steps: readonly TaskName[]): JsonObject & { readonly id: TaskName } {
  let name = `${ALLOW}steps`
  while (steps.includes(name as TaskName)) name += '-2'
  return { id: name as TaskName, title: 'Run these steps?', gate: 'approval', show: ['steps'] }
}

/** Does the plan ask for its tools to be run? Any other word than `run` is refused. */
export function runsTools(draft: DocumentBuilder, fields: Fields): boolean {
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
export const isRunnable = ({ tool }: JsonObject): boolean => isText(tool) && Object.hasOwn(TOOLS, tool)

/** Does it leave what it prints, as the output `output`? The tools that write files do not. */
export const isPrinting = (step: JsonObject): boolean =>
  isRunnable(step) && step.tool !== 'write_file' && step.tool !== 'edit_file'

/** Makes a step with a tool of ours one that is carried out. */
export function readTool(draft: DocumentBuilder, fields: Fields): void {
  const inputs = fields.said('inputs')
  const params = new Params(draft, fields, isMap(inputs) ? inputs : {})
  const keys = TOOLS[fields.map.tool as string]!(params)
  for (const [key, value] of Object.entries(keys)) fields.put(key, value, ['params'])
}

/** The tasks of a plan that runs its tools as its steps were written: the approvals go, and nobody needs them. */
export function withoutApprovals({ tasks, extra }: PlanDefinition): readonly TaskDefinition[] {
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
