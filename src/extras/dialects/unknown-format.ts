// Why no dialect recognised a text, where that can be told better than by the rules of the canonical format: a list of tasks
// under a misspelt key or in a wrong shape, lines of JSON of which one is broken, Markdown in which there is no task.

import { isMap, type Json, type JsonObject } from '../../domain/json.ts'
import { suggest } from '../../domain/phrases.ts'
import type { Diagnostic, DocumentFault } from '../../format/text/diagnostic.ts'
import { readDocument } from '../../format/text/document.ts'
import { isList, type Source } from '../../format/text/source.ts'
import { markdownLines, mayBeMarkdown } from './markdown/markdown-lines.ts'

/** The keys under which documents keep their tasks, and how one of them is written. */
const LISTS: ReadonlyMap<string, string> = new Map([
  ['nodes', '{"nodes": [{"id": "a"}]}'],
  ['steps', '{"steps": [{"step": 1, "action": "analyze"}]}'],
  ['steps_to_add', '{"steps_to_add": [{"id": "a", "status": "TODO"}]}'],
  ['tasks', '{"tasks": [{"id": "a"}]}'],
  ['task_plans', '{"task_plans": [{"id": "a", "steps": []}]}'],
])
/** Near a list of tasks by its letters only. */
const OTHER_WORDS: ReadonlySet<string> = new Set(['notes', 'stats', 'modes'])

export interface Misspelt {
  readonly key: string
  readonly meant: string
}

/** A key that holds something like tasks and is called almost like a list of them. */
export function misspeltList(map: JsonObject): Misspelt | null {
  for (const [key, value] of Object.entries(map)) {
    if (LISTS.has(key) || OTHER_WORDS.has(key.toLowerCase()) || !likeTasks(value)) continue
    const meant = suggest(key.slice(0, 60), LISTS.keys())
    if (meant !== null) return { key, meant }
  }
  return null
}

/** Does it hold tasks, or mean to? Then it is a plan, and not one of its tasks. */
export function holdsTasks(map: JsonObject): boolean {
  return [...LISTS.keys()].some(key => Object.hasOwn(map, key)) || misspeltList(map) !== null
}

/** What is wrong with the list of tasks of a document that nobody recognised. */
export function listFault(map: JsonObject): DocumentFault | null {
  for (const key of ['nodes', 'steps']) {
    if (!Object.hasOwn(map, key)) continue
    const value = map[key]
    const one = key.slice(0, -1)
    const hint = `write ${LISTS.get(key)}`
    if (!isList(value)) return { path: [key], message: `'${key}' is a list of ${key}, not ${kindOf(value)}`, hint }
    if (value.length === 0) return { path: [key], message: `a plan needs at least one ${one}`, hint }
    const index = value.findIndex(item => !isMap(item))
    if (index !== -1)
      return {
        path: [key, index],
        message: `a ${one} must be a mapping (key: value), not ${kindOf(value[index])}`,
        hint,
      }
  }
  const wrong = [...LISTS.keys()].some(key => Object.hasOwn(map, key)) ? null : misspeltList(map)
  if (wrong === null) return null
  const { key, meant } = wrong
  return { path: [key], atKey: true, message: `no format has a list '${key}'`, hint: `did you mean '${meant}'?` }
}

/** Null when the canonical format has the word. */
export function whyUnrecognised(source: Source): Diagnostic | null {
  const { read, map } = source
  if (read.ok && map !== null) {
    if (Object.hasOwn(map, 'planfold') || Object.hasOwn(map, 'planfold-template')) return null
    const fault = workflowFault(map) ?? listFault(map)
    if (fault !== null) return read.document.place(fault)
    return isMarkdownFile(source) ? tasklessMarkdown(source) : null
  }
  return brokenLine(source) ?? tasklessMarkdown(source)
}

/** Many try this first. */
function workflowFault(map: JsonObject): DocumentFault | null {
  if (!isMap(map.jobs) || !['on', 'true'].some(key => Object.hasOwn(map, key))) return null
  return {
    path: ['jobs'],
    atKey: true,
    message: 'this is a GitHub Actions workflow, not a plan',
    hint: "Planfold does not run workflows; a plan begins with 'planfold: 1' and has a list of 'tasks'",
  }
}

const isMarkdownFile = ({ fileName = '' }: Source): boolean => /\.(?:md|markdown)$/i.test(fileName)

/** A Markdown file that shows plans in code blocks, as a README does, is none itself. */
export function isOnlyQuoted(source: Source, ours: RegExp): boolean {
  return (
    isMarkdownFile(source) && markdownLines(source).every(({ raw, form }) => form.type === 'code' || !ours.test(raw))
  )
}

/** One JSON object on each line: the first line that is none. */
function brokenLine({ lines, read }: Source): Diagnostic | null {
  const written = lines.map((text, index) => ({ text, line: index + 1 })).filter(({ text }) => text.trim() !== '')
  if (read.ok || written.length < 2 || !written.every(({ text }) => /^\s*\{/.test(text))) return null
  if (!written.some(({ text }) => /\}\s*$/.test(text))) return null
  const hint = 'a backlog of Beads has one JSON object on each line: {"id": "a-1", "title": "…", "status": "open"}'
  for (const { text, line } of written) {
    const parsed = readDocument(text)
    const [fault] = parsed.ok ? [] : parsed.diagnostics
    if (fault !== undefined)
      return { severity: 'error', line, column: fault.column, message: `this line is broken: ${fault.message}`, hint }
  }
  return { severity: 'error', line: written[0]!.line, column: 1, message: 'these lines of JSON are not issues', hint }
}

/** A heading makes it Markdown, unless there are keys as in YAML: there it is a comment. */
function tasklessMarkdown(source: Source): Diagnostic | null {
  const named = isMarkdownFile(source)
  if (!named && !mayBeMarkdown(source)) return null
  const headed = markdownLines(source).find(({ form }) => form.type === 'heading')
  const keyed = source.lines.some(line => /^\s*(?:- +)?["']?[\w-]{1,60}["']?:(?:\s|$)|^\s*[[{]/.test(line))
  // A heading of Markdown is a comment of YAML.
  const onlyComments = source.lines.every(line => /^\s*(?:#|$)/.test(line))
  if (!named && (headed === undefined || keyed || onlyComments)) return null
  return {
    severity: 'error',
    line: headed?.at ?? 1,
    column: 1,
    message: 'no tasks were found in this Markdown',
    hint: "a task is written as '- [ ] What to do', or as '1. What to do' below '## Steps'",
  }
}

function likeTasks(value: Json): boolean {
  if (isList(value)) return value.some(isMap)
  return isMap(value) && Object.values(value).some(isMap)
}

function kindOf(value: Json | undefined): string {
  if (value === null || value === undefined) return 'empty'
  return isList(value) ? 'a list' : isMap(value) ? 'a map' : `a ${typeof value === 'string' ? 'text' : typeof value}`
}
