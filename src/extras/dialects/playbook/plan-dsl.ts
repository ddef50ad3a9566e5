// The planning playbook's text format: `task <id> "Title" kind:<kind> using:<capability>` and below it needs, input, run, expect and where
// outcomes lead. Read and printed. `run` is an instruction for whoever claims the task; it is never given to a shell.

import type { TaskName } from '../../../domain/id.ts'
import { defined, isMap, type Json, type JsonObject } from '../../../domain/json.ts'
import { DOCUMENT_MAX_BYTES } from '../../../domain/limits.ts'
import { suggest } from '../../../domain/phrases.ts'
import type { PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import { raiseTask } from '../../../format/plan/definition-to-document.ts'
import type { Dialect, Printed, Reading, StatusOf } from '../../../format/plan/dialect.ts'
import { clip, type Diagnostic, type Path } from '../../../format/text/diagnostic.ts'
import { readDocument } from '../../../format/text/document.ts'
import { isList, type Source } from '../../../format/text/source.ts'
import { yamlText } from '../../../format/text/yaml-text.ts'
import { DocumentBuilder, isPlaceholder, type Locate, Names, writtenIds } from '../document-builder.ts'
import { printed } from '../export-loss.ts'
import { readName, writtenName } from './plan-nodes.ts'
import { around, type PrintAround, printNode } from './plan-nodes-print.ts'
import { readNode } from './plan-nodes-task.ts'

// The lines of the planning playbook's text format, read into nodes that know their lines:
//
//   plan retries "Partial retries"                      ours, optional: the format has no word for the plan itself
//   task fetch "Fetch sources" kind:research using:web.fetch
//     needs: scope other
//     input:
//       query: HTTP/3
//     run: |
//       search(query) -> sources
//     expect:
//       - sources is not empty
//     on failure -> broaden

interface DslPlan {
  readonly plan: JsonObject
  readonly nodes: readonly JsonObject[]
  /** Where the part of a node at a path stands. */
  readonly places: ReadonlyMap<string, { readonly line: number; readonly column: number }>
  readonly faults: readonly Diagnostic[]
}

const KEYS = ['needs', 'input', 'run', 'expect', 'on'] as const
const FAULTS_MAX = 20

function readDsl(lines: readonly string[]): DslPlan {
  return new Reader(lines).read()
}

interface Line {
  readonly number: number
  readonly indent: number
  readonly text: string
}

class Reader {
  readonly #lines: readonly string[]
  readonly #faults: Diagnostic[] = []
  readonly #places = new Map<string, { readonly line: number; readonly column: number }>()
  readonly #nodes: { [key: string]: Json }[] = []
  #plan: JsonObject = {}
  #at = 0

  constructor(lines: readonly string[]) {
    this.#lines = lines
  }

  read(): DslPlan {
    for (let line = this.#next(); line !== null && this.#faults.length < FAULTS_MAX; line = this.#next()) {
      const word = /^\S*/.exec(line.text)?.[0]
      if (word === 'task' && line.indent === 0) this.#task(line)
      else if (word === 'plan' && line.indent === 0) this.#head(line)
      else if (this.#nodes.length === 0)
        this.#refuse(line, 0, `'${clip(line.text, 40)}' stands before any task`, 'begin with: task <id> "Title"')
      else if (line.indent === 0)
        this.#refuse(
          line,
          0,
          `'${clip(line.text, 40)}' is neither a task nor a part of one`,
          'begin a task with: task <id> "Title"; indent its parts',
        )
      else this.#key(line)
    }
    return { plan: this.#plan, nodes: this.#nodes, places: this.#places, faults: this.#faults }
  }

  /** The next line that says something; comments do not. */
  #next(): Line | null {
    while (this.#at < this.#lines.length) {
      const line = this.#line(this.#at++)
      if (line.text !== '' && !line.text.startsWith('#')) return line
    }
    return null
  }

  #line(index: number): Line {
    const written = this.#lines[index] as string
    const text = written.trim()
    return { number: index + 1, indent: text === '' ? 0 : written.length - written.trimStart().length, text }
  }

  #head(line: Line): void {
    const parts = this.#parts(line, 'plan')
    if (parts === null) return
    const { id, title } = parts
    this.#plan = defined({ plan_id: id, title })
    this.#mark(['plan'], line, 0)
  }

  #task(line: Line): void {
    const parts = this.#parts(line, 'task')
    if (parts === null) return
    const { id, title, kind, using } = parts
    const index = this.#nodes.length
    this.#nodes.push({
      ...defined({ id, title, kind }),
      ...(using.length === 0 ? {} : { capabilities: using }),
    })
    this.#mark([index], line, 0)
    this.#mark([index, 'id'], line, 'task '.length)
  }

  /** `task <id> "Title" kind:<kind> using:<capability>`; words in quotes may hold blanks. */
  #parts(line: Line, word: string) {
    let id: string | undefined
    let title: string | undefined
    let kind: string | undefined
    const using: string[] = []
    for (const match of line.text
      .slice(word.length)
      .matchAll(/(?:(kind|using):)?("(?:[^"\\]|\\.)*"?|<[^<>]*>|[^\s"]+)/g)) {
      const column = word.length + match.index
      const text = unquoted(match[2] as string)
      if (text === null)
        this.#refuse(
          line,
          column,
          `${clip(match[2] as string, 40)} is not text in quotes`,
          'close it with ", and write \\" for a quote inside',
        )
      else if (match[1] === 'kind') kind = text
      else if (match[1] === 'using')
        using.push(...((match[2] as string).startsWith('"') ? [text] : text.split(',').filter(one => one !== '')))
      else if (id === undefined && !(match[2] as string).startsWith('"')) id = text
      else if (title === undefined && (match[2] as string).startsWith('"')) title = text
      else
        this.#refuse(
          line,
          column,
          `'${clip(match[0], 40)}' cannot stand here`,
          `write: ${word} <id> "Title"${word === 'task' ? ' kind:<kind> using:<capability>' : ''}`,
        )
    }
    if (id === undefined) {
      this.#refuse(line, 0, `the ${word} has no id`, `write: ${word} <id> "Title"`)
      return null
    }
    return { id, title, kind, using }
  }

  #key(line: Line): void {
    const node = this.#nodes.length - 1
    const way = /^on\s+([^\s:>-][^\s:>]*)\s*->\s*(\S.*)$/.exec(line.text)
    if (way !== null) return this.#way(line, way[1] as string, way[2] as string)
    const match = /^([A-Za-z_]+)\s*:(.*)$/.exec(line.text)
    const key = match?.[1] === 'inputs' ? 'input' : (match?.[1] ?? line.text.split(/\s/, 1)[0] ?? '')
    const rest = (match?.[2] ?? '').trim()
    const current = this.#nodes[node] as { [key: string]: Json }
    const target = NODE_KEY[key]
    if (match === null || target === undefined) {
      const near = suggest(key.slice(0, 60), KEYS)
      const hint =
        near === null
          ? `a task has ${KEYS.slice(0, -1).join(':, ')}: and 'on failure -> <id>'`
          : near === 'on'
            ? 'write: on failure -> <id>'
            : `did you mean '${near}:'?`
      return this.#refuse(line, 0, `'${clip(line.text, 40)}' is not a part of a task`, hint)
    }
    if (Object.hasOwn(current, target)) return this.#refuse(line, 0, `'${key}' is there twice`, 'remove one of the two')
    this.#mark([node, target], line, 0)
    if (key === 'needs') current[target] = ids(rest)
    else if (key === 'input') this.#input(line, current, target)
    else if (key === 'run') this.#run(line, rest, current, target)
    else this.#expect(line, rest, current, target, node)
  }

  #way(line: Line, outcome: string, rest: string): void {
    const node = this.#nodes.length - 1
    const current = this.#nodes[node] as { [key: string]: Json }
    const next = (current.next ?? []) as readonly Json[]
    this.#mark([node, 'next', next.length], line, 0)
    current.next = [...next, { on: outcome, to: ids(rest) }]
  }

  #input(line: Line, current: { [key: string]: Json }, target: string): void {
    const { body, first } = this.#block(line.indent)
    if (body.length === 0) {
      current[target] = {}
      return
    }
    const read = readDocument(`${body.join('\n')}\n`)
    const indent = (this.#lines[first] as string).length - (this.#lines[first] as string).trimStart().length
    if (!read.ok) {
      for (const fault of read.diagnostics)
        this.#faults.push({ ...fault, line: fault.line + first, column: fault.column + indent })
    } else if (!isMap(read.document.value))
      this.#refuse(line, 0, "'input' must be a mapping (key: value)", 'write a line for each: key: value')
    else current[target] = read.document.value
  }

  #run(line: Line, rest: string, current: { [key: string]: Json }, target: string): void {
    if (rest === '|' || rest === '|-') {
      const { body } = this.#block(line.indent)
      if (body.length === 0) this.#refuse(line, 0, "'run' is empty", 'write the command below it, indented')
      else current[target] = `${body.join('\n')}${rest === '|' ? '\n' : ''}`
      return
    }
    const text = rest.startsWith('"') ? unquoted(rest) : rest
    if (text === null || text === '')
      this.#refuse(line, 0, "'run' cannot be read", "write 'run: |' and the command below it, indented")
    else current[target] = text
  }

  #expect(line: Line, rest: string, current: { [key: string]: Json }, target: string, node: number): void {
    const found: Json[] = []
    const add = (text: string, at: Line, column: number): void => {
      this.#mark([node, target, found.length], at, column)
      const item = criterion(text)
      if (item === null)
        this.#refuse(at, column, `'${clip(text, 40)}' cannot be read`, 'write a sentence, or {check: …}')
      else found.push(item)
    }
    if (rest !== '') add(rest, line, line.text.indexOf(rest))
    while (this.#at < this.#lines.length) {
      const item = this.#line(this.#at)
      if (item.text !== '' && !item.text.startsWith('#')) {
        if (item.indent <= line.indent || !/^-(\s|$)/.test(item.text)) break
        add(item.text.slice(1).trim(), item, 2)
      }
      this.#at++
    }
    current[target] = found
  }

  /** The lines below that are indented deeper, without their common indent and the blank ones at their end. */
  #block(indent: number): { readonly body: readonly string[]; readonly first: number } {
    let end = this.#at
    let first = -1
    for (let index = this.#at; index < this.#lines.length; index++) {
      const line = this.#line(index)
      if (line.text === '') continue
      if (line.indent <= indent) break
      if (first === -1) first = index
      end = index + 1
    }
    if (first === -1) return { body: [], first: this.#at }
    const lines = this.#lines.slice(first, end)
    const depth = this.#line(first).indent
    for (const [offset, text] of lines.entries()) {
      const line = this.#line(first + offset)
      if (text.trim() !== '' && line.indent < depth)
        this.#refuse(
          line,
          0,
          'the line is indented less than the block it stands in',
          'indent it like the first line of the block',
        )
    }
    this.#at = end
    return { body: lines.map(text => text.slice(depth)), first }
  }

  #mark(path: Path, line: Line, column: number): void {
    this.#places.set(JSON.stringify(path), { line: line.number, column: line.indent + column + 1 })
  }

  #refuse(line: Line, column: number, message: string, hint: string): void {
    this.#faults.push({ severity: 'error', line: line.number, column: line.indent + column + 1, message, hint })
  }
}

/** Where each part of a task goes in a node. */
const NODE_KEY: { readonly [key: string]: string } = {
  __proto__: null as never,
  needs: 'depends_on',
  input: 'inputs',
  run: 'command',
  expect: 'checks',
}

/** Ids with blanks or commas between; a placeholder may hold blanks. */
function ids(text: string): readonly string[] {
  if (isPlaceholder(text)) return [text]
  const list = /^\[([^<>]*)\]$/.exec(text)?.[1] ?? text
  return list.match(/\[?<[^<>]*>(?:\.{3})?\]?|[^\s,]+/g) ?? []
}

/** A sentence, a sentence in quotes, or a map in braces. */
function criterion(text: string): Json | null {
  if (text.startsWith('"')) return unquoted(text)
  if (!text.startsWith('{')) return text === '' ? null : text
  const read = readDocument(text)
  return read.ok ? read.document.value : text
}

function unquoted(text: string): string | null {
  if (!text.startsWith('"')) return text
  try {
    return JSON.parse(text) as string
  } catch {
    return null
  }
}

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
  const draft = new DocumentBuilder(source, locate(dsl))
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
  // Only the end of the line: a value may end in a blank that YAML does not take for one, such as U+2000.
  return text
    .replace(/\n+$/, '')
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
