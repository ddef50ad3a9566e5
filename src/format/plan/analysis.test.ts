// Properties of the analysis over any definition the format can say.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { analyze } from '../../domain/analysis/analyze.ts'
import { FINDING_CODES } from '../../domain/analysis/finding.ts'
import type { TaskName } from '../../domain/id.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { expandTasks, remediesOf } from '../../domain/plan-rules/expand.ts'

import { planDefinition } from './definition.arbitrary.ts'
import { outputReads } from './output-reads.ts'

/** Needs and outcomes that mostly exist, so that there is a graph to speak of; circles included. */
const tangled: fc.Arbitrary<PlanDefinition> = fc
  .tuple(planDefinition, fc.array(fc.tuple(fc.nat(), fc.nat(), fc.boolean()), { maxLength: 12 }))
  .map(([definition, links]) => {
    const tasks: TaskDefinition[] = definition.tasks.map(({ needs: _, on: _on, ...task }) => task)
    for (const [a, b, isNeed] of links) {
      const [from, to] = [a % tasks.length, b % tasks.length]
      const { id } = tasks[from]!
      const target = tasks[to]!
      tasks[to] = isNeed
        ? { ...target, needs: [...(target.needs ?? []), id] }
        : { ...target, on: { ...target.on, failure: [...(target.on?.failure ?? []), id] } }
    }
    return { ...definition, tasks }
  })

it.each([
  ['any plan', planDefinition],
  ['any graph', tangled],
] as const)('%s is analysed: waves respect needs, the critical path is a path, and nothing throws', (_, plans) => {
  fc.assert(
    fc.property(plans, definition => {
      const analysis = analyze(definition, {
        now: 0,
        reads: outputReads(definition),
        scopes: { fault: () => null, fileFault: () => null, folderFault: () => null, holds: () => false },
      })
      const tasks = new Map(expandTasks(definition).map(task => [task.id, task]))
      const waveOf = new Map<TaskName, number>(analysis.waves.flatMap((wave, at) => wave.map(id => [id, at] as const)))
      expect(waveOf.size + analysis.unplaced.length + analysis.compensating.length).toBe(tasks.size)
      expect(analysis.groups.flat().length).toBe(tasks.size)
      for (const [id, wave] of waveOf)
        for (const need of tasks.get(id)!.needs ?? []) if (tasks.has(need)) expect(waveOf.get(need)!).toBeLessThan(wave)
      const { tasks: path, ms } = analysis.criticalPath
      expect(path.length > 0).toBe(waveOf.size > 0)
      for (let at = 1; at < path.length; at++) expect(leads(tasks, path[at - 1]!, path[at]!)).toBe(true)
      const { elapsedMs, totalMs } = analysis.estimate
      expect(elapsedMs).toBeGreaterThanOrEqual(ms)
      expect(totalMs).toBeGreaterThanOrEqual(elapsedMs)
      expect(analysis.parallelism.effective).toBeLessThanOrEqual(Math.max(waveOf.size, 0))
      for (const { code, task } of analysis.findings) {
        expect(FINDING_CODES).toContain(code)
        if (task !== undefined && code !== 'unknown-reference' && code !== 'structure')
          expect(tasks.has(task) || code === 'duplicate').toBe(true)
      }
    }),
    { numRuns: 150 },
  )
})

function leads(tasks: ReadonlyMap<TaskName, TaskDefinition>, from: TaskName, to: TaskName): boolean {
  const source = tasks.get(from)!
  const recoveries = (source.failureModes ?? []).flatMap(({ recover }) => recover ?? [])
  return (
    tasks.get(to)!.needs?.includes(from) === true ||
    Object.values(source.on ?? {}).some(targets => targets.includes(to)) ||
    recoveries.includes(to) ||
    remediesOf(source).includes(to) ||
    // Children that are not known yet may lead there.
    source.leads?.includes(to) === true
  )
}
