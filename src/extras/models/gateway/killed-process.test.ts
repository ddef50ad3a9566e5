// The process of a gateway is killed with a call in flight: what was reserved for it is spent, and what was answered is not paid again.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it, onTestFinished } from 'vitest'
import { modelUsage } from '../model-usage.ts'
import { gatewayFor, question, send } from './gateway.fixture.ts'

const PROCESS = join(import.meta.dirname, 'gateway-process.fixture.ts')

it('a call in flight at a kill stays spent, and an answer that was recorded is not paid twice', async () => {
  const usage = { input: 100, output: 20, cacheRead: 0 }
  const place = await gatewayFor('anthropic', (_, index) => {
    if (index === 2) return { text: 'yes', usage, pausesFor: new Promise(() => {}) }
    return index === 1 ? { silent: true } : { text: 'yes', usage }
  })
  const { server, stateDir, environment, again, openGateway } = place
  const folder = mkdtempSync(join(tmpdir(), 'pfg-'))
  const child = spawn(process.execPath, ['--import', 'tsx', PROCESS, stateDir, folder, 'attempt-1'], {
    env: { ...process.env, ...environment } as NodeJS.ProcessEnv,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const gateway = JSON.parse(line) as { readonly socketPath: string; readonly token: string }
  const first = question('anthropic', 'One?', { stream: true })
  const heard = await send(gateway, first).done
  expect(heard.status).toBe(200)
  const flying = send(gateway, question('anthropic', 'Two?', { max: 300 }))
  await server.asked(2)
  const streaming = send(gateway, question('anthropic', 'Three?', { stream: true, max: 30_000 }))
  await streaming.heard(20)
  child.kill('SIGKILL')
  await once(child, 'exit')
  await expect(flying.done).rejects.toThrow()
  await expect(streaming.done).rejects.toThrow()

  const models = again()
  expect(await models.calls()).toMatchObject([
    { status: 'answered', payer: 'plan/task/1', usage: { inputTokens: 100, outputTokens: 20 } },
    { status: 'cut off', payer: 'plan/task/1', usage: { outputTokens: 300 } },
    // It had said what it read; of its answer less than 8 KB can have come.
    { status: 'cut off', usage: { inputTokens: 100, outputTokens: 2_048 }, assumedTokens: expect.closeTo(2_048, -2) },
  ])
  expect((await modelUsage(models)).total).toMatchObject({ cutOff: 2, assumedTokens: expect.any(Number) })
  const next = await openGateway({ resumeFrom: ['attempt-1'] })
  const answered = { role: 'assistant', content: 'yes' }
  const more = { ...(first.body as { messages: readonly object[] }) }
  await send(next, { ...first, body: { ...more, messages: [...more.messages, answered] } }).done
  // 100 tokens of the conversation before, 500 of the answer, and a few for what is new.
  expect(place.spending.requests.at(-1)?.tokens).toBeGreaterThan(600)
  expect(place.spending.requests.at(-1)?.tokens).toBeLessThan(640)
  expect((await send(next, first).done).text).toBe(heard.text)
  expect(server.requests).toHaveLength(4)
  expect((await send(next, question('anthropic', 'Two?', { max: 300 })).done).status).toBe(200)
  expect(server.requests).toHaveLength(5)
  expect(next.spent()).toMatchObject({ calls: 2, usage: { inputTokens: 200, outputTokens: 40 } })
})
