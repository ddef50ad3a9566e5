// Runners that an embedding program registers (`compose({ runners })`). Tasks name them: `runner: { use: NAME, with: { … } }`. They run in
// the engine's own process with all its permissions: they are trusted code, found by name only.

import { runnerLines, runnerRequest } from '../../domain/actions/runner-action.ts'
import type { JsonObject } from '../../domain/json.ts'
import { suggest } from '../../domain/phrases.ts'
import { failure } from '../../safety/safety-refusal.ts'
import type { Attempt, Outcome, Preview, Runner, RunnerAbout, RunnerTools, Stop } from '../runner.ts'

export interface CustomRunner {
  readonly name: string
  readonly about: RunnerAbout & {
    /** The JSON Schema of `with`. With invalid parameters the attempt fails before the runner is called. */
    readonly schema: JsonObject
  }
  /** The tools it needs besides the network. */
  readonly needs?: readonly ('evaluate' | 'git' | 'clock')[]
  /** What it would do, without doing it. Absent: shows its parameters. */
  preview?(parameters: JsonObject, attempt: Attempt, tools: RunnerTools): Promise<Preview>
  /** One attempt. Never throws, and stops soon after `stop` fires. */
  attempt(parameters: JsonObject, attempt: Attempt, tools: RunnerTools, stop: Stop): Promise<Outcome>
}

export function customRunner(runners: readonly CustomRunner[]): Runner {
  const byName = new Map(runners.map(runner => [runner.name, runner]))
  return {
    action: 'runner',
    about: {
      does: 'runs a custom runner, registered by a program that embeds Planfold',
      effects: ['unsafe'],
      risks: ['it does what its code does; declare with `effect` whether it is safe to repeat after a crash'],
      dryRun: 'what the runner shows, else its input',
      ...(runners.length > 0
        ? {}
        : { lacks: 'no custom runner is registered; only a program that embeds Planfold can register one' }),
    },
    needs: [...new Set(['reach' as const, ...runners.flatMap(({ needs = [] }) => needs)])],
    async preview(attempt, tools) {
      const request = runnerRequest(attempt.action)
      if (request === null) return { text: '' }
      const runner = byName.get(request.use)
      return (await runner?.preview?.(request.with, attempt, tools)) ?? { text: runnerLines(request).join('\n') }
    },
    async attempt(attempt, tools, stop) {
      const request = runnerRequest(attempt.action)
      const runner = byName.get(request?.use ?? '')
      if (request === null || runner === undefined)
        return { type: 'failed', failure: missing(request?.use ?? ''), begun: false }
      const { validateJson } = await import('../../format/expression/json-validation.ts')
      const [fault] = validateJson(request.with, runner.about.schema)
      if (fault !== undefined) {
        const invalid = failure('logic', `'with' of ${runner.name}: ${fault.at} ${fault.message}`)
        return { type: 'failed', failure: invalid, begun: false }
      }
      return await runner.attempt(request.with, attempt, tools, stop)
    },
  }

  function missing(name: string) {
    const near = suggest(name, byName.keys())
    const hint =
      near !== null
        ? `did you mean '${near}'?`
        : 'a program brings runners along: compose({ runners: […] }); the command line has none'
    return failure('logic', `there is no runner '${name}' here`, hint)
  }
}
