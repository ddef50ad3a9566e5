// Maintains one table in another program's TOML settings file, below a comment that marks it as ours. The file is parsed before
// and after, and an edit that would change anything else is refused. There is no end mark: programs that rewrite their settings
// keep a comment above its table, but insert new tables before a trailing comment.

import { isDeepStrictEqual } from 'node:util'
import { parse, TomlError, type TomlTable } from 'smol-toml'
import type { SettingsEdit, SettingsFault } from './json-entry.ts'

export interface TomlBlock {
  /** The table's keys, for instance `mcp_servers` and `planfold`. */
  readonly table: readonly [string, string]
  readonly lines: readonly string[]
}

/** `other`: the table exists without our mark. `changed`: it has our mark, but other lines. */
export type BlockStatus = 'absent' | 'same' | 'changed' | 'other'

const OURS = '# planfold: added by its installer, which can remove it again'

export function blockStatus(
  text: string,
  block: TomlBlock,
): { readonly ok: true; readonly status: BlockStatus } | SettingsFault {
  const parsed = read(text)
  if (!parsed.ok) return parsed
  const found = findBlock(text, block)
  if (found === 'broken') return brokenMark
  if (tableIn(parsed.value, block) === undefined) return { ok: true, status: 'absent' }
  if (found === null) return { ok: true, status: 'other' }
  return { ok: true, status: found.lines.join('\n') === linesOf(block).join('\n') ? 'same' : 'changed' }
}

/** Appends the block, or replaces it. */
export function setBlock(text: string, block: TomlBlock): SettingsEdit {
  const before = read(text)
  if (!before.ok) return before
  const found = findBlock(text, block)
  if (found === 'broken') return brokenMark
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const written = [OURS, ...linesOf(block)].join(eol)
  const lead = text === '' || text === MARK ? '' : text.endsWith('\n') ? eol : `${eol}${eol}`
  const after =
    found === null
      ? `${text}${lead}${written}${eol}`
      : `${text.slice(0, found.start)}${written}${text.slice(found.end)}`
  return isSameWithout(before.value, read(after), block, 'there') ? { ok: true, text: after, made: 0 } : unsafe
}

/** Removes the block and the blank line before it. */
export function removeBlock(text: string, block: TomlBlock): SettingsEdit {
  const before = read(text)
  if (!before.ok) return before
  const found = findBlock(text, block)
  if (found === 'broken') return brokenMark
  if (found === null) return { ok: true, text, made: 0 }
  const lead = /(\r?\n)\r?\n$/.exec(text.slice(0, found.start))
  const start = lead === null ? found.start : found.start - (lead[0].length - lead[1]!.length)
  const rest = text.slice(found.end).replace(/^\r?\n/, '')
  const after = `${text.slice(0, start)}${rest}`
  return isSameWithout(before.value, read(after), block, 'gone') ? { ok: true, text: after, made: 0 } : unsafe
}

const MARK = '\ufeff'
const brokenMark: SettingsFault = { ok: false, why: `has '${OURS}' twice, or without our table below it` }
const unsafe: SettingsFault = { ok: false, why: 'cannot be changed without touching something else in it' }

const linesOf = ({ table, lines }: TomlBlock): readonly string[] => [`[${table.join('.')}]`, ...lines]

function read(text: string): { readonly ok: true; readonly value: TomlTable } | SettingsFault {
  try {
    return { ok: true, value: parse(text.startsWith(MARK) ? text.slice(1) : text, { integersAsBigInt: true }) }
  } catch (error) {
    if (error instanceof RangeError) return { ok: false, why: 'is nested too deeply' }
    if (!(error instanceof TomlError)) throw error
    const why = error.message.split('\n')[0]!.replace(/^Invalid TOML document: /, '')
    return { ok: false, why: `is not valid TOML (line ${error.line}, column ${error.column}: ${why})` }
  }
}

const isTable = (value: unknown): value is TomlTable =>
  value?.constructor === Object || Object.getPrototypeOf(value ?? 0) === null

function tableIn(value: TomlTable, { table: [outer, inner] }: TomlBlock): unknown {
  const parent = Object.hasOwn(value, outer) ? value[outer] : undefined
  if (parent === undefined) return undefined
  // Not a table, so ours cannot be inside it: it belongs to the other program.
  return isTable(parent) ? (Object.hasOwn(parent, inner) ? parent[inner] : undefined) : parent
}

/** The files are equal apart from our table, which is present or absent as expected. */
function isSameWithout(
  before: TomlTable,
  after: ReturnType<typeof read>,
  block: TomlBlock,
  ours: 'there' | 'gone',
): boolean {
  if (!after.ok || (tableIn(after.value, block) !== undefined) !== (ours === 'there')) return false
  return isDeepStrictEqual(without(before, block), without(after.value, block))
}

function without(value: TomlTable, { table: [outer, inner] }: TomlBlock): unknown {
  const { [outer]: parent, ...rest } = value
  if (!isTable(parent)) return [rest, parent]
  const { [inner]: _, ...others } = parent
  // A parent table that contains only ours is removed with it.
  return [rest, Object.keys(others).length === 0 ? undefined : others]
}

interface FoundBlock {
  /** From the mark to the end of the table's last line, without its line break. */
  readonly start: number
  readonly end: number
  /** Without the mark. */
  readonly lines: readonly string[]
}

/** The table ends at a blank line, a comment or another table. */
function findBlock(text: string, block: TomlBlock): FoundBlock | 'broken' | null {
  const marks = [
    ...text.matchAll(/(?<=^\ufeff?)# planfold: added by its installer, which can remove it again[ \t]*(?=\r?$)/gm),
  ]
  const [mark, other] = marks
  if (mark === undefined) return null
  const start = mark.index
  const [, ...below] = text.slice(start).split('\n')
  const length = below.findIndex((line, at) => at > 0 && /^\s*($|#|\[)/.test(line))
  const lines = length === -1 ? below : below.slice(0, length)
  if (lines.at(-1) === '') lines.pop()
  if (other !== undefined || lines[0]?.trim() !== linesOf(block)[0]) return 'broken'
  const end = start + [mark[0] + (text[start + mark[0].length] === '\r' ? '\r' : ''), ...lines].join('\n').length
  return { start, end: text[end - 1] === '\r' ? end - 1 : end, lines: lines.map(line => line.replace(/\r$/, '')) }
}
