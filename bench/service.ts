// The service under load, beside a bare Hono handler that does one SQLite write a POST: `POST /tasks` and `GET /plans/{id}` over
// ten connections, interleaved, each in a process of its own. The service asks for its token, as it does by default.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { type Loaded, load, requestOf } from './load.ts'

const CONNECTIONS = 10
/** After which somebody who says nothing is given up. */
const SILENT_MS = 30_000
const MS = Number(process.env.BENCH_SERVICE_MS ?? 3_000)

interface Candidate {
  readonly process: ChildProcess
  readonly port: number
  readonly token: string | undefined
  readonly plans: readonly string[]
}

export async function serviceBench(rounds: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'planfold-bench-service-'))
  const candidates = { bare: await start('bare', folder), planfold: await start('planfold', folder) }
  const found = new Map<string, Loaded[]>()
  try {
    for (let round = -1; round < rounds; round++) {
      for (const what of ['POST /tasks', 'GET /plans/{id}']) {
        for (const [who, candidate] of Object.entries(candidates)) {
          const plans = what === 'POST /tasks' ? await makePlans(candidate) : candidate.plans
          const loaded = await under(candidate, what, plans)
          // The first round only warms up.
          if (round >= 0) found.set(`${who} ${what}`, [...(found.get(`${who} ${what}`) ?? []), loaded])
        }
      }
    }
  } finally {
    for (const { process } of Object.values(candidates)) process.kill('SIGTERM')
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
  const middle = (key: string): Loaded =>
    [...found.get(key)!].sort((a, b) => a.perSecond - b.perSecond)[Math.floor(rounds / 2)]!
  console.log(`service, ${CONNECTIONS} connections, ${rounds} rounds of ${MS} ms, medians`)
  console.table(
    ['POST /tasks', 'GET /plans/{id}'].map(what => {
      const [ours, bare] = [middle(`planfold ${what}`), middle(`bare ${what}`)]
      return {
        what,
        'per s': ours.perSecond,
        'bare per s': bare.perSecond,
        'of bare': (ours.perSecond / bare.perSecond).toFixed(2),
        'p50/p99/max ms': `${ours.p50}/${ours.p99}/${ours.max}`,
        'bare p50/p99/max ms': `${bare.p50}/${bare.p99}/${bare.max}`,
        statuses: JSON.stringify(ours.statuses),
      }
    }),
  )
}

async function under(candidate: Candidate, what: string, plans: readonly string[]): Promise<Loaded> {
  const { port, token } = candidate
  const requests = plans.map(plan =>
    (what === 'POST /tasks'
      ? requestOf(
          'POST',
          '/tasks',
          {
            plan_id: plan,
            agent_id: '550e8400-e29b-41d4-a716-446655440000',
            description: 'Analyze modal requirements from specification',
            task_type: 'analysis',
            input_data: { spec_path: 'docs/SPECIFICATION.md', focus_areas: ['animations', 'accessibility'] },
            sequence_order: 1,
          },
          token,
        )
      : requestOf('GET', `/plans/${plan}`, undefined, token)
    ).replace('PORT', String(port)),
  )
  const loaded = await load({ port, connections: CONNECTIONS, ms: MS, request: at => requests[at % requests.length]! })
  const wrong = Object.keys(loaded.statuses).filter(status => !status.startsWith('2'))
  if (wrong.length > 0) throw new Error(`${what} answered ${JSON.stringify(loaded.statuses)}`)
  return loaded
}

async function start(who: 'bare' | 'planfold', folder: string): Promise<Candidate> {
  const program = resolve(import.meta.dirname, 'service-process.js')
  const words =
    who === 'bare' ? ['bare', folder] : ['serve', '--port', '0', '--json', '--dir', join(folder, '.planfold')]
  const child = spawn(process.execPath, [program, ...words], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  const line = await new Promise<string>((done, fail) => {
    createInterface({ input: child.stdout! }).once('line', done)
    child.once('exit', code => fail(new Error(`${who} ended with ${code}`)))
    setTimeout(() => fail(new Error(`${who} does not begin`)), SILENT_MS).unref()
  }).catch(error => {
    child.kill('SIGKILL')
    throw error
  })
  const said = JSON.parse(line) as { port?: number; data?: { port: number; tokenFile?: string } }
  const port = said.port ?? said.data!.port
  const file = said.data?.tokenFile
  const token = file === undefined ? undefined : readFileSync(file, 'utf8').trim()
  const candidate = { process: child, port, token, plans: [] }
  return { ...candidate, plans: await makePlans(candidate) }
}

async function makePlans({ port, token }: Candidate): Promise<readonly string[]> {
  return await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/plans`, {
        method: 'POST',
        signal: AbortSignal.timeout(SILENT_MS),
        headers: {
          'content-type': 'application/json',
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify({
          goal_id: '660e8400-e29b-41d4-a716-446655440001',
          plan_type: 'parallel',
          steps: [
            { step: 1, action: 'analyze' },
            { step: 2, action: 'implement' },
          ],
        }),
      })
      return ((await answer.json()) as { id: string }).id
    }),
  )
}
