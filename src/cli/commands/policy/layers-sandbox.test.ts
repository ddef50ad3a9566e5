// The layers of a policy where only a sandbox can hold a command to them: in a real one, with real servers on this machine.

import { existsSync, readFileSync, statSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bubblewrap } from '../../../safety/sandbox/bubblewrap.ts'
import { newPlace } from '../../place.fixture.ts'
import { run } from '../plans/run.ts'
import { rollback } from '../undo/rollback.ts'

const standing = await bubblewrap({ environment: process.env, outside: [] }).check()
if (!standing.ok) console.log(`skipped: ${standing.failure.message}`)

let place: Awaited<ReturnType<typeof newPlace>>
let home: string
const servers: Server[] = []
beforeEach(async () => {
  place = await newPlace()
  home = await mkdtemp(join(tmpdir(), 'planfold-home-'))
  await mkdir(join(place.folder, '.planfold'), { mode: 0o700 })
})
afterEach(async () => {
  for (const server of servers.splice(0)) server.close()
  await place.remove()
  await rm(home, { recursive: true, force: true })
})

const policy = (text: string) => writeFile(join(home, 'policy.yaml'), text, { mode: 0o644 })
async function ran(plan: string) {
  await place.write('p.yaml', plan)
  const environment = { HOME: home, PLANFOLD_ORGANISATION_POLICY: join(home, 'policy.yaml') }
  return await place.say(context => run(context, 'p.yaml', { start: true }), { environment })
}
async function serve(): Promise<{ readonly port: number; readonly asked: () => number }> {
  let asked = 0
  const server = createServer((_, response) => {
    asked++
    response.end('hello')
  })
  servers.push(server)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return { port: (server.address() as AddressInfo).port, asked: () => asked }
}

describe.runIf(standing.ok)('in a sandbox', () => {
  it('a setuid or setgid file that a held task makes loses the bits, and that is said; a task that runs as the person keeps them', async () => {
    const made = join(place.folder, 'made')
    await mkdir(made)
    for (const [name, mode] of [
      ['old', 0o4755],
      ['touched', 0o2755],
    ] as const) {
      await writeFile(join(made, name), '')
      await chmod(join(made, name), mode)
    }
    await policy('')
    const told = await ran(`planfold: 1
name: modes
tasks:
  - id: held
    run: echo x > made/sh; chmod 6755 made/sh; ln made/sh made/other; chmod 2750 made/touched; chmod g+s made
    write: [made/**]
    network: []
  - { id: own, needs: [held], run: echo x > mine; chmod 6755 mine }
`)
    const notes = told.stdout.split('\n').filter(line => line.includes('bits were removed from'))
    expect([told.exit, notes.length]).toEqual([0, 1])
    expect(notes[0]).toMatch(
      /held completed .*setuid or setgid files: .* removed from made\/(sh|other), made\/touched$/,
    )
    const modes = ['made/sh', 'made/other', 'made/touched', 'made/old', 'mine'].map(name =>
      (statSync(join(place.folder, name)).mode & 0o7777).toString(8),
    )
    expect(modes).toEqual(['755', '755', '750', '4755', '6755'])
    // What is seen afterwards is what is left.
    const back = await place.say(context => rollback(context, 'modes', { to: 'before:held', tasks: ['held'] }))
    expect(back.stdout).not.toContain('edited since')
    expect(existsSync(join(made, 'sh'))).toBe(false)
  })

  it('a plan reaches only what the organisation lets through, whatever it says and though the person switched the sandbox off', async () => {
    const [open, closed] = [await serve(), await serve()]
    await policy(`network: ["http://127.0.0.1:${open.port}"]\n`)
    const get = (port: number, more: string) =>
      `planfold: 1\nname: p${port}\n${more}tasks: [{ id: a, run: [node, -e, ${JSON.stringify(FETCH)}, "${port}"] }]\n`
    const told = await ran(get(open.port, ''))
    expect(told).toMatchObject({ exit: 0 })
    expect(open.asked()).toBe(1)
    for (const more of ['', 'policy: { sandbox: off }\n']) expect((await ran(get(closed.port, more))).exit).not.toBe(0)
    expect(closed.asked()).toBe(0)
  })

  it('a command sees what it may read, and writes what it may write', async () => {
    await policy('read: ["src/**", "p.yaml"]\nwrite: ["src/**"]\n')
    await mkdir(join(place.folder, 'src'))
    await mkdir(join(place.folder, 'private'))
    await place.write('src/a.txt', 'open\n')
    await place.write('private/key.txt', 'secret\n')
    await place.write('notes.txt', 'secret\n')
    const script =
      'cat src/a.txt > src/seen.txt; ls private >> src/seen.txt; if cat notes.txt; then exit 1; fi; if cat private/key.txt; then exit 2; fi'
    const { exit } = await ran(`planfold: 1\nname: p\ntasks: [{ id: a, run: "${script}" }]\n`)
    expect(exit).toBe(0)
    expect(await place.read('src/seen.txt')).toBe('open\n')
    expect((await ran('planfold: 1\nname: q\ntasks: [{ id: a, run: "echo x > new.txt" }]\n')).exit).not.toBe(0)
    expect(existsSync(join(place.folder, 'new.txt'))).toBe(false)
  })

  it('a task gets beyond what its own plan may write only where somebody has agreed', async () => {
    await policy('sandbox: required\n')
    await mkdir(join(place.folder, 'src'))
    const plan = (name: string) =>
      `planfold: 1\nname: ${name}\npolicy: { write: ["src/**"], gates: none }\ntasks: [{ id: a, write: ["**"], run: "echo x > src/in.txt; echo x > out.txt" }]\n`
    expect((await ran(plan('p'))).exit).not.toBe(0)
    expect(existsSync(join(place.folder, 'src/in.txt'))).toBe(true)
    expect(existsSync(join(place.folder, 'out.txt'))).toBe(false)
  })

  it('a task that may write everything cannot change the policy of its project', async () => {
    const file = join(place.folder, '.planfold', 'config.yaml')
    const text = 'policy: { commands: { deny: [[sudo, "**"]] } }\n'
    await policy('sandbox: required\n')
    await writeFile(file, text)
    for (const script of ['rm -f .planfold/config.yaml', 'echo x > .planfold/config.yaml', 'mv .planfold gone'])
      await ran(`planfold: 1\nname: p\npolicy: { write: ["**"], gates: none }\ntasks: [{ id: a, run: "${script}" }]\n`)
    expect(readFileSync(file, 'utf8')).toBe(text)
  })
})

/** A request through the proxy that the environment names; plain when there is none. */
const FETCH = `
const proxy = process.env.HTTP_PROXY || process.env.http_proxy
const port = process.argv[1]
const target = proxy ? new URL(proxy) : { hostname: '127.0.0.1', port }
const path = proxy ? 'http://127.0.0.1:' + port + '/' : '/'
require('http').get({ host: target.hostname, port: target.port, path, headers: { host: '127.0.0.1:' + port } },
  answer => process.exit(answer.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(2))
`
