// Lint rules about the contract of a plan: its goal and owner, and that every output is produced before it is read.

import { actionFacts } from '../actions/actions.ts'
import { publishedIn, readRetention } from '../artifacts/declaration.ts'
import { isLinks, readOutputType } from '../artifacts/output-type.ts'
import { editDistance, suggest } from '../phrases.ts'
import type { TaskDefinition } from '../plan.ts'
import { CONFIDENTIAL_LABELS, isConfidential } from '../plan-rules/confidential.ts'
import type { Finding, FindingCode } from './finding.ts'
import type { Ground, Look, OutputRead } from './lint-input.ts'
import { isUndoing } from './work-graph.ts'

// A complete plan says what it is for, when it is done, who owns it, and who must approve.

export function* intake({ graph: { definition } }: Look): Iterable<Finding> {
  const { goal, title, done, owner, stakeholders } = definition
  if ((goal ?? title ?? '') === '')
    yield missing('no-goal', 'goal', 'the plan has no goal', "add 'goal:' with one sentence")
  if ((done?.length ?? 0) === 0)
    yield missing(
      'no-done',
      'done',
      'the plan has no final checks: it is completed when every task is',
      "add 'done:', for example `- check: npm test`",
    )
  if ((owner ?? '') === '') yield missing('no-owner', 'owner', 'the plan has no owner', "add 'owner:' with a name")
  if ((stakeholders?.length ?? 0) === 0 && (owner ?? '') === '')
    yield missing(
      'no-stakeholders',
      'stakeholders',
      'the plan has no stakeholders',
      "add 'stakeholders:' with a list of names",
    )
  else if ((stakeholders?.length ?? 0) > 0 && !definition.tasks.some(hasGate))
    yield missing(
      'no-stakeholders',
      'stakeholders',
      'stakeholders are named, but no gate ever asks anyone',
      "add a task with 'gate: approval'",
    )
}

const hasGate = (task: Look['graph']['tasks'][number]): boolean =>
  task.action.type === 'gate' ||
  (task.action.type === 'subplan' && task.action.tasks.some(step => step.action.type === 'gate'))

function missing(code: FindingCode, key: string, message: string, hint: string): Finding {
  return { code, severity: 'info', key, message, hint }
}

// An output that one task reads, an earlier task must produce. An external task without declared outputs may report anything; edits and git
// tasks produce fixed outputs.

export function* contracts({ graph, ancestry, options }: Ground): Iterable<Finding> {
  for (const read of options.reads ?? []) {
    const at = graph.at.get(read.producer)
    // A missing task is reported when the document is read.
    if (at === undefined) continue
    const producer = graph.tasks[at]!
    const made = outputsOf(producer)
    if (made !== null && !made.includes(read.output)) {
      const near = suggest(read.output, made)
      yield finding(read, {
        code: 'unknown-output',
        // An external task may report more outputs than it declares.
        severity: producer.action.type === 'external' ? 'warning' : 'error',
        message: `${who(read)} reads ${shown(read)}, but '${producer.id}' makes no output '${read.output.slice(0, 100)}'`,
        hint:
          near === null
            ? `declare it under 'outputs:' of '${producer.id}'${made.length === 0 ? '' : `; it makes ${made.slice(0, 5).join(', ')}`}`
            : `did you mean '${near}'?`,
      })
      continue
    }
    const reader = read.reader === null ? undefined : graph.at.get(read.reader)
    // Compensations run after everything else.
    if (reader === undefined || reader === at || isUndoing(graph, reader)) continue
    if (ancestry.before(at, reader, 'any') !== false) continue
    yield finding(read, {
      code: 'output-too-early',
      severity: 'error',
      message: `${who(read)} reads ${shown(read)}, but does not come after '${producer.id}'`,
      hint: `add '${producer.id}' to its 'needs'`,
    })
  }
}

/** Words that look as if something followed from them: types that are not checked, times that are not kept, artifacts that nothing makes. */
export function* artifacts({ graph: { definition, tasks } }: Look): Iterable<Finding> {
  const published = publishedIn(definition)
  const all = [
    ...tasks.flatMap(task =>
      Object.entries(task.outputs ?? {}).map(([name, said]) => ({ name: `output '${name}'`, task: task.id, ...said })),
    ),
    ...published.map(({ task: _, ...said }) => ({
      ...said,
      task: null,
      name: `artifact '${said.name.slice(0, 100)}'`,
    })),
  ]
  for (const { name, task, type, retention, ...said } of all) {
    const at = { severity: 'warning', ...(task === null ? { key: 'artifacts' } : { task, key: 'outputs' }) } as const
    const read = type === undefined ? null : readOutputType(type)
    if (type !== undefined && read === null)
      yield {
        ...{ ...at, code: 'output-word', message: `the type '${type.slice(0, 100)}' of ${name} is not checked` },
        hint: 'checked are: text number boolean json url path file list[T]',
      }
    if (retention !== undefined && readRetention(retention) === null)
      yield {
        ...{ ...at, code: 'output-word', message: `${name} is kept like its plan, not '${retention.slice(0, 100)}'` },
        hint: 'write plan, forever, or a time: 30d',
      }
    if ('cites' in said && said.cites === true && (read === null || !isLinks(read)))
      yield {
        ...{ ...at, code: 'output-word', message: `${name} has \`cites\`, but is not declared as links` },
        hint: 'add `type: list[url]`',
      }
  }
  for (const { name, from, task, output } of published) {
    const made = tasks.filter(({ id }) => task === null || id === task)
    if (made.some(one => outputsOf(one)?.includes(output) !== false)) continue
    yield {
      code: 'unknown-artifact',
      severity: 'warning',
      key: 'artifacts',
      message: `nothing makes the artifact '${name.slice(0, 100)}'${from === null ? '' : `: from '${from.slice(0, 100)}'`}`,
      hint: `declare the output '${output.slice(0, 100)}' of a task, and write \`from: TASK.OUTPUT\``,
    }
  }
}

/** Labels are free text, but one that differs by a letter from a label that keeps data local is probably a typo. */
export function* labels({ graph: { definition, tasks } }: Look): Iterable<Finding> {
  const whole = { labels: definition.labels }
  for (const one of [whole, ...tasks])
    for (const label of one.labels ?? []) {
      const near = CONFIDENTIAL_LABELS.find(known => isSlip(label.toLowerCase(), known))
      if (near === undefined) continue
      yield {
        code: 'label-like-another',
        severity: 'warning',
        ...('id' in one ? { task: one.id } : {}),
        key: 'labels',
        message: `the label '${label.slice(0, 100)}' keeps nothing confidential`,
        hint: `did you mean '${near}'?`,
      }
    }
}

function isSlip(label: string, known: string): boolean {
  const most = known.length > 8 ? 2 : 1
  return label !== known && label.length < 100 && editDistance(label, known, most + 1) <= most
}

export function* confidential({ graph, options }: Ground): Iterable<Finding> {
  const { definition } = graph
  const kept = (task: TaskDefinition): boolean => isConfidential(definition, task)
  const isAsking = ({ action }: TaskDefinition): boolean => actionFacts(action).prompts === true
  for (const task of graph.tasks)
    if (isAsking(task) && kept(task))
      yield {
        code: 'confidential-prompt',
        severity: 'error',
        task: task.id,
        key: 'labels',
        message: `'${task.id}' is labelled confidential, and what it is given would go into a prompt`,
        hint: 'take the label away, or let a command do it',
      }
  for (const read of options.reads ?? []) {
    const [reader, producer] = [read.reader, read.producer].map(name => graph.tasks[graph.at.get(name!) ?? -1])
    if (reader === undefined || producer === undefined || !isAsking(reader) || !kept(producer) || kept(reader)) continue
    yield finding(read, {
      code: 'confidential-prompt',
      severity: 'error',
      message: `${who(read)} would put ${shown(read)} into a prompt, and '${producer.id}' is labelled confidential`,
      hint: 'leave it out, or hand on a part that may leave from a task of its own',
    })
  }
}

/** Null when any output may be reported. */
function outputsOf(task: TaskDefinition): readonly string[] | null {
  const made = actionFacts(task.action).outputs?.(task) ?? null
  return made === null ? null : [...Object.keys(task.outputs ?? {}), ...made]
}

const who = ({ reader }: OutputRead): string => (reader === null ? "the plan's `done`" : `'${reader}'`)
const shown = ({ text }: OutputRead): string => `'${text.length > 80 ? `${text.slice(0, 80)}…` : text}'`

function finding(read: OutputRead, details: Pick<Finding, 'code' | 'severity' | 'message' | 'hint'>): Finding {
  return { ...details, key: read.key, ...(read.reader === null ? {} : { task: read.reader }) }
}
