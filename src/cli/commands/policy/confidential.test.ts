// A task that is labelled confidential: what it was given and what it left stays here. Each way out is a real one.

import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { lacks } from '../../../composition/missing-extra.fixture.ts'
import type { Card } from '../../../domain/views/board.ts'
import { taskLine } from '../../../mcp/plan-text.ts'
import { eachPlace } from '../../place.fixture.ts'
import { claim } from '../people/claim.ts'
import { run } from '../plans/run.ts'
import { show } from '../plans/show.ts'
import { handoff } from '../records/handoff.ts'

const place = eachPlace()

const GIVEN = 'patient-record-4711'
const LEFT = 'diagnosis-of-ms-smith'
const start = async (text: string, environment: { readonly [name: string]: string } = {}) => {
  await place.write('p.yaml', text)
  return await place.say(context => run(context, 'p.yaml', { start: true }), { json: true, environment })
}

async function collector(): Promise<{ readonly url: string; readonly bodies: string[] }> {
  const bodies: string[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', chunk => {
      body += String(chunk)
    })
    request.on('end', () => {
      bodies.push(body)
      response.end('{}')
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies }
}

/** It prints, and fails with, what must not leave. */
const FAILS = `
  - id: look
    labels: [confidential]
    effect: pure
    inputs: { record: ${GIVEN} }
    run: "echo ${LEFT}; echo ${LEFT} >&2; exit 3"
`

describe('what a confidential task was given and left', () => {
  it('is not in the handoff of the plan; that it failed is', async () => {
    const said = await start(`planfold: 1\nname: p\ntasks:${FAILS}`)
    expect(said.stdout).toContain(LEFT)
    for (const json of [false, true]) {
      const handed = await place.say(context => handoff(context, 'p', {}), { json })
      expect(handed.stdout).toContain('[confidential]')
      expect(handed.stdout).not.toContain(LEFT)
    }
  })

  it.skipIf(lacks('publishers'))('is in no notification, no webhook and no trace; that it failed is', async () => {
    const traces = await collector()
    const hooks = await collector()
    const said = await start(
      `planfold: 1
name: p
notify:
  - { run: 'cat >> told.txt' }
  - { webhook: "${hooks.url}/hook" }
tasks:${FAILS}`,
      { OTEL_EXPORTER_OTLP_ENDPOINT: traces.url },
    )
    expect(said.stdout).toContain(LEFT)
    const told = `${existsSync(join(place.folder, 'told.txt')) ? readFileSync(join(place.folder, 'told.txt'), 'utf8') : ''}`
    const left = [...traces.bodies, ...hooks.bodies, told].join('\n')
    expect(told).toContain("task 'look' failed: [confidential]")
    expect(hooks.bodies.join()).toContain('[confidential]')
    expect(traces.bodies.join()).toContain('task look')
    expect(traces.bodies.join()).toContain('[confidential]')
    expect(left).not.toContain(LEFT)
    expect(left).not.toContain(GIVEN)
  })

  it('is in no text for an agent: neither the briefing of a claim, nor a line of a list', async () => {
    await start(`planfold: 1
name: p
tasks:
  - { id: look, labels: [confidential], effect: pure, run: [echo, ${LEFT}], outputs: { said: stdout } }
  - { id: write, needs: [look], inputs: { text: "\${{ tasks.look.outputs.said }}" }, instruction: "Use \${{ tasks.look.outputs.said }}" }
  - { id: own, needs: [look], labels: [Confidential], inputs: { record: ${GIVEN} } }
  - { id: other, optional: true, labels: [confidential], effect: pure, run: "echo ${LEFT} >&2; exit 3" }
`)
    const claimed = [
      await place.say(context => claim(context, 'p', 'write', {}), { json: true }),
      await place.say(context => claim(context, 'p', 'own', {}), { json: true }),
    ]
    expect(claimed[0]?.stdout).toContain("'look' is labelled confidential, so what it left does not go into a prompt")
    expect(claimed[1]?.stdout).toContain('the task is labelled confidential, so its inputs are not told')
    const card = { ...CARD, status: 'failed', reason: `exit 3: ${LEFT}`, confidential: true } as const
    const all = [...claimed.map(({ stdout }) => stdout), taskLine(card, 'me')].join('\n')
    expect(all).not.toContain(LEFT)
    expect(all).not.toContain(GIVEN)
    // Whoever sits at this machine still sees it.
    expect((await place.say(context => show(context, 'p', 'look'), { json: true })).stdout).toContain(LEFT)
  })

  it('is asked of no model: told when the plan is read, and where that cannot be seen when its turn comes', async () => {
    const asks = (prompt: string, more = '') => `planfold: 1
name: p
tasks:
  - { id: look, labels: [confidential], effect: pure, run: [echo, ${LEFT}], outputs: { said: stdout } }
  - { id: ask, needs: [look], model: local/none, instruction: '${prompt}'${more} }
`
    const read = await start(asks('Sum up ${{ tasks.look.outputs.said }}'))
    expect(read.stderr).toContain("'look' is labelled confidential")
    const computed = await start(asks('Sum up ${{ tasks[inputs.of].outputs.said }}', ', inputs: { of: look }'))
    expect(computed.stdout).toContain("'look' is labelled confidential, so what it left does not go into a prompt")
    const own = await start(`planfold: 1
name: q
labels: [confidential]
tasks: [{ id: ask, model: local/none, instruction: hello }]
`)
    expect(own.stderr + own.stdout).toContain('labelled confidential')
  })
})

const CARD = { name: 'look', title: null, needs: [], claimedBy: null, action: 'run' } as unknown as Card
