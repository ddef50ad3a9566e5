// Removes an extra from a copy of the checkout: its entry in src/extras.ts, and the folder that this names. There the types must hold, the tests of the core
// must pass, and a command that needs the extra must say in a sentence what is missing.
//
//   npm run without -- NAME [TEST FILE OR FOLDER…]    all unit tests in src when none is named
//
// The tests of an extra are in its folder. A test elsewhere that needs extras says so in its opening comment:
// `// Needs the extras: agents, models`. It is left out, too.

import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

/** For each extra, a command that needs it. */
const TRIES = {
  agents: ['agents'],
  artifacts: ['artifact', 'list'],
  dialects: ['validate', 'steps.md'],
  memory: ['memory', 'search'],
  models: ['models'],
  pictures: ['graph', 'plan.yaml', '--svg'],
  planners: ['plan', 'fix it'],
  postgres: ['list', '--database', 'postgres://nobody@localhost/nothing'],
  publishers: ['run', 'plan.yaml'],
}

const [name, ...tests] = process.argv.slice(2)
const root = resolve(import.meta.dirname, '..')
const extras = readFileSync(join(root, 'src/extras.ts'), 'utf8')
const listed = new RegExp(`^  ${name}: \\{.*\\},?$|^  ${name}: \\{\\n(?:    .*\\n)*  \\},?$`, 'm')
const entry = listed.exec(extras)?.[0]
if (name === undefined || entry === undefined) {
  console.error(`npm run without -- NAME: there is no extra '${name ?? ''}' in src/extras.ts`)
  process.exit(2)
}
const folder = join('src', dirname(/import\('\.\/([^']+)'\)/.exec(entry)[1]))
const copy = mkdtempSync(join(tmpdir(), `planfold-without-${name}-`))
process.on('exit', () => rmSync(copy, { recursive: true, force: true }))

const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8' })
for (const file of new Set(files.split('\0').filter(file => file !== ''))) {
  if (file.startsWith(`${folder}/`)) continue
  try {
    cpSync(join(root, file), join(copy, file))
  } catch (error) {
    // Deleted, and not committed yet.
    if (error.code !== 'ENOENT') throw error
  }
}
symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
const list = join(copy, 'src/extras.ts')
writeFileSync(list, extras.replace(listed, ''))
const needing = spawnSync(
  'git',
  ['grep', '-lE', `^// Needs the extras: .*\\b${name}\\b`, 'src', 'test', 'sim', 'bench', 'examples'],
  {
    cwd: root,
    encoding: 'utf8',
  },
)
  .stdout.split('\n')
  .filter(file => file !== '')
for (const file of needing) rmSync(join(copy, file), { force: true })
console.log(`without ${name}: ${needing.length} test files outside its folder need it and are left out`)

run('types', ['node_modules/.bin/tsc', '-p', 'tsconfig.json', '--noEmit'])
run('tests', [
  'node_modules/.bin/vitest',
  'run',
  '--project',
  'unit:*',
  '--reporter=dot',
  ...(tests.length === 0 ? ['src/'] : tests),
])
tell()

function run(what, command) {
  const { status, stdout } = spawnSync(process.execPath, command, {
    cwd: copy,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 2 ** 28,
  })
  const passed = /^.*Tests .*$/m.exec(stdout)?.[0].trim()
  console.log(`${what}: ${status === 0 ? 'pass' : 'FAIL'}${passed === undefined ? '' : ` (${passed})`}`)
  if (status === 0) return
  console.log(stdout)
  process.exit(1)
}

/** In a folder with a plan that notifies a command of its end, and steps in Markdown. */
function tell() {
  const typed = TRIES[name]
  if (typed === undefined) return
  const place = mkdtempSync(join(copy, 'place-'))
  writeFileSync(join(place, 'steps.md'), '# Plan: x\n## Steps\n1. **Draw it**\n')
  writeFileSync(
    join(place, 'plan.yaml'),
    'planfold: 1\nname: p\nnotify: [{ on: completed, run: ["true"] }]\ntasks: [{ id: a, run: ["true"] }]\n',
  )
  const { stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', join(copy, 'src/cli/main.ts'), ...typed], {
    cwd: place,
    encoding: 'utf8',
  })
  const said = `${stdout}${stderr}`
  const line = said.split('\n').find(one => /(?:is|are) not part of this build/.test(one))
  console.log(`planfold ${typed.join(' ')}: ${line?.trim() ?? 'FAIL: it is not told'}`)
  if (line === undefined) {
    console.log(said)
    process.exit(1)
  }
}
