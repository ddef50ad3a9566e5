// `planfold audit`: who asked, decided, ran and wrote what; sealed and verified by `audit seal` and `audit verify`.

import { readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Composed } from '../../../compose.ts'
import type { Json } from '../../../domain/json.ts'
import { numberOf } from '../../../domain/phrases.ts'
import type { AuditLine } from '../../../domain/views/audit.ts'
import type { AuditTrail, Chain } from '../../../engine/engine.ts'
import { readKeyFile } from '../../../safety/files/secret-file.ts'
import { isSealedBy, makeSeal, readSeal, type Seal } from '../../../safety/seal.ts'
import { inCell, markdownCode, markdownText } from '../../../safety/text/markdown.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, CliError, type Context, EXIT, print, usage, withState } from '../../command.ts'
import { findPlan } from '../../find-target.ts'
import { dateAndTime } from '../../terminal/elapsed-time.ts'
import { cut } from '../../terminal/table.ts'
import { momentOf, type Since } from '../plans/log.ts'

// `planfold audit verify PLAN|--all`: is the chain of the journal whole? And with --seal: does the journal still hold the entry
// that was sealed? An attacker who can write the whole database can make a new chain, but no seal for it.

export interface VerifyOptions {
  readonly all?: boolean
  readonly seal?: string
  readonly keyFile?: string
}

interface Checked {
  readonly plan: string
  readonly name: string
  readonly version: number
  readonly head: string
  readonly verdict: 'holds' | 'forged' | 'rewritten' | 'missing'
}

const PAGE = 200
const SEAL_MAX_BYTES = 4 * 1024 * 1024

export async function verify(context: Context, word: string | undefined, options: VerifyOptions): Promise<number> {
  if (word !== undefined && options.all === true)
    throw usage('a plan and --all cannot be used together', 'use one of them')
  if ((options.seal === undefined) !== (options.keyFile === undefined))
    throw usage('--seal and --key-file belong together', 'planfold audit verify --seal FILE --key-file KEY')
  return await withState(context, { create: false, reading: true }, async composed => {
    const { engine } = composed
    const seals = options.seal === undefined ? [] : await readSeals(resolve(context.cwd, options.seal))
    const key = options.keyFile === undefined ? null : await keyOf(context, composed, options.keyFile)
    const target =
      word === undefined && (options.all === true || seals.length > 0)
        ? null
        : await findPlan(engine, word, { looking: true })
    const wanted = target === null ? seals : seals.filter(({ plan }) => plan === target.plan)
    if (target !== null && seals.length > 0 && wanted.length === 0)
      throw usage(`there is no seal of '${target.name}' in ${options.seal}`, 'leave the plan out to check every seal')
    const plans =
      target !== null ? [target.plan] : options.all === true ? await allPlans(composed) : wanted.map(({ plan }) => plan)
    const chains: Chain[] = []
    for (const plan of new Set(plans)) {
      const at = wanted.filter(each => each.plan === plan).map(({ version }) => version)
      const chain = await engine.ask({ type: 'chain', plan, at })
      if (chain !== null) chains.push(chain)
    }
    const checked = key === null ? [] : wanted.map(seal => check(key, seal, chains))
    const ok = chains.every(({ fault }) => fault === null) && checked.every(({ verdict }) => verdict === 'holds')
    const items = chains.map(({ at: _, ...chain }) => chain)
    answer(context, { ok, items, seals: checked }, () => lines(context, chains, checked))
    return ok ? EXIT.done : EXIT.failed
  })
}

function check(key: Uint8Array, seal: Seal, chains: readonly Chain[]): Checked {
  const { plan, name, version, head } = seal
  const held = chains.find(chain => chain.plan === plan)?.at[version]
  const verdict = !isSealedBy(key, seal)
    ? 'forged'
    : held === undefined
      ? 'missing'
      : held === head
        ? 'holds'
        : 'rewritten'
  return { plan, name, version, head, verdict }
}

const VERDICTS: Readonly<Record<Checked['verdict'], string>> = {
  holds: 'the event log still contains the sealed entry',
  forged: 'the seal was not made with this key, or was changed: it proves nothing',
  rewritten: 'the event log has another entry there: it was rewritten after it was sealed',
  missing: 'the event log no longer contains that entry: it was cut off, pruned or replaced',
}

function lines({ paint }: Context, chains: readonly Chain[], checked: readonly Checked[]): readonly string[] {
  if (chains.length === 0 && checked.length === 0) return ['there are no plans']
  return [
    ...chains.map(({ name, entries, head, fault }) =>
      fault === null
        ? `${paint.green('✔')} ${escapeForTerminal(name)}: ${numberOf(entries, 'entry')}, chained; head ${head}`
        : `${paint.red('✖')} ${escapeForTerminal(name)}: ${fault.kind} at entry ${fault.version}: ${escapeForTerminal(fault.message)}; ${numberOf(entries, 'entry before it is', 'entries before it are')} sound`,
    ),
    ...checked.map(
      ({ name, version, verdict }) =>
        `${verdict === 'holds' ? paint.green('✔') : paint.red('✖')} seal of ${escapeForTerminal(name)} at entry ${version}: ${VERDICTS[verdict]}`,
    ),
  ]
}

async function allPlans({ engine }: Composed): Promise<readonly string[]> {
  const found: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: { readonly items: readonly { readonly id: string }[]; readonly next: string | null } = await engine.ask(
      {
        type: 'plans',
        limit: PAGE,
        ...(cursor === '' ? {} : { cursor }),
      },
    )
    found.push(...page.items.map(({ id }) => id))
    cursor = page.next
  }
  return found.reverse()
}

async function readSeals(path: string): Promise<readonly Seal[]> {
  const bytes = await readFile(path).catch(() => null)
  if (bytes === null) throw usage(`the seal '${path}' cannot be read`, 'name the file that `planfold audit seal` wrote')
  if (bytes.length > SEAL_MAX_BYTES) throw usage(`'${path}' is too big to be a seal`, 'name the file with the seal')
  const texts = bytes
    .toString('utf8')
    .split('\n')
    .filter(line => line.trim() !== '')
  const seals = texts.map((line, at) => {
    const seal = readSeal(parsed(line))
    if (seal === null)
      throw usage(`line ${at + 1} of '${path}' is not a seal`, 'a seal is the line that `planfold audit seal` prints')
    return seal
  })
  if (seals.length === 0)
    throw usage(`there is no seal in '${path}'`, 'make one: planfold audit seal PLAN --key-file KEY')
  return seals
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

export async function keyOf(context: Context, { stateDir, root }: Composed, path: string): Promise<Uint8Array> {
  const read = await readKeyFile(resolve(context.cwd, path), [
    { folder: stateDir, is: 'the state folder' },
    { folder: root, is: 'the workspace' },
  ])
  if (!read.ok) throw new CliError(EXIT.refused, 'key-file', read.message, read.hint)
  return read.key
}

// `planfold audit seal PLAN --key-file KEY`: a seal over the journal as it is now, to be kept where a writer of the store
// cannot change it. Only a journal whose chain is whole is sealed.

export interface SealOptions {
  readonly keyFile: string
  readonly out?: string
}

export async function seal(context: Context, word: string | undefined, options: SealOptions): Promise<number> {
  return await withState(context, { create: false, reading: true }, async composed => {
    const key = await keyOf(context, composed, options.keyFile)
    const { plan, name } = await findPlan(composed.engine, word, { looking: true })
    const chain = await composed.engine.ask({ type: 'chain', plan })
    if (chain === null) throw new Error(`bug: the plan ${plan} was found and is gone`)
    const { entries: version, head, fault } = chain
    if (fault !== null)
      throw new CliError(
        EXIT.refused,
        'damaged',
        `the event log of '${name}' is damaged and is not sealed: ${fault.message}`,
        'keep this data folder as it is, and compare it with a copy',
      )
    const made = makeSeal(key, { plan, name, version, head })
    const out = options.out === undefined ? null : resolve(context.cwd, options.out)
    if (out !== null) await writeNew(out, `${JSON.stringify(made)}\n`)
    answer(context, made, () => (out === null ? JSON.stringify(made) : `${name} is sealed at entry ${version}: ${out}`))
    return EXIT.done
  })
}

/** A seal is never written over: the old one may be all that proves something. */
async function writeNew(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: 'wx' })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    throw new CliError(
      EXIT.refused,
      'exists',
      `there is a file '${path}' already`,
      'name another, or append: planfold audit seal … >> FILE',
    )
  }
}

// `planfold audit PLAN`: who asked, decided, ran and wrote what, line by line, as far as the chain of the journal proves it. For
// people, as JSON lines for other programs, or as a Markdown table. Nothing is written.

export type AuditFormat = 'text' | 'jsonl' | 'markdown'

export interface AuditOptions {
  readonly format?: AuditFormat
  readonly since?: Since
}

const FACTS_MAX = 400

export async function audit(context: Context, word: string | undefined, options: AuditOptions): Promise<number> {
  return await withState(context, { create: false, reading: true }, async ({ engine }) => {
    const { plan } = await findPlan(engine, word, { looking: true })
    const from = options.since === undefined ? {} : { since: momentOf(options.since, context.now()) }
    const trail = await engine.ask({ type: 'audit', plan, ...from })
    if (trail === null) throw new Error(`bug: the plan ${plan} was found and is gone`)
    const format = options.format ?? 'text'
    switch (format) {
      case 'text':
        answer(context, trail, () => textLines(context, trail))
        break
      case 'jsonl':
        print(
          context,
          trail.lines.map(line => JSON.stringify(line)),
        )
        break
      case 'markdown':
        print(context, markdownLines(trail))
        break
      default:
        format satisfies never
    }
    if (trail.fault !== null && format !== 'text') context.stderr.write(`${faultLine(context, trail)}\n`)
    return trail.fault === null ? EXIT.done : EXIT.failed
  })
}

function textLines(context: Context, trail: AuditTrail): readonly string[] {
  const { paint } = context
  return [
    ...trail.lines.flatMap(line => {
      const facts = factWords(line)
      return [
        `${paint.dim(`${String(line.version).padStart(4)} ${dateAndTime(line.at)}`)} ${paint.cyan(line.kind.padEnd(12))} ${escapeForTerminal(line.text)} ${paint.dim(`[${escapeForTerminal(line.actor)}] ${line.hash.slice(0, 12)}`)}`,
        ...(facts === '' ? [] : [paint.dim(`     ${escapeForTerminal(facts)}`)]),
      ]
    }),
    trail.fault === null
      ? `${paint.green('✔')} ${numberOf(trail.entries, 'entry')}, chained; the last is ${trail.head}`
      : faultLine(context, trail),
  ]
}

function faultLine({ paint }: Context, { entries, fault }: AuditTrail): string {
  return `${paint.red('✖ the event log was altered')} at entry ${fault?.version ?? 0}: ${escapeForTerminal(fault?.message ?? '')}; ${numberOf(entries, 'entry before it is', 'entries before it are')} sound`
}

/** `exit=0 log=3f2a…`; what the sentence says already is left out. */
function factWords({ facts }: AuditLine): string {
  const words = Object.entries(facts)
    .filter(([name]) => !SAID.has(name))
    .map(([name, value]) => `${name}=${shown(value)}`)
  return cut(words.join(' '), FACTS_MAX)
}

const SAID = new Set([
  'action',
  'argv',
  'script',
  'edits',
  'by',
  'message',
  'reason',
  'rationale',
  'verdict',
  'text',
  'durationMs',
])
const shown = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

function markdownLines({ name, lines, entries, head, fault }: AuditTrail): readonly string[] {
  return [
    `# Audit trail of ${markdownCode(name)}`,
    '',
    '| entry | time | who | kind | what | facts | hash |',
    '|---|---|---|---|---|---|---|',
    ...lines.map(line => {
      const cells = [
        String(line.version),
        new Date(line.at).toISOString(),
        markdownText(line.actor),
        line.kind,
        markdownText(line.text),
        Object.keys(line.facts).length === 0 ? '' : markdownCode(JSON.stringify(line.facts), FACTS_MAX * 5),
        markdownCode(line.hash),
      ]
      return `| ${cells.map(inCell).join(' | ')} |`
    }),
    '',
    fault === null
      ? `${numberOf(entries, 'entry')}, chained; the last is ${markdownCode(head)}.`
      : `**The event log was altered at entry ${fault.version}:** ${markdownText(fault.message)}. ${numberOf(entries, 'entry before it is', 'entries before it are')} sound.`,
  ]
}
