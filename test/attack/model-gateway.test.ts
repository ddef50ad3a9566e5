// An agent in a real sandbox without any network: it reaches the model gateway on its loopback, and nothing else.
// Needs the extras: models

import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { gatewayFor } from '../../src/extras/models/gateway/gateway.fixture.ts'
import { KEY } from '../../src/extras/models/models.fixture.ts'
import { inheritedEnvironment } from '../../src/safety/environment.ts'
import { bubblewrap } from '../../src/safety/sandbox/bubblewrap.ts'
import { spawnBoxed } from '../../src/safety/sandbox/sandboxed-process.ts'

/** Asks the model as its own environment says, then everything else it can think of. */
const AGENT = `
const ask = async (name, url, options) => {
  try {
    const answer = await fetch(url, options)
    console.log(name, answer.status, (await answer.text()).replaceAll('\\n', ' '))
  } catch (error) {
    console.log(name, 'failed', error.cause?.code ?? error.message)
  }
}
const { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key } = process.env
const [provider] = process.argv.slice(1)
const body = JSON.stringify({ model: 'scripted', max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] })
const headers = { 'x-api-key': key, 'content-type': 'application/json' }
;(async () => {
  await ask('model', url + '/v1/messages', { method: 'POST', headers, body })
  await ask('wrong', url + '/v1/messages', { method: 'POST', headers: { ...headers, 'x-api-key': 'sk-guess' }, body })
  await ask('other', url + '/v1/files', { headers })
  await ask('provider', provider + '/v1/messages', { method: 'POST', headers, body })
  console.log('environment', JSON.stringify(process.env))
})()
`

const sandbox = bubblewrap({ environment: process.env, outside: [] })
const standing = await sandbox.check()

test.skipIf(!standing.ok)(
  'a program in a sandbox without network reaches the model through its door, and only the model',
  async () => {
    const { gateway, server } = await gatewayFor('anthropic', [{ text: 'Hello from outside.' }])
    const folder = mkdtempSync(join(tmpdir(), 'planfold-door-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const root = join(folder, 'workspace')
    mkdirSync(root)
    const wrapped = await sandbox.wrap({
      root,
      stateDir: join(folder, 'state'),
      cwd: root,
      write: [],
      network: 'none',
      doors: [gateway.sandboxDoor],
      argv: [process.execPath, '-e', AGENT, server.url],
      env: { ...inheritedEnvironment(process.env), ...gateway.environmentFor('anthropic', 'sandbox') },
    })
    if (!wrapped.ok) throw new Error(wrapped.failure.message)
    let said = ''
    const { child, exited } = spawnBoxed(wrapped.value, { stdin: 'ignore' })
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', chunk => {
        said += String(chunk)
      })
    expect(await exited).toMatchObject({ exit: 0 })
    expect(said).toMatch(/^model 200 .*Hello from outside\./m)
    expect(said).toMatch(/^wrong 401 /m)
    expect(said).toMatch(/^other 404 /m)
    expect(said).toMatch(/^provider failed /m)
    expect(said).not.toContain(KEY)
    expect(server.served.calls).toBe(1)
    expect(gateway.spent()).toMatchObject({ calls: 1, usage: { inputTokens: server.served.input } })
    await gateway.close()
    expect(() => readdirSync(gateway.folder)).toThrow()
  },
)
