// Every example in the founding documents can be read. The documents themselves are not part of this repository: their shapes, in
// examples of our own with every key that they use, are always tested. PLANFOLD_SEEDS names the folder the documents lie in; then
// their own blocks are read word for word, and without it those tests are skipped and say why.
// Needs the extras: dialects

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkGraph } from '../src/domain/plan-rules/graph-rules.ts'
import { parsePlan } from '../src/extras/dialects/dialects.fixture.ts'
import { printDiagnostic } from '../src/format/text/print-diagnostic.fixture.ts'

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

/** An example of ours for each shape in the documents, with the keys and words that the shape uses there. */
const SHAPES: readonly (readonly [file: string, dialect: string, words: readonly string[]])[] = [
  ['000/todo.json', 'todo-plan', ['plan_name', 'steps', 'id', 'description', 'status', 'acceptance_criteria', 'TODO']],
  ['001/planner.json', 'step-list', ['session_id', 'description', 'steps', 'tool', 'params', 'dependencies', 'status']],
  [
    '003/task.yaml',
    'task-yaml',
    words(
      'id title kind description inputs artifacts type retention capabilities risks preconditions command success_criteria failure_modes detect recover outputs next on to',
    ),
  ],
  [
    '003/plan.yaml',
    'plan-nodes',
    words('plan_id title owner created_at state nodes artifacts from gates checks memory keys'),
  ],
  [
    '003/sketch.json',
    'plan-sketch',
    words('id version tasks title dependsOn status outputs budget timeMin costUSD policies requireGateForProd'),
  ],
  [
    '003/plan.txt',
    'plan-dsl',
    ['task', 'kind:', 'using:', 'needs:', 'input:', 'run: |', 'expect:', 'on failure ->', 'on success ->'],
  ],
  ['004/sequential.json', 'plan-steps', words('steps step action description estimated_duration')],
  ['004/parallel.json', 'plan-steps', words('plan_type steps step parallel_group actions action agent depends_on')],
  ['004/records.json', 'plan-record', words('plan_id agent_id description task_type input_data sequence_order')],
]

function words(text: string): readonly string[] {
  return text.split(' ')
}

describe('the shapes of the founding documents', () => {
  test.each(SHAPES)('%s is read as %s, and uses all its words', (file, dialect, used) => {
    const text = readFileSync(join(import.meta.dirname, 'fixtures/dialects', file), 'utf8')
    expect(used.filter(word => !text.includes(word))).toEqual([])
    const parsed = parsePlan(text, { fallbackName: 'shape', check: checkGraph })
    expect(parsed.ok ? parsed.dialect : parsed.diagnostics.map(one => printDiagnostic(one))).toBe(dialect)
    // A key that the document uses is one that is understood.
    const strange = parsed.ok ? parsed.warnings.filter(({ message }) => message.endsWith('has no effect here')) : []
    const unknown = used.filter(word => strange.some(({ message }) => message.startsWith(`'${word}'`)))
    expect(unknown).toEqual([])
  })
})

const folder = process.env.PLANFOLD_SEEDS ?? ''
const WHY_SKIPPED = 'PLANFOLD_SEEDS does not name the folder of the documents; their shapes are tested above'

describe('the founding documents, word for word', () => {
  for (const { prefix, plans, isPlan } of SEEDS) {
    test(`${prefix}: all its plans are found and read`, context => {
      if (folder === '') return context.skip(WHY_SKIPPED)
      const blocks = fences(textOf(prefix)).filter(({ opening, text }) => isPlan(opening, text))
      expect(blocks.length).toBe(plans)
      for (const { line, text } of blocks) {
        const parsed = parsePlan(text, { fallbackName: 'seed', check: checkGraph })
        expect(parsed.ok ? [] : parsed.diagnostics.map(one => printDiagnostic(one)), `line ${line}`).toEqual([])
        expect(parsed.ok && parsed.dialect, `line ${line}`).not.toBe(null)
      }
    })
  }
})

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
