// Model tasks and `planfold models` through the command line, on a scripted model behind real HTTP: the answer becomes the outputs,
// failures are tried again by the engine, a kill in the middle of a call is handled by the effect class, a replay sends nothing, and
// the key is nowhere in the state folder.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { type Script, type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts'
import { place } from './in-process.fixture.ts'
import type { Place } from './planfold.fixture.ts'

const KEY = 'sk-never-to-be-seen-0123456789'
const ANSWER = { severity: 'high', files: ['src/a.ts'] }

let here: Place
let server: ScriptedModel
afterEach(async () => {
  await here.remove()
  await server.close()
})

async function setup(script: Script): Promise<void> {
  server = await scriptedModel(script)
  here = await place(server.environment(KEY))
}

const triage = (more = '') => `planfold: 1
name: triage
tasks:
  - id: report
    run: [echo, the tests hang]
    effect: pure
    outputs: { text: stdout }
  - id: triage
    needs: [report]
    model: { use: USE, answer: { severity: low | high, files: [string] } }
    instruction: "How severe is this: \${{ tasks.report.outputs.text }}?"
${more}  - id: use
    needs: [triage]
    run: [echo, "\${{ tasks.triage.outputs.severity }} \${{ tasks.triage.outputs.files[0] }}"]
    effect: pure
`
const retry = '    retry: { attempts: 3, backoff: 1ms }\n'

interface Result {
  readonly outputs?: unknown
  readonly failure?: { readonly code?: string }
  readonly model?: {
    readonly calls: number
    readonly usage: Record<string, number>
    readonly cost: unknown
    readonly wireUsage: readonly unknown[]
    readonly recording: string
  }
}

/** Runs the plan; how it ended, and the results of a task as they were journaled. */
async function run(task: string): Promise<{ readonly exit: number | null; readonly results: readonly Result[] }> {
  const { exit, stdout } = await here.planfold('run', 'plan.yaml', '--json')
  const lines = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as { readonly data: { readonly event?: { task?: string; result?: Result } } })
  const results = lines.flatMap(({ data: { event } }) =>
    event?.task === task && event.result !== undefined ? [event.result] : [],
  )
  return { exit, results }
}

/** All bytes of all files below the state folder. */
function stateBytes(folder = join(here.folder, '.planfold')): string {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter(entry => entry.isFile())
    .map(entry => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n')
}

describe.each(['anthropic', 'openai', 'openai-chat', 'google', 'local'])('a model task with %s', provider => {
  test('asks once, leaves its answer as outputs, is journaled with the server’s count, and is replayed without a request', async () => {
    await setup([{ text: JSON.stringify(ANSWER), usage: { input: 321, output: 12, cacheRead: 20 } }])
    await here.write('plan.yaml', triage().replace('USE', `${provider}/scripted`))
    const ran = await run('triage')
    expect(ran).toMatchObject({ exit: 0 })
    expect(server.requests).toMatchObject([{ messages: [{ text: 'How severe is this: the tests hang?' }] }])
    const [result] = ran.results
    expect(result).toMatchObject({
      outputs: ANSWER,
      model: {
        model: `${provider}/scripted`,
        calls: server.served.calls,
        usage: { inputTokens: server.served.input, outputTokens: server.served.output, cacheReadTokens: 20 },
        recording: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    })
    expect(result?.model?.wireUsage).toHaveLength(1)
    expect((await here.planfold('log', 'triage', 'use', '--output')).stdout).toContain('high src/a.ts')
    await server.close()
    expect(await here.planfold('audit', 'replay', 'triage')).toMatchObject({ exit: 0 })
    expect(await here.planfold('doctor', 'store')).toMatchObject({ exit: 0 })
    expect(server.requests).toHaveLength(1)
    const kept = stateBytes()
    expect(kept).toContain('How severe is this: the tests hang?')
    expect(kept).not.toContain(KEY)
  })
})

describe('a model task that fails', () => {
  test.each<[string, Script, number, string]>([
    [
      'a rate limit is tried again after the time that was asked for',
      [
        { error: { status: 429, message: 'slow', headers: { 'retry-after-ms': '20' } } },
        { text: JSON.stringify(ANSWER) },
      ],
      0,
      'model:rate-limit',
    ],
    [
      'an overloaded provider is tried again',
      [{ error: { status: 529, message: 'busy' } }, { text: JSON.stringify(ANSWER) }],
      0,
      'model:overloaded',
    ],
    ['a wrong key is not tried again', [{ error: { status: 401, message: 'no' } }], 1, 'model:auth'],
    ['a refused request is not tried again', [{ error: { status: 400, message: 'no' } }], 1, 'model:bad-request'],
    ['a refusal is not tried again', [{ text: 'I will not.', finish: 'refusal' }], 1, 'model:refused'],
  ])('%s', async (_, script, exit, code) => {
    await setup(script)
    await here.write('plan.yaml', triage(retry).replace('USE', 'anthropic/scripted'))
    const ran = await run('triage')
    expect([ran.exit, ran.results[0]?.failure?.code]).toEqual([exit, code])
    expect(server.requests).toHaveLength(exit === 0 ? 2 : 1)
  })
})

describe('killed with -9 in the middle of the call', () => {
  const kill = async (more: string) => {
    await setup((_, index) => (index === 0 ? { silent: true } : { text: JSON.stringify(ANSWER) }))
    await here.write('plan.yaml', triage(more).replace('USE', 'anthropic/scripted'))
    const running = here.start('run', 'plan.yaml')
    await server.asked(1)
    running.kill('SIGKILL')
    await running.ended
    return await here.planfold('resume', 'triage')
  }

  test('the task asks again, and the call that was cut off is listed', async () => {
    expect((await kill('')).exit).toBe(0)
    expect(server.requests).toHaveLength(2)
    expect(await here.json('models', 'usage')).toMatchObject({ total: { calls: 2, cutOff: 1 } })
  })

  test('a task that says it is unsafe waits for a person, and asks nothing', async () => {
    expect((await kill('    effect: unsafe\n')).exit).toBe(4)
    expect(server.requests).toHaveLength(1)
  })
})

describe('planfold models', () => {
  test('list, test and usage tell what there is, whether it answers and what it cost', async () => {
    await setup([{ text: '{"word":"yes"}', usage: { input: 100, output: 5, cacheRead: 0 } }])
    expect(await here.json('models', 'list')).toMatchObject({ default: null, models: [], faults: [] })
    expect(await here.json('models', 'test', 'anthropic/claude-opus-4-5')).toMatchObject({
      model: 'anthropic/claude-opus-4-5',
      answer: 'yes',
      calls: 1,
      usage: { inputTokens: 100, outputTokens: 5 },
      cost: { known: true, usd: (100 * 5 + 5 * 25) / 1e6 },
    })
    expect(await here.json('models', 'usage')).toMatchObject({
      total: { calls: 1, usd: 0.000625, unpriced: 0, usage: { inputTokens: 100 } },
      models: [{ model: 'anthropic/claude-opus-4-5' }],
      purposes: [{ purpose: 'test' }],
    })
    const said = await here.planfold('models', 'test', 'anthropic/unheard-of')
    expect(said.stdout).toContain("anthropic/unheard-of answered 'yes'")
    expect(said.stdout).toContain('price not known')
    expect((await here.planfold('models', 'usage')).stdout).toMatch(/total +2 +0 .*and 1 call of unknown price/)
    expect(stateBytes()).not.toContain(KEY)
  })

  test('a model that does not answer is told with its reason', async () => {
    await setup([{ error: { status: 401, message: 'bad key' } }])
    expect(await here.planfold('models', 'test', 'google/x')).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining('refused the key (401): bad key'),
    })
    const said = await here.planfold('models', 'test', 'nobody/x', '--json')
    expect(JSON.parse(said.stdout)).toMatchObject({ error: { code: 'model:settings' } })
  })
})
