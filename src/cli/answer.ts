// What a command says: a versioned envelope with --json, else lines of text. Every JSON answer of the CLI has this shape.

import { withoutPassword } from '../format/text/database-url.ts'
import { shellWord } from '../safety/text/terminal.ts'
import type { Entry } from '../stores/store.ts'
import type { Context } from './context.ts'
import type { CliError } from './exit.ts'
import { hanging } from './terminal/table.ts'
import { wordHints } from './text/hint-text.ts'

export const ENVELOPE = 1

/** The answer of a command; `lines` is only asked for when a person reads. */
export function answer(context: Context, data: unknown, lines: () => string | readonly string[]): void {
  if (context.settings.json) context.stdout.write(envelope({ data }))
  else print(context, lines())
}

export function answerDocument(context: Context, data: unknown, lines: () => string | readonly string[]): void {
  if (context.settings.json) context.stdout.write(envelope({ data }))
  else printDocument(context, lines())
}

export function print(context: Context, lines: string | readonly string[]): void {
  printDocument(context, withDir(context, typeof lines === 'string' ? lines : lines.join('\n')))
}

export function printDocument(context: Context, lines: string | readonly string[]): void {
  const text = typeof lines === 'string' ? lines : lines.join('\n')
  if (text !== '') context.stdout.write(`${text}\n`)
}

/** `planfold serves …` is a sentence. */
const COMMAND = /(?<![\w./-])planfold (?!serves )(?=[a-z])/g

/** Commands in our hints must use the same state when they are pasted: with `--dir` and `--database` where they were given. */
export function withDir({ settings: { dir, database } }: Pick<Context, 'settings'>, text: string): string {
  const place = [
    ...(database == null ? [] : ['--database', shellWord(withoutPassword(database))]),
    ...(dir === undefined ? [] : ['--dir', shellWord(dir)]),
  ]
  return place.length === 0 ? text : text.replace(COMMAND, () => `planfold ${place.join(' ')} `)
}

/** A note beside the answer; not printed with `--json` or `--quiet`. */
export function printNote(context: Context, line: string): void {
  if (!context.settings.quiet && !context.settings.json)
    context.stderr.write(`${fitted(context, withDir(context, line))}\n`)
}

/** Each line broken between words where it is wider than the terminal. */
export function fitted({ terminal }: Pick<Context, 'terminal'>, text: string): string {
  return text
    .split('\n')
    .map(line => hanging(line, line.search(/[^ ]|$/) + 2, terminal?.columns()))
    .join('\n')
}

/** One line of JSON; inside it every control character is escaped by JSON itself, and hints are words. */
export function envelope(content: { readonly data: unknown } | { readonly error: unknown }): string {
  return `${JSON.stringify({ planfold: ENVELOPE, ...content }, wordHints)}\n`
}

/** The same for an entry of the journal, which stays as it was written. */
export const entryEnvelope = (entry: Entry): string => `${JSON.stringify({ planfold: ENVELOPE, data: entry })}\n`

export function errorEnvelope(complaint: CliError): string {
  const { code, message, hint, diagnostics, details } = complaint
  return envelope({
    error: {
      code,
      message,
      hint,
      ...details,
      ...(diagnostics.length === 0
        ? {}
        : { diagnostics: diagnostics.map(({ source: _, ...diagnostic }) => diagnostic) }),
    },
  })
}
