// A secret that is told in every way we know, on every way out of a task: nothing of it is in what is kept, shown or exported.

import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest'
import { WRITTEN } from '../../../safety/secrets/written.fixture.ts'
import { withState } from '../../context.ts'
import { newPlace, type Place } from '../../place.fixture.ts'
import { exportPlan } from '../formats/export.ts'
import { log } from '../plans/log.ts'
import { run } from '../plans/run.ts'
import { show } from '../plans/show.ts'
import { audit } from '../records/audit.ts'
import { handoff } from '../records/handoff.ts'
import { set } from './secrets.ts'

const VALUE = 'npm_Zx81"qLk+9/vT==mQ7$wE2&r4'
const FORMS = Object.entries(WRITTEN)

let place: Place
let config: string
beforeEach(async () => {
  place = await newPlace()
  config = await mkdtemp(join(tmpdir(), 'planfold-config-'))
})
afterEach(async () => {
  await place.remove()
  await rm(config, { recursive: true, force: true })
})
const environment = () => ({ XDG_CONFIG_HOME: config, MY_TOKEN: VALUE, PATH: process.env.PATH ?? '' })
const options = (json = true) => ({ json, environment: environment() })

/** Sends what it is sent back in its headers, its status line, its body, and in addresses it leads to. */
async function echo(): Promise<number> {
  const server = createServer((request, response) => {
    const said = String(request.headers.authorization)
    const forms = FORMS.map(([, write]) => write(said))
    if (request.url === '/away') response.writeHead(302, { location: `http://127.0.0.1:1/${encodeURIComponent(said)}` })
    else if (request.url === '/host')
      response.writeHead(302, { location: `http://${Buffer.from(said).toString('hex').slice(0, 60)}.example/` })
    else if (request.url === '/no') response.writeHead(500, said, { 'x-said': said })
    else
      response.writeHead(200, said, {
        'x-said': said,
        'x-base': Buffer.from(said).toString('base64'),
        'content-type': request.url === '/json' ? 'application/json' : 'text/plain',
      })
    response.end(
      request.url === '/json'
        ? JSON.stringify(Object.fromEntries(forms.map((form, at) => [`${at}${form}`, form])))
        : forms.join('\n'),
    )
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

async function everything(folder: string): Promise<string> {
  const names = await readdir(folder, { recursive: true })
  const texts: string[] = []
  for (const name of names) {
    const path = join(folder, name)
    texts.push(name)
    if ((await stat(path)).isFile()) texts.push((await readFile(path)).toString('latin1'))
  }
  return texts.join('\n')
}

const unescaped = (text: string): string => text.replaceAll('\\n', '\n').replace(/\\(["\\/])/g, '$1')

it(`${FORMS.length} ways of writing it, on stdout, stderr, as outputs, errors and answers of a server`, async () => {
  expect(FORMS.length).toBeGreaterThanOrEqual(20)
  const port = await echo()
  await place.say(context => set(context, 'TOKEN', { env: 'MY_TOKEN' }), options())
  const functions = FORMS.map(([how, write]) => `${JSON.stringify(how)}: ${write.toString()}`).join(',\n')
  // Each form is written in pieces, each piece on its own.
  await writeFile(
    join(place.folder, 'tell.mjs'),
    `const ways = {\n${functions}\n}
const [, , how] = process.argv
const forms = Object.values(ways).map(write => write(process.env.TOKEN))
const put = async (stream, text) => {
  for (let at = 0; at < text.length; at += 5) await new Promise(done => stream.write(text.slice(at, at + 5), done))
  await new Promise(done => stream.write('\\n', done))
}
if (how === 'json') console.log(JSON.stringify({ forms, ...Object.fromEntries(forms.map(form => [form, 1])) }))
else for (const form of forms) await put(how === 'err' ? process.stderr : process.stdout, form)
if (how === 'throw') throw new Error(process.env.TOKEN)
`,
  )
  const dumps = `env; export -p; printf '%s' "$TOKEN" | base64; tr '\\0' '\\n' < /proc/self/environ; set`
  const dies = `ulimit -c unlimited 2>/dev/null || true; sh -c 'kill -SEGV $$' || true; set -x; : "$TOKEN"; exit 7`
  const plan = `planfold: 1
name: p
policy: { network: ["http://127.0.0.1:${port}", "*"] }
defaults: { timeout: 1m }
tasks:
  - { id: out, effect: unsafe, secrets: [TOKEN], run: [node, tell.mjs, out], outputs: { said: stdout } }
  - { id: err, optional: true, effect: unsafe, secrets: [TOKEN], run: 'node tell.mjs err; exit 7' }
  - { id: json, effect: unsafe, secrets: [TOKEN], run: [node, tell.mjs, json], outputs: { said: { stdout: json } } }
  - { id: throws, optional: true, effect: unsafe, secrets: [TOKEN], run: [node, tell.mjs, throw] }
  - { id: dumps, effect: unsafe, secrets: [TOKEN], run: ${JSON.stringify(dumps)}, outputs: { said: stdout } }
  - { id: dies, optional: true, effect: unsafe, secrets: [TOKEN], run: ${JSON.stringify(dies)} }
${['text', 'json', 'no', 'away', 'host'].map(path => `  - { id: http-${path}, optional: true, secrets: [TOKEN], http: { url: "http://127.0.0.1:${port}/${path}", headers: { authorization: "\${{ secrets.TOKEN }}" } } }`).join('\n')}
`
  await place.write('p.yaml', plan)
  const said = [await place.say(context => run(context, 'p.yaml', { start: true }), options())]
  expect(said[0]?.stdout).toContain('"completed"')
  for (const json of [true, false]) {
    said.push(await place.say(context => log(context, 'p', undefined, { output: true }), options(json)))
    said.push(await place.say(context => show(context, 'p', undefined), options(json)))
    said.push(await place.say(context => handoff(context, 'p', {}), options(json)))
    said.push(await place.say(context => audit(context, 'p', {}), options(json)))
  }
  for (const format of ['yaml', 'json', 'markdown'])
    said.push(await place.say(context => exportPlan(context, 'p', { format }), options(false)))
  // Large entries stand deflated in the content store: they are looked at as the engine reads them.
  let entries = ''
  await place.say(
    context =>
      withState(context, { create: false }, async ({ engine }) => {
        entries = JSON.stringify(await engine.ask({ type: 'entries', plan: 'p', limit: 500 }))
        return 0
      }),
    options(),
  )
  expect(entries).toContain('network.decided')
  const shown = said.map(({ stdout, stderr }) => `${stdout}\n${stderr}`).join('\n')
  expect(shown).toContain('[redacted]')
  const files = await everything(place.folder)
  expect(files).not.toMatch(/^core(\.\d+)?$/m)
  const raw = `${files}\n${shown}\n${entries}\n${Buffer.from(files, 'latin1').toString('utf8')}`
  const kept = [raw, unescaped(raw), unescaped(unescaped(raw))]
  const told = [
    ...FORMS.map(([how, write]) => [how, write(VALUE)] as const),
    ['its head', VALUE.slice(0, 12)],
    ['its end', VALUE.slice(-12)],
    ['its middle', VALUE.slice(8, 20)],
  ] as const
  expect(told.filter(([, form]) => kept.some(text => text.includes(form))).map(([how]) => how)).toEqual([])
})
