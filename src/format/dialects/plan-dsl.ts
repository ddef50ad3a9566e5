// The planning playbook's text format: `task <id> "Title" kind:<kind> using:<capability>` and below it needs, input, run, expect and where
// outcomes lead. Read and printed. `run` is an instruction for whoever claims the task; it is never given to a shell.

import type { TaskName } from '../../domain/id.ts'
import type { Json } from '../../domain/json.ts'
import { DOCUMENT_MAX_BYTES } from '../../domain/limits.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { raiseTask } from '../raise.ts'
import type { Dialect, Printed, Reading, StatusOf } from './dialect.ts'
import { printed } from './loss.ts'
import { type DslPlan, readDsl } from './plan-dsl-lines.ts'
import { readName, writtenName } from './plan-nodes.ts'
import { around, type PrintAround, printNode } from './plan-nodes-print.ts'
import { readNode } from './plan-nodes-task.ts'
import { Draft, type Locate, Names, writtenIds } from './reading.ts'
import { isList, isMap, type Source } from './source.ts'
import { yamlText } from './yaml-text.ts'

export const planDsl: Dialect = {
  name: 'plan-dsl',
  about: 'text: task <id> "Title" kind:<kind> using:<capability>, needs, input, run, expect, on',
  recognises: ({ text }) => {
    const first = /^(?:\uFEFF)?(?:[^\S\n]*(?:#[^\n]*)?\n)*([^\n]*)/.exec(text)?.[1] ?? ''
    if (/^task\s+[^\s:]/.test(first)) return true
    return /^plan\s+[^\s:]+(\s+"|\s*$)/.test(first) && /^task\s+\S/m.test(text)
  },
  read,
  print,
}

function read(source: Source): Reading {
  if (Buffer.byteLength(source.text) > DOCUMENT_MAX_BYTES) {
    const message = `the document is larger than ${DOCUMENT_MAX_BYTES / 1024 / 1024} MB`
    return { ok: false, diagnostics: [{ severity: 'error', message, hint: 'split the plan up', line: 1, column: 1 }] }
  }
  const dsl = readDsl(source.lines)
  if (dsl.faults.length > 0) return { ok: false, diagnostics: dsl.faults }
  const draft = new Draft(source, locate(dsl))
  const fields = draft.fields(dsl.plan, ['plan'], [])
  fields.put('planfold', 1)
  readName(fields, 'plan_id')
  fields.copy(['title'])
  const level = {
    names: new Names(dsl.nodes.map(({ id }) => id)),
    prefix: '',
    artifacts: new Map(),
    gates: new Map(),
    produced: new Set<string>(),
  }
  fields.put(
    'tasks',
    dsl.nodes.map((node, index) => readNode(draft, node, [index], ['tasks', index], level)),
  )
  return draft.reading(fields.document())
}

/** The nearest place around a path that is known. */
function locate({ places }: DslPlan): Locate {
  return path => {
    for (let length = path.length; length > 0; length--) {
      const found = places.get(JSON.stringify(path.slice(0, length)))
      if (found !== undefined) return found
    }
    return { line: 1, column: 1 }
  }
}

function print(definition: PlanDefinition, status: StatusOf): Printed {
  const { tasks, title } = definition
  const written = writtenIds(tasks)
  const ids = new Map([...written].map(([name, id]): [TaskName, Json] => [name, isToken(id) ? id : name]))
  const printing = { ...around(ids), status }
  const name = writtenName(definition, 'plan_id')
  const head = `plan ${isToken(name) ? name : definition.name}${title === undefined ? '' : ` ${JSON.stringify(title)}`}\n`
  const blocks = tasks.filter(task => task.action.type !== 'verify').map(task => printTask(task, printing))
  return printed([head, ...blocks].join('\n'), definition, status, read)
}

function printTask(task: TaskDefinition, printing: PrintAround): string {
  const node = printNode(task, printing)
  const { id, title, kind, capabilities, depends_on, command, next } = node
  const head = [
    `task ${String(id)}`,
    ...(title === undefined ? [] : [JSON.stringify(title)]),
    ...(kind === undefined ? [] : [`kind:${word(kind as string)}`]),
    ...(isList(capabilities) ? capabilities.map(one => `using:${word(one as string)}`) : []),
  ]
  const lines = [head.join(' ')]
  if (isList(depends_on)) lines.push(`  needs: ${depends_on.join(' ')}`.trimEnd())
  const { inputs } = raiseTask(task)
  if (isMap(inputs)) lines.push('  input:', ...(Object.keys(inputs).length === 0 ? [] : indented(yamlText(inputs))))
  if (typeof command === 'string' || isList(command))
    lines.push(...printRun(isList(command) ? command.join('\n') : (command as string)))
  const expected = task.action.type === 'gate' ? node.checks : node.success_criteria
  if (isList(expected)) lines.push('  expect:', ...expected.map(one => `    - ${sentence(one)}`))
  for (const way of isList(next) ? next : []) if (isMap(way)) lines.push(`  on ${String(way.on)} -> ${String(way.to)}`)
  return `${lines.join('\n')}\n`
}

/** As a block where that gives the same text back, else in quotes. */
function printRun(text: string): readonly string[] {
  const body = text.endsWith('\n') ? text.slice(0, -1) : text
  // What the eye cannot see, and blanks where a block would lose them, need quotes.
  const hidden = /[^\P{C}\n]|\p{Zl}|\p{Zp}/u.test(body)
  const plain = body !== '' && !hidden && !/^\s|\s$/.test(body) && !/\n[^\S\n]+(?:\n|$)/.test(body)
  if (!plain) return [`  run: ${JSON.stringify(text)}`]
  return [`  run: |${text.endsWith('\n') ? '' : '-'}`, ...indented(body)]
}

function sentence(criterion: Json): string {
  if (typeof criterion !== 'string') return JSON.stringify(criterion)
  const plain =
    /^[^\s"{][^\n]*$/.test(criterion) && criterion.trim() === criterion && !/[^\P{C}]|\p{Zl}|\p{Zp}/u.test(criterion)
  return plain ? criterion : JSON.stringify(criterion)
}

function indented(text: string): readonly string[] {
  return text
    .trimEnd()
    .split('\n')
    .map(line => (line === '' ? '' : `    ${line}`))
}

/** A word without blanks stands as it is. */
function word(text: string): string {
  return /^[^\s",<>][^\s",]*$/.test(text) || /^<[^<>\n]*>$/.test(text) ? text : JSON.stringify(text)
}

/** May stand for an id: no blanks, quotes or commas, and nothing that begins another part of the line. */
function isToken(id: Json): id is string {
  return typeof id === 'string' && /^(?!kind:|using:|#)[^\s",[\]]+$/.test(id)
}
