import { readdir } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { eachPlace } from '../../place.fixture.ts'
import { EXAMPLE_PLAN } from './init.ts'
import { log } from './log.ts'
import { dryRun, run } from './run.ts'

const place = eachPlace()

const PLAN = `planfold: 1
name: p
stakeholders: [ana, ben]
done: [{ check: npm test }, All is well]
tasks:
  - id: fix
    edit: { file: a.txt, find: one, replace: two }
    accept: [It reads well]
  - id: build
    needs: [review]
    subplan:
      - { id: lint, run: [npx, "biome check"], when: 1 < 2 }
      - { id: test, needs: [lint], run: "echo \\"$HOME\\"" }
  - { id: review, needs: [fix], gate: approval, on: { rejected: fix } }
  - { id: each, needs: [build], matrix: { os: [linux, mac] }, run: [echo, "on \${{ matrix.os }}"] }
  - { id: tell, needs: [each], assignee: claude }
`

it('prints what would run, wave by wave, and leaves the folder exactly as it was', async () => {
  await place.write('plan.yaml', PLAN)
  await place.write('a.txt', 'one\n')
  const before = await place.hash()
  const { exit, stdout } = await place.say(context => dryRun(context, 'plan.yaml'))
  expect(exit).toBe(0)
  expect(await place.hash()).toBe(before)
  expect((await readdir(place.folder)).sort()).toEqual(['a.txt', 'plan.yaml'])
  expect(stdout).toBe(`── stage 1 ──
fix edit, workspace
    --- a/a.txt
    +++ b/a.txt
    @@ -1,1 +1,1 @@
    -one
    +two
    then: It reads well (checked by a person)

── stage 2 ──
review gate, pure after fix
    asks ana, ben for approval, then build/lint can start

── stage 3 ──
build/lint run, unsafe, as you after review
    only when 1 < 2
    npx 'biome check'

── stage 4 ──
build/test run, unsafe, as you after build/lint
    echo "$HOME"

── stage 5 ──
build group, pure
    is completed when its 2 children are

── stage 6: 2 tasks ──
each/1 run, unsafe, as you after build — linux
    echo 'on linux'

each/2 run, unsafe, as you after build — mac
    echo 'on mac'

── stage 7 ──
each group, pure
    is completed when its 2 children are

── stage 8 ──
tell external, model after each
    waits for claude to claim it

── at the end ──
done verify, pure, held — Final checks
    runs the final checks
    then: $ npm test
    then: All is well (checked by a person)

dry run: nothing was written
`)
})

it('tells the same to programs', async () => {
  await place.write('plan.yaml', PLAN)
  const { stdout } = await place.say(context => dryRun(context, 'plan.yaml'), { json: true })
  const { data } = JSON.parse(stdout) as { data: { dryRun: boolean; tasks: { task: string; wave: number | null }[] } }
  expect(data.dryRun).toBe(true)
  expect(data.tasks.map(({ task, wave }) => `${wave} ${task}`)).toEqual([
    '1 fix',
    '2 review',
    '3 build/lint',
    '4 build/test',
    '5 build',
    '6 each/1',
    '6 each/2',
    '7 each',
    '8 tell',
    'null done',
  ])
  expect(data.tasks.find(({ task }) => task === 'review')).toMatchObject({
    asks: ['ana', 'ben'],
    releases: ['build/lint'],
  })
})

it('shows each edit over what the edits before it would have left', async () => {
  await place.write(
    'plan.yaml',
    `planfold: 1
name: p
tasks:
  - { id: make, edit: { file: a.txt, create: "one\\n" } }
  - { id: change, needs: [make], edit: { file: a.txt, find: one, replace: two } }
  - { id: move, needs: [change], edit: { file: a.txt, move: b.txt } }
  - { id: clear, needs: [move], edit: { file: b.txt, delete: true } }
`,
  )
  const { stdout } = await place.say(context => dryRun(context, 'plan.yaml'), { json: true })
  const { data } = JSON.parse(stdout) as { data: { tasks: { task: string; preview: string }[] } }
  const diffs = Object.fromEntries(
    data.tasks.map(({ task, preview }) => [task, preview.match(/^[-+][^-+].*$/gm) ?? []]),
  )
  expect(diffs).toEqual({ make: ['+one'], change: ['-one', '+two'], move: ['-two', '+two'], clear: ['-two'] })
  expect(await readdir(place.folder)).toEqual(['plan.yaml'])
})

it('shows the example of init as it will go', async () => {
  await place.write('plan.yaml', EXAMPLE_PLAN)
  const { stdout } = await place.say(context => dryRun(context, 'plan.yaml'))
  expect(stdout).toContain('    +++ /dev/null\n    @@ -1,1 +0,0 @@\n    -Hello from Planfold\n')
  expect(stdout).not.toContain('changes nothing')
})

it('says when an edit would not fit, and what is not known yet', async () => {
  await place.write(
    'plan.yaml',
    `planfold: 1
name: p
tasks:
  - { id: a, edit: { file: gone.txt, find: x, replace: y } }
  - { id: b, needs: [a], run: [echo, "\${{ tasks.a.outputs.files[0] }}"] }
`,
  )
  const { stdout } = await place.say(context => dryRun(context, 'plan.yaml'))
  expect(stdout).toMatch(/a edit, workspace\n {4}.*gone\.txt/)
  expect(stdout).toMatch(/b run, unsafe, as you after a\n {4}not known yet/)
})

it('shows what a script finds in its environment, each value on one line and harmless', async () => {
  await place.write(
    'plan.yaml',
    `planfold: 1
name: p
goal: "two\\nlines\\e[2J"
tasks:
  - { id: a, run: 'echo "\${{ plan.name }}" "\${{ plan.goal }}"', env: { MODE: fast, WHO: "\${{ plan.name }} and all" } }
  - { id: b, run: [echo, hi], env: { A: b } }
`,
  )
  const { stdout } = await place.say(context => dryRun(context, 'plan.yaml'))
  expect(stdout).toContain(`    echo "\${PLANFOLD_VALUE_1}" "\${PLANFOLD_VALUE_2}"
    with MODE=fast
    with WHO="p and all"
    with PLANFOLD_VALUE_1=p
    with PLANFOLD_VALUE_2="two\\nlines\\u001b[2J"
`)
  expect(stdout).toContain('    echo hi\n    with A=b\n')
})

it('tells what each gate does, where somebody is asked first, and what must hold afterwards', async () => {
  await place.write(
    'plan.yaml',
    `planfold: 1
name: p
policy: { roles: { lead: [ana, bo] } }
tasks:
  - { id: sound, gate: { type: tests, checks: [{ check: npm test }] } }
  - { id: shape, gate: { type: schema, file: a.json, against: b.json } }
  - { id: size, gate: { type: decision, options: [{ id: small }, { id: large }] }, on: { default: push } }
  - { id: port, gate: { type: question, question: "Which\u202e port?" } }
  - { id: go, needs: [sound, shape], gate: { type: approval, role: lead, count: 2 } }
  - id: push
    needs: [go]
    run: [git, push]
    effects: ["src/**"]
    postconditions: [{ check: ./is-up.sh }]
`,
  )
  const { stdout } = await place.say(context => dryRun(context, 'plan.yaml'))
  expect(stdout).toBe(`── stage 1: 4 tasks ──
sound gate, pure
    checks: $ npm test
    continues when its checks pass; go also waits for shape

shape gate, pure
    checks that a.json follows b.json; go also waits for sound

size gate, pure
    asks a person to choose: small, large; push also waits for go

port gate, pure
    asks a person: Which\\u{202e} port?

── stage 2 ──
go gate, pure after sound, shape
    asks lead for approval, 2 of them, then push can start

── stage 3 ──
push run, unsafe, as you after go
    asks for approval first, because it pushes
    git push
    after: $ ./is-up.sh
    effects: changes only src/**

dry run: nothing was written
`)
})

it('a failure quotes the line that says why: of a command, of a check, and of an agent, whose errors are in its log', async () => {
  await place.write(
    'plan.yaml',
    `planfold: 1
name: loud
tasks:
  - id: tests
    run: 'echo "sh: 1: xo: not found" >&2; echo "npm notice" >&2; exit 127'
  - id: checked
    run: ["true"]
    accept: [{ check: 'echo "AssertionError: 1 == 2"; echo; exit 1' }]
  - id: agent
    agent: { command: ['${process.execPath}', -e, "require('./nope')"] }
    instruction: Go.
`,
  )
  const { stdout, stderr } = await place.say(context => run(context, 'plan.yaml', { start: true }))
  const told = stdout + stderr
  expect(told).toContain('failed   tests: exit 127: sh: 1: xo: not found\n')
  expect(told).toContain('exit 1 (exit 1: AssertionError: 1 == 2)\n')
  expect(told).toContain("it ended with exit code 1 (it said: Error: Cannot find module './nope')\n")
  expect(told).toContain('see what it printed with `planfold log loud agent --output`; the next attempt begins anew')
  const output = await place.say(context => log(context, 'loud', 'agent', { output: true }))
  expect(output.stdout).toContain("Error: Cannot find module './nope'\n")
})
