import fc from 'fast-check'
import { expect, test } from 'vitest'
import { planDefinition } from './definition.arbitrary.ts'
import { parsePlan } from './parse.ts'
import { printJson, printYaml } from './print.ts'

// Definitions may hold prose of other formats, in which anything may look like an expression.
const LENIENT = { lenient: true } as const

test('what is printed as YAML reads back as the same definition', () => {
  fc.assert(
    fc.property(planDefinition, definition => {
      const parsed = parsePlan(printYaml(definition), LENIENT)
      expect(parsed.ok ? parsed.definition : parsed.diagnostics).toEqual(definition)
    }),
    { numRuns: 100 },
  )
})

test('what is printed as JSON reads back as the same definition', () => {
  fc.assert(
    fc.property(planDefinition, definition => {
      const parsed = parsePlan(printJson(definition), LENIENT)
      expect(parsed.ok ? parsed.definition : parsed.diagnostics).toEqual(definition)
    }),
    { numRuns: 100 },
  )
})

test('a plan is printed as a person would write it', () => {
  const parsed = parsePlan(`
planfold: 1
name: demo
sequential: true
defaults: {retry: 2}
tasks:
  - {timeout: 90s, id: a, run: "npm ci\\nnpm test\\n"}
  - {edit: {create: "x", file: f, mode: 0o755}, id: b, estimate: 120m}
`)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics))
  expect(printYaml(parsed.definition)).toBe(`planfold: 1
name: demo
defaults:
  retry:
    attempts: 2
    backoff: 1s..30s

tasks:
  - id: a
    run: |
      npm ci
      npm test
    timeout: 90s

  - id: b
    needs:
      - a
    edit:
      - file: f
        create: x
        mode: "755"
    estimate: 2h
`)
})
