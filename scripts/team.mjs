// `npm run team`: what docs/guide/teams.md describes, in the current folder: PostgreSQL, one service, and two workers, one of them with the
// label `gpu`. Ctrl-C stops all of it; it stops also when the service or the last worker has ended.
//
//   npm run team -- [--postgres FOLDER] [--port NUMBER]
//
// With PLANFOLD_DATABASE (and PLANFOLD_DATABASE_APPEND) the plans are kept there. Without, PostgreSQL of this machine keeps them in a folder of its
// own, which stays for the next time; only you may enter it, so there is no password. Needs a build.

import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chownSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { postgres: { type: 'string' }, port: { type: 'string', default: '8011' } } })
const main = resolve(import.meta.dirname, '../dist/cli/main.js')
// npm goes to the folder of the package first.
const root = process.env.npm_lifecycle_event === 'team' ? process.env.INIT_CWD : process.cwd()
const environment = { ...process.env }
const isRoot = process.getuid() === 0
const parts = new Map()
let stopCluster = null
let isStopping = false

process.on('SIGINT', () => void stop(0))
process.on('SIGTERM', () => void stop(0))
try {
  if (!existsSync(main)) throw new Error(`there is no ${main}: npm run build`)
  if (!process.env.PLANFOLD_DATABASE) startCluster()
  const service = await start('service', ['serve', '--no-drive', '--port', values.port])
  await start('worker 1', ['worker'])
  await start('worker 2', ['worker', '--label', 'gpu'])
  console.log(`\nready: ${service}\nFor commands in another terminal:`)
  for (const name of ['PLANFOLD_DATABASE', 'PLANFOLD_DATABASE_APPEND'])
    if (environment[name] && !/:[^/]*@/.test(environment[name].slice(11)))
      console.log(`  export ${name}='${environment[name]}'`)
  console.log('Ctrl-C stops all of it.')
} catch (error) {
  console.error(`error: ${error.message}`)
  await stop(1)
}

/** Answers with its first line, when it works. */
function start(name, words) {
  // In a group of its own: Ctrl-C reaches only this process, which tells the others once.
  const child = spawn(process.execPath, [main, ...words], {
    cwd: root,
    env: environment,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise(resolve => child.once('close', resolve))
  parts.set(name, { child, ended })
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', line => {
        console.log(`${name.padEnd(8)} | ${line}`)
        if (stream === child.stdout) resolve(line)
      })
    void ended.then(code => {
      parts.delete(name)
      reject(new Error(`the ${name} did not start`))
      if (isStopping) return
      console.log(`${name} (pid ${child.pid}) has ended (${child.signalCode ?? `exit ${code}`})`)
      const hasWorker = [...parts.keys()].some(other => other.startsWith('worker'))
      if (name === 'service' || !hasWorker) void stop(1)
    })
  })
}

async function stop(exit) {
  if (isStopping) return
  isStopping = true
  for (const { child } of parts.values()) child.kill('SIGTERM')
  await Promise.all([...parts.values()].map(({ ended }) => ended))
  stopCluster?.()
  process.exit(exit)
}

/** Not below the project: on a machine where you are root, PostgreSQL runs as another user, who must reach it. */
function startCluster() {
  const name = createHash('sha256').update(root).digest('hex').slice(0, 8)
  const folder = resolve(values.postgres ?? `/var/tmp/planfold-team-${process.getuid()}-${name}`)
  const installed = '/usr/lib/postgresql'
  const [newest] = (existsSync(installed) ? readdirSync(installed) : []).map(Number).sort((a, b) => b - a)
  // Elsewhere than on Debian they are on the PATH.
  const program = word => (newest === undefined ? word : join(installed, String(newest), 'bin', word))
  const id = what => Number(spawnSync('id', [what, 'postgres'], { encoding: 'utf8' }).stdout)
  const [user, group] = isRoot ? [id('-u'), id('-g')] : [process.getuid(), process.getgid()]
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (isRoot && statSync(folder).uid === 0) chownSync(folder, user, group)
  const { uid, mode } = statSync(folder)
  if (uid !== user || (mode & 0o77) !== 0) throw new Error(`${folder} belongs to somebody else, or others may enter it`)
  const asUser = (file, ...args) => (isRoot ? ['runuser', ['-u', 'postgres', '--', file, ...args]] : [file, args])
  const run = (word, ...args) => {
    const [file, rest] = asUser(program(word), ...args)
    const { status, error, stderr } = spawnSync(file, rest, {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(`${word}: ${error?.message ?? stderr.trim()}`)
  }
  const data = join(folder, 'data')
  if (!existsSync(data)) run('initdb', '-D', data, '-U', 'planfold', '-A', 'trust', '-E', 'UTF8')
  const settings = ['-o', `-k ${folder} -c listen_addresses=`]
  const running = spawnSync(...asUser(program('pg_ctl'), '-D', data, 'status'), { cwd: folder, stdio: 'ignore' })
  if (running.status !== 0) run('pg_ctl', '-D', data, '-w', '-l', join(folder, 'log'), ...settings, 'start')
  stopCluster = () => run('pg_ctl', '-D', data, '-m', 'fast', '-w', 'stop')
  const url = user => `postgres://${user}@/postgres?host=${encodeURIComponent(folder)}`
  const migrated = spawnSync(process.execPath, [main, 'migrate'], {
    cwd: root,
    env: { ...process.env, PLANFOLD_DATABASE: url('planfold') },
    encoding: 'utf8',
  })
  if (migrated.status !== 0) throw new Error(migrated.stderr)
  environment.PLANFOLD_DATABASE = url('planfold_faces')
  environment.PLANFOLD_DATABASE_APPEND = url('planfold_append')
  console.log(`PostgreSQL keeps the plans in ${folder}`)
}
