// Steps that name a tool, in a plan that says `tools: run`: each becomes a task that Planfold carries out, behind an approval of its
// own. Without `tools: run` nothing of a step is ever carried out.
//
//   bash         {command}                       a script
//   read_file    {path}                          its text
//   write_file   {path, content}                 the file, as a whole
//   edit_file    {path, old_string, new_string}  one exact replacement
//   search       {pattern, path?}                the lines that match
//
// What a tool prints is the output `output` of its step. Other tools stay external tasks.

import type { TaskName } from '../../../domain/id.ts'
import { isMap, type Json, type JsonObject } from '../../../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import type { DocumentBuilder, Fields } from '../document-builder.ts'
import { isText } from './plan-steps-words.ts'

const TOOLS_KEY = 'tools'
const ALLOW = 'allow-'

/** A name for the approval before a step, which no other task has. */
export function approvalName(id: TaskName, taken: Set<string>): TaskName {
  let name = `${ALLOW}${id}`
  while (taken.has(name)) name += '-step'
  taken.add(name)
  return name as TaskName
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

/** Makes a step one that is carried out; returns the gate before it, or null where its tool is none of ours. */
export function readTool(draft: DocumentBuilder, fields: Fields, id: TaskName, gate: TaskName): JsonObject | null {
  const { tool } = fields.map
  const read = isRunnable(fields.map) ? TOOLS[tool as string] : undefined
  if (read === undefined) return null
  const inputs = fields.said('inputs')
  const params = new Params(draft, fields, isMap(inputs) ? inputs : {})
  const { asks, ...keys } = read(params)
  for (const [key, value] of Object.entries(keys)) fields.put(key, value, ['params'])
  return {
    id: gate,
    title: `Allow step '${id}'?`,
    description: asks,
    gate: 'approval',
  }
}

/** The tasks of a plan that runs its tools as its steps were written: the approvals go, and nobody needs them. */
export function withoutApprovals({ tasks, extra }: PlanDefinition): readonly TaskDefinition[] {
  if (extra?.[TOOLS_KEY] !== 'run') return tasks
  const gates = new Set(tasks.flatMap(({ id, action }) => (action.type === 'gate' && id.startsWith(ALLOW) ? [id] : [])))
  const isApproved = ({ extra: said, needs = [] }: TaskDefinition) => isRunnable(said ?? {}) && gates.has(needs.at(-1)!)
  const approvals = new Set(tasks.filter(isApproved).map(({ needs }) => needs!.at(-1)!))
  return tasks.flatMap(task => {
    if (approvals.has(task.id)) return []
    return [isApproved(task) ? { ...task, needs: task.needs!.slice(0, -1) } : task]
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

interface Carried {
  /** What the person who approves it reads. */
  readonly asks: string
  readonly [key: string]: Json
}

const TOOLS: { readonly [tool: string]: (params: Params) => Carried } = {
  bash: params => {
    const command = params.text(['command', 'cmd', 'script'])
    return { asks: `Runs a script:\n\n${command}`, run: command, outputs: OUTPUT }
  },
  read_file: params => {
    const path = params.path()
    return { asks: `Reads ${path}.`, run: ['cat', '--', path], ...READS }
  },
  write_file: params => {
    const path = params.path()
    return {
      asks: `Writes the whole of ${path}.`,
      edit: { file: path, create: params.text(['content', 'text']), overwrite: true },
    }
  },
  edit_file: params => {
    const path = params.path()
    const all = params.isSet(['replace_all', 'all'])
    const find = params.text(['old_string', 'old_text', 'old', 'find'])
    const replace = params.text(['new_string', 'new_text', 'new', 'replace'])
    return { asks: `Replaces text in ${path}.`, edit: { file: path, find, replace, ...(all && { all }) } }
  },
  search: params => {
    const pattern = params.text(['pattern', 'query'])
    const path = params.path('.')
    return {
      asks: `Searches ${path} for ${JSON.stringify(pattern)}.`,
      // Nothing found is an answer as well.
      run: ['grep', '-rnIE', '--exclude-dir=.git', '--exclude-dir=.planfold', '-e', pattern, '--', path],
      expect: 'exit == 0 || exit == 1',
      ...READS,
    }
  },
}
