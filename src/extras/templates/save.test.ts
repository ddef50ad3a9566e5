import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../domain/json.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { raisePlan } from '../../format/plan/definition-to-document.ts'
import { parsePlan } from '../../format/plan/parse.ts'
import { readTemplate } from './document.ts'
import { instantiate } from './instantiate.ts'
import { type Given, saveTemplate } from './save.ts'

const PLAN = `
planfold: 1
name: ship-notes
title: Ship notes-api 2.4.0
extra: { template: { name: old }, mine: { a: notes-api } }
session: chat-7
tasks:
  - id: build-notes-api
    title: Build notes-api, not notes-api2
    run: [make, notes-api]
    env: { SERVICE: notes-api, TEXT: "a $\${{ b \${{ attempt }}" }
    deadline: 2026-01-31
  - id: check
    needs: [build-notes-api]
    run: make check-notes-api && cat <<EOF >> log
    when: tasks['build-notes-api'].outputs.name == 'notes-api' && 1 < 2
    inputs: { list: [{ x: 1 }] }
  - id: each
    for_each: { in: "[1]", items: [1] }
    write: [services/notes-api/**]
`

function definition(text = PLAN): PlanDefinition {
  const parsed = parsePlan(text)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics))
  return parsed.definition
}

function saved(parameters: Given, plan = definition()) {
  const made = saveTemplate(plan, 'ship', parameters)
  if (!made.ok) throw new Error(made.message)
  const read = readTemplate(made.text)
  if (!read.ok) throw new Error(JSON.stringify(read.diagnostics))
  return { ...made, template: read.template }
}

describe('a plan saved as a template', () => {
  test('has parameters wherever the values stood as whole words, and nowhere else', () => {
    const { template, notes } = saved([
      ['service', 'notes-api'],
      ['version', '2.4.0'],
    ])
    expect(template.plan).toEqual({
      title: 'Ship ${{ params.service }} ${{ params.version }}',
      extra: { mine: { a: '${{ params.service }}' } },
      tasks: [
        {
          id: 'build-notes-api',
          title: 'Build ${{ params.service }}, not notes-api2',
          run: ['make', '${{ params.service }}'],
          env: { SERVICE: '${{ params.service }}', TEXT: 'a $${{ b ${{ attempt }}' },
        },
        {
          id: 'check',
          needs: ['build-notes-api'],
          run: 'make check-notes-api && cat <<EOF >> log',
          when: "tasks['build-notes-api'].outputs.name == params.service && 1 < 2",
          inputs: { list: [{ x: 1 }] },
        },
        { id: 'each', for_each: '[1]', write: ['services/${{ params.service }}/**'] },
      ],
    })
    expect(notes).toEqual([
      "the deadline 2026-01-31 of 'build-notes-api' is left out",
      "the items of 'each' are left out; they are looked up again",
      "'notes-api' stays in tasks.1.when: nothing is put into a script or inside an expression",
      "'notes-api' stays in tasks.1.run: nothing is put into a script or inside an expression",
    ])
  })

  test('makes the next plan with other values', () => {
    const { template } = saved([['service', 'notes-api']])
    const made = instantiate(template, { service: 'mail ${{ x }}' }, { name: 'next' })
    if (!made.ok) throw new Error(JSON.stringify([made.problems, made.diagnostics]))
    const [build] = raisePlan(made.definition).tasks as readonly JsonObject[]
    expect(build).toMatchObject({ title: 'Build mail $${{ x }}, not notes-api2', run: ['make', 'mail $${{ x }}'] })
  })

  test('holds nothing of the run it was saved from', () => {
    const { text } = saved([])
    for (const gone of ['2026-01-31', 'chat-7', 'name: old', 'items: ']) expect(text).not.toContain(gone)
  })

  test('is refused when a value stands nowhere, is empty or is given twice, or the name leads elsewhere', () => {
    const message = (name: string, parameters: Given) => {
      const made = saveTemplate(definition(), name, parameters)
      return made.ok ? null : made.message
    }
    expect(message('ship', [['x', 'nowhere']])).toBe("'nowhere' does not occur in the plan as a whole word")
    expect(message('ship', [['x', ' ']])).toBe("the value of 'x' is empty")
    expect(
      message('ship', [
        ['x', '2.4.0'],
        ['x', 'a'],
      ]),
    ).toBe("the parameter 'x' is given twice")
    for (const name of ['../up', 'a/b', '', '.hidden', 'A', '__proto__', 'a'.repeat(80), 'a\n'])
      expect(message(name, []), name).toContain('cannot be the name of a template')
    expect(message('ship', [['constructor', '2.4.0']])).not.toBeNull()
    expect(message('ship', [['a b', '2.4.0']])).not.toBeNull()
  })
})
