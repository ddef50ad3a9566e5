import { spawn } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { setup, stopBy, until } from '../attempt.fixture.ts'
import type { Outcome } from '../runner.ts'
import { processTree } from './process-tree.ts'
import { runRunner } from './run-runner.ts'

const runner = runRunner({ tree: processTree(), graceMs: 300 })
const run = (...argv: string[]) => ({ type: 'run', command: { argv } }) as const
const script = (text: string) => ({ type: 'run', command: { script: text } }) as const

function exited(outcome: Outcome) {
  if (outcome.type !== 'exited') throw new Error(`not exited: ${JSON.stringify(outcome)}`)
  return outcome
}

describe('a command', () => {
  test('says how it ended and what it printed, also live', async () => {
    const { tools, attempt, going, logged } = setup()
    const outcome = await runner.attempt(attempt(script('echo out; echo err >&2; exit 3')), tools, going)
    expect(outcome).toEqual({
      ...{ type: 'exited', exit: 3, signal: null, timedOut: false },
      ...{ stdout: 'out\n', stderr: 'err\n', truncated: false },
    })
    expect(logged.map(line => [line.stream, line.chunk.toString()]).sort()).toEqual([
      ['stderr', 'err\n'],
      ['stdout', 'out\n'],
    ])
  })

  test('is run whatever it is; only where its task says so, a path that is a link is refused before', async () => {
    const { root, base, tools, attempt, going } = setup()
    fs.writeFileSync(join(base, 'elsewhere'), 'theirs\n')
    fs.writeFileSync(join(root, 'plain'), 'ours\n')
    fs.symlinkSync(join(base, 'elsewhere'), join(root, 'link'))
    const cat = (path: string) => run('cat', '--', path)
    const reads = (path: string) => ({ ...cat(path), links: 'refuse' }) as const
    expect(exited(await runner.attempt(attempt(cat('link')), tools, going)).stdout).toBe('theirs\n')
    expect(exited(await runner.attempt(attempt(cat('none')), tools, going)).exit).toBe(1)
    expect(exited(await runner.attempt(attempt(run('grep', '-rnIE', 's', '--', 'link')), tools, going)).exit).toBe(0)
    expect(exited(await runner.attempt(attempt(reads('plain')), tools, going)).stdout).toBe('ours\n')
    for (const [path, message] of [
      ['link', /symbolic link/],
      ['none', /does not exist/],
      ['../elsewhere', /elsewhere/],
    ] as const)
      expect(await runner.attempt(attempt(reads(path)), tools, going)).toMatchObject({
        type: 'failed',
        begun: false,
        failure: { message: expect.stringMatching(message) },
      })
  })

  test('gets its input, or none at all', async () => {
    const { tools, attempt, going } = setup()
    expect(exited(await runner.attempt(attempt({ ...run('cat'), stdin: 'hé\n' }), tools, going)).stdout).toBe('hé\n')
    expect(exited(await runner.attempt(attempt(run('cat')), tools, going)).stdout).toBe('')
    const unread = attempt({ ...run('true'), stdin: 'x'.repeat(1_000_000) })
    expect(exited(await runner.attempt(unread, tools, going)).exit).toBe(0)
  })

  test('runs where it is told, inside the workspace only', async () => {
    const { base, root, tools, attempt, going } = setup()
    fs.mkdirSync(join(root, 'sub'))
    fs.symlinkSync(base, join(root, 'link'))
    expect(exited(await runner.attempt(attempt(run('pwd'), { cwd: 'sub' }), tools, going)).stdout).toBe(
      `${join(root, 'sub')}\n`,
    )
    expect(exited(await runner.attempt(attempt(run('pwd')), tools, going)).stdout).toBe(`${root}\n`)
    for (const cwd of ['..', '/', 'link', '~', '.planfold']) {
      expect(await runner.attempt(attempt(run('pwd'), { cwd }), tools, going), cwd).toMatchObject({
        type: 'failed',
        failure: { class: 'policy' },
      })
    }
  })

  test('that cannot be started fails with a hint', async () => {
    const { root, tools, attempt, going } = setup()
    fs.writeFileSync(join(root, 'plain'), 'x', { mode: 0o644 })
    for (const argv of [
      ['no-such-command'],
      ['./plain'],
      ['./missing'],
      [],
      [''],
      ['echo', 'a\0b'],
      ['echo', 'x'.repeat(200_000)],
    ]) {
      expect(
        await runner.attempt(attempt(run(...argv)), tools, going),
        JSON.stringify(argv).slice(0, 50),
      ).toMatchObject({
        type: 'failed',
        failure: { class: 'logic', retryable: false, hint: expect.any(String) },
      })
    }
  })

  test('A32 gets its words literally, whatever they hold', async () => {
    const { root, tools, attempt, going } = setup()
    const words = [
      '$(touch p)',
      '`id`',
      '; id',
      '|| id',
      'a\nb',
      '$\u007bIFS}',
      '\r',
      '*',
      '~',
      '--',
      '\'"',
      '\\',
      '',
      '%s',
    ]
    const code = 'process.stdout.write(JSON.stringify(process.argv.slice(1)))'
    const outcome = exited(await runner.attempt(attempt(run('node', '-e', code, '--', ...words)), tools, going))
    expect(JSON.parse(outcome.stdout)).toEqual(words)
    expect(fs.readdirSync(root)).toEqual([])
  })

  test('A37 sees a short environment with our marks, and a plan cannot widen it', async () => {
    const { tools, attempt, going } = setup()
    const one = attempt(run('env', '-0'), { env: { GREETING: '$(id)' }, inputs: { n: 1 } })
    const seen = new Map(
      exited(await runner.attempt(one, tools, going))
        .stdout.split('\0')
        .filter(line => line !== '')
        .map(line => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    )
    expect(Object.fromEntries(seen)).toMatchObject({
      ...{ GREETING: '$(id)', PLANFOLD_KEY: one.key, PLANFOLD_PLAN: one.plan, PLANFOLD_TASK: 'task', TERM: 'dumb' },
      ...{ PLANFOLD_ATTEMPT: '1', PLANFOLD_OWNER: tools.owner, PLANFOLD_INPUTS: '{"n":1}' },
    })
    for (const name of ['SECRET_TOKEN', 'LD_PRELOAD', 'NODE_OPTIONS']) expect(seen.has(name)).toBe(false)
    for (const name of ['LD_PRELOAD', 'NODE_OPTIONS', 'PLANFOLD_KEY', 'BASH_ENV', 'GIT_DIR']) {
      expect(await runner.attempt(attempt(run('env'), { env: { [name]: 'x' } }), tools, going)).toMatchObject({
        type: 'failed',
        failure: { class: 'policy' },
      })
    }
  })

  test('is told what was said by whoever sent it back, as far as a process can be', async () => {
    const { tools, attempt, going } = setup()
    const told = async (feedback?: string) => {
      const one = attempt(
        run(
          'sh',
          '-c',
          'printf %s "${PLANFOLD_FEEDBACK-nothing}" | wc -c; printf %s "${PLANFOLD_FEEDBACK-nothing}" | head -c 40',
        ),
      )
      return exited(await runner.attempt(feedback === undefined ? one : { ...one, feedback }, tools, going)).stdout
    }
    expect(await told()).toBe('0\n')
    expect(await told('k\u00fcrzer \0$(id)\n界')).toBe('17\nk\u00fcrzer $(id)\n界')
    const [bytes = ''] = (await told('界'.repeat(60_000))).split('\n')
    expect(Number(bytes)).toBeGreaterThan(90_000)
    expect(Number(bytes)).toBeLessThanOrEqual(96 * 1024)
  })

  test('A43 has a session of its own and no terminal', async () => {
    const { tools, attempt, going } = setup()
    const outcome = exited(
      await runner.attempt(attempt(script('cut -d" " -f1,5,6,7 /proc/self/stat; echo $$; : </dev/tty')), tools, going),
    )
    const [stat = '', shell] = outcome.stdout.split('\n')
    const [, group, session, terminal] = stat.split(' ')
    expect([group, session, terminal]).toEqual([shell, shell, '0'])
    expect(outcome.exit).not.toBe(0)
  })
})

describe('output', () => {
  test('without end is drained, bounded and cut in whole', async () => {
    const { tools, attempt, going, logged } = setup()
    const flood = script('yes "äöü, and so on" | head -c 60000000; echo last line')
    const outcome = exited(await runner.attempt(attempt(flood), tools, going))
    expect(outcome).toMatchObject({ exit: 0, truncated: true })
    expect(outcome.stdout.length).toBeLessThan(1_100_000)
    expect(outcome.stdout).toMatch(/^äöü, and so on\n/)
    expect(outcome.stdout).toMatch(/\n… \d+ bytes left out …\n/)
    expect(outcome.stdout).toMatch(/last line\n$/)
    expect(outcome.stdout).not.toContain('\ufffd')
    const bytes = logged.reduce((sum, line) => sum + line.chunk.length, 0)
    expect(bytes).toBeGreaterThan(4_000_000)
    expect(bytes).toBeLessThan(10 * 1024 * 1024)
    expect(Buffer.concat(logged.slice(-2).map(line => line.chunk)).toString()).toMatch(/last line\n$/)
  })

  test('reaches the log in whole characters, however it was cut', async () => {
    const { tools, attempt, going, logged } = setup()
    const code = `const b = Buffer.from('a😀é漢'); let i = 0
      const step = () => i < b.length && process.stdout.write(b.subarray(i, ++i), () => setTimeout(step, 3)); step()`
    const outcome = exited(await runner.attempt(attempt(run('node', '-e', code)), tools, going))
    expect(outcome.stdout).toBe('a😀é漢')
    for (const { chunk } of logged) expect(chunk.toString()).not.toContain('\ufffd')
    expect(logged.map(line => line.chunk.toString()).join('')).toBe('a😀é漢')
  })

  test('that is no text reaches the log byte by byte', async () => {
    const { tools, attempt, going, logged } = setup()
    const outcome = exited(await runner.attempt(attempt(run('printf', '\\377\\000\\303\\050\\360')), tools, going))
    expect(outcome.stdout).toBe('\ufffd\0\ufffd(\ufffd')
    expect(Buffer.concat(logged.map(line => line.chunk))).toEqual(Buffer.from([255, 0, 0xc3, 0x28, 0xf0]))
  })
})

describe('an ending', () => {
  const ticking = 'while :; do echo tick >> ticks; sleep 0.05; done'

  /** Nothing of the attempt lives any more: the file has stopped growing. */
  async function expectQuiet(root: string) {
    const size = fs.statSync(join(root, 'ticks')).size
    await new Promise(resolve => setTimeout(resolve, 200))
    expect(fs.statSync(join(root, 'ticks')).size).toBe(size)
  }

  test('by timeout takes the whole tree along', async () => {
    // On a busy machine it may need longer until all of it has begun: then it gets longer.
    for (const timeoutMs of [300, 3_000, 60_000]) {
      const { root, tools, attempt, going } = setup()
      const text = `setsid nohup sh -c '${ticking}' >/dev/null 2>&1 & ( ${ticking} ) & trap '' TERM; touch on; sleep 600`
      const outcome = await runner.attempt(attempt(script(text), { timeoutMs }), tools, going)
      if (!['on', 'ticks'].every(sign => fs.existsSync(join(root, sign)))) continue
      expect(outcome).toMatchObject({ type: 'exited', timedOut: true, exit: null, signal: 'SIGKILL' })
      return await expectQuiet(root)
    }
    throw new Error('it did not begin within a minute')
  })

  test('on request lets the command tidy up and says interrupted', async () => {
    const { root, tools, attempt } = setup()
    const stop = new AbortController()
    const text = `trap 'echo bye > bye; exit 0' TERM; setsid sh -c '${ticking}' & while :; do sleep 0.02; done`
    const running = runner.attempt(attempt(script(text)), tools, stopBy(stop.signal))
    await until(() => fs.existsSync(join(root, 'ticks')), 'the child ticks')
    stop.abort()
    expect(await running).toEqual({ type: 'interrupted' })
    expect(fs.readFileSync(join(root, 'bye'), 'utf8')).toBe('bye\n')
    await expectQuiet(root)
  })

  test('of the first process ends what it left behind, even with the pipes still held', async () => {
    const { root, tools, attempt, going } = setup()
    const text = `setsid nohup sh -c '${ticking}' & while [ ! -e ticks ]; do sleep 0.01; done; echo done`
    const outcome = exited(await runner.attempt(attempt(script(text)), tools, going))
    expect(outcome).toMatchObject({ exit: 0, stdout: 'done\n' })
    await expectQuiet(root)
  })

  test('before the start starts nothing', async () => {
    const { root, tools, attempt } = setup()
    const outcome = await runner.attempt(attempt(script('touch x')), tools, stopBy(AbortSignal.abort()))
    expect(outcome).toEqual({ type: 'interrupted' })
    expect(fs.readdirSync(root)).toEqual([])
  })

  test('of an owner finds its children after the owner was killed', async () => {
    const { root, tools } = setup()
    const env = { ...process.env, PLANFOLD_OWNER: tools.owner }
    const text = `setsid nohup sh -c '${ticking}' >/dev/null 2>&1 & exec sleep 60`
    const owner = spawn('sh', ['-c', text], { cwd: root, env, detached: true, stdio: 'ignore' })
    await until(() => fs.existsSync(join(root, 'ticks')), 'the child ticks')
    owner.kill('SIGKILL')
    const ended = await processTree().endOwner(tools.owner)
    expect(ended.ended).toBeGreaterThanOrEqual(1)
    expect(ended.left).toBe(0)
    await expectQuiet(root)
    expect(await processTree().endOwner(tools.owner)).toEqual({ ended: 0, left: 0 })
  })

  test('of one attempt leaves another attempt of the same owner alone', async () => {
    const { root, tools, attempt } = setup()
    const stop = new AbortController()
    const other = runner.attempt(attempt(script('touch up; sleep 60'), { attempt: 2 }), tools, stopBy(stop.signal))
    await until(() => fs.existsSync(join(root, 'up')), 'the other attempt runs')
    expect(exited(await runner.attempt(attempt(run('true')), tools, stopBy(new AbortController().signal))).exit).toBe(0)
    stop.abort()
    expect(await other).toEqual({ type: 'interrupted' })
  })
})

test('A preview shows the command as it would run', async () => {
  const { tools, attempt, going } = setup()
  const shown = async (action: ReturnType<typeof run> | ReturnType<typeof script>) =>
    (await runner.preview?.(attempt(action), tools, going.signal))?.text
  expect(await shown(run('git', 'commit', '-m', "it's $HOME", ''))).toBe("git commit -m 'it'\\''s $HOME' ''")
  expect(await shown(script('a | b\nc'))).toBe('a | b\nc')
})
