// What the dialects of the planning playbook can say, they say without loss; what they cannot, they name.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import { planDefinition } from '../../../format/plan/definition.arbitrary.ts'
import type { Dialect } from '../../../format/plan/dialect.ts'
import { parsePlan } from '../dialects.fixture.ts'
import { planSlug } from '../document-builder.ts'
import { planDsl } from './plan-dsl.ts'
import { planNodes } from './plan-nodes.ts'
import { planSketch } from './plan-sketch.ts'
import { taskYaml } from './task-yaml.ts'

/** More when somebody looks for what is rare. */
const RUNS = Number(process.env.PLANFOLD_RUNS ?? 40)
/** Two tasks say as much as five, in less time. */
const small = planDefinition.map(definition => ({ ...definition, tasks: definition.tasks.slice(0, 2) }))

describe.each([planNodes, planSketch, taskYaml, planDsl])('$name', dialect => {
  test('whatever is printed can be read, and only what is told is lost', () => {
    fc.assert(
      fc.property(small, definition => {
        const printed = dialect.print!(definition, () => 'pending')
        const again = read(printed.text, dialect)
        if (printed.lost.length === 0) expect(again).toEqual(definition)
        // What has come through once comes through for ever.
        const twice = dialect.print!(again, () => 'pending')
        expect(twice.lost).toEqual([])
        expect(read(twice.text, dialect)).toEqual(again)
      }),
      { numRuns: RUNS / 4 },
    )
  })

  test('a plan in its own words comes through whole', () => {
    fc.assert(
      fc.property(
        small.map(definition => expressible(definition, dialect)),
        definition => {
          const printed = dialect.print!(definition, () => 'pending')
          expect(printed.lost).toEqual([])
          expect(read(printed.text, dialect)).toEqual(definition)
        },
      ),
      { numRuns: RUNS },
    )
  })
})

test('plan-dsl: a value that ends in a blank which is none for YAML comes through', () => {
  const task = { id: 'a', action: { type: 'external' }, inputs: { '': '$\u2000' } }
  const definition = { name: 'p', tasks: [task] } as unknown as PlanDefinition
  const printed = planDsl.print!(definition, () => 'pending')
  expect(printed.lost).toEqual([])
  expect(read(printed.text, planDsl)).toEqual(definition)
})

test.each([planNodes, planSketch, taskYaml])(
  '$name: a file without an end, named like its output, stays a file',
  dialect => {
    const task = { id: 'a', action: { type: 'external' }, outputs: { report: { from: 'file', file: 'report' } } }
    const definition = { name: 'a', tasks: [task] } as unknown as PlanDefinition
    const printed = dialect.print!(definition, () => 'pending')
    expect(printed.lost).toEqual([])
    expect(read(printed.text, dialect)).toEqual(definition)
  },
)

function read(text: string, dialect: Dialect): PlanDefinition {
  const parsed = parsePlan(text, { dialect, fallbackName: 'unnamed' })
  if (!parsed.ok) throw new Error(`${JSON.stringify(parsed.diagnostics, null, 2)}\n${text}`)
  return parsed.definition
}

/** What a node has words for, beside its id and what it does. */
const NODE_FIELDS: ReadonlySet<string> = new Set<keyof TaskDefinition>([
  'id',
  'title',
  'description',
  'kind',
  'rationale',
  'needs',
  'optional',
  'when',
  'forEach',
  'instruction',
  'inputs',
  'outputs',
  'write',
  'read',
  'network',
  'env',
  'cwd',
  'effect',
  'timeoutMs',
  'retry',
  'priority',
  'accept',
  'preconditions',
  'failureModes',
  'on',
  'visits',
  'assumptions',
  'risks',
  'rollback',
  'owner',
  'assignee',
  'labels',
  'milestone',
  'deadline',
  'estimateMs',
  'budget',
  'capabilities',
])

/** The same plan without what the dialect has no words for. */
function expressible(definition: PlanDefinition, dialect: Dialect): PlanDefinition {
  const all = dialect === taskYaml ? definition.tasks.slice(0, 1) : definition.tasks
  const known = new Set(all.map(({ id }) => id))
  const tasks = all.map((task): TaskDefinition => {
    const rest = Object.fromEntries(
      Object.entries(task).filter(([key]) => NODE_FIELDS.has(key)),
    ) as unknown as TaskDefinition
    const on = Object.fromEntries(
      Object.entries(task.on ?? {})
        .map(([outcome, to]) => [outcome, to.filter(id => known.has(id))])
        .filter(([, to]) => to!.length > 0),
    )
    const said = {
      ...rest,
      action: { type: 'external' as const },
      ...(task.on === undefined ? {} : { on }),
      ...(task.failureModes === undefined
        ? {}
        : { failureModes: task.failureModes.map(({ recover: _, ...mode }) => mode) }),
      ...(task.kind?.endsWith('gate') ? { kind: 'research' } : {}),
    }
    if (Object.keys(on).length === 0) delete (said as { on?: unknown }).on
    if (dialect !== planDsl) return said
    return Object.fromEntries(
      Object.entries(said).filter(([key]) =>
        ['id', 'title', 'kind', 'action', 'instruction', 'needs', 'inputs', 'accept', 'on'].includes(key),
      ),
    ) as unknown as TaskDefinition
  })
  const name = dialect === taskYaml ? planSlug(tasks[0]!.id)! : definition.name
  if (dialect === taskYaml) return { name, tasks }
  if (dialect === planDsl) return { name, title: definition.title, tasks }
  const { extra: _, git: _git, notify: _notify, place: _place, ...plan } = definition
  if (dialect === planNodes) return { ...plan, tasks }
  const {
    done: __,
    policy: ___,
    defaults: ____,
    session: _____,
    hypotheses: ______,
    memory: _______,
    artifacts: ________,
    ...sketch
  } = plan
  return { ...sketch, tasks }
}
