import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Analysis, analyze } from '../../domain/analysis/analyze.ts'
import type { JsonObject } from '../../domain/json.ts'
import { checkGraph } from '../../domain/plan-rules/graph-rules.ts'
import { parsePlan } from '../../format/plan/parse.ts'
import { printYaml } from '../../format/plan/print.ts'
import { instantiate } from './instantiate.ts'
import { exampleOf } from './parameters.ts'
import { GOLDEN, STOCK, stockTemplate } from './stock.fixture.ts'

const fixtures = resolve(import.meta.dirname, '../../../test/fixtures/templates')

function made(name: string, given: JsonObject) {
  const plan = instantiate(stockTemplate(name), given, { check: checkGraph })
  if (!plan.ok) throw new Error(`${name}: ${JSON.stringify([plan.problems, plan.diagnostics], null, 1)}`)
  return plan
}

const errorsOf = (analysis: Analysis) => analysis.findings.filter(({ severity }) => severity === 'error')

test('there is a template for each of the eight kinds of work', () => {
  expect(STOCK).toEqual([
    'debug',
    'dependency-upgrade',
    'feature-with-tests',
    'incident-postmortem',
    'multi-file-refactor',
    'research-then-build',
    'research-then-implement',
    'staged-rollout',
  ])
})

describe.each(STOCK)('the stock template %s', name => {
  test('can be read without a fault or a warning, and is called like its file', () => {
    const template = stockTemplate(name)
    expect(template.name).toBe(name)
    expect(template.warnings).toEqual([])
    expect(template.parameters.length).toBeGreaterThan(3)
  })

  test('makes the golden plan', () => {
    const text = printYaml(made(name, GOLDEN[name]!).definition)
    const file = resolve(fixtures, `${name}.yaml`)
    if (process.env.PLANFOLD_GOLDEN === 'write') writeFileSync(file, text)
    expect(text).toBe(readFileSync(file, 'utf8'))
    const again = parsePlan(text, { check: checkGraph })
    expect(again.ok && again.definition).toEqual(made(name, GOLDEN[name]!).definition)
  })

  test('makes plans without a finding that is an error, with its examples and with the least that may be given', () => {
    const { parameters } = stockTemplate(name)
    const examples = Object.fromEntries(parameters.map(parameter => [parameter.name, exampleOf(parameter)]))
    const least = Object.fromEntries(
      parameters.filter(({ required }) => required).map(parameter => [parameter.name, exampleOf(parameter)]),
    )
    for (const given of [GOLDEN[name]!, examples, least]) {
      const { definition, warnings } = made(name, given)
      expect(warnings.filter(({ message }) => message.includes('no longer needs'))).toEqual([])
      expect(errorsOf(analyze(definition))).toEqual([])
    }
  })

  test('says how each task is judged, and how what changes something is undone', () => {
    const worrying = ['no-acceptance', 'no-rollback', 'ungated', 'unreachable', 'impossible-outcome', 'too-many-tasks']
    const { findings } = analyze(made(name, GOLDEN[name]!).definition)
    expect(findings.filter(({ code }) => worrying.includes(code))).toEqual([])
  })
})
