import { expect, it } from 'vitest'
import { analyze } from '../../domain/analysis/analyze.ts'
import { outputReads } from './output-reads.ts'
import { parsePlan } from './parse.ts'

function reads(text: string): readonly string[] {
  const parsed = parsePlan(`planfold: 1\nname: p\n${text}`)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics))
  return outputReads(parsed.definition).map(
    ({ reader, key, producer, output }) => `${reader ?? '-'} ${key} ${producer}.${output}`,
  )
}

it('finds what expressions and templates look at, wherever they stand', () => {
  expect(
    reads(`
done: [{ expect: tasks.a.outputs.total > 1 }]
tasks:
  - { id: a, run: 'true', outputs: { total: { stdout: json } }, expect: outputs.total > 0 }
  - id: b
    needs: [a]
    when: "tasks['a'].outputs['total'] > 1 && tasks.a.status == 'completed'"
    run: [echo, "x \${{ tasks.a.outputs.total.deep[0] }} y"]
    inputs: { list: ["\${{ tasks.a.outputs.items.map(x, x.outputs) }}"] }
    accept: [{ check: [test, "\${{ tasks.a.outputs.size }}"] }]
`),
  ).toEqual([
    '- done a.total',
    'a expect a.total',
    'b when a.total',
    'b run a.total',
    'b inputs a.items',
    'b accept a.size',
  ])
})

it('asking with has() is no demand', () => {
  expect(
    reads(`
tasks:
  - { id: a }
  - { id: b, needs: [a], when: has(tasks.a.outputs.x) && tasks.a.outputs.x > 1 && tasks.a.outputs.y > 1, run: 'true' }
`),
  ).toEqual(['b when a.y'])
})

it('an output nobody makes is an error at the key that reads it', () => {
  const parsed = parsePlan(`planfold: 1
name: p
tasks:
  - { id: a, run: 'true', outputs: { report: { stdout: json } } }
  - id: b
    needs: [a]
    run: [echo, "\${{ tasks.a.outputs.reprot }}"]
`)
  if (!parsed.ok) throw new Error('not a plan')
  const { findings } = analyze(parsed.definition, { reads: outputReads(parsed.definition) })
  const found = findings.find(({ code }) => code === 'unknown-output')!
  expect(found).toMatchObject({ severity: 'error', task: 'b', key: 'run', hint: "did you mean 'report'?" })
  expect(parsed.locate(found)).toMatchObject({ line: 7, column: 10 })
})
