// Renders a semantic diff for people: old and new value of each key, in the document's words; texts by line, lists by item. Long
// changes are cut, and marked as cut. The output contains raw text: escape it.

import { diffArrays, diffLines } from 'diff'
import { isMap, type Json, type JsonObject } from '../../domain/json.ts'
import { numberOf } from '../../domain/phrases.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { fieldOf } from '../../domain/plan-rules/task-fields.ts'
import {
  isEmpty,
  type KeyChange,
  KIND_WORDS,
  type NamedTask,
  type SemanticDiff,
  semanticDiff,
} from '../../domain/revisions/semantic-diff.ts'
import { raisePlan, raiseTask } from './definition-to-document.ts'
import { canonicalJson } from './hash.ts'

// The short form: one line per change, for remarks and gates.

export const diffDefinitions = (before: PlanDefinition, after: PlanDefinition): SemanticDiff =>
  semanticDiff(before, after)

export function printDiff(diff: SemanticDiff): string {
  return [
    ...diff.plan.map(change => `~ ${wordOf(change)}`),
    ...diff.removed.map(({ task }) => `- task ${task}`),
    ...diff.added.map(({ task }) => `+ task ${task}`),
    ...diff.renamed.map(({ from, to }) => `~ task ${from} is now ${to}`),
    ...diff.changed.map(({ task, changes }) => `~ task ${task}: ${changes.map(wordOf).join(', ')}`),
    ...diff.reordered.map(task => (task === null ? '~ order of tasks' : `~ order of tasks in ${task}`)),
  ].join('\n')
}

/** The document's name of a key. An action is named by its own key. */
export function wordOf({ key, before, after }: KeyChange): string {
  if (key !== 'action') return fieldOf(key)?.key ?? PLAN_WORDS.get(key) ?? key
  const [was, is] = [typeOf(before), typeOf(after)]
  return was === is ? was : `${was} → ${is}`
}

const PLAN_WORDS: ReadonlyMap<string, string> = new Map([
  ['defaults.timeoutMs', 'defaults.timeout'],
  ['policy.onFailure', 'policy.on_failure'],
])

function typeOf(action: unknown): string {
  return action !== null && typeof action === 'object' && 'type' in action ? String(action.type) : 'external'
}

const LINES_MAX = 40
const COLUMNS_MAX = 300
/** Diffing very different texts is expensive; beyond this many edits only their sizes are given. */
const EDITS_MAX = 500
const SHORT = 60

export function explainDiff(diff: SemanticDiff): string {
  if (isEmpty(diff)) return ''
  const lines: string[] = []
  if (diff.plan.length > 0) lines.push('~ plan', ...indent(diff.plan.flatMap(change => ofKey(change, raisePlanKey))))
  lines.push(...diff.removed.map(task => `- task ${described(task)}`))
  lines.push(...diff.added.map(task => `+ task ${described(task)}`))
  lines.push(...diff.renamed.map(({ from, to }) => `~ task ${from} is now ${to}`))
  for (const { task, changes } of diff.changed) {
    const kinds = [...new Set(changes.map(({ kind }) => KIND_WORDS[kind]))]
    lines.push(
      `~ task ${task}: ${kinds.join(', ')} changed`,
      ...indent(changes.flatMap(change => ofKey(change, raiseTaskKey))),
    )
  }
  lines.push(...diff.reordered.map(task => (task === null ? '~ order of tasks' : `~ order of tasks in ${task}`)))
  return lines.map(line => (line.length > COLUMNS_MAX ? `${line.slice(0, COLUMNS_MAX)}…` : line)).join('\n')
}

const described = ({ task, action, title }: NamedTask): string =>
  `${task} (${action}${title === undefined ? '' : `: ${title}`})`

type Raise = (key: string, value: Json) => Json

function ofKey(change: KeyChange, raise: Raise): readonly string[] {
  const { key, before, after } = change
  const was = before === undefined ? undefined : raise(key, before)
  const is = after === undefined ? undefined : raise(key, after)
  // An action consists of several document keys, each compared separately.
  const lines = key === 'action' ? compare('', was ?? {}, is ?? {}) : compare(wordOf(change), was, is)
  if (lines.length <= LINES_MAX) return lines
  return [...lines.slice(0, LINES_MAX), `… and ${numberOf(lines.length - LINES_MAX, 'more line')}`]
}

function compare(name: string, was: Json | undefined, is: Json | undefined): readonly string[] {
  if (was === undefined || is === undefined) {
    const [sign, value] = was === undefined ? ['+', is as Json] : ['-', was]
    return [`${sign} ${name}: ${short(value)}`]
  }
  if (canonicalJson(was) === canonicalJson(is)) return []
  if (typeof was === 'string' && typeof is === 'string') return compareTexts(name, was, is)
  if (isList(was) && isList(is)) return compareLists(name, was, is)
  if (isMap(was) && isMap(is)) {
    const keys = new Set([...Object.keys(was), ...Object.keys(is)])
    return [...keys].flatMap(key => compare(name === '' ? key : `${name}.${key}`, own(was, key), own(is, key)))
  }
  return [`${name}: ${short(was)} → ${short(is)}`]
}

function compareTexts(name: string, was: string, is: string): readonly string[] {
  const brief = (text: string): boolean => text.length <= SHORT && !/[\r\n]/.test(text)
  if (brief(was) && brief(is)) return [`${name}: ${JSON.stringify(was)} → ${JSON.stringify(is)}`]
  const pieces = diffLines(was, is, { maxEditLength: EDITS_MAX })
  if (pieces === undefined) return [`${name}: ${size(was)} → ${size(is)}`]
  const lines = pieces.flatMap(({ added, removed, value }) => {
    if (!added && !removed) return []
    return value
      .replace(/\n$/, '')
      .split('\n')
      .map(line => `${added ? '+' : '-'} ${line}`)
  })
  return [`${name}:`, ...indent(lines)]
}

function compareLists(name: string, was: readonly Json[], is: readonly Json[]): readonly string[] {
  if (was.length === 0 || is.length === 0) return [`${name}: ${short(was)} → ${short(is)}`]
  // Short lists of words, such as `needs` or an argv, are shown in one line.
  if ([...was, ...is].every(item => typeof item === 'string') && short(was).length + short(is).length <= 2 * SHORT)
    return [`${name}: ${short(was)} → ${short(is)}`]
  const pieces = diffArrays(was.map(canonicalJson), is.map(canonicalJson), { maxEditLength: EDITS_MAX })
  if (pieces === undefined) return [`${name}: ${numberOf(was.length, 'item')} → ${numberOf(is.length, 'item')}`]
  const lines: string[] = []
  let deleted: Json[] = []
  const flush = (): void => {
    lines.push(...deleted.map(item => `- ${short(item)}`))
    deleted = []
  }
  for (const { added, removed, value } of pieces) {
    const items = value.map(text => JSON.parse(text) as Json)
    if (removed) deleted.push(...items)
    else if (added) {
      for (const item of items) {
        // Items with the same label are the same item, changed; for instance edits of one file.
        const at = deleted.findIndex(other => label(other) !== null && label(other) === label(item))
        if (at === -1) lines.push(`+ ${short(item)}`)
        else lines.push(`~ ${label(item)}`, ...indent(compare('', deleted.splice(at, 1)[0]!, item)))
      }
      flush()
    } else flush()
  }
  flush()
  return [`${name}:`, ...indent(lines)]
}

function label(item: Json): string | null {
  if (!isMap(item)) return null
  for (const key of ['id', 'file', 'name']) {
    const value = own(item, key)
    if (typeof value === 'string') return value
  }
  return null
}

const raiseTaskKey: Raise = (key, value) => {
  const bare = { id: 'x', action: { type: 'external' } }
  const { id: _, ...raised } = raiseTask({ ...bare, [key]: value } as unknown as TaskDefinition)
  return key === 'action' ? raised : (Object.values(raised)[0] ?? value)
}

const raisePlanKey: Raise = (key, value) => {
  const [outer, inner] = key.split('.') as [string, string?]
  const entry = { [outer]: inner === undefined ? value : { [inner]: value } }
  const raised = raisePlan({ name: 'x', tasks: [], ...entry } as unknown as PlanDefinition)
  const found = raised[outer]
  return (inner === undefined ? found : isMap(found) ? Object.values(found)[0] : undefined) ?? value
}

function short(value: Json): string {
  if (isList(value) && value.every(item => typeof item === 'string' && /^[^\s,[\]"']+$/.test(item)))
    return `[${value.join(', ')}]`
  return JSON.stringify(value)
}

function size(text: string): string {
  const count = text.split('\n').length
  return `${count} ${count === 1 ? 'line' : 'lines'}`
}

const indent = (lines: readonly string[]): readonly string[] => lines.map(line => `  ${line}`)
const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value)
const own = (map: JsonObject, key: string): Json | undefined => (Object.hasOwn(map, key) ? map[key] : undefined)
