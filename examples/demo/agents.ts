// `npm run demo:agents`: two different real coding agents repair two parts of a repository at once, each in a worktree of its own. Their model
// follows a script, so nothing is paid and no network is needed. One agent is really killed; a person approves; all of it is rolled
// back and done again. Then three agents race for one task: one cheats, one is wrong, one is right.
// Needs the extras: agents

import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { agentScript } from '../../src/extras/agents/agent-script.ts'
import { listAgents } from '../../src/extras/agents/find-agent.ts'
import { testModel } from '../../src/extras/agents/test-agent.ts'
import type { KnownAgent } from '../../src/runners/runner.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { agentsPath } from '../../test/agents/installed.ts'

const top = join(import.meta.dirname, '../..')
const cli = join(top, 'dist/cli/main.js')
const folder = join(top, '.cache', `demo-agents-${process.pid}`)
const root = join(folder, 'work')
const PARTS = { sum: ['a - b', 'a + b', '1, 2', '3'], product: ['a / b', 'a * b', '2, 3', '6'] } as const
type Part = keyof typeof PARTS
const RACE = [
  {
    shell:
      'case $PLANFOLD_TRY in 1) echo > sum.test.js;; 2) sed -i "s#a - b#a * b#" sum.js;; 3) sed -i "s#a - b#a + b#" sum.js;; esac; true',
  },
  { say: 'I am done.' },
]
const DEADLINE_MS = 120_000

makeRepository()
const PATH = `${agentsPath(folder)}:${process.env.PATH}`
const found = (await listAgents({ environment: { PATH }, root, stateDir: join(root, '.planfold') })).filter(
  ({ road }) => road === 'acp',
)
// Grok is the quickest to start.
const [first, second = first] = [...found].sort((a, b) => Number(b.name === 'grok') - Number(a.name === 'grok'))
if (first === undefined || second === undefined) fail('no agent is installed: see test/agents/README.md')
console.log(
  first === second
    ? `Only ${titled(first)} is installed here, so it is used twice: it repairs sum.js and product.js.\nFor a second agent: (cd test/agents && npm install --no-save --ignore-scripts), 1.3 GB.`
    : `${titled(first)} repairs sum.js, ${titled(second)} repairs product.js.`,
)

let isKilled = false
const steps = (part: Part) => [
  { shell: `sed -i 's#${PARTS[part][0]}#${PARTS[part][1]}#' ${part}.js` },
  { shell: `node ${part}.test.js` },
  { say: `${part}.js is repaired.` },
]
const model = await scriptedModel(
  agentScript({
    root,
    scripts: { sum: steps('sum'), product: steps('product'), race: RACE },
    onStep: (script, step) => {
      if (script !== 'product' || step !== 1 || isKilled) return
      isKilled = true
      const pids = agentsAt('product')
      if (pids.length === 0) fail('the agent of product.js was not found')
      for (const pid of pids) process.kill(pid, 'SIGKILL')
      console.log('   ⚡ the agent of product.js was killed with SIGKILL, in the middle of its work')
    },
  }),
)
const env = {
  PATH,
  HOME: join(folder, 'home'),
  LANG: 'C.UTF-8',
  PLANFOLD_AS: 'ana@example.com',
  ...model.environment(),
}
writeFileSync(join(root, 'plan.yaml'), planText())

say('1. Both agents work at once, each in a worktree of its own; one of them is killed')
await expectExit(4, 'run', 'plan.yaml')
if (!isKilled) fail('no agent was killed')
const log = await planfold('log', 'repair-both')
if (!/product failed/.test(log.out)) fail('the journal does not tell of the killed agent')
say('2. A person looks at it and approves')
await expectExit(0, 'approve', 'repair-both', 'review', '-m', 'both are right')
await mustBe('repaired')
say('3. Everything is rolled back')
await expectExit(0, 'rollback', 'repair-both', '--yes')
await mustBe('broken')
say('4. And done again')
await expectExit(4, 'resume', 'repair-both')
await expectExit(0, 'approve', 'repair-both', 'review', '-m', 'right again')
await mustBe('repaired')
say('5. Three agents race for one task in the workspace: one cheats, one is wrong, one is right')
writeFileSync(join(root, 'race.yaml'), raceText())
await expectExit(0, 'run', 'race.yaml')
await expectExit(0, 'show', 'race', '--compare', 'sum')
if (!readFileSync(join(root, 'sum.js'), 'utf8').includes('a + b')) fail('the right one did not win')
console.log(`\nDone. The model was asked ${model.served.calls} times; the count of Planfold is:`)
console.log((await planfold('models', 'usage')).out)
await model.close()
rmSync(folder, { recursive: true, force: true })

function titled({ title, version }: KnownAgent): string {
  return `${title} ${version ?? '(version unknown)'}`
}

function planText(): string {
  const task = (part: Part, { name, wire }: KnownAgent) => `  - id: ${part}
    agent: { use: ${name}, model: ${testModel(wire)} }
    instruction: "Make the test of ${part}.js pass. [script ${part}]"
    write: [${part}.js]
    retry: { attempts: 3, backoff: 10ms }
    accept: [{ check: [node, ${part}.test.js] }]
`
  return `planfold: 1
name: repair-both
git: { worktree: task }
concurrency: 2
tasks:
${task('sum', first!)}${task('product', second!)}  - id: review
    needs: [sum, product]
    gate: approval
`
}

function raceText(): string {
  const racing = [first!, second!, first!].map(({ name, wire }) => `{ use: ${name}, model: ${testModel(wire)} }`)
  return `planfold: 1
name: race
tasks:
  - id: sum
    agent: ${racing[0]}
    instruction: "Make the test of sum.js pass. [script race]"
    write: [sum.js]
    tries: { with: [${racing.join(', ')}] }
    accept: [{ check: [node, sum.test.js] }]
`
}

function makeRepository(): void {
  mkdirSync(join(folder, 'home'), { recursive: true })
  mkdirSync(root)
  for (const [part, [wrong, , given, result]] of Object.entries(PARTS)) {
    writeFileSync(join(root, `${part}.js`), `module.exports = (a, b) => ${wrong}\n`)
    const test = `if (require('./${part}.js')(${given}) !== ${result}) throw new Error('${part} is wrong')\n`
    writeFileSync(join(root, `${part}.test.js`), test)
  }
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, stdio: 'ignore' })
  git('init', '-q', '-b', 'main')
  git('config', 'user.email', 'demo@example.com')
  git('config', 'user.name', 'Demo')
  git('add', '.')
  git('commit', '-qm', 'two failing tests')
}

/** The processes of the agent that works on this part: those in the worktree of its task, with the home of this demo. */
function agentsAt(part: Part): readonly number[] {
  return readdirSync('/proc').flatMap(pid => {
    try {
      const isOurs = readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`HOME=${join(folder, 'home')}`)
      return isOurs && readlinkSync(`/proc/${pid}/cwd`).includes(part) ? [Number(pid)] : []
    } catch {
      return []
    }
  })
}

/** Where the plan left its work: on its branch. */
async function mustBe(state: 'repaired' | 'broken'): Promise<void> {
  const branch = execFileSync('git', ['branch', '--list', 'plan/*', '--format=%(refname:short)'], { cwd: root })
  const at = String(branch).trim().split('\n')[0] || 'main'
  for (const [part, [wrong, right]] of Object.entries(PARTS)) {
    const text = String(execFileSync('git', ['show', `${at}:${part}.js`], { cwd: root }))
    if (!text.includes(state === 'repaired' ? right : wrong)) fail(`${part}.js is not ${state} on ${at}: ${text}`)
  }
  console.log(`   both files are ${state} on ${at}`)
}

async function expectExit(code: number, ...argv: readonly string[]): Promise<void> {
  console.log(`   planfold ${argv.join(' ')}`)
  const ended = await planfold(...argv)
  process.stdout.write(ended.out.replace(/^(?=.)/gm, '   │ '))
  if (ended.code !== code) fail(`planfold ${argv[0]} was to end with exit code ${code}, not ${ended.code}`)
}

function planfold(...argv: readonly string[]): Promise<{ readonly code: number | null; readonly out: string }> {
  return new Promise(done => {
    const child = spawn(process.execPath, [cli, ...argv], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const deadline = setTimeout(() => child.kill('SIGKILL'), DEADLINE_MS)
    let out = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', chunk => {
        out += String(chunk)
      })
    child.once('close', code => {
      clearTimeout(deadline)
      done({ code, out })
    })
  })
}

function say(text: string): void {
  console.log(`\n${text}`)
}

function fail(why: string): never {
  console.error(`\nThe demo failed: ${why}\nWhat it left is in ${folder}`)
  process.exit(1)
}
