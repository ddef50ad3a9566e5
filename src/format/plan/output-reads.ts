// Which outputs the expressions of a plan read: `tasks.x.outputs.y` anywhere, and `outputs.y` for a task's own. Outputs that are
// only tested with has(…) do not count. Each distinct text is parsed once.

import type { ASTNode } from '@marcbachmann/cel-js'
import { actionFacts } from '../../domain/actions/actions.ts'
import type { OutputRead } from '../../domain/analysis/analyze.ts'
import type { TaskName } from '../../domain/id.ts'
import type { Action, Criterion, FailureMode, PlanDefinition, TaskDefinition, ValueKind } from '../../domain/plan.ts'
import { commandOf } from '../../domain/plan-rules/criterion-text.ts'
import { expandTasks } from '../../domain/plan-rules/expand.ts'
import { WRITTEN } from '../../domain/plan-rules/task-fields.ts'
import { actionFields } from '../actions/actions.ts'
import { compile } from '../expression/expression.ts'
import { children } from '../expression/task-references.ts'
import { templateExpressions } from '../expression/template.ts'

export function outputReads(definition: PlanDefinition): readonly OutputRead[] {
  const known = new Map<string, readonly Read[]>()
  const reads: OutputRead[] = []
  let reader: TaskName | null = null
  const note: Note = (key, source) => {
    if (!source.includes('outputs')) return
    let found = known.get(source)
    if (found === undefined) {
      found = readsOf(source)
      known.set(source, found)
    }
    for (const { task, output, text } of found) {
      const producer = task ?? reader
      if (producer !== null) reads.push({ reader, key, producer: producer as TaskName, output, text })
    }
  }
  for (const criterion of definition.done ?? []) ofCriterion('done', criterion, note)
  for (const task of expandTasks(definition)) {
    reader = task.id
    ofTask(task, note)
  }
  return reads
}

interface Read {
  /** Null for the task's own outputs. */
  readonly task: string | null
  readonly output: string
  readonly text: string
}

type Note = (key: string, source: string) => void

function ofTask(task: TaskDefinition, note: Note): void {
  for (const { name, key, value } of WRITTEN) {
    if (name === 'action') ofAction(task.action, note)
    else if (task[name] !== undefined) ofField(key, value, task[name], note)
  }
  // A prompt must be complete. An external task's instruction is prose for a reader who can ask.
  if (actionFacts(task.action).prompts === true) templates('instruction', task.instruction, note)
}

function ofAction(action: Action, note: Note): void {
  for (const { key, content, value } of actionFields(action))
    if (content === 'expression') note(key, value as string)
    else if (content === 'criteria')
      for (const criterion of value as readonly Criterion[]) ofCriterion(key, criterion, note)
    else templates(key, value, note)
}

function ofField(key: string, kind: ValueKind, value: unknown, note: Note): void {
  switch (kind) {
    case 'expression':
      return note(key, value as string)
    case 'criteria':
      for (const criterion of value as readonly Criterion[]) ofCriterion(key, criterion, note)
      return
    case 'modes':
      for (const { detect } of value as readonly FailureMode[]) ofCriterion(key, detect, note)
      return
    case 'inputs':
    case 'environment':
    case 'template':
    case 'command':
    case 'undo':
      return templates(key, value, note)
    default:
      return
  }
}

function ofCriterion(key: string, criterion: Criterion, note: Note): void {
  if (criterion.type === 'expect') note(key, criterion.expression)
  else templates(key, commandOf(criterion), note)
}

/** Expressions in all texts of a value. Its depth is limited by the document's. */
function templates(key: string, value: unknown, note: Note): void {
  if (typeof value === 'string') {
    if (value.includes('${{')) for (const { source } of templateExpressions(value)) note(key, source)
  } else if (Array.isArray(value)) for (const item of value) templates(key, item, note)
  else if (value !== null && typeof value === 'object')
    for (const item of Object.values(value)) templates(key, item, note)
}

/** Only references and operators: no strings that could contain a name, and no calls that could bind one. */
const PLAIN = /^(?:tasks\['[\w./-]+'\]|[^'"()])*$/
const REFERENCE = /(?<![\w.\]])(?:tasks(?:\.(\w+)|\['([\w./-]+)'\])\.)?outputs\.(\w+)/g

function readsOf(source: string): readonly Read[] {
  // Fast path: most expressions are plain, and parsing dominates the time for large plans.
  if (PLAIN.test(source)) {
    return [...source.matchAll(REFERENCE)].map(([, bare, quoted, output]) => readOf(bare ?? quoted ?? null, output!))
  }
  const compilation = compile(source)
  if (!compilation.ok) return []
  const reads: Read[] = []
  const asked = new Set<string>()
  const open: { readonly node: ASTNode; readonly isAsked: boolean }[] = [
    { node: compilation.compiled.ast, isAsked: false },
  ]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node } = next
    const isAsked = next.isAsked || (node.op === 'call' && node.args[0] === 'has')
    const path = pathOf(node)
    const read = path === null ? null : readIn(path)
    if (read !== null) {
      if (isAsked) asked.add(read.text)
      else reads.push(read)
      continue
    }
    for (const child of children(node.args)) open.push({ node: child, isAsked })
  }
  return reads.filter(read => !asked.has(read.text)).reverse()
}

/** The names in `tasks.x.outputs.y.z`, with '' for a number or a computed part; null if it does not begin with a name. */
function pathOf(node: ASTNode): readonly string[] | null {
  const names: string[] = []
  for (let at = node; ; ) {
    if (at.op === 'id') return [at.args, ...names.reverse()]
    if (at.op !== '.' && at.op !== '[]') return null
    const [object, key]: readonly [ASTNode, string | ASTNode] = at.args
    const name: unknown = typeof key === 'string' ? key : key.op === 'value' ? key.args : null
    // An index selects from a list; the list's name comes before it.
    names.push(typeof name === 'string' ? name : '')
    at = object
  }
}

function readIn(path: readonly string[]): Read | null {
  if (path[0] === 'outputs' && path[1]) return readOf(null, path[1])
  const [tasks, task, outputs, output] = path
  return tasks === 'tasks' && task && outputs === 'outputs' && output ? readOf(task, output) : null
}

function readOf(task: string | null, output: string): Read {
  const whose = task === null ? '' : /^\w+$/.test(task) ? `tasks.${task}.` : `tasks['${task}'].`
  return { task, output, text: `${whose}outputs.${output}` }
}
