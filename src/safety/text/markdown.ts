// Escapes foreign text for a Markdown document: it cannot become a heading, a link, an image, HTML or another line, and control characters
// are shown.

import { escapeForTerminal } from './terminal.ts'

const TEXT_MAX = 2_000
const CODE_MAX = 500

export function markdownText(text: string, max: number = TEXT_MAX): string {
  return cut(visible(text), max)
    .replace(/[\\`*_{}[\]()#+!|~<>&=@-]/g, sign => (NAMED[sign] === undefined ? `\\${sign}` : NAMED[sign]))
    .replace(/:\/\//g, '&#58;//')
    .replace(/\bwww\./gi, found => `${found.slice(0, 3)}&#46;`)
    .replace(/^(\d+)\./, '$1\\.')
}

// Characters that a backslash does not escape everywhere.
const NAMED: { readonly [sign: string]: string } = {
  '<': '&lt;',
  '>': '&gt;',
  '&': '&amp;',
  '@': '&#64;',
}

/** A code span with more backquotes than any run in the text. */
export function markdownCode(text: string, max: number = CODE_MAX): string {
  const line = cut(visible(text), max)
  const longest = Math.max(0, ...Array.from(line.matchAll(/`+/g), ([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  const pad = line === '' || line.startsWith('`') || line.endsWith('`') ? ' ' : ''
  return `${fence}${pad}${line}${pad}${fence}`
}

/** For a table cell, where even a code span ends at a bar. */
export const inCell = (markdown: string): string => markdown.replace(/(?<!\\)\|/g, '\\|')

// Our own escapes, and code spans, in which nothing is escaped.
const WRITTEN = /(?<!\\)(`+)(?!`)([\s\S]*?[^`])\1(?!`)|\\([\\`*_{}[\]()#+!|~=.-])|&(lt|gt|amp|#64|#58|#46);/g

/** Reverses `markdownText`, for a terminal. Code spans stay as they are. */
export function plainText(markdown: string): string {
  return markdown.replace(WRITTEN, (all, _fence, _code, sign: string | undefined, name: string | undefined) =>
    name === undefined ? (sign ?? all) : SIGNS[name]!,
  )
}

const SIGNS: { readonly [name: string]: string } = { lt: '<', gt: '>', amp: '&', '#64': '@', '#58': ':', '#46': '.' }

const visible = (text: string): string =>
  escapeForTerminal(
    text
      .replace(/\s*\r?\n\s*/g, ' ')
      .replaceAll('\t', ' ')
      .trim(),
  )

function cut(text: string, max: number): string {
  const characters = [...text]
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join('')}…`
}
