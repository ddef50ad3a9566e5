// What a command does that is hard to take back, told from its words: wrappers (`env`, `sudo`, `timeout`, `sh -c`, `xargs`, …) are
// taken off first, then well-known programs are looked up. Where the code that runs cannot be read from here (`bash build.sh`,
// `python -c`, `$TOOL`), the answer is `unknown`. Recognition is a help, not a wall: a program nobody has listed here passes.

import type { CommandLine } from '../plan-values.ts'
import { ASSIGNMENT, type CommandImpact, programImpact } from './known-commands.ts'
import { readScript, SCRIPT_MAX, type ShellCommand, type ShellWord } from './shell-words.ts'

/** The worst first. */
const ORDER: readonly CommandImpact[] = ['delete', 'push', 'deploy', 'migrate', 'unknown']

/** A shell in a shell in a shell: whoever nests deeper is not read any further. */
const DEPTH_MAX = 6

/** The worst of what it does; null when nothing is known. */
export const commandImpact = (command: CommandLine): CommandImpact | null => commandImpacts(command)[0] ?? null

/** All that it does, the worst first: a script can push and delete. */
export function commandImpacts(command: CommandLine): readonly CommandImpact[] {
  const known = remembered.get(command)
  if (known !== undefined) return known
  const impacts = lookAt(command)
  remembered.set(command, impacts)
  return impacts
}

/** A definition never changes, so each command is looked at once. */
const remembered = new WeakMap<CommandLine, readonly CommandImpact[]>()

/** One command as it stands in another, or alone. `starts`: where it begins once a wrapper before it is taken off. */
export interface InnerCommand {
  readonly words: readonly ShellWord[]
  readonly starts: number
}

/** All commands that can be read in a command line: itself, and those it hands to a shell or another program. Bounded. */
export function commandsWithin(command: CommandLine): readonly InnerCommand[] {
  const found: InnerCommand[] = []
  let left = 20_000
  const script = (text: string, depth: number): void => {
    if (depth > DEPTH_MAX) return
    const { commands, inner } = readScript(text)
    for (const { words } of commands) look(words, depth)
    for (const one of inner) script(one, depth + 1)
  }
  const look = (words: readonly ShellWord[], depth: number): void => {
    left -= words.length + 1
    if (left < 0 || words.length === 0) return
    const rest = unwrapped(words)
    // What `env -S` splits is no part of the words.
    const isPart = rest.length === 0 || words.at(-rest.length) === rest[0]
    found.push({ words, starts: isPart ? words.length - rest.length : 0 })
    if (!isPart) found.push({ words: rest, starts: 0 })
    const [first, ...others] = rest
    if (first === undefined) return
    const program = nameOf(first.text)
    const handed = shellScript(program, others)?.script
    if (handed != null) script(handed.text, depth + 1)
    if (depth < DEPTH_MAX) for (const inner of carriedBy(program, others)) look(inner, depth + 1)
  }
  if ('script' in command) script(command.script, 0)
  else look(argvWords(command.argv), 0)
  return found
}

/** The words with the options between a program and its first word left out: `git -C folder push` is `git push`. */
export function withoutLeadingOptions(words: readonly string[]): readonly string[] {
  const [program = '', ...rest] = words
  const shells = rest.map(text => ({ text, isOpen: false }))
  return [program, ...rest.slice(skipOptions(shells, program === 'git' ? GIT_VALUES : []))]
}

const GIT_VALUES = ['-c', '-C', '--git-dir', '--work-tree', '--namespace', '--exec-path']

/** What was found. Commands that carry others may be nested; so many words are looked at in all, then the rest is unknown. */
class Findings extends Set<CommandImpact> {
  #left = 20_000

  /** May so many more words be looked at? */
  take(words: number): boolean {
    this.#left -= words + 1
    if (this.#left < 0) this.add('unknown')
    return this.#left >= 0
  }
}

function lookAt(command: CommandLine): readonly CommandImpact[] {
  const found = new Findings()
  if ('script' in command) lookAtScript(command.script, 0, found)
  else lookAtWords(argvWords(command.argv), 0, found, false)
  return found.size === 0 ? NOTHING : ORDER.filter(impact => found.has(impact))
}

const NOTHING: readonly never[] = []

/** So many words of one command are looked at. */
const WORDS_MAX = 2_000

/** No shell reads them, so only references of the plan are open. */
const argvWords = (argv: readonly string[]): readonly ShellWord[] =>
  argv.slice(0, WORDS_MAX).map(text => ({ text: text.slice(0, SCRIPT_MAX), isOpen: text.includes('${{') }))

function lookAtScript(script: string, depth: number, found: Findings): void {
  if (depth > DEPTH_MAX || script.length > SCRIPT_MAX) found.add('unknown')
  if (depth > DEPTH_MAX) return
  const { commands, inner } = readScript(script)
  for (const { words, hasInput } of commands) lookAtWords(words, depth, found, hasInput)
  for (const one of inner) lookAtScript(one, depth + 1, found)
}

function lookAtWords(words: ShellCommand['words'], depth: number, found: Findings, hasInput: boolean): void {
  if (!found.take(words.length)) return
  const rest = unwrapped(words)
  const [first, ...others] = rest
  if (first === undefined) return
  const add = (impact: CommandImpact | null): void => {
    if (impact !== null) found.add(impact)
  }
  if (first.isOpen) return add('unknown')
  const program = nameOf(first.text)
  const shell = shellScript(program, others)
  if (shell !== null) {
    if (shell.script === null) {
      // Nothing to run but what it is handed: a file, or whatever comes through the pipe.
      if (shell.hasFile || hasInput) add('unknown')
      return
    }
    if (shell.script.isOpen) add('unknown')
    lookAtScript(shell.script.text, depth + 1, found)
    return
  }
  const texts = others.map(({ text }) => text)
  add(programImpact(program, texts))
  for (const inner of carriedBy(program, others)) if (depth < DEPTH_MAX) lookAtWords(inner, depth + 1, found, hasInput)
  if (isUnreadable(first.text, program, others, hasInput)) add('unknown')
}

export const nameOf = (word: string): string => (word.split('/').at(-1) ?? word).replace(/\.exe$/i, '')

const RESERVED: ReadonlySet<string> = new Set('if then else elif do while until ! { } fi done'.split(' '))

/** Programs that run the command behind their options, with the options that take the next word. */
const WRAPPERS: { readonly [program: string]: readonly string[] } = {
  ...Object.fromEntries(
    'command builtin nohup setsid unbuffer chronic busybox bunx'.split(' ').map(name => [name, []]),
  ),
  env: ['-u', '--unset', '-C', '--chdir'],
  sudo: ['-u', '-g', '-h', '-p', '-C', '-D', '-R', '-T', '-U', '-r', '-t', '--user', '--group', '--host', '--chdir'],
  doas: ['-u', '-C'],
  exec: ['-a'],
  time: ['-f', '-o', '--format', '--output'],
  nice: ['-n', '--adjustment'],
  ionice: ['-c', '-n', '-p'],
  stdbuf: ['-i', '-o', '-e'],
  timeout: ['-s', '-k', '--signal', '--kill-after'],
  flock: ['-w', '-E', '--timeout'],
  xargs: ['-I', '-n', '-P', '-L', '-d', '-a', '-s', '-E', '--max-args', '--max-procs', '--delimiter', '--arg-file'],
  parallel: ['-j', '--jobs', '-I'],
  strace: ['-o', '-e', '-s', '-p'],
  npx: ['-p', '--package'],
}
/** They take a word of their own before the command: how long, which file. */
const OWN_WORDS: { readonly [program: string]: number } = { timeout: 1, flock: 1 }

/** The command itself, without assignments, reserved words and wrappers. */
function unwrapped(words: readonly ShellWord[]): readonly ShellWord[] {
  let at = 0
  for (let wrapper: string | null = null; at < words.length; ) {
    const { text } = words[at]!
    if (wrapper === null || wrapper === 'env' || wrapper === 'sudo') {
      if (ASSIGNMENT.test(text)) {
        at++
        continue
      }
    }
    if (wrapper !== null && text.startsWith('-') && text.length > 1) {
      // `env -S 'git push'` splits its text into words, as a shell would.
      const split = wrapper === 'env' ? splitString(words, at) : null
      if (split !== null) return split
      at += text === '--' ? 1 : WRAPPERS[wrapper]!.includes(text) ? 2 : 1
      if (text === '--' && wrapper !== 'env') wrapper = null
      continue
    }
    const own = wrapper === null ? undefined : OWN_WORDS[wrapper]
    if (own !== undefined) {
      at += own
      wrapper = null
      continue
    }
    if (RESERVED.has(text)) {
      at++
      continue
    }
    const program = nameOf(text)
    if (!Object.hasOwn(WRAPPERS, program)) break
    wrapper = program
    at++
  }
  return words.slice(at)
}

function splitString(words: readonly ShellWord[], at: number): readonly ShellWord[] | null {
  const { text } = words[at]!
  const attached = /^(?:-S|--split-string=)([\s\S]+)$/.exec(text)?.[1]
  const isAlone = text === '-S' || text === '--split-string'
  const line = attached ?? (isAlone ? words[at + 1]?.text : undefined)
  if (line === undefined) return null
  const split = readScript(line).commands.flatMap(command => command.words)
  return unwrapped([...split, ...words.slice(at + (isAlone ? 2 : 1))])
}

const SHELLS: ReadonlySet<string> = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'ash', 'fish', 'mksh'])

/** What a shell is given to run: null when it is no shell; a script of null is a file, or its standard input. */
function shellScript(
  program: string,
  words: readonly ShellWord[],
): { readonly script: ShellWord | null; readonly hasFile: boolean } | null {
  if (program === 'eval') {
    const text = words.map(word => word.text).join(' ')
    return { script: { text, isOpen: words.some(word => word.isOpen) }, hasFile: false }
  }
  if (program === 'su') {
    const at = words.findIndex(({ text }) => text === '-c' || text === '--command')
    return at < 0 ? null : { script: words[at + 1] ?? null, hasFile: false }
  }
  if (!SHELLS.has(program)) return null
  let isScript = false
  for (let at = 0; at < words.length; at++) {
    const { text } = words[at]!
    if (text === '--version' || text === '--help') return { script: null, hasFile: false }
    if (/^[-+][A-Za-z]*o$/.test(text)) at++
    else if (/^-[A-Za-z]*c[A-Za-z]*$/.test(text)) isScript = true
    else if (!/^[-+]./.test(text))
      return isScript ? { script: words[at]!, hasFile: false } : { script: null, hasFile: true }
  }
  return { script: null, hasFile: isScript }
}

/** Commands among the words of another: `find … -exec`, `ssh host …`, `docker exec box …`. */
function* carriedBy(program: string, words: readonly ShellWord[]): Iterable<readonly ShellWord[]> {
  if (program === 'find' || program === 'fd') {
    for (const [at, { text }] of words.entries())
      if (/^(-(exec|ok)(dir)?|-x|-X|--exec(-batch)?)$/.test(text)) yield words.slice(at + 1)
  } else if (program === 'ssh') {
    const host = skipOptions(words, SSH_VALUES)
    const remote = words.slice(host + 1)
    // The other side joins the words and hands them to a shell.
    const line = remote.map(({ text }) => text).join(' ')
    for (const command of readScript(line).commands) yield command.words
  } else if (/^(docker|podman|kubectl|docker-compose)$/.test(program)) {
    const at = words.findIndex(({ text }) => text === 'exec' || text === 'run')
    const rest = at < 0 ? [] : words.slice(at + 1)
    const dashes = rest.findIndex(({ text }) => text === '--')
    if (dashes >= 0) yield rest.slice(dashes + 1)
    else if (at >= 0) yield rest.slice(skipOptions(rest, []) + 1)
  }
}

const SSH_VALUES = ['-p', '-i', '-l', '-o', '-F', '-J', '-b', '-c', '-D', '-E', '-L', '-m', '-R', '-S', '-W', '-w']

/** Where the first word stands that is neither an option nor its value. */
function skipOptions(words: readonly ShellWord[], valued: readonly string[]): number {
  let at = 0
  while (at < words.length && words[at]!.text.startsWith('-')) at += valued.includes(words[at]!.text) ? 2 : 1
  return at
}

const INTERPRETERS =
  /^(node|nodejs|deno|bun|tsx|ts-node|python[\d.]*|pypy[\d.]*|ruby[\d.]*|perl[\d.]*|php[\d.]*|lua[\d.]*|Rscript|osascript|pwsh|powershell|tclsh|expect|java|groovy|scala|elixir|ipython)$/
const TOLD_ONLY = /^(--version|-V|--help|-h)$/
/** Their sub-command decides; when that is open, nobody knows what they do. */
const BY_SUBCOMMAND =
  /^(git|docker|podman|kubectl|helm|terraform|tofu|pulumi|npm|pnpm|yarn|gh|aws|gcloud|az|make|just)$/

/** Does it run code that cannot be read from its words? */
function isUnreadable(path: string, program: string, words: readonly ShellWord[], hasInput: boolean): boolean {
  if (program === 'source' || program === '.') return true
  if (path.includes('/') && !path.startsWith('/')) return true
  if (INTERPRETERS.test(program)) {
    const [only] = words
    return (words.length > 0 && !(words.length === 1 && TOLD_ONLY.test(only!.text))) || hasInput
  }
  if (program === 'git' && words.some(({ text }) => /^(-c)?alias\./.test(text))) return true
  if (!BY_SUBCOMMAND.test(program)) return false
  return words.find(({ text, isOpen }) => isOpen || !text.startsWith('-'))?.isOpen === true
}
