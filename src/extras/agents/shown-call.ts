// Describes a tool call for people: the action and its object, from the raw input if possible, and its edits.

import { isAbsolute, relative } from 'node:path'
import { isMap } from '../../domain/json.ts'
import { type AskedTool, readTool } from './permission-request.ts'

export interface SaidEdit {
  readonly path: string
  readonly before: string
  readonly after: string
}

export interface ShownCall {
  /** For example `run node test.js`; an edit without file names if `edits` has them. */
  readonly text: string
  readonly edits: readonly SaidEdit[]
}

const VERBS: { readonly [kind: string]: string } = {
  read: 'read',
  edit: 'edit',
  delete: 'delete',
  move: 'move',
  search: 'search',
  execute: 'run',
  think: 'think',
  fetch: 'fetch',
}

/** Null: not enough is known yet. `isOver`: no more will be known. */
export function shownCall(tool: AskedTool, title: string | null, root: string, isOver: boolean): ShownCall | null {
  const { paths, commands } = readTool(tool)
  const edits = editsOf(tool).map(edit => ({ ...edit, path: shortPath(edit.path, root) }))
  if (edits.length > 0) return { text: VERBS[tool.kind ?? ''] ?? 'edit', edits }
  const verb = VERBS[tool.kind ?? '']
  if (commands.length > 0 && (verb === undefined || verb === 'run'))
    return { text: `run ${commands.join('; ')}`, edits }
  // The contents of an edit often arrive only with its end.
  if (!isOver && (!isFilled(tool.rawInput) || verb === undefined || verb === 'edit')) return null
  const name = nameOf(tool) ?? title ?? 'a tool'
  if (verb === undefined) return { text: [name, ...paths.map(path => shortPath(path, root))].join(' '), edits }
  const about = paths.length > 0 ? paths.map(path => shortPath(path, root)).join(', ') : (title ?? name)
  return { text: `${verb} ${about}`, edits }
}

const shortPath = (path: string, root: string): string => {
  if (!isAbsolute(path)) return path
  const inside = relative(root, path)
  return inside === '' ? '.' : inside.startsWith('..') ? path : inside
}

/** A wrapper tool names the real tool in its input. */
function nameOf({ name, rawInput }: AskedTool): string | null {
  const inner = isMap(rawInput) ? [rawInput.tool_name, rawInput.toolName] : []
  const found = [...inner, name].find(word => typeof word === 'string' && word !== '')
  return typeof found === 'string' ? found : null
}

function editsOf({ content, rawInput }: AskedTool): readonly SaidEdit[] {
  const edits = new Map<string, SaidEdit>()
  const add = (edit: SaidEdit): void => void edits.set(JSON.stringify(edit), edit)
  for (const item of content ?? [])
    if (isMap(item) && item.type === 'diff' && typeof item.path === 'string')
      add({ path: item.path, before: textOf(item.oldText), after: textOf(item.newText) })
  if (edits.size > 0 || !isMap(rawInput)) return [...edits.values()]
  const path = [rawInput.file_path, rawInput.filePath, rawInput.path].find(one => typeof one === 'string')
  const [before, after] = [rawInput.old_string ?? rawInput.oldString, rawInput.new_string ?? rawInput.newString]
  if (typeof path === 'string' && typeof before === 'string' && typeof after === 'string') add({ path, before, after })
  return [...edits.values()]
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const isFilled = (value: unknown): boolean => isMap(value) && Object.keys(value).length > 0
