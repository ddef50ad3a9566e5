// The live view in a real terminal.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Place, place } from './planfold.fixture.ts'
import { CONTROLS, hasTerminal, terminal as terminalIn } from './terminal.fixture.ts'

let here: Place
beforeEach(async () => {
  here = await place()
})
afterEach(() => here.remove())

const PLAN = `planfold: 1
name: asks
tasks:
  - { id: work, run: [echo, "seen by nobody"], effect: pure }
  - { id: review, needs: [work], title: "Good enough?", gate: approval, on: { rejected: work } }
  - { id: last, needs: [review], run: ["true"], effect: pure }
`
const SHOW_CURSOR = '\u001b[?25h'
const terminal = (...words: readonly string[]) => terminalIn({ folder: here.folder }, ...words)

describe.skipIf(!hasTerminal)('in a terminal', () => {
  it('a gate is put to the person who watches; the answer is taken by key, and the cursor comes back', async () => {
    await here.write('plan.yaml', PLAN)
    const { sees, press, ended, shown } = terminal('run', 'plan.yaml')
    await sees('[a]pprove')
    expect(shown()).toContain('Good enough?')
    press('a')
    expect(await ended).toBe(0)
    expect(shown().lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(shown().indexOf('[a]pprove'))
    expect(await here.json('status', 'asks')).toMatchObject({ status: 'completed' })
  })

  it('a form is filled in field by field, and the last table stays on the screen', async () => {
    await here.write(
      'plan.yaml',
      `planfold: 1
name: asks
tasks:
  - id: where
    gate:
      type: question
      question: Which region?
      form:
        - { name: region, type: choice, choices: [eu, us] }
        - { name: copies, type: number, default: 2 }
  - { id: last, needs: [where], run: ["true"], effect: pure }
`,
    )
    const { sees, press, ended, shown } = terminal('run', 'plan.yaml')
    await sees('[f]ill in')
    press('f')
    await sees('region (eu | us)')
    press('asia\r')
    await sees('is not one of the choices')
    press('\u007f\u007f\u007f\u007feu\r')
    await sees('copies (number, 2 by default)')
    press('\r')
    expect(await ended).toBe(0)
    const last = shown()
      .slice(shown().lastIndexOf(SHOW_CURSOR) - 2_000)
      .replace(CONTROLS, '')
    expect(last).toMatch(/✔ where[^\n]*\r?\n✔ last[^\n]*\r?\n✔ asks completed/)
    expect(await here.json('show', 'asks', 'where')).toMatchObject({ task: { outputs: { region: 'eu', copies: 2 } } })
  })

  it('a rejection wants a reason, which is recorded', async () => {
    await here.write('plan.yaml', PLAN)
    const { sees, press, ended, shown } = terminal('run', 'plan.yaml')
    await sees('[r]eject')
    press('r')
    await sees('why?')
    press('not yet')
    await sees('not yet')
    press('\r')
    await sees('[a]pprove')
    press('a')
    expect(await ended).toBe(0)
    expect(shown()).toContain(SHOW_CURSOR)
    const log = (await here.planfold('log', 'asks')).stdout
    expect(log).toContain('not yet')
    expect(await here.json('status', 'asks')).toMatchObject({ status: 'completed' })
  })
})
