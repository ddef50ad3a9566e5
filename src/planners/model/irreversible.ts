// What a drafted task does that a person must see first, and which commands may be run as checks. A model's draft is nobody's word, so
// its texts are read as well as its commands: what they seem to do counts.

import type { CommandLine, Impact, PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { commandImpact } from '../../domain/plan-rules/command-impact.ts'
import { dangerOf, IMPACT_WORDS, impactOf } from '../../domain/plan-rules/impact.ts'
import { irreversibleIn } from '../goal-kind.ts'
import type { FoundCommands } from '../planner.ts'

/** What is known here, against which commands are judged. */
export interface Ground {
  readonly goal: string
  readonly commands: FoundCommands
  readonly paths: ReadonlySet<string>
}

const WORDS = ['push', 'deploy', 'delete', 'migrate', 'spend'] as const

export interface Danger {
  /** A kind that the engine knows, for work whose words say so. */
  readonly kind: (typeof WORDS)[number] | null
  readonly why: string
}

const SENDING = /^(curl|wget|nc|ncat|netcat|socat|telnet|ftp|sftp|scp|rsync|ssh|mail|sendmail)$/
/** Programs that run what stands among their words. */
const CARRYING =
  /^((ba|da|z|k|a)?sh|fish|eval|env|sudo|doas|xargs|timeout|nohup|nice|time|find|command|exec|busybox|npx|bunx|python[\d.]*|node|perl|ruby|php)$|\s/
const SENDING_LINE = /(^|[\s;&|(/`'"])(curl|wget|nc|ncat|netcat|socat|telnet|ftp|sftp|scp|rsync|ssh|sendmail)\s/
const SECRET_FILES =
  /(^|[\s/'"=@])(\.env\b|\.ssh\b|\.aws\b|\.netrc|\.npmrc|id_rsa|id_ed25519)|\/etc\/(passwd|shadow)|\bprintenv\b/
const SECRETS_TOLD =
  /\b(send|upload|post|print|show|echo|copy|paste|dump|leak|reveal|exfiltrat\w*|include|write|attach|collect)\b[^.\n]{0,80}\b(secrets?|credentials?|(access |api |auth )?tokens?|api[-_ ]?keys?|passwords?|private keys?|environment variables|ssh keys?)\b/i

/** Why somebody must agree before it; null when nobody must. */
export function dangerIn(plan: PlanDefinition, task: TaskDefinition, ground: Ground): Danger | null {
  const { action } = task
  if (action.type === 'gate' || action.type === 'checkpoint') return null
  const impact = impactOf(plan, task)
  if (impact !== null && impact !== 'unknown') return { kind: kindOf(impact), why: `it ${IMPACT_WORDS[impact]}` }
  if (action.type === 'run') {
    const fault = commandFault(action.command, ground)
    return fault === null ? null : { kind: null, why: `it ${fault}` }
  }
  return dangerInWords(task)
}

function dangerInWords({ id, title = '', instruction = '' }: TaskDefinition): Danger | null {
  const words = `${title}\n${instruction}`
  const [said] = irreversibleIn(words)
  if (said !== undefined) return { kind: said.word, why: `its text says '${said.said}'` }
  const named = dangerOf({ id, action: { type: 'run', command: { script: words } } })
  if (named !== null) return { kind: kindOf(named), why: `its text names a command that ${IMPACT_WORDS[named]}` }
  if (SECRETS_TOLD.test(words) || SECRET_FILES.test(words)) return { kind: null, why: 'its text speaks of secrets' }
  return null
}

const kindOf = (impact: Impact): Danger['kind'] => WORDS.find(word => word === impact) ?? null

/** What is wrong with running this unseen, as the end of a sentence; null when it only does what the repository's own commands do. */
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
  return impact === 'unknown' && !isKnown(argv, ground) ? 'runs code that cannot be read from the plan' : null
}

const nameOf = (word: string): string => word.split('/').at(-1) ?? word

/** A command that was found, or that the goal names, or that runs a file of the repository; none with code among its words. */
function isKnown(argv: readonly string[], { goal, commands, paths }: Ground): boolean {
  const found = [commands.test, commands.lint, commands.build].flatMap(one => (one === null ? [] : [one.run]))
  const isFound = found.some(run => run.length > 0 && run.every((word, at) => argv[at] === word))
  if (isFound || goal.includes(argv.join(' '))) return true
  if (argv.slice(1).some(word => /^-(?!-)\w*[ce]$|^--(eval|command|exec)\b|^-e|^-c/.test(word))) return false
  return argv.some(word => paths.has(word.replace(/^\.\//, '')))
}
