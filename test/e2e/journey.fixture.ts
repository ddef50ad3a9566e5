// A user's journey: real commands, written down as a transcript that a person can read. The transcript is compared with the one in
// `journeys/`; `npx vitest run test/e2e/journeys.test.ts -u` writes it anew. Read what changed before you commit it. Lines are for the shell;
// a plain `planfold …` at their end needs no process, unless the journey is `built`.

import { spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { commandLine } from './in-process.fixture.ts'
import { MAIN } from './planfold.fixture.ts'

export interface Journey {
  readonly folder: string
  /** The environment a command gets: `planfold` is on its path. */
  readonly env: Readonly<Record<string, string>>
  /** A paragraph of the transcript. */
  say(text: string): void
  /** Runs a line; it must end with this exit code. What it printed is written down and returned. */
  run(line: string, expected?: { readonly exit?: number; readonly quiet?: boolean }): Promise<string>
  /** Writes a file and shows it in the transcript. */
  file(name: string, text: string): Promise<void>
  /** Adds a text block, for what does not come from a command. */
  show(text: string): void
  read(name: string): Promise<string>
  /** Replaces what differs from run to run. */
  hide(value: string, name: string): void
  /** Compares the transcript with the one that is kept. */
  end(): Promise<void>
  remove(): Promise<void>
}

/** `built`: every command is a process of the built program. */
export async function journey(name: string, title: string, { built = false } = {}): Promise<Journey> {
  const home = await realpath(await mkdtemp(join(tmpdir(), 'planfold-journey-')))
  const folder = join(home, 'project')
  const bin = join(home, 'bin')
  await mkdir(folder)
  await mkdir(bin)
  await writeFile(join(bin, 'planfold'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`)
  await chmod(join(bin, 'planfold'), 0o755)
  await writeFile(
    join(home, '.gitconfig'),
    '[user]\n\tname = Ana\n\temail = ana@example.com\n[init]\n\tdefaultBranch = main\n',
  )
  const env = {
    PATH: `${bin}:${process.env.PATH}`,
    HOME: home,
    TZ: 'UTC',
    LANG: 'C.UTF-8',
    PLANFOLD_AS: 'ana@example.com',
  }
  const parts: string[] = [`# ${title}`]
  const hidden: [string, string][] = [
    [folder, '~/project'],
    [home, '~'],
  ]

  const block = (text: string): void => {
    parts.push(`\`\`\`text\n${text.trimEnd()}\n\`\`\``)
  }
  return {
    folder,
    env,
    say: text => void parts.push(text),
    run: async (line, { exit = 0, quiet = false } = {}) => {
      let printed = ''
      const hear = (text: string): void => {
        printed += text
      }
      const [, before, words] = (built ? null : PLAIN.exec(line)) ?? [null, line, null]
      let code = before == null ? 0 : await shell(before, { cwd: folder, env, hear })
      if (code === 0 && words !== null)
        code = await commandLine({ cwd: folder, environment: env }, wordsOf(words!), (_, text) => hear(text))
      expect(code, `$ ${line}\n${printed}`).toBe(exit)
      if (!quiet) block(`$ ${line}\n${printed}${exit === 0 ? '' : `[exit ${exit}]`}`)
      return printed
    },
    file: async (name, text) => {
      await writeFile(join(folder, name), text)
      parts.push(`\`${name}\`:\n\n\`\`\`${name.split('.').at(-1)}\n${text.trimEnd()}\n\`\`\``)
    },
    show: block,
    read: name => readFile(join(folder, name), 'utf8'),
    hide: (value, name) => void hidden.unshift([value, name]),
    end: async () => {
      let text = `${parts.join('\n\n')}\n`
      for (const [value, name] of hidden) text = text.replaceAll(value, name)
      await expect(steady(text)).toMatchFileSnapshot(`./journeys/${name}.md`)
    },
    remove: () => rm(home, { recursive: true, force: true, maxRetries: 5 }),
  }
}

/** What the shell does before, and a call of planfold that needs no shell: words, and words in single quotes. */
const PLAIN = /^(?:(.*) && )?planfold ((?:[\w./:=-]+|'[^']*'|[ ])+)$/
const wordsOf = (line: string): readonly string[] =>
  [...line.matchAll(/'([^']*)'|([^ ']+)/g)].map(([, quoted, bare]) => quoted ?? bare!)

async function shell(
  line: string,
  { hear, ...where }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv; hear(text: string): void },
): Promise<number | null> {
  const child = spawn('sh', ['-c', line], { ...where, stdio: ['ignore', 'pipe', 'pipe'] })
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', hear)
  return await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
}

/** Ids, hashes, times and durations differ from run to run; their places stay readable. */
function steady(text: string): string {
  return (
    text
      .replace(/\b(pln|att|prp|req|ask|clm|tok|not)_[0-9a-zA-Z]{6,}/g, '$1_…')
      .replace(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, '<plan id>')
      .replace(/\b[0-9a-f]{64}\b/g, '<hash>')
      .replace(/\b[0-9a-f]{40}\b/g, '<commit>')
      .replace(/\b(?=[a-f]*\d)[0-9a-f]{12}\b/g, '<hash>')
      .replace(/\b\d{13}\b/g, '<time>')
      .replace(/\b\d{8}T\d{9}Z\b/g, '<time>')
      .replace(/^[0-9a-hjkmnp-tv-z]{8} {2}(?=\S)/gm, '<id>      ')
      .replace(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?/g, '<time>')
      .replace(/\b\d\d:\d\d:\d\d(\.\d+)?\b/g, '<time>')
      .replace(/\b(\d+h )?(\d+m )?\d+(\.\d+)? ?(ms|s)\b/g, '<duration>')
      .replace(/\bprograms=\[[^\]]*\]/g, 'programs=<programs>')
      .replace(/\b\d+m ago\b/g, '<duration> ago')
      .replace(/ +<duration>/g, ' <duration>')
      .replace(/(just now|<duration> ago)/g, '<some time ago>')
      .replace(/<some time ago> {2,}/g, '<some time ago>  ')
      // Logs hold how long something took.
      .replace(/"bytes":\d+/g, '"bytes":<n>')
      // Which task took longest, and how often progress is told, is up to the machine.
      .replace(/^looking at the files of the workspace: .*\n/gm, '')
      .replace(/^ {2}longest .*\n/gm, '')
      // So is whether there is a sandbox: `test/worlds.sh` takes journeys with and without one.
      .replace(/^no sandbox here: .*\n((there is no sandbox|the sandbox does not hold here): .*\n)?/gm, '')
      .replace(/ \(enforced by the sandbox\)/g, '')
      .replace(/, runs (held in the sandbox|as you)\)/g, ', runs <held or as you>)')
      .replace(/changed +title/g, 'changed  title')
      .replace(/[ \t]+$/gm, '')
  )
}
