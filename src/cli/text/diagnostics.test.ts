import { expect, it } from 'vitest'
import type { FileDiagnostic } from '../exit.ts'
import { paint } from '../terminal/paint.ts'
import { printDiagnostics } from './diagnostics.ts'

const at = (more: Partial<FileDiagnostic>): FileDiagnostic => ({
  file: 'plan.yaml',
  source: '',
  severity: 'error',
  message: 'wrong',
  line: 3,
  column: 1,
  ...more,
})

it('points at the place, below the line as it is shown', () => {
  expect(
    printDiagnostics(paint(false), [at({ source: '日本: [biuld]', column: 6, hint: "did you mean 'build'?" })]),
  ).toEqual(['plan.yaml:3:6: error: wrong', '   3 │ 日本: [biuld]', '     │        ^', "  hint: did you mean 'build'?"])
})

it('shows tabs, hides no control characters, and cuts long lines around the place', () => {
  expect(printDiagnostics(paint(false), [at({ source: '\t- id: a' })])[1]).toBe('   3 │ →   - id: a')
  expect(
    printDiagnostics(paint(false), [at({ source: 'a: \u001b[2J', message: '\u001b]0;x' })]).join(''),
  ).not.toContain('\u001b')
  const [, line, caret] = printDiagnostics(paint(false), [
    at({ source: `${'x'.repeat(5_000)}!${'y'.repeat(5_000)}`, column: 5_001 }),
  ])
  expect(line!.length).toBeLessThan(120)
  expect(line![caret!.indexOf('^')]).toBe('!')
})

it('says how to see what is not shown', () => {
  const last = (severity: FileDiagnostic['severity'], how?: string, length = 7) =>
    printDiagnostics(
      paint(false),
      Array.from({ length }, () => at({ severity })),
      how,
    ).at(-1)
  expect(last('error', undefined, 32)).toBe('… and 2 more; --json shows all')
  expect(last('warning')).toBe('… and 2 more; planfold validate plan.yaml --json shows all')
  expect(last('warning', 'look there')).toBe('… and 2 more; look there')
})

it('shows the first errors whole and the others in a line each; warnings fit on one screen', () => {
  const many = (severity: FileDiagnostic['severity']) =>
    printDiagnostics(
      paint(false),
      Array.from({ length: 20 }, (_, line) => at({ source: 'x', hint: 'y', line, severity })),
    )
  expect(many('error')).toHaveLength(5 * 4 + 15 + 1)
  expect(many('error').slice(-2)).toEqual([
    'plan.yaml:19:1: error: wrong',
    'hints are only shown for the first 5; --json shows all',
  ])
  expect(many('warning').length).toBeLessThanOrEqual(22)
})
