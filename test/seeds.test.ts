// Every example in the founding documents can be read word for word. The documents themselves are not part of this repository:
// PLANFOLD_SEEDS names the folder they lie in, and without it these tests say that they skip. What they hold in our own words
// is under test/fixtures and always tested.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkGraph } from '../src/domain/graph.ts'
import { printDiagnostic } from '../src/format/diagnostic.ts'
import { parsePlan } from '../src/format/parse.ts'

interface Seed {
  /** How the name of its file begins. */
  readonly prefix: string
  /** How many of its blocks are plans; a block that is no longer recognised is missed. */
  readonly plans: number
  /** Is this block a plan? `opening` is the word behind the fence. */
  readonly isPlan: (opening: string, text: string) => boolean
}

/** One row for each document. */
const SEEDS: readonly Seed[] = [
  { prefix: '003', plans: 6, isPlan: opening => opening === 'yaml' || opening === 'json' },
  // Plans as they are sent and shown, and the tasks that are sent one by one.
  {
    prefix: '004',
    plans: 8,
    isPlan: (_, text) => text.startsWith('{') && /"steps"|"sequence_order"|"input_data"/.test(text),
  },
]

const folder = process.env.PLANFOLD_SEEDS ?? ''

if (folder !== '')
  describe('the founding documents', () => {
    for (const { prefix, plans, isPlan } of SEEDS) {
      const blocks = folder === '' ? [] : fences(textOf(prefix)).filter(({ opening, text }) => isPlan(opening, text))

      test(`${prefix}: all its plans are found`, () => {
        expect(blocks.length).toBe(plans)
      })

      test.each(blocks.map(block => [block.line, block.text] as const))(
        `${prefix}:%i is read word for word`,
        (_, text) => {
          const parsed = parsePlan(text, { fallbackName: 'seed', check: checkGraph })
          expect(parsed.ok ? [] : parsed.diagnostics.map(one => printDiagnostic(one))).toEqual([])
          expect(parsed.ok && parsed.dialect).not.toBe(null)
        },
      )
    }
  })

if (folder === '') {
  test('the founding documents are skipped: PLANFOLD_SEEDS does not name their folder', () => {
    expect(folder).toBe('')
  })
}

function textOf(prefix: string): string {
  const name = existsSync(folder) ? readdirSync(folder).find(file => file.startsWith(prefix)) : undefined
  if (name === undefined) throw new Error(`PLANFOLD_SEEDS has no document ${prefix}…`)
  return readFileSync(join(folder, name), 'utf8')
}

function fences(text: string): readonly { readonly opening: string; readonly line: number; readonly text: string }[] {
  const found = []
  const lines = text.split(/\r?\n/)
  for (let at = 0; at < lines.length; at++) {
    const opening = /^\s*```\s*(\w*)\s*$/.exec(lines[at] as string)?.[1]
    if (opening === undefined) continue
    const end = lines.findIndex((line, index) => index > at && /^\s*```\s*$/.test(line))
    if (end === -1) break
    const block = lines.slice(at + 1, end).join('\n')
    found.push({ opening, line: at + 1, text: block })
    // What a shell sends: -d '…'.
    for (const sent of block.matchAll(/ -d '([^']*)'/g))
      found.push({
        opening: 'sent',
        line: at + 2 + (block.slice(0, sent.index).match(/\n/g)?.length ?? 0),
        text: sent[1]!,
      })
    at = end
  }
  return found
}
