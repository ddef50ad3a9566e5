// Which drafted tasks need a person's approval, and which commands may run as checks. A model's draft is untrusted, so its texts
// are examined as well as its commands.

import { actionFacts, sandboxedCommand } from '../../../domain/actions/actions.ts'
import type { CommandLine, Impact, PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import { commandImpact, commandsWithin, nameOf } from '../../../domain/plan-rules/command-impact.ts'
import { dangerOf, IMPACT_WORDS, impactOf } from '../../../domain/plan-rules/impact.ts'
import type { FoundCommands } from '../planner.ts'
import { purposeOf } from '../toolchain/command-purpose.ts'

/** The facts for judging commands. */
export interface Ground {
  readonly goal: string
  readonly commands: FoundCommands
  readonly paths: ReadonlySet<string>
  /** Tasks of a running plan that stay unchanged. */
  readonly kept?: ReadonlySet<string>
}

const WORDS = ['push', 'deploy', 'delete', 'migrate', 'spend'] as const

export interface Danger {
  /** The engine's kind for work described this way. */
  readonly kind: (typeof WORDS)[number] | null
  readonly why: string
}

const SENDING = /^(curl|wget|nc|ncat|netcat|socat|telnet|ftp|sftp|scp|rsync|ssh|mail|sendmail)$/
/** Programs that execute code given in their arguments. */
const CARRYING =
  /^((ba|da|z|k|a)?sh|fish|eval|env|sudo|doas|xargs|timeout|nohup|nice|time|find|command|exec|busybox|npx|bunx|python[\d.]*|node|perl|ruby|php)$|\s/
const SENDING_LINE = /(^|[\s;&|(/`'"])(curl|wget|nc|ncat|netcat|socat|telnet|ftp|sftp|scp|rsync|ssh|sendmail)\s/
const SECRET_FILES =
  /(^|[\s/'"=@])(\.env\b|\.ssh\b|\.aws\b|\.netrc|\.npmrc|id_rsa|id_ed25519)|\/etc\/(passwd|shadow)|\bprintenv\b/
const SECRETS_TOLD =
  /\b(send|upload|post|print|show|echo|copy|paste|dump|leak|reveal|exfiltrat\w*|include|write|attach|collect)\b[^.\n]{0,80}\b(secrets?|credentials?|(access |api |auth )?tokens?|api[-_ ]?keys?|passwords?|private keys?|environment variables|ssh keys?)\b/i

const OUTSIDE = String.raw`(?:[/~](?!dev/null)|(?:\S*/)?\.\.(?:[/\s]|$))`
const GIT = String.raw`^git(?: -C \S+| --\S+)*`
/** Options that make an otherwise known command load code or settings from elsewhere. */
const OTHER_CODE = [
  new RegExp(`^g?make .*(?:-[fCI] ?|--(?:file|makefile|directory|include-dir)[= ])${OUTSIDE}`),
  /^g?make .*--eval\b|^cmake .*-P\b|^cargo .*--config\b|^go .*-(?:toolexec|exec)\b|^tar .*--(?:to-command|checkpoint-action|use-compress-program)\b/,
  /\bpy\.?test .*(?:-p ?(?!no:)\S|-c ?\S|-o ?\S|--(?:rootdir|confcutdir|override-ini)\b)/,
  new RegExp(`${GIT} (?:-c\\b|--config-env\\b|--exec-path=)`),
]
const WRITERS = 'tee|touch|cp|mv|ln|mkdir|install|dd|truncate'
const WRITES_OUTSIDE = new RegExp(`^(?:${WRITERS}) (?:.*[ =])?${OUTSIDE}`)
/** Commands that change files in the task's scope. */
const CHANGES = [
  new RegExp(`^(?:${WRITERS}|rm|rmdir|unlink|chmod|chown|patch|mktemp)(?: |$)`),
  /^sed .*(?:-\w*i|--in-place)/,
  new RegExp(
    `${GIT} (?:add|commit|checkout|switch|reset|restore|stash|apply|am|clean|merge|rebase|cherry-pick|revert|mv|rm)\\b`,
  ),
]
const WRITES = [
  ...CHANGES,
  /^(?:npm|pnpm|yarn|bun|pip3?|gem|bundle|cargo|go) (?:install|ci|i|add|update|remove|uninstall)\b/,
  /^(?!git ).* (?:--fix|--write|--update\w*)(?: |$)|\b(?:vitest|jest)\b.* -u(?: |$)/,
  new RegExp(`${GIT} (?:pull|fetch|init|config|remote|worktree|submodule|archive)\\b`),
]
/** Read-only commands. */
const LOOKS =
  /^(?:true|false|:|test|\[|[ef]?grep|rg|ls|cat|head|tail|wc|diff|cmp|comm|cut|tr|uniq|jq|stat|basename|dirname|echo|printf|expr|seq|cd|pwd|command -v|which|exit|set|sort(?! .*-o)|find(?! .*-(?:exec|ok|delete|fprint))|sed -n [\d,$]+p|sha256sum)(?: |$)/
const GIT_LOOKS = new RegExp(
  `${GIT} (?!.*(?: -O|--output|--ext-diff|--textconv|--open-files))(?:status|diff|log|show|ls-files|ls-tree|grep|rev-parse|rev-list|describe|blame|check-ignore|cat-file|merge-base)\\b`,
)
/** The repository's scripts and targets; and shells, whose commands are examined one by one. */
const OWN_SCRIPTS =
  /^(?:npm|pnpm|yarn|bun) (?:run )?(?:test|t|(?<=run )[\w:.-]+)(?: |$)|^g?make(?: [\w.-]+)*$|^(?:ba|da|z)?sh -\w*c /
const INTERPRETERS = /^(?:node|tsx|deno|bun|python[\d.]*|ruby|perl|php|(?:ba|da|z)?sh)$/
const FETCHES = /^(?:uvx|bunx)\b|^(?:pnpm|yarn) dlx\b|^npx .*(?:-y|--yes|-p|--package)\b|^uv run .*--with\b/
/** Redirection into a file: not to another stream or /dev/null. */
const REDIRECTS = /(?:^|[^<>=-])>>?(?![>&=]|\s*\/dev\/(?:null|stdout|stderr))/

/** Each command as one line, without wrappers and the program's folder. */
const linesOf = (command: CommandLine): readonly string[] =>
  commandsWithin(command).map(({ words, starts }) => {
    const [program = '', ...rest] = words.slice(starts).map(({ text }) => text)
    return [nameOf(program), ...rest].join(' ')
  })

/** An argument that leads out of the workspace; search patterns are not paths. */
function leadsOutside(argv: readonly string[]): boolean {
  const isSearch = /^(?:[ef]?grep|rg|sed|jq)$/.test(nameOf(argv[0] ?? ''))
  const pattern = isSearch ? argv.findIndex((word, at) => at > 0 && !word.startsWith('-')) : -1
  return argv.some(
    (word, at) =>
      at !== pattern &&
      !/\s/.test(word) &&
      (/(?:^|=)data:/.test(word) ||
        word.split(/[=:,]/).some(one => /^(?:-\w)?(?:\/(?!dev\/null$)|~|(?:.*\/)?\.\.(?:\/|$))/.test(one))),
  )
}

/** Checks run without approval and must not change what they examine. */
export function writesIn(command: CommandLine): boolean {
  const lines = linesOf(command)
  const isShell = lines.length > 1 || 'script' in command
  return lines.some(line => WRITES.some(one => one.test(line))) || (isShell && lines.some(line => REDIRECTS.test(line)))
}

/** Why the task needs approval; null if it does not. */
export function dangerIn(plan: PlanDefinition, task: TaskDefinition, ground: Ground): Danger | null {
  const { action } = task
  if (action.type === 'gate' || actionFacts(action).takesCheckpoint === true) return null
  const impact = impactOf(plan, task)
  if (impact !== null && impact !== 'unknown') return { kind: kindOf(impact), why: `it ${IMPACT_WORDS[impact]}` }
  const command = sandboxedCommand(action)
  if (command !== null) {
    const fault = commandFault(command, ground)
    return fault === null ? null : { kind: null, why: `it ${fault}` }
  }
  return dangerInWords(task)
}

/** Every mention counts: a false alarm costs an approval, a miss an accident. */
const IRREVERSIBLE: readonly (readonly ['push' | 'deploy' | 'delete' | 'migrate', RegExp])[] = [
  [
    'deploy',
    /\b(deploy\w*|publish\w*|releas(e|es|ing) (it|to|v?\d|the|a new)|ship (it|to)|roll(ing)? out|go live|to production)\b/i,
  ],
  ['push', /\b(push(es|ing)? (it|to|the|upstream|a branch|main|origin)|force[- ]push\w*|git push)\b/i],
  [
    'delete',
    /\b(delet\w+|drop\w*|purg\w+|wip\w+|eras\w+|truncat\w+)\b[^.]{0,30}\b(data|database|table|tables|users?|records?|rows|accounts?|bucket|backups?|branches|production|prod|history)\b/i,
  ],
  ['migrate', /\b(migrat\w+)\b[^.]{0,40}\b(data|database|schema|tables?|production|prod|users?)\b/i],
]

const irreversibleIn = (text: string) =>
  IRREVERSIBLE.flatMap(([word, pattern]) => {
    const found = pattern.exec(text)
    return found === null ? [] : [{ word, said: found[0].replace(/\s+/g, ' ').slice(0, 60) }]
  })

/** Examines all text shown to the worker. */
function dangerInWords({ id, title = '', instruction = '', accept = [] }: TaskDefinition): Danger | null {
  const words = [title, instruction, ...accept.map(({ text = '' }) => text)].join('\n')
  const [wish] = irreversibleIn(words)
  if (wish !== undefined) return { kind: wish.word, why: `its text says '${wish.said}'` }
  const named = dangerOf({ id, action: { type: 'run', command: { script: words } } })
  if (named !== null) return { kind: kindOf(named), why: `its text names a command that ${IMPACT_WORDS[named]}` }
  if (SECRETS_TOLD.test(words) || SECRET_FILES.test(words)) return { kind: null, why: 'its text speaks of secrets' }
  return null
}

const kindOf = (impact: Impact): Danger['kind'] => WORDS.find(word => word === impact) ?? null

/** Why the command must not run unseen, as the end of a sentence; null if it only does what the repository's own commands do. */
export function commandFault(command: CommandLine, ground: Ground): string | null {
  const argv = 'argv' in command ? command.argv : [command.script]
  const line = argv.join(' ')
  const impact = commandImpact(command)
  if (impact !== null && impact !== 'unknown') return IMPACT_WORDS[impact]
  const [program = ''] = argv
  const sends = CARRYING.test(nameOf(program)) ? SENDING_LINE.test(` ${line} `) : SENDING.test(nameOf(program))
  if (sends) return 'may send data out of this machine'
  if (SECRET_FILES.test(line)) return 'reads what may hold secrets'
  if (/^(env|set|export)$/.test(line.trim())) return 'shows all environment variables'
  const lines = linesOf(command)
  if (lines.some(one => OTHER_CODE.some(known => known.test(one)))) return 'runs code that is not in the plan'
  if (lines.some(one => WRITES_OUTSIDE.test(one))) return 'writes outside the workspace'
  if (argv.length > 1 && ground.goal.includes(line)) return null
  const inner = commandsWithin(command).map(({ words }) => words.map(({ text }) => text))
  if (inner.some(leadsOutside)) return 'leads out of the workspace'
  if (isKnown(argv, ground)) return null
  if (impact === 'unknown' && (saysCode(argv) || purposeOf(argv) === null))
    return 'runs code that cannot be read from the plan'
  return lines.every(isPlain) ? null : 'starts a program that Planfold does not know'
}

function isPlain(line: string): boolean {
  if (FETCHES.test(line)) return false
  const isListed = [LOOKS, GIT_LOOKS, OWN_SCRIPTS, ...CHANGES].some(one => one.test(line))
  return isListed || purposeOf(line.split(' ')) !== null
}

const saysCode = (argv: readonly string[]): boolean =>
  argv.slice(1).some(word => /^-(?!-)\w*[ce]$|^--(eval|command|exec)\b|^-e|^-c/.test(word))

/** A found command, also with more arguments; or one without inline code that runs a file of the repository. */
function isKnown(argv: readonly string[], { commands, paths }: Ground): boolean {
  const found = [
    commands.test,
    commands.allTests,
    commands.lint,
    commands.types,
    commands.build,
    ...commands.ci,
  ].flatMap(one => (one == null ? [] : [one.run]))
  const isFound = found.some(run => run.length > 0 && run.every((word, at) => argv[at] === word))
  if (isFound) return true
  if (saysCode(argv)) return false
  const [program = '', ...rest] = argv
  const file = INTERPRETERS.test(nameOf(program)) ? rest.find(word => !word.startsWith('-')) : program
  return paths.has((file ?? '').replace(/^\.\//, ''))
}
