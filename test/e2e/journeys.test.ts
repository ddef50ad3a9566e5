// Ten journeys of users, from the first command to the last, as people make them. What was printed is kept in `journeys/`.

import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type Journey, journey } from './journey.fixture.ts'
import { lastingPort, serving } from './serve.fixture.ts'

let j: Journey
afterEach(() => j.remove())

/** Starts `planfold run FILE` and kills it and its children when the file exists, as a power cut would. */
async function killedOnce(file: string, sign: string): Promise<void> {
  const child = spawn('planfold', ['run', file], { cwd: j.folder, env: j.env, stdio: 'ignore', detached: true })
  const ended = new Promise(resolve => child.once('exit', resolve))
  const early = ended.then(code => Promise.reject(new Error(`it ended with ${code} before there was ${sign}`)))
  const there = vi.waitFor(() => expect(existsSync(join(j.folder, sign))).toBe(true), {
    timeout: 120_000,
    interval: 20,
  })
  await Promise.race([there, early])
  early.catch(() => {})
  const children = (await j.run(`ps -o pid= --ppid ${child.pid} || true`, { quiet: true })).split(/\s+/).filter(Boolean)
  process.kill(child.pid!, 'SIGKILL')
  for (const pid of children) await j.run(`kill -9 ${pid} || true`, { quiet: true })
  await ended
}

/** What an EventSource hears until the plan has ended. */
async function events(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly types: readonly string[]; readonly ids: readonly string[] }> {
  const answer = await fetch(url, { headers: { ...headers, accept: 'text/event-stream' } })
  expect(answer.status).toBe(200)
  const [types, ids]: [string[], string[]] = [[], []]
  let text = ''
  for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    const frames = text.split('\n\n')
    text = frames.pop()!
    for (const frame of frames) {
      const type = /^event: (.*)$/m.exec(frame)?.[1]
      const id = /^id: (.*)$/m.exec(frame)?.[1]
      if (type === undefined || id === undefined) continue
      types.push(type)
      ids.push(id)
      if (type === 'plan.finished') return { types, ids }
    }
  }
  return { types, ids }
}

describe('journeys', () => {
  it('init, run, fail, fix, go on', async () => {
    j = await journey('fail-fix-go-on', 'Init, run, fail, fix, go on')
    await j.run('git init -q .')
    await j.run('planfold init')
    await j.run('cat plan.yaml')
    await j.run('planfold validate plan.yaml')
    await j.run('planfold run plan.yaml', { exit: 4 })
    await j.run('planfold approve hello review')
    await j.run('planfold resume hello')
    j.say('So far the example. Now a plan of her own, with a mistake in it.')
    const plan = (test: string): string => `planfold: 1
name: site
tasks:
  - id: fetch
    write: [fetched.txt]
    network: []
    run: echo fetched >> fetched.txt
  - id: test
    needs: [fetch]
    effect: pure
    run: ${test}
  - id: pack
    needs: [test]
    write: [site.txt]
    network: []
    run: cp fetched.txt site.txt
`
    await j.file('site.yaml', plan('grep -q feched fetched.txt'))
    await j.run('planfold run site.yaml', { exit: 1 })
    j.say('A word was misspelt. She mends the file and runs it again: what is done stays done.')
    await j.file('site.yaml', plan('grep -q fetched fetched.txt'))
    await j.run('planfold run site.yaml')
    await j.run('cat site.txt')
    expect(await j.read('site.txt')).toBe('fetched\n')
    await j.run('planfold revise list site')
    await j.end()
  })

  it('a wrong plan, its messages, the right plan', async () => {
    j = await journey('wrong-plan', 'A wrong plan, its messages, the right plan', { built: true })
    await j.file(
      'plan.yaml',
      `planfold: 1
name: build
tasks:
  - id: compile
    run: echo compiled
    effect: pure
    outputs: { where: { stdout: text } }
    timout: 10s
  - id: test
    needs: [compil]
    cwd: ../elsewhere
    run: echo \${{ tasks.compile.output.where }}
  - id: pack
    needs: [compile]
    env: { PLANFOLD_KEY: mine }
    run: echo packing
  - id: pack
    run: echo packing
`,
    )
    const said = await j.run('planfold validate plan.yaml', { exit: 2 })
    for (const fault of [
      'timout',
      'compil',
      '../elsewhere',
      'tasks.compile.output',
      'PLANFOLD_KEY',
      "two tasks are called 'pack'",
    ])
      expect(said).toContain(fault)
    await j.run('planfold run plan.yaml', { exit: 2 })
    j.say('All of it is told at once, and nothing has begun.')
    await j.file(
      'plan.yaml',
      `planfold: 1
name: build
tasks:
  - id: compile
    run: echo compiled
    effect: pure
    outputs: { where: { stdout: text } }
    timeout: 10s
  - id: test
    needs: [compile]
    effect: pure
    env: { PORT: 8080 }
    run: echo "\${{ tasks.compile.outputs.where }} at $PORT"
`,
    )
    await j.run('planfold run plan.yaml')
    await j.end()
  })

  it('crash, an edit by hand, resume', async () => {
    j = await journey('crash-edit-resume', 'Crash, an edit by hand, resume')
    await j.file(
      'plan.yaml',
      `planfold: 1
name: docs
tasks:
  - id: build
    write: [site/**]
    network: []
    run: "echo half > site/index.html; test -e power-is-back || exec sleep 60; echo whole > site/index.html"
  - id: publish
    needs: [build]
    run: cp site/index.html published.html
    write: [published.html]
    network: []
`,
    )
    await j.run('mkdir site && echo "Ana wrote this" > site/about.html')
    await killedOnce('plan.yaml', 'site/index.html')
    j.say('The machine loses power while `build` runs. Ana comes back and corrects a page by hand.')
    // Changes within two seconds of the last sign of life may still be the dead process's: real time has to pass.
    await pause(3_000)
    await j.run('echo "and corrected it" >> site/about.html; touch power-is-back')
    await j.run('planfold status docs')
    await j.run('planfold resume docs', { exit: 4 })
    expect(await j.read('site/about.html')).toBe('Ana wrote this\nand corrected it\n')
    j.say('Nothing of hers was touched. She keeps it.')
    await j.run('planfold answer docs build keep')
    await j.run('planfold resume docs')
    await j.run('cat site/about.html published.html')
    expect(await j.read('site/about.html')).toBe('Ana wrote this\nand corrected it\n')
    expect(await j.read('published.html')).toBe('whole\n')
    await j.end()
  })

  it('a gate, pushed back, then approved', async () => {
    j = await journey('gate-push-back-approve', 'A gate, pushed back, then approved')
    await j.file(
      'plan.yaml',
      `planfold: 1
name: letter
tasks:
  - id: write
    write: [letter.txt]
    network: []
    run: "echo Dear customer > letter.txt; if [ -n \\"\${PLANFOLD_FEEDBACK:-}\\" ]; then echo Kind regards >> letter.txt; fi"
  - id: review
    title: May the letter go out?
    needs: [write]
    gate: approval
  - id: send
    needs: [review]
    write: [sent/**]
    network: []
    run: "mkdir -p sent; cp letter.txt sent/"
`,
    )
    await j.run('planfold run plan.yaml', { exit: 4 })
    await j.run('planfold inbox')
    j.say('The letter has no ending. Ana sends it back.')
    await j.run("planfold answer letter review --push-back -m 'end it politely'")
    await j.run('planfold resume letter', { exit: 4 })
    await j.run('cat letter.txt')
    await j.run("planfold approve letter review -m 'good'")
    await j.run('planfold resume letter')
    expect(await j.read('sent/letter.txt')).toContain('Dear customer')
    await j.run('planfold audit letter')
    await j.end()
  })

  it('a fork, adopted', async () => {
    j = await journey('fork-adopt', 'A fork, adopted')
    await j.file(
      'plan.yaml',
      `planfold: 1
name: parser
tasks:
  - id: first
    write: [parser.txt]
    network: []
    run: echo fast > parser.txt
  - id: second
    needs: [first]
    write: [notes.txt]
    network: []
    run: "echo \\"built on $(cat parser.txt)\\" > notes.txt"
`,
    )
    await j.run('git init -q . && echo .planfold > .gitignore && git add -A && git commit -qm "Begin"')
    await j.run('planfold run plan.yaml')
    j.say('What if the parser were safe instead of fast? A second way, from before `second`, in a folder of its own.')
    await j.run("sed -e 's/built on/built safely on/' plan.yaml > safer.yaml")
    await j.run('planfold fork parser --from first --revision safer.yaml --name safer --start')
    await j.run('cat notes.txt .planfold/work/safer/notes.txt')
    expect(await j.read('notes.txt')).toBe('built on fast\n')
    j.say(
      'The second way is better. It is taken over. Both ways made `notes.txt`, so nothing happens before Ana chooses.',
    )
    await j.run('planfold fork adopt safer', { exit: 3 })
    await j.run('planfold fork adopt safer --take notes.txt')
    await j.run('cat notes.txt; ls .planfold/work 2>/dev/null | wc -l')
    expect(await j.read('notes.txt')).toBe('built safely on fast\n')
    j.say('And back again, because one may.')
    await j.run('planfold undo parser')
    expect(await j.read('notes.txt')).toBe('built on fast\n')
    await j.end()
  })

  it('import, run, export', async () => {
    j = await journey('import-run-export', 'Import, run, export')
    await j.file(
      'TODO.md',
      `# Release

- [x] Write the code
- [ ] Write the changelog
- [ ] Tag the release
`,
    )
    await j.run('planfold import TODO.md')
    await j.run('planfold show release')
    await j.run('planfold run release', { exit: 4 })
    await j.run(
      "echo '0.2: faster' > CHANGES && planfold report release write-the-changelog --status done --as agent-1",
    )
    await j.run('planfold report release tag-the-release --status done --as agent-1')
    await j.run('planfold status release')
    await j.run('planfold export release --to markdown-checklist')
    await j.end()
  })

  it('two agents on one plan', async () => {
    j = await journey('two-agents', 'Two agents on one plan')
    await j.file(
      'plan.yaml',
      `planfold: 1
name: feature
tasks:
  - id: api
    title: Write the interface
    write: [api.txt]
  - id: tests
    title: Write the tests
    write: [tests.txt]
    accept:
      - check: test -s tests.txt
  - id: join
    needs: [api, tests]
    write: [all.txt]
    network: []
    run: cat api.txt tests.txt > all.txt
`,
    )
    await j.run('planfold run plan.yaml', { exit: 4 })
    const token = async (line: string): Promise<string> => {
      const said = JSON.parse(await j.run(`${line} --json`, { quiet: true })) as { data: { token: string } }
      j.hide(said.data.token, '<token>')
      return said.data.token
    }
    j.say('Two agents ask for work at the same time; each gets another task.')
    const one = await token('planfold claim feature --as agent-1')
    const two = await token('planfold claim feature --as agent-2')
    await j.run('planfold status feature')
    await j.run('planfold claim feature --as agent-3', { exit: 3 })
    await j.run(`echo api > api.txt && planfold report feature api --status done --token ${one}`)
    j.say('The second agent reports too early.')
    await j.run(`planfold report feature tests --status done --token ${two}`, { exit: 1 })
    await j.run(`echo tests > tests.txt && planfold report feature tests --status done --token ${two}`)
    await j.run('planfold resume feature')
    await j.run('cat all.txt')
    await j.end()
  })

  it('a repository of 20,000 files', async () => {
    j = await journey('large-repository', 'A repository of 20,000 files', { built: true })
    for (let folder = 0; folder < 200; folder += 1) {
      mkdirSync(join(j.folder, `src/d${folder}`), { recursive: true })
      for (let file = 0; file < 100; file += 1)
        writeFileSync(join(j.folder, `src/d${folder}/f${file}.txt`), `${folder} ${file}\n`)
    }
    await j.run('git init -q . && echo .planfold > .gitignore && git add -A && git commit -qm "20,000 files"')
    await j.file(
      'plan.yaml',
      `planfold: 1
name: rename
tasks:
${[0, 1, 2, 3, 4]
  .map(
    n => `  - id: step-${n}
    needs: [${n === 0 ? '' : `step-${n - 1}`}]
    write: [src/**]
    network: []
    run: "for f in src/d${n}/*.txt; do echo changed >> $f; done"
`,
  )
  .join('')}`,
    )
    await j.run('planfold run plan.yaml')
    await j.run('git status --short | wc -l')
    j.say('It was a bad idea. Everything goes back.')
    await j.run('planfold rollback rename --yes')
    await j.run('git status --short')
    expect(await j.read('src/d0/f0.txt')).toBe('0 0\n')
    await j.end()
  })

  it('a session, paused and resumed', async () => {
    j = await journey('session', 'A session, paused and resumed')
    const plan = (name: string): string => `planfold: 1
name: ${name}
session: monday
tasks:
  - id: draft
    title: Write the ${name}
  - id: send
    needs: [draft]
    write: [${name}.txt]
    network: []
    run: echo sent > ${name}.txt
`
    await j.file('letter.yaml', plan('letter'))
    await j.file('invoice.yaml', plan('invoice'))
    await j.run('planfold run letter.yaml', { exit: 4 })
    await j.run('planfold run invoice.yaml', { exit: 4 })
    j.say('Two plans of one conversation. Ana goes to lunch and holds both.')
    await j.run("planfold pause --session monday -m 'lunch'")
    await j.run('planfold list --session monday')
    await j.run('planfold claim letter --as agent-1', { exit: 3 })
    j.say('Back again.')
    await j.run('planfold resume --session monday', { exit: 4 })
    await j.run('planfold status --session monday')
    await j.run('planfold report letter draft --status done --as agent-1')
    await j.run('planfold report invoice draft --status done --as agent-1')
    await j.run('planfold resume --session monday')
    await j.run('cat letter.txt invoice.txt')
    await j.end()
  })

  it('a service, restarted, and a browser that is still signed in', async () => {
    j = await journey('service-restart', 'A service, restarted, and a browser that is still signed in')
    await j.file(
      'plan.yaml',
      'planfold: 1\nname: hello\ntasks:\n  - id: greet\n    effect: pure\n    run: echo hello\n',
    )
    const first = await serving(j.folder, '--port', String(await lastingPort()))
    j.hide(`:${first.port}`, ':<port>')
    j.say('Ana starts the service and opens the link it prints. The page exchanges the code in the link for a cookie.')
    j.show(`$ planfold serve\nlistens at ${first.address}`)
    let cookie = ''
    const ask = async (method: string, path: string, body?: unknown): Promise<Response> => {
      const headers: Record<string, string> = { origin: first.address, cookie }
      if (body !== undefined) headers['content-type'] = 'application/json'
      const answer = await fetch(first.address + path, { method, headers, body: JSON.stringify(body) })
      j.show(`${method} ${path}\n${answer.status}`)
      return answer
    }
    const code = new URL(first.link!).hash.slice('#code='.length)
    const entered = await ask('POST', '/auth/code', { code })
    expect(entered.status).toBe(204)
    cookie = entered.headers.get('set-cookie')!.split(';')[0]!
    j.say('She makes a plan, starts it, and listens to what happens.')
    const tasks = [{ id: 'greet', effect: 'pure', run: 'echo hello' }]
    expect((await ask('POST', '/plans', { planfold: 1, name: 'hello', tasks })).status).toBe(201)
    expect((await ask('POST', '/plans/hello/execute')).status).toBeLessThan(300)
    const heard = await events(`${first.address}/plans/hello/events?after=0`, { cookie })
    expect(heard.types).toContain('plan.started')
    j.show(`GET /plans/hello/events\n${heard.types.join('\n')}`)
    first.kill('SIGTERM')
    expect((await first.ended).exit).toBe(0)
    j.say(
      'The machine is updated; the service starts again at the same port. The browser comes back by itself, with the same cookie and the number of the last event it saw. It misses nothing and sees nothing twice.',
    )
    const second = await serving(j.folder, '--port', String(first.port))
    expect((await ask('GET', '/auth')).status).toBe(200)
    const resumed = await events(`${second.address}/plans/hello/events`, { cookie, 'last-event-id': heard.ids[1]! })
    expect(resumed.ids).toEqual(heard.ids.slice(2))
    j.show(`GET /plans/hello/events, Last-Event-ID: the second event\n${resumed.types.join('\n')}`)
    second.kill('SIGTERM')
    await second.ended
    await j.end()
  })
})
