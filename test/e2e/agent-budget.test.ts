import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { makeTestFolder } from '../../src/operations/agents/test-agent.ts'
import { bubblewrap } from '../../src/safety/sandbox/bubblewrap.ts'
import { agentScript } from '../../src/testing/agent-script.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { grokPath } from '../agents/installed.ts'
import { MAIN } from './planfold.fixture.ts'

// A real coding agent (Grok Build) with too small a budget: it is parked, a person gives more, and its conversation goes on.

const standing = await bubblewrap({ environment: process.env, outside: [] }).check()
const grok = grokPath()
const missing = !standing.ok ? standing.failure.message : grok === null ? 'grok is not installed' : null
if (missing !== null) console.log(`skipped: ${missing}`)

const TOKENS = 32_000
const PLAN = `planfold: 1
name: repair
policy: { budget: { tokens: ${TOKENS} } }
tasks:
  - id: fix
    agent: { use: grok, model: openai-chat/scripted }
    instruction: "Make the test pass. [script go]"
    write: [sum.js]
    retry: { attempts: 1 }
    accept: [{ check: [node, test.js] }]
`

interface Inbox {
  readonly data?: { readonly items: readonly { readonly id: string }[] }
}

interface Usage {
  readonly data: { readonly total: { readonly calls: number; readonly usage: { readonly [name: string]: number } } }
}

test.skipIf(missing !== null)(
  'half a budget parks the agent, more lets it finish, and it is never passed',
  { timeout: 240_000 },
  async () => {
    const folder = join(import.meta.dirname, '../../.cache', `agent-budget-${process.pid}`)
    const root = join(folder, 'work')
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    mkdirSync(join(folder, 'home'), { recursive: true })
    makeTestFolder(root)
    writeFileSync(join(root, 'plan.yaml'), PLAN)
    const isFixed = (): boolean => readFileSync(join(root, 'sum.js'), 'utf8').includes('a + b')
    const script = agentScript({
      root,
      scripts: {
        go: [{ edit: ['sum.js', 'a - b', 'a + b'] }, { read: 'sum.js' }, { read: 'test.js' }, { say: 'Fixed.' }],
      },
    }) as (request: object, index: number) => Promise<object>
    let parkings = 0
    const model = await scriptedModel(async (request, index) => ({
      ...(parkings > 0 && isFixed() ? { text: 'It is fixed already.' } : await script(request, index)),
      // Four bytes of what is asked are a token, as with real models.
      usage: {
        input: Math.ceil(request.body.length / 4),
        output: Math.min(60, request.outputTokensMax ?? 60),
        cacheRead: 0,
      },
    }))
    onTestFinished(() => model.close())
    const env = {
      PATH: `${grok}:${process.env.PATH}`,
      HOME: join(folder, 'home'),
      LANG: 'C.UTF-8',
      PLANFOLD_AS: 'ana@example.com',
      PLANFOLD_DIR: join(root, '.planfold'),
      ...model.environment(),
    }
    const planfold = async (
      ...argv: readonly string[]
    ): Promise<{ readonly code: number | null; readonly out: string }> => {
      const child = spawn(process.execPath, [MAIN, ...argv], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
      let out = ''
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', chunk => {
          out += String(chunk)
        })
      return await new Promise(resolve => child.once('close', code => resolve({ code, out })))
    }

    let run = await planfold('run', 'plan.yaml')
    let cap = TOKENS
    for (; run.code !== 0 && parkings < 4; run = await planfold('run', 'plan.yaml')) {
      parkings += 1
      expect(run.out).toContain('the budget is used up')
      expect(model.served.input + model.served.output).toBeLessThanOrEqual(cap)
      const { data } = JSON.parse((await planfold('inbox', '--json')).out) as Inbox
      const answered = await planfold('answer', 'repair', data?.items[0]?.id ?? 'nobody asks', 'more=yes')
      expect(answered.code, answered.out).toBe(0)
      cap += Number(/added ([\d,]+) tokens/.exec(answered.out)?.[1]?.replaceAll(',', ''))
    }
    expect(run.code, run.out).toBe(0)
    expect(parkings).toBeGreaterThan(0)
    expect(isFixed()).toBe(true)
    const { served, requests } = model
    expect(served.input + served.output).toBeLessThanOrEqual(cap)
    const { total } = (JSON.parse((await planfold('models', 'usage', '--json')).out) as Usage).data
    expect(total).toMatchObject({
      calls: served.calls,
      usage: { inputTokens: served.input, outputTokens: served.output },
    })
    // The conversation went on: what was said before the budget was used up is in the last request.
    expect(requests.at(-1)?.messages.some(({ role }) => role === 'tool')).toBe(true)
  },
)
