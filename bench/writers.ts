// Twenty clients change one active plan at once, without If-Match: `node --import tsx bench/writers.ts`, after `npm run build`. A git
// repository of 1,000 files, a plan that grows from 200 to 300 tasks; each writer adds five tasks, changes five, and five times the
// plan itself. Prints how many were made, how many a second, and the CPU the service used.

import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'

const WRITERS = 20
const CHANGES = 15
const FILES = 1_000
const TASKS = 200
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)

const folder = mkdtempSync(join(tmpdir(), 'planfold-bench-writers-'))
makeRepository(folder)
const child = spawn(process.execPath, [resolve('dist/cli/main.js'), 'serve', '--port', '0', '--json', '--no-auth'], {
  cwd: folder,
  env: { PATH: process.env.PATH, HOME: folder, PLANFOLD_AS: 'bench@example.com' },
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  const address = await new Promise<string>((told, fail) => {
    createInterface({ input: child.stdout! }).once('line', line => told(JSON.parse(line).data.address))
    child.once('exit', () => fail(new Error('the service ended')))
  })
  for (let round = 0; round < ROUNDS; round++) console.log(await write(address, round))
} finally {
  child.kill('SIGTERM')
  await new Promise(ended => child.once('exit', ended))
  rmSync(folder, { recursive: true, force: true })
}

async function write(address: string, round: number) {
  const ask = async (method: string, path: string, body: object) => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(address + path, { method, headers, body: JSON.stringify(body) })
    return { status: response.status, body: (await response.json()) as { readonly id: string } }
  }
  const plan = (await ask('POST', '/plans', { name: `busy-${round}`, steps: [] })).body.id
  const tasks = Array.from({ length: TASKS }, (_, at) => ({
    plan_id: plan,
    name: `task-${at}`,
    description: `Look at part ${at} of the specification and say what is missing`,
    depends_on: at === 0 ? [] : [`task-${Math.floor(at / 2)}`],
  }))
  tasks[1]!.depends_on = ['task-0']
  await ask('POST', '/tasks', tasks)
  await ask('PATCH', `/plans/${plan}`, { status: 'active' })
  const cpu = cpuMs(child.pid!)
  const began = performance.now()
  const statuses: Record<number, number> = {}
  await Promise.all(
    Array.from({ length: WRITERS }, async (_, writer) => {
      for (let at = 0; at < CHANGES; at++) {
        const key = `w${writer}_${at}`
        const { status } =
          at % 3 === 0
            ? await ask('POST', '/tasks', { plan_id: plan, name: `added-${writer}-${at}`, description: key })
            : at % 3 === 1
              ? await ask('PATCH', `/tasks/busy-${round}:task-${(writer * CHANGES + at) % TASKS}`, { description: key })
              : await ask('PATCH', `/plans/${plan}`, { title: key })
        statuses[status] = (statuses[status] ?? 0) + 1
      }
    }),
  )
  const seconds = (performance.now() - began) / 1_000
  return {
    statuses,
    perSecond: Math.round((WRITERS * CHANGES) / seconds),
    cpuMsPerChange: Number(((cpuMs(child.pid!) - cpu) / (WRITERS * CHANGES)).toFixed(2)),
  }
}

/** User and system time of a process, in ticks of 10 ms. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

function makeRepository(root: string): void {
  for (let at = 0; at < FILES; at++) {
    const inside = join(root, `part-${at % 20}`)
    mkdirSync(inside, { recursive: true })
    writeFileSync(join(inside, `file-${at}.txt`), `${at}\n`.repeat(100))
  }
  const git = (...argv: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=b', '-c', 'user.email=b@example.com', ...argv], {
      cwd: root,
      stdio: 'ignore',
    })
  git('init', '-q')
  writeFileSync(join(root, '.gitignore'), '.planfold/\n')
  git('add', '-A')
  git('commit', '-qm', 'begin')
}
