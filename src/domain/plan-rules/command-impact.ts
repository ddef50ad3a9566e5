// What a command does that is hard to take back, told from its words: wrappers (`env`, `sudo`, `timeout`, `sh -c`, `xargs`, …) are
// taken off first, then well-known programs are looked up. Where the code that runs cannot be read from here (`bash build.sh`,
// `python -c`, `$TOOL`), the answer is `unknown`. Recognition is a help, not a wall: a program nobody has listed here passes.

import type { CommandLine, Impact } from '../plan-values.ts'
import { readScript, SCRIPT_MAX, type ShellCommand, type ShellWord } from './shell-words.ts'

// Commands that delete more than they can be trusted with: told from their words, as far as these are written down. What lies
// inside the workspace by its name, `rm -rf build`, is nobody's loss that a checkpoint could not give back.

/** Also with a path before it, and in quotes: a script handed to a shell. */
const COMMAND = /(?:^|[\s;&|(/`'"])(rm|find|git|terraform|tofu)(?=\s)/
const COMMANDS = new RegExp(COMMAND, 'g')

export function isDeleting(line: string): boolean {
  // Looking for all is dear, and every task is looked at before it begins.
  if (!COMMAND.test(line)) return false
  for (const match of line.matchAll(COMMANDS)) {
    const from = match.index + match[0].length
    const words = wordsFrom(line.slice(from, from + REST_MAX))
    if (deletes(match[1]!, words)) return true
  }
  return false
}

/** So much of what follows a command is looked at: a long line costs little. */
const REST_MAX = 1_000

/** The words up to where the next command begins, without quotes. */
const wordsFrom = (rest: string): readonly string[] =>
  (rest.split(/[;&|\n)]/, 1)[0] ?? '')
    .split(/\s+/)
    .map(word => word.replace(/["'`]/g, ''))
    .filter(word => word !== '')

/** The words of one command, without quotes, without what stands before it. */
function deletesMuch(command: string, words: readonly string[]): boolean {
  return /^(rm|find|git|terraform|tofu)$/.test(command) && deletes(command, words)
}

function deletes(command: string, words: readonly string[]): boolean {
  const options = words.filter(word => word.startsWith('-'))
  const names = words.filter(word => !word.startsWith('-'))
  switch (command) {
    case 'rm':
      // Without a name: they are handed to it, by xargs.
      return options.some(isForced) && (names.length === 0 || names.some(isFar))
    case 'find': {
      const end = words.findIndex(word => word.startsWith('-') || word === '(' || word === '!')
      const places = words.slice(0, end < 0 ? undefined : end)
      return isEmptying(words) && (places.length === 0 || places.some(isFar))
    }
    case 'git':
      if (names.includes('clean')) return options.some(option => /^-\w*f|^--force$/.test(option))
      return names.includes('reset') && options.includes('--hard')
    default:
      return names[0] === 'destroy' || (names[0] === 'apply' && options.some(option => /^--?destroy$/.test(option)))
  }
}

const isForced = (option: string): boolean => /^-[a-zA-Z]*[rRf]|^--(recursive|force)$/.test(option)

const isEmptying = (words: readonly string[]): boolean =>
  words.includes('-delete') ||
  words.some((word, at) => /^-(exec|ok)(dir)?$/.test(word) && /(^|\/)rm$/.test(words[at + 1] ?? ''))

/** Everything here, somewhere else, or nobody knows where. */
function isFar(name: string): boolean {
  if (/^[/~]|[$`]/.test(name)) return true
  const parts = name.split('/').filter(part => part !== '' && part !== '.')
  return parts.length === 0 || parts.includes('..') || parts[0] === '*' || parts[0] === '.*'
}

export type CommandImpact = Exclude<Impact, 'outside' | 'instructions' | 'spend' | 'command'>

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
  add(programImpact(program, others))
  for (const inner of carriedBy(program, others)) if (depth < DEPTH_MAX) lookAtWords(inner, depth + 1, found, hasInput)
  if (isUnreadable(first.text, program, others, hasInput)) add('unknown')
}

export const nameOf = (word: string): string => (word.split('/').at(-1) ?? word).replace(/\.exe$/i, '')

const RESERVED: ReadonlySet<string> = new Set([
  'if',
  'then',
  'else',
  'elif',
  'do',
  'while',
  'until',
  '!',
  '{',
  '}',
  'fi',
  'done',
])

/** Programs that run the command behind their options, with the options that take the next word. */
const WRAPPERS: { readonly [program: string]: readonly string[] } = {
  env: ['-u', '--unset', '-C', '--chdir'],
  sudo: ['-u', '-g', '-h', '-p', '-C', '-D', '-R', '-T', '-U', '-r', '-t', '--user', '--group', '--host', '--chdir'],
  doas: ['-u', '-C'],
  command: [],
  builtin: [],
  exec: ['-a'],
  nohup: [],
  setsid: [],
  time: ['-f', '-o', '--format', '--output'],
  nice: ['-n', '--adjustment'],
  ionice: ['-c', '-n', '-p'],
  stdbuf: ['-i', '-o', '-e'],
  timeout: ['-s', '-k', '--signal', '--kill-after'],
  unbuffer: [],
  chronic: [],
  busybox: [],
  flock: ['-w', '-E', '--timeout'],
  xargs: ['-I', '-n', '-P', '-L', '-d', '-a', '-s', '-E', '--max-args', '--max-procs', '--delimiter', '--arg-file'],
  parallel: ['-j', '--jobs', '-I'],
  strace: ['-o', '-e', '-s', '-p'],
  npx: ['-p', '--package'],
  bunx: [],
}
/** They take a word of their own before the command: how long, which file. */
const OWN_WORDS: { readonly [program: string]: number } = { timeout: 1, flock: 1 }

const ASSIGNMENT = /^[A-Za-z_]\w*\+?=/

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

type Rule = readonly [program: RegExp, words: RegExp, impact: CommandImpact]

/** The words without options, joined by a blank, from their beginning. */
const RULES: readonly Rule[] = [
  [/^git$/, /^(push|send-pack)\b/, 'push'],
  [/^(docker|podman|buildah|skopeo)$/, /^((image|manifest|compose) )?(push|copy)\b/, 'push'],
  [/^(hg|jj|dolt)$/, /^(git )?push\b/, 'push'],
  [/^svn$/, /^(commit|ci)\b/, 'push'],
  [/^kubectl$/, /^(apply|create|replace|patch|rollout|scale|set)\b/, 'deploy'],
  [/^kubectl$/, /^delete\b/, 'delete'],
  [/^helm$/, /^(install|upgrade)\b/, 'deploy'],
  [/^helm$/, /^(uninstall|delete)\b/, 'delete'],
  [/^(terraform|tofu|pulumi|cdk|terragrunt)$/, /^(apply|up|deploy)\b/, 'deploy'],
  [/^(terraform|tofu|pulumi|cdk|terragrunt)$/, /^destroy\b/, 'delete'],
  [/^(npm|pnpm|yarn|cargo|poetry|lerna|bun|uv|flit)$/, /^(npm )?publish\b/, 'deploy'],
  [/^twine$/, /^upload\b/, 'deploy'],
  [/^gem$/, /^push\b/, 'deploy'],
  [
    /^(vercel|flyctl|fly|firebase|serverless|sls|wrangler|netlify|gcloud|eb|cap|kamal|heroku)$/,
    /^(\S+ ){0,3}(deploy|publish)\b/,
    'deploy',
  ],
  [/^gh$/, /^(release create|pr merge|workflow run)\b/, 'deploy'],
  [/^gh$/, /^(repo|release|secret|variable|run|cache) delete\b/, 'delete'],
  [/^(aws|gcloud|az|doctl|heroku|flyctl|fly|oc)$/, /^(\S+ ){0,3}(delete|destroy|terminate|rm|rb|remove)\b/, 'delete'],
  [/^(dropdb|dropuser|shred|wipefs|mkfs(\..+)?)$/, /^/, 'delete'],
  [/^dd$/, /\bof=\/dev\//, 'delete'],
  [/^redis-cli$/, /\b(flushall|flushdb)\b/i, 'delete'],
  [/^(rclone|gsutil|s3cmd|mc)$/, /^(delete|purge|rm|rb|del|sync)\b/, 'delete'],
  [/^alembic$/, /^(upgrade|downgrade)\b/, 'migrate'],
  [
    /^(flyway|liquibase|dbmate|goose|migrate|sqlx|diesel|knex|sequelize|typeorm|prisma|atlas)$/,
    /\b(migrate|migration|up|down|update|rollback|run|deploy)\b/,
    'migrate',
  ],
  [/^(rails|rake)$/, /\bdb:(migrate|rollback)\b/, 'migrate'],
  [/^(rails|rake)$/, /\bdb:(drop|reset)\b/, 'delete'],
]

/** Most programs are none of them, and are let through by one look. */
const ANY_PROGRAM = new RegExp(RULES.map(([{ source }]) => source).join('|'))

const SQL_DELETES = /\b(DROP\s+(TABLE|DATABASE|SCHEMA)|TRUNCATE\s+(TABLE\s+)?\w|DELETE\s+FROM)/i
/** A file of many words is read from its beginning. */
const LINE_MAX = 10_000

function programImpact(program: string, words: readonly ShellWord[]): CommandImpact | null {
  const texts = words.map(({ text }) => text)
  if (deletesMuch(program, texts)) return 'delete'
  if (isDeleteRequest(program, texts)) return 'delete'
  if (ANY_PROGRAM.test(program)) {
    const names = namesOf(program, texts).join(' ').slice(0, LINE_MAX)
    for (const [programs, pattern, impact] of RULES) if (programs.test(program) && pattern.test(names)) return impact
  }
  const target = targetOf(program, texts)
  if (target !== null) {
    const impact = target.map(targetImpact).find(one => one !== null)
    if (impact !== undefined) return impact
  }
  return isSqlClient(program) && SQL_DELETES.test(texts.join(' ').slice(0, LINE_MAX)) ? 'delete' : null
}

const isSqlClient = (program: string): boolean =>
  /^(psql|mysql|mariadb|sqlite3|sqlcmd|clickhouse(-client)?|duckdb|bq|cqlsh|mongosh?)$/.test(program)

/** Options of git and kubectl that take the next word. */
const VALUED: { readonly [program: string]: readonly string[] } = {
  git: ['-c', '-C', '--git-dir', '--work-tree', '--namespace', '--exec-path', '--config-env'],
  kubectl: ['-n', '--namespace', '--context', '--kubeconfig', '--cluster', '--user', '-s', '--server'],
  helm: ['-n', '--namespace', '--kube-context', '--kubeconfig'],
  docker: ['-H', '--host', '-c', '--context', '--config', '-l'],
  npm: ['-w', '--workspace', '--prefix', '-C'],
  pnpm: ['-C', '--dir', '--filter', '-F'],
  yarn: ['--cwd'],
  bun: ['--cwd', '--filter', '-F'],
  make: ['-C', '-f', '-j', '-I', '-o', '-W', '--directory', '--file', '--jobs'],
  gmake: ['-C', '-f', '-j', '--directory', '--file'],
}

/** Its words without options and their values. */
function namesOf(program: string, texts: readonly string[]): readonly string[] {
  const valued = Object.hasOwn(VALUED, program) ? VALUED[program]! : []
  const names: string[] = []
  for (let at = 0; at < texts.length; at++) {
    const text = texts[at]!
    if (!text.startsWith('-')) names.push(text)
    else if (valued.includes(text)) at++
  }
  return names
}

/** A request that deletes what is at an address. */
function isDeleteRequest(program: string, texts: readonly string[]): boolean {
  switch (program) {
    case 'curl':
      return texts.some(
        (text, at) =>
          /^(-[A-Za-z]*X|--request=)DELETE$/i.test(text) ||
          (/^(-[A-Za-z]*X|--request)$/.test(text) && /^DELETE$/i.test(texts[at + 1] ?? '')),
      )
    case 'wget':
      return texts.some(
        (text, at) => /^--method=DELETE$/i.test(text) || (text === '--method' && /^DELETE$/i.test(texts[at + 1] ?? '')),
      )
    case 'gh':
    case 'glab':
      return (
        texts.includes('api') &&
        texts.some(
          (text, at) =>
            /^(-X|--method=?)DELETE$/i.test(text) ||
            (/^(-X|--method)$/.test(text) && /^DELETE$/i.test(texts[at + 1] ?? '')),
        )
      )
    case 'http':
    case 'https':
    case 'xh':
    case 'xhs':
      return texts.some(text => text === 'DELETE')
    default:
      return false
  }
}

/** What a runner of named recipes is told to do; null for every other program. */
function targetOf(program: string, texts: readonly string[]): readonly string[] | null {
  const names = namesOf(program, texts).filter(name => !ASSIGNMENT.test(name))
  switch (program) {
    case 'make':
    case 'gmake':
    case 'just':
    case 'task':
    case 'rake':
    case 'invoke':
    case 'fab':
    case 'mage':
    case 'gradle':
    case 'gradlew':
    case 'mvn':
    case 'mvnw':
    case 'ant':
    case 'nx':
    case 'turbo':
    case 'tox':
    case 'nox':
      return names
    case 'npm':
    case 'deno':
      return names[0] === 'run' || names[0] === 'run-script' || names[0] === 'task' ? names.slice(1, 2) : []
    // These run a script by its name alone, too.
    case 'pnpm':
    case 'bun':
    case 'yarn': {
      const own = names[0] === 'workspace' ? names.slice(2) : names
      return own[0] === 'run' || own[0] === 'run-script' ? own.slice(1, 2) : own.slice(0, 1)
    }
    case 'composer':
    case 'cargo':
    case 'poetry':
    case 'hatch':
    case 'pdm':
    case 'poe':
      return names.filter(name => name !== 'run').slice(0, 1)
    default:
      return null
  }
}

/** By the parts of a name: `deploy`, `deploy:prod`, `docs-deploy`, `db:migrate`. */
function targetImpact(target: string): CommandImpact | null {
  const parts = target.split(/[-:_./]+/).map(part => part.toLowerCase())
  const has = (pattern: RegExp): boolean => parts.some(part => pattern.test(part))
  if (has(/^(delete|destroy|purge|wipe|teardown)$/) || (has(/^drop$/) && has(/^(db|database|table|tables)$/)))
    return 'delete'
  if (has(/^(deploy\w*|undeploy|rollout|publish|ship)$/) || /^release([-:]|$)(?!notes)/i.test(target)) return 'deploy'
  if (has(/^migrat(e|ion|ions)$/)) return 'migrate'
  return has(/^push$/) ? 'push' : null
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
