// Every sample of every dialect, analysed and run: the analysis is kept as a golden, and whatever is no sketch goes through the
// real engine to its end, with workers that report what each task asks for.
// Needs the extras: dialects

import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { PlanDefinition } from '../src/domain/plan.ts'
import { checkGraph } from '../src/domain/plan-rules/graph-rules.ts'
import { exited, setup } from '../src/engine/rooms.fixture.ts'
import { parsePlan } from '../src/extras/dialects/dialects.fixture.ts'
import { analyzed } from '../src/operations/analyze-plan.ts'

const FOLDER = join(import.meta.dirname, 'fixtures/dialects')
const TURNS_MAX = 300

const samples = readdirSync(FOLDER, { recursive: true, withFileTypes: true })
  .filter(entry => entry.isFile() && /\.(?:ya?ml|json|jsonl|md|txt)$/.test(entry.name))
  .map(entry => join(entry.parentPath, entry.name))
  .filter(path => !/golden|backlog-md|task-tables/.test(path))
  .sort()

function sample(path: string) {
  const parsed = parsePlan(readFileSync(path, 'utf8'), { check: checkGraph, fallbackName: 'sample' })
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics))
  return parsed
}

function told(definition: PlanDefinition): string {
  const { tasks, waves, criticalPath, parallelism, estimate, findings } = analyzed(definition)
  return [
    `${tasks} tasks in ${waves.length} waves: ${waves.map(wave => wave.join(' ')).join(' | ')}`,
    `critical path ${criticalPath.ms} ms: ${criticalPath.tasks.join(' > ')}`,
    `at once ${parallelism.effective}, elapsed ${JSON.stringify(estimate)}`,
    ...findings.map(({ severity, code, task }) => `${severity} ${code}${task === undefined ? '' : ` ${task}`}`),
  ].join('\n')
}

describe('every sample', () => {
  test('there are some', () => expect(samples.length).toBeGreaterThan(15))

  test.each(samples.map(path => [relative(FOLDER, path), path] as const))('%s is analysed', async (name, path) => {
    const golden = join(import.meta.dirname, 'fixtures/analysis', `${name.replaceAll('/', '-')}.golden`)
    await expect(`${told(sample(path).definition)}\n`).toMatchFileSnapshot(golden)
  })

  const plans = samples.filter(path => sample(path).sketch.length === 0)
  test.each(plans.map(path => [relative(FOLDER, path), path] as const))('%s runs to its end', async (_, path) => {
    const { definition } = sample(path)
    // Only checks that somebody wrote are run: nobody guesses a command.
    const declared = JSON.stringify(definition)
    const room = setup(async ({ action }) => {
      const command = action.type === 'run' ? JSON.stringify(action.command) : ''
      if (command === '' || !declared.includes(command)) throw new Error(`this was guessed: ${JSON.stringify(action)}`)
      return exited(0)
    })
    const plan = await room.define(definition)
    for (let turn = 0; turn < TURNS_MAX; turn++) {
      await room.drive(plan)
      const summary = (await room.engine.ask({ type: 'summary', plan }))!
      if (summary.endedAt !== null) break
      const [asks] = summary.waiting
      const board = (await room.engine.ask({ type: 'board', plan }))!
      const open = board.find(({ status }) => status === 'ready')?.name
      if (asks !== undefined) {
        await room.engine.submit(plan, { type: 'decide', task: asks.task, verdict: 'approved', rationale: 'yes' })
      } else if (open !== undefined) {
        const briefing = (await room.engine.ask({ type: 'briefing', plan, task: open }))!
        const outputs = Object.fromEntries(
          Object.keys(briefing.outputs).map(output => [output, ['a', 'b', 'c', 'd', 'e']]),
        )
        const said = await room.engine.submit(plan, {
          type: 'report',
          task: open,
          result: { status: 'succeeded', outputs },
        })
        if (!said.ok) throw new Error(`${open}: ${said.refusal.message}`)
      } else throw new Error(`nothing can move: ${JSON.stringify(summary)}`)
    }
    expect(await room.statuses(plan)).toMatchObject({ plan: 'completed' })
  })
})
