// Needs the extras: agents

import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { answerInbox, inbox } from '../../src/cli/commands/people/inbox.ts'
import { log } from '../../src/cli/commands/plans/log.ts'
import { run } from '../../src/cli/commands/plans/run.ts'
import { newPlace } from '../../src/cli/place.fixture.ts'
import { agentScript } from '../../src/extras/agents/agent-script.ts'
import { allowLogin } from '../../src/extras/agents/commands/agents.ts'
import { makeTestFolder } from '../../src/extras/agents/test-agent.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { testAgents } from '../agents/installed.ts'

// A coding agent that is lent a login: a small one of our own and, with PLANFOLD_REAL_AGENTS=1, Grok Build. Its maker's servers are played
// by one on loopback: that which gives out logins, and that which answers for a model. All else is real.

const AGENTS = await testAgents()

const OLD = 'lent-access-token-that-is-over-0123456789'
const RENEWED = 'lent-access-token-that-is-renewed-0123456789'

/** Its maker's servers. */
async function makers(root: string) {
  const steps = [{ edit: ['sum.js', 'a - b', 'a + b'] }, { say: 'Fixed.' }] as const
  const model = await scriptedModel(agentScript({ root, scripts: { go: steps } }))
  const behind = Number(new URL(model.environment().OPENAI_BASE_URL ?? '').port)
  const seen: string[] = []
  const server = createServer((asked, answer) => {
    const json = (value: object) => void answer.setHeader('content-type', 'application/json').end(JSON.stringify(value))
    const base = `http://127.0.0.1:${port}`
    seen.push(`${asked.url} ${asked.headers.authorization ?? ''}`.trim())
    if (asked.url === '/.well-known/openid-configuration')
      return json({
        ...{ issuer: base, authorization_endpoint: `${base}/authorize`, token_endpoint: `${base}/token` },
        ...{ jwks_uri: `${base}/keys`, response_types_supported: ['code'], subject_types_supported: ['public'] },
        id_token_signing_alg_values_supported: ['RS256'],
      })
    if (asked.url === '/token')
      return json({
        access_token: RENEWED,
        refresh_token: 'refresh-2-0123456789',
        token_type: 'Bearer',
        expires_in: 9_999,
      })
    const { method, url: path, headers } = asked
    const passed = request({ host: '127.0.0.1', port: behind, method, path, headers }, from => {
      answer.writeHead(from.statusCode ?? 500, from.headers)
      from.pipe(answer)
    })
    passed.on('error', () => answer.destroy())
    asked.pipe(passed)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await model.close()
  })
  return { port, seen, model }
}

const planOf = (port: number): string => `planfold: 1
name: repair
policy: { budget: { tokens: 100k } }
tasks:
  - id: fix
    agent: grok
    instruction: "Make the test pass. [script go]"
    write: [sum.js]
    network: ["tcp://127.0.0.1:${port}"]
    env:
      GROK_CLI_CHAT_PROXY_BASE_URL: http://127.0.0.1:${port}/v1
      GROK_OIDC_ISSUER: http://127.0.0.1:${port}
      GROK_OIDC_CLIENT_ID: a-test
    retry: { attempts: 1 }
    accept: [{ check: [node, test.js] }]
`

const loginOf = (port: number): string =>
  JSON.stringify({
    [`http://127.0.0.1:${port}::a-test`]: {
      ...{ key: OLD, auth_mode: 'oidc', refresh_token: 'refresh-1-0123456789', expires_at: '2026-01-01T00:00:00Z' },
      ...{ create_time: '2026-01-01T00:00:00Z', user_id: 'ana', email: 'ana@example.com', principal_type: 'User' },
      ...{ oidc_issuer: `http://127.0.0.1:${port}`, oidc_client_id: 'a-test' },
    },
  })

describe.each(AGENTS)('$name', ({ path, missing }) => {
  test.skipIf(missing !== null)(
    'an agent with a lent login asks where a budget cannot be kept, works, renews its login, and keeps nothing of it',
    { timeout: 120_000 },
    async () => {
      // Not below /tmp, nor in the home: no task may write where a login is.
      const home = join(import.meta.dirname, '../../.cache', `agent-login-${process.pid}`)
      onTestFinished(() => rmSync(home, { recursive: true, force: true }))
      const login = join(home, '.grok/auth.json')
      mkdirSync(join(home, '.grok'), { recursive: true })
      const place = await newPlace()
      onTestFinished(() => place.remove())
      makeTestFolder(place.folder)
      const { port, seen, model } = await makers(place.folder)
      writeFileSync(login, loginOf(port), { mode: 0o600 })
      await place.write('plan.yaml', planOf(port))
      const environment = { HOME: home, PATH: `${path}:${process.env.PATH}`, PLANFOLD_SANDBOX: 'preferred' }
      const say = async (body: Parameters<typeof place.say>[0], json = false) =>
        await place.say(body, { environment, json })
      const start = () => say(context => run(context, 'plan.yaml', { start: true }))
      expect(await say(context => allowLogin(context, 'grok', { login: true, yes: true }))).toMatchObject({ exit: 0 })
      expect(await start()).toMatchObject({ exit: 4 })
      expect(seen).toEqual([])
      const { data } = JSON.parse((await say(context => inbox(context, {}), true)).stdout)
      expect(JSON.stringify(data.items[0])).toContain('so it cannot keep the limit of 100,000 tokens')
      const answered = await say(context => answerInbox(context, data.items[0].id, 'more=yes', {}))
      expect(answered).toMatchObject({ exit: 0 })
      const ended = await start()
      const told = (await say(context => log(context, 'repair', undefined, { output: true }))).stdout
      expect(ended.exit, `${ended.stdout}${ended.stderr}\n${told}\n${seen.join('\n')}`).toBe(0)
      expect(await place.read('sum.js')).toContain('a + b')
      // It spoke to its maker's servers, as who it is.
      expect(model.requests.map(({ headers }) => headers.authorization)).toContain(`Bearer ${RENEWED}`)
      expect(readFileSync(login, 'utf8')).toContain(RENEWED)
      expect(statSync(login).mode & 0o777).toBe(0o600)
      expect(told).toContain('the agent renewed your login ~/.grok/auth.json; it was copied back')
      expect(told).toMatch(/reported by the agent, not counted: \d+ tokens in, \d+ out/)
      const kept = readdirSync(join(place.folder, '.planfold'), { recursive: true, withFileTypes: true })
        .filter(entry => entry.isFile())
        .map(entry => join(entry.parentPath, entry.name))
      expect(kept.filter(file => [OLD, RENEWED].some(value => readFileSync(file).includes(value)))).toEqual([])
    },
  )
})
